"""Which topology is meant where none is named, and what is said where none is there."""

from typing import Any

import pytest
import yaml

from phalanx.dialects.reading import read
from phalanx.model.problems import Problem
from phalanx.model.request import Request
from phalanx.model.topology import HOSTNAME
from tests.dialects.manifests import Doc, gang, job, template, topology

NET = topology("net/block", "net/rack", HOSTNAME, name="net")
POWER = topology("power/row", "power/rack", HOSTNAME, name="power")
REQUIRED = "phalanx.dev/topology-required"


def wish(**keys: str) -> Doc:
    return job({f"phalanx.dev/topology-{key}": value for key, value in keys.items()})


def only(*docs: Doc) -> Request:
    found = read(list(docs))
    assert not found.invalid, found.invalid
    (request,) = found.requests
    return request


def refused(*docs: Doc) -> Problem:
    (invalid,) = read(list(docs)).invalid
    (problem,) = invalid.problems
    return problem


def group(**more: Any) -> Doc:
    return {"name": "w", "count": 4, "template": template(), **more}


# -- several topologies, none named ------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "meant"), [("net/rack", "net"), ("power/rack", "power"), ("power/row", "power")])
def test_a_label_key_that_one_topology_has_means_that_one(level: str, meant: str) -> None:
    request = only(NET, POWER, wish(required=level))
    assert (request.topology, request.root.required) == (meant, 2 if level.endswith("rack") else 1)


def test_a_short_name_is_no_identity_and_the_topology_has_to_be_named() -> None:
    problem = refused(NET, POWER, wish(required="row"))
    assert problem.allowed == ("net", "power")


def test_a_short_name_is_looked_up_in_the_topology_that_a_key_beside_it_means() -> None:
    request = only(NET, POWER, wish(required="power/row", preferred="rack"))
    assert (request.topology, request.root.required, request.root.preferred) == ("power", 1, 2)


def test_a_key_in_two_of_three_topologies_leaves_those_two_to_choose_from() -> None:
    twin = topology("net/rack", name="twin")
    assert refused(NET, POWER, twin, wish(required="net/rack")).allowed == ("net", "twin")
    assert only(NET, POWER, twin, wish(required="net/block", preferred="net/rack")).topology == "net"


@pytest.mark.parametrize("level", [HOSTNAME, "host"])
def test_the_node_is_the_node_in_any_topology(level: str) -> None:
    request = only(NET, POWER, wish(required=level))
    assert (request.topology, request.root.required) == (None, 1)


def test_the_node_beside_a_key_is_the_node_of_that_keys_topology() -> None:
    request = only(NET, POWER, wish(required="net/rack", preferred=HOSTNAME))
    assert (request.topology, request.root.required, request.root.preferred) == ("net", 2, 3)


def test_levels_of_one_workload_that_belong_to_two_topologies_are_a_problem_at_the_second() -> None:
    doc = gang(group(topology={"required": "power/rack"}), topology={"required": "net/block"})
    problem = refused(NET, POWER, doc)
    assert (problem.path, problem.value) == ("spec.podGroups[0].topology.required", "power/rack")
    assert problem.allowed == ("net/block", "net/rack", HOSTNAME)
    assert "Topology power" in problem.message
    assert "'net/block' one of net" in problem.message


@pytest.mark.parametrize(
    "entry",
    [
        group(slices=[{"level": "power/rack", "size": 2}]),
        group(topology={"spread": {"level": "power/rack", "maxPerDomain": 1}}),
        group(rank={"order": "Stripe", "across": "power/rack"}),
    ],
)
def test_every_place_that_names_a_level_counts(entry: Doc) -> None:
    assert only(NET, POWER, gang(entry)).topology == "power"


def test_a_topology_that_is_named_or_usual_is_not_overruled_by_a_key() -> None:
    usual = {**NET, "metadata": {"name": "net", "annotations": {"phalanx.dev/default-topology": "true"}}}
    assert "not a level of topology 'net'" in refused(usual, POWER, wish(required="power/row")).message
    named = job({REQUIRED: "power/row", "phalanx.dev/topology-name": "net"})
    assert "not a level of topology 'net'" in refused(NET, POWER, named).message


# -- no topology -------------------------------------------------------------------------------------------------


def test_a_key_without_any_topology_says_which_one_to_give() -> None:
    problem = read([wish(required="cloud/block", preferred="cloud/rack")]).invalid[0].problems[0]
    assert (problem.value, problem.allowed) == ("cloud/block", ("host",))
    assert "one with that nodeLabel is needed" in problem.message
    assert "spec: {levels: [{nodeLabel: cloud/block}, {nodeLabel: cloud/rack}]}" in problem.message


def test_the_topology_that_the_message_shows_is_all_that_was_missing() -> None:
    doc = wish(required="cloud/block", preferred="cloud/rack")
    message = read([doc]).invalid[0].problems[0].message
    assert only(yaml.safe_load(message[message.index("{apiVersion") :]), doc).topology == "default"


def test_a_short_name_without_any_topology_shows_none() -> None:
    problem = refused(wish(required="rack"))
    assert problem.message == "'rack' names a level, but no Topology is given"


@pytest.mark.parametrize(
    "bad",
    [
        topology(name="net"),
        topology("net/rack", name="net", api="phalanx.dev/v9"),
        topology("net/rack", "net/rack", name="net"),
    ],
)
def test_a_topology_that_is_given_and_wrong_is_not_said_to_be_missing(bad: Doc) -> None:
    assert "Topology net is refused" in refused(bad, wish(required="net/rack")).message
    named = job({REQUIRED: "net/rack", "phalanx.dev/topology-name": "net"})
    messages = [problem.message for problem in read([bad, named]).invalid[0].problems]
    assert "Topology 'net' is given, but it is refused: see its own problem" in messages
