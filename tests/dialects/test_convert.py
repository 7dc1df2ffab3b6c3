"""Any workload in another dialect: what is written reads as the same Requests, or a warning says what was lost."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from phalanx.cluster import Cluster
from phalanx.dialects import reading
from phalanx.dialects.documents import WORKLOAD_KINDS
from phalanx.dialects.writing import WRITERS, Conversion, convert
from phalanx.model.problems import Problem
from phalanx.model.request import Group, PodSet, Request
from tests.dialects import manifests
from tests.dialects.manifests import Doc, gang, job, template, topology

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/workload.yaml"))
TOPOLOGY = topology(
    {"nodeLabel": "topology/zone", "name": "zone"},
    {"nodeLabel": "topology/block", "name": "block"},
    {"nodeLabel": "topology/rack", "name": "rack"},
    {"nodeLabel": "kubernetes.io/hostname", "name": "host"},
    name="cluster-topology",
)
CLASS = {
    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000,
}  # fmt: skip
INDEX = "metadata.labels['batch.kubernetes.io/job-completion-index']"
WITH_PODS = ("kai", "podgroup")  # dialects that leave it to pods what they are like


# -- help --------------------------------------------------------------------------------------------------------


def converted(doc: Doc, to: str, *others: Doc) -> Conversion:
    """The conversion of a manifest that must be good."""
    done = convert([TOPOLOGY, CLASS, doc, *others], to)
    assert not done.problems, [str(one) for one in done.problems]
    return done


def document(doc: Doc, to: str, *others: Doc) -> Doc:
    (one,) = converted(doc, to, *others).documents
    return one


def lost(done: Conversion) -> list[str]:
    """What the dialect could not say, without the word on templates that every KAI or PodGroup gets."""
    said = [one.message.partition(" cannot say ")[2] for one in done.warnings]
    return [one for one in said if one and not one.startswith("template: pods carry theirs")]


def fields(doc: Doc, to: str) -> list[str]:
    """The fields that are lost."""
    return [one.partition(":")[0] for one in lost(converted(doc, to))]


def requests(docs: list[Any], around: tuple[Doc, ...] = (TOPOLOGY, CLASS)) -> tuple[Request, ...]:
    found = reading.read([*around, *docs])
    assert not found.invalid, [str(problem) for problem in found.invalid[0].problems]
    return found.requests


def drawn(group: Group, to: str) -> Any:
    """What a group asks for, names aside: they are the dialect's. Groups that only hold others together are folded."""
    members = [one for member in group.members for one in _spliced(member, group)]
    if len(members) == 1 and isinstance(members[0], Group) and members[0].min_members == 0:
        members = [replace(members[0], min_members=1)]  # with nobody beside it, or nothing would be placed
    if len(members) == 1 and isinstance(members[0], Group) and group.min_members in (None, 1):
        inner = members[0]
        wishes = [(one.required, one.preferred, one.spread) for one in (group, inner)]
        if (None, None, None) in wishes:
            required, preferred, spread = wishes[wishes[0] == (None, None, None)]
            return drawn(replace(inner, required=required, preferred=preferred, spread=spread), to)
    below = [drawn(one, to) for one in members if isinstance(one, Group)]
    below = sorted(below, key=repr) if to == "podgroup" else below  # a tree of objects has no order
    ranks = replace(group.ranks, with_same_rank_of=None) if group.ranks is not None else None
    least = None if group.min_members == len(members) else group.min_members
    return group.required, group.preferred, group.spread, ranks, least, below or pods(group, to)


def _spliced(member: Group | PodSet, outer: Group) -> tuple[Group | PodSet, ...]:
    bare = isinstance(member, Group) and (member.required, member.preferred, member.spread, member.min_members) == (
        None, None, None, None,
    )  # fmt: skip
    if bare and outer.min_members is None and isinstance(member, Group) and isinstance(member.members[0], Group):
        return tuple(one for below in member.members for one in _spliced(below, outer))
    return (member,)


def pods(group: Group, to: str) -> Any:
    sets = list(group.pod_sets())
    if to in WITH_PODS:
        return sum(one.count for one in sets), sum(one.min_count for one in sets)
    return [(one.count, one.min_count, one.shape, one.slices) for one in sets]


def asked(found: tuple[Request, ...], to: str) -> list[Any]:
    return [(one.queue, one.priority, one.suspended, drawn(one.root, to)) for one in found]


def copied(found: tuple[Request, ...]) -> bool:
    """Whether there are copies: in Kueue they are slices of one pod set, which a test of their own looks at."""
    return any("[" in one.name for request in found for one in request.root.pod_sets())


def leaves(found: tuple[Request, ...]) -> list[Group]:
    return [one for request in found for one in request.root.groups() if isinstance(one.members[0], PodSet)]


def with_pods(documents: tuple[Doc, ...], found: tuple[Request, ...], to: str) -> list[Doc]:
    """The documents, and the pods of the Requests they were made from, linked to them."""
    if to not in WITH_PODS:
        return list(documents)
    homes = kai_homes(documents) if to == "kai" else podgroup_homes(documents)
    own = leaves(found)
    assert len(homes) == len(own)
    made = [
        pod(f"{number}-{i}", home)
        for number, (group, home) in enumerate(zip(own, homes, strict=True))
        for i in range(sum(one.count for one in group.pod_sets()))
    ]
    return [*documents, *made]


def kai_homes(documents: tuple[Doc, ...]) -> list[Doc]:
    """The link of each group with pods: annotation and label."""
    found: list[Doc] = []
    for doc in documents:
        link = {"namespace": doc["metadata"]["namespace"], "annotations": {"pod-group-name": doc["metadata"]["name"]}}
        listed = doc["spec"].get("subGroups", [])
        parents = {one.get("parent") for one in listed}
        ends = [one["name"] for one in listed if one["name"] not in parents]
        found += [{"metadata": {**link, "labels": {"kai.scheduler/subgroup-name": name}}} for name in ends]
        found += [{"metadata": link}] if not listed else []
    return found


def podgroup_homes(documents: tuple[Doc, ...]) -> list[Doc]:
    made = [doc["metadata"] for doc in documents if doc["kind"] == "PodGroup"]
    return [
        {"metadata": {"namespace": one["namespace"]}, "spec": {"schedulingGroup": {"podGroupName": one["name"]}}}
        for one in made
    ]


def pod(name: str, home: Doc) -> Doc:
    metadata = {"name": f"pod-{name}", **home["metadata"]}
    spec = {**manifests.pod_spec(), **home.get("spec", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


# -- small workloads ---------------------------------------------------------------------------------------------

NAMES = ("zone", "block", "rack", "host")
SPREADS = ({"maxPerDomain": 2}, {"minDomains": 2}, {"maxSkew": 1})


def rarely(draw: st.DrawFn, others: int) -> bool:
    """True once and False ``others`` times: workloads that ask for little are those that every dialect can say."""
    return draw(st.sampled_from((False,) * others + (True,)))


@st.composite
def nears(draw: st.DrawFn, low: int = 0) -> Doc:
    """``topology``: required as wide as or wider than preferred."""
    keys = draw(st.sampled_from([(), (), ("required",), ("required",), ("preferred",), ("required", "preferred")]))
    levels = sorted(draw(st.integers(low, 3)) for _ in keys)
    near: Doc = {key: NAMES[level] for key, level in zip(keys, levels, strict=True)}
    if rarely(draw, 9):
        near["spread"] = {"level": NAMES[3], **draw(st.sampled_from(SPREADS))}
    return {"topology": near} if near else {}


@st.composite
def counts(draw: st.DrawFn) -> Doc:
    count = draw(st.integers(1, 4)) * 2
    made: Doc = {"count": count}
    if rarely(draw, 3):
        made["minCount"] = draw(st.integers(1, count))
    if rarely(draw, 9):
        made["maxCount"] = count + draw(st.integers(0, 2))
    return made


def templates(cpu: int) -> Doc:
    return {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": str(cpu)}}}]}}


@st.composite
def pod_parts(draw: st.DrawFn) -> Doc:
    """What a group with pods says of them."""
    made: Doc = {**draw(counts()), "template": templates(draw(st.integers(1, 3)))}
    if rarely(draw, 5):
        sizes = [draw(st.integers(1, 2)), draw(st.integers(1, 3))]
        made.pop("count"), made.pop("minCount", None), made.pop("maxCount", None), made.pop("template")
        made["podClasses"] = [
            {"name": name, "count": size, "template": templates(size)}
            for name, size in zip(("leader", "worker"), sizes, strict=True)
        ]
    elif rarely(draw, 5) and "minCount" not in made:
        made["slices"] = [{"level": "host", "size": 2}]
    if rarely(draw, 4):
        orders = [{}, {"order": "None"}, {"order": "Consecutive"}, {"order": "Stripe", "across": "host"}]
        made["rank"] = {**draw(st.sampled_from([{}, {"fieldPath": INDEX}])), **draw(st.sampled_from(orders))}
    return made


@st.composite
def groups(draw: st.DrawFn, depth: int = 3, parent: str = "") -> list[Doc]:
    """Some groups with one parent, and those below them."""
    made: list[Doc] = []
    for number in range(draw(st.integers(1, 3 if depth == 3 else 2))):
        name = f"{parent or 'g'}{number}"
        above = {"parent": parent} if parent else {}
        copies = {"replicas": draw(st.integers(1, 2)), "replicaKey": INDEX} if rarely(draw, 5) else {}
        own = {"name": name, **above, **copies, **draw(nears(low=3 - depth))}
        if depth > 1 and rarely(draw, 3):
            policy = draw(st.sampled_from([{}, {}, {"policy": "Basic"}, {"minGroups": 1}]))
            made += [{**own, **policy}, *draw(groups(depth - 1, name))]
        else:
            made.append({**own, **draw(pod_parts())})
    return made


@st.composite
def gangs(draw: st.DrawFn) -> Doc:
    more: Doc = {}
    settings_ = {
        "queue": "research", "priorityClassName": "high", "preemptible": False, "suspend": True,
        "topologyName": "cluster-topology", "scheduleTimeoutSeconds": 60, "recoveryTimeoutSeconds": 90,
        "onFailure": "RestartGang", "disruption": "Group",
    }  # fmt: skip
    for key, value in settings_.items():
        if rarely(draw, 25):
            more[key] = value
    policy = draw(st.sampled_from([{}, {}, {"policy": "Basic"}, {"minGroups": 1}]))
    return gang(*draw(groups()), **more, **policy, **draw(nears()))


def valid(doc: Doc) -> tuple[Request, ...]:
    found = reading.read([TOPOLOGY, CLASS, doc])
    assume(not found.invalid and found.requests)
    return found.requests


MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


# -- round trips -------------------------------------------------------------------------------------------------


@MANY
@given(gangs())
def test_a_gang_written_as_a_gang_gives_the_identical_requests(doc: Doc) -> None:
    found = valid(doc)
    done = converted(doc, "gang")
    assert done.warnings == ()
    assert requests(list(done.documents)) == found


@pytest.mark.parametrize("to", [to for to in WRITERS if to != "gang"])
@MANY
@given(doc=gangs())
def test_what_is_written_without_a_loss_asks_for_the_same(to: str, doc: Doc) -> None:
    found = valid(doc)
    done = converted(doc, to)
    again = requests(with_pods(done.documents, found, to))
    if not lost(done) and not (to == "kueue" and copied(found)):
        assert asked(again, to) == asked(found, to)


def _valid_examples() -> Iterator[Path]:
    for path in EXAMPLES:
        docs = _example(path)
        if not reading.read(docs).invalid:
            yield path


def _example(path: Path) -> list[Any]:
    return [doc for one in sorted(path.glob("*.yaml")) for doc in yaml.safe_load_all(one.read_text()) if doc]


@pytest.mark.parametrize("path", list(_valid_examples()), ids=lambda path: path.name)
@pytest.mark.parametrize("to", WRITERS)
def test_every_example_is_written_in_every_dialect(path: Path, to: str) -> None:
    docs = _example(path)
    state = tuple(doc for doc in docs if doc["kind"] not in WORKLOAD_KINDS)
    found = tuple(replace(one, missing=()) for one in reading.read(docs).requests)
    done = convert(docs, to)
    assert not done.problems
    written = requests(with_pods(done.documents, found, to), state)
    if not lost(done) and not (to == "kueue" and copied(found)):
        assert asked(written, to) == asked(found, to)
    if to == "gang":
        kind_aside = [replace(one, kind="Gang") for one in found]
        assert list(written) == kind_aside


# -- a Gang ------------------------------------------------------------------------------------------------------


def test_a_job_becomes_a_short_gang_without_defaults_and_with_node_label_keys() -> None:
    """And what an annotation asked for stands in the spec, once."""
    doc = job({"phalanx.dev/topology-required": "rack"}, {"phalanx.dev/topology-preferred": "host"}, suspend=False)
    assert document(doc, "gang") == {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Gang",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {
            "topology": {"required": "topology/rack"},
            "podGroups": [
                {
                    "name": "main",
                    "count": 4,
                    "topology": {"preferred": "kubernetes.io/hostname"},
                    "template": {
                        "metadata": {"labels": {"batch.kubernetes.io/job-name": "train", "job-name": "train"}},
                        "spec": manifests.pod_spec(),
                    },
                }
            ],
        },
    }


def test_keys_of_a_gang_stand_in_the_order_of_the_reference() -> None:
    doc = gang(
        {"template": template(), "slices": [{"size": 2, "level": "host"}], "count": 4, "replicas": 2, "name": "a"},
        topology={"required": "zone"}, queue="q", suspend=True,
    )  # fmt: skip
    spec = document(doc, "gang")["spec"]
    assert list(spec) == ["queue", "suspend", "topology", "podGroups"]
    assert list(spec["podGroups"][0]) == ["name", "replicas", "count", "slices", "template"]


def test_a_priority_without_a_class_is_the_one_thing_a_gang_cannot_say() -> None:
    pods = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": manifests.pod_spec(priority=7)}
    assert fields(pods, "gang") == ["priority"]


@pytest.mark.parametrize("level", ["auto", "rack", "topology/rack"])
def test_levels_are_written_as_the_label_keys_of_the_topology(level: str) -> None:
    spread = {"level": "host", "maxPerDomain": 1}
    doc = gang(
        {"name": "a", "count": 2, "rank": {"order": "Stripe", "across": level}, "topology": {"spread": spread}},
        {"name": "b", "count": 4, "slices": [{"level": level, "size": 2}], "topology": {"preferred": level}},
    )  # fmt: skip
    first, second = document(doc, "gang")["spec"]["podGroups"]
    assert first["rank"]["across"] == second["slices"][0]["level"] == second["topology"]["preferred"] == "topology/rack"
    assert first["topology"]["spread"]["level"] == "kubernetes.io/hostname"


def test_without_a_topology_levels_stay_as_written_whatever_their_order() -> None:
    doc = gang(
        {"name": "a", "count": 2, "topology": {"required": "rack"}},
        {"name": "b", "count": 2, "topology": {"required": "block", "preferred": "rack"}},
        {"name": "w", "topology": {"required": "zone"}},
        {"name": "c", "parent": "w", "count": 2, "topology": {"required": "row"}},
        topologyName="far",
    )  # fmt: skip
    done = convert([doc], "gang")
    assert not done.problems
    (one,) = done.documents
    assert one["spec"] == doc["spec"]


def test_a_level_wider_than_one_required_around_it_is_left_out() -> None:
    # M-018
    doc = gang({"name": "w", **BLOCK}, {**LEAF, "parent": "w", "topology": {"required": "zone", "preferred": "rack"}})
    assert document(doc, "gang")["spec"]["podGroups"][1]["topology"] == {"preferred": "topology/rack"}


def test_auto_without_a_topology_is_a_problem() -> None:
    done = convert([gang({"name": "a", "count": 2, "topology": {"required": "auto"}})], "gang")
    assert done.documents == ()
    assert done.problems[0].path == "Gang serving/llm: spec.podGroups[0].topology.required"


# -- Kueue -------------------------------------------------------------------------------------------------------


def test_a_gang_becomes_kueues_pod_sets() -> None:
    doc = gang(
        {"name": "a", "count": 4, "minCount": 2, "topology": {"required": "rack"}, "template": template()},
        {"name": "b", "count": 2, "template": template(), "rank": {"fieldPath": INDEX}},
        queue="research", priorityClassName="high", suspend=True,
    )  # fmt: skip
    assert document(doc, "kueue") == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "llm", "namespace": "serving"},
        "spec": {
            "active": False,
            "queueName": "research",
            "priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"},
            "podSets": [
                {
                    "name": "a", "count": 4, "minCount": 2, "topologyRequest": {"required": "topology/rack"},
                    "template": template(),
                },
                {
                    "name": "b", "count": 2, "template": template(),
                    "topologyRequest": {
                        "unconstrained": True, "podIndexLabel": "batch.kubernetes.io/job-completion-index",
                    },
                },
            ],
        },
    }  # fmt: skip


def test_a_leader_and_its_workers_in_one_domain_become_a_pod_set_group() -> None:
    doc = gang(
        {"name": "leader", "count": 1, "template": template()},
        {"name": "workers", "count": 4, "template": template()},
        topology={"preferred": "rack"},
    )  # fmt: skip
    sets = document(doc, "kueue")["spec"]["podSets"]
    assert [one["topologyRequest"] for one in sets] == [{"preferred": "topology/rack", "podSetGroupName": "llm"}] * 2
    assert lost(converted(doc, "kueue")) == []


def test_classes_become_pod_sets_that_share_the_minimum_as_their_order_says() -> None:
    doc = gang({"name": "a", **classes(1, 3), "minCount": 2, "topology": {"required": "rack"}})
    first, second = document(doc, "kueue")["spec"]["podSets"]
    assert (first["name"], first["count"], first.get("minCount")) == ("a-c0", 1, None)
    assert (second["name"], second["count"], second.get("minCount")) == ("a-c1", 3, 1)
    assert first["topologyRequest"] == second["topologyRequest"]
    assert first["topologyRequest"]["podSetGroupName"] == "a"


def test_copies_that_are_each_cut_at_their_own_level_become_slices_once() -> None:
    doc = gang({**LEAF, "replicas": 2, "count": 2, "replicaKey": INDEX, "topology": {"required": "host"},
                "slices": [{"level": "host", "size": 2}]})  # fmt: skip
    (request,) = requests(list(converted(doc, "kueue").documents))
    assert [(one.level, one.size) for one in next(request.root.pod_sets()).slices] == [(4, 2)]


def test_copies_that_each_need_a_domain_become_slices_in_kueue() -> None:
    """And the levels around all of them are those of the pod set."""
    doc = gang(
        {
            "name": "decode", "replicas": 3, "replicaKey": "metadata.labels['i']", "count": 4, "template": template(),
            "topology": {"required": "rack"}, "slices": [{"level": "host", "size": 2}], "rank": {"fieldPath": INDEX},
        },
        topology={"required": "block"},
    )  # fmt: skip
    done = converted(doc, "kueue")
    assert lost(done) == []
    (one,) = done.documents[0]["spec"]["podSets"]
    assert (one["count"], one["topologyRequest"]) == (
        12,
        {
            "required": "topology/block",
            "podsetSliceRequiredTopologyConstraints": [
                {"topology": "topology/rack", "size": 4}, {"topology": "kubernetes.io/hostname", "size": 2},
            ],
            "podIndexLabel": "batch.kubernetes.io/job-completion-index",
            "subGroupIndexLabel": "i",
            "subGroupCount": 3,
        },
    )  # fmt: skip
    (request,) = requests(list(done.documents))
    assert [(one.level, one.size) for one in next(request.root.pod_sets()).slices] == [(3, 4), (4, 2)]


def test_groups_that_start_on_their_own_become_workloads_of_their_own_in_kueue() -> None:
    doc = gang(
        {"name": "a", "count": 1, "template": template()},
        {"name": "b", "count": 2, "replicas": 2, "template": template()},
        policy="Basic",
    )  # fmt: skip
    done = converted(doc, "kueue")
    assert [one["metadata"]["name"] for one in done.documents] == ["llm-a", "llm-b-0", "llm-b-1"]
    assert lost(done) == []


LEAF: Doc = {"name": "a", "count": 2, "template": template()}
OTHER: Doc = {"name": "b", "count": 2, "template": template()}
THIRD: Doc = {"name": "c", "count": 2, "template": template()}
INSIDE = tuple({**one, "parent": "w"} for one in (OTHER, THIRD))
BLOCK: Doc = {"topology": {"required": "block"}}
RACK: Doc = {"topology": {"required": "rack"}}
SPREAD: Doc = {"spread": {"level": "host", "maxPerDomain": 1}}
TIMES = ("scheduleTimeoutSeconds", "readyTimeoutSeconds", "recoveryTimeoutSeconds", "expectedDurationSeconds")
CONTROLLER: Doc = {"controllerRef": {"kind": "Job", "name": "x"}}


def classes(*counts: int) -> Doc:
    return {"podClasses": [{"name": f"c{i}", "count": one, "template": template()} for i, one in enumerate(counts)]}


KUEUE_LOSSES = {
    "nesting": gang({"name": "w", **BLOCK}, {**LEAF, "parent": "w", **RACK}),
    "topology around several groups": gang(LEAF, OTHER, topology={"required": "rack"}),
    "required and preferred together": gang({**LEAF, "topology": {"required": "block", "preferred": "rack"}}),
    "spread": gang({**LEAF, "topology": SPREAD}),
    "rank.order Stripe": gang({**LEAF, "rank": {"fieldPath": INDEX, "order": "Stripe", "across": "host"}}),
    "rank.order Balance": gang({**LEAF, "rank": {"fieldPath": INDEX, "order": "Balance", "across": "host"}}),
    "rank without a label that holds it": gang({**LEAF, "rank": {}}),
    "rank.withSameRankOf": gang({**LEAF, "rank": {"fieldPath": INDEX, "withSameRankOf": "b", "level": "host"}}, OTHER),
    "minGroups": gang(LEAF, OTHER, minGroups=1),
    "policy": gang(LEAF, {"name": "w", "policy": "Basic"}, {**OTHER, "parent": "w"}),
    "maxCount": gang({**LEAF, "maxCount": 4}),
    "podClasses": gang({"name": "a", **classes(2, 3)}),
    "minCount of a second pod set": gang({**LEAF, "minCount": 1}, {**OTHER, "minCount": 1}),
    "minCount of each copy": gang({**LEAF, "minCount": 1, "replicas": 2}),
    "preferred for each copy": gang({**LEAF, "replicas": 2, "topology": {"preferred": "rack"}}),
    "spread for each copy": gang({**LEAF, "replicas": 2, "topology": SPREAD}),
    "replicaKey without replicas": gang({**LEAF, "replicaKey": INDEX}, OTHER, policy="Basic"),
    "more than 8 pod sets": gang(*({**LEAF, "name": f"g{i}"} for i in range(9))),
    "more than 3 layers of slices": gang(
        {**LEAF, "count": 8, "slices": [{"level": one, "size": 8 >> i} for i, one in enumerate(NAMES)]}
    ),
    "pods without containers": gang({"name": "a", "count": 2}),
    "topologyName": gang(LEAF, topologyName="cluster-topology"),
    "onFailure": gang(LEAF, onFailure="RestartGang"),
    "disruption": gang(LEAF, disruption="Gang"),
    "preemptible": gang(LEAF, preemptible=False),
    "enforcement": gang(LEAF, enforcement="Gate"),
    "controllerRef": gang(LEAF, **CONTROLLER),
    **{name: gang(LEAF, **{name: 60}) for name in TIMES},
}  # fmt: skip


@pytest.mark.parametrize("field", KUEUE_LOSSES)
def test_what_kueue_cannot_say_is_named(field: str) -> None:
    assert fields(KUEUE_LOSSES[field], "kueue") == [field]


def test_levels_longer_than_kueue_takes_them_are_named() -> None:
    long = "topology/" + "x" * 60
    doc = gang({**LEAF, "topology": {"required": long}})
    assert [one.partition(":")[0] for one in lost(convert([doc], "kueue"))] == ["levels of more than 63 characters"]


# -- KAI ---------------------------------------------------------------------------------------------------------


def test_a_nested_gang_becomes_kais_subgroups_with_their_constraints() -> None:
    # KA-059
    doc = gang(
        {"name": "api", "count": 1, "template": template()},
        {"name": "workers", "topology": {"required": "block"}, "minGroups": 2},
        {"name": "prefill", "parent": "workers", "count": 4, "minCount": 3, "template": template()},
        {"name": "decode", "parent": "workers", "replicas": 2, "count": 2, "topology": {"preferred": "rack"}},
        topology={"required": "zone", "preferred": "block"}, queue="test", priorityClassName="high",
        recoveryTimeoutSeconds=90,
    )  # fmt: skip

    def constraint(**levels: str) -> Doc:
        named = {f"{key}TopologyLevel": f"topology/{level}" for key, level in levels.items()}
        return {"topologyConstraint": {"topology": "cluster-topology", **named}}

    assert document(doc, "kai") == {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "llm", "namespace": "serving"},
        "spec": {
            "queue": "test", "priorityClassName": "high", "preemptibility": "preemptible",
            "stalenessGracePeriod": "90s", **constraint(required="zone", preferred="block"),
            "subGroups": [
                {"name": "api", "minMember": 1},
                {"name": "workers", "minSubGroup": 2, **constraint(required="block")},
                {"name": "prefill", "parent": "workers", "minMember": 3},
                {"name": "decode-0", "parent": "workers", "minMember": 2, **constraint(preferred="rack")},
                {"name": "decode-1", "parent": "workers", "minMember": 2, **constraint(preferred="rack")},
            ],
        },
    }  # fmt: skip
    assert lost(converted(doc, "kai")) == []


def test_subgroups_that_start_on_their_own_are_not_waited_for_in_kai() -> None:
    doc = gang(LEAF, OTHER, policy="Basic")
    done = converted(doc, "kai")
    assert done.documents[0]["spec"]["minSubGroup"] == 0
    assert asked(requests(with_pods(done.documents, requests([doc]), "kai")), "kai") == asked(requests([doc]), "kai")


@pytest.mark.parametrize("policy", ["Gang", "Basic"])
def test_a_group_with_nobody_beside_it_waits_for_one_of_its_members(policy: str) -> None:
    doc = gang({"name": "w", "policy": "Basic"}, *INSIDE, policy=policy)
    assert document(doc, "kai")["spec"]["subGroups"][0] == {"name": "w", "minSubGroup": 1}


def test_annotations_of_a_job_are_the_fields_of_kais_podgroup() -> None:
    # KA-059
    notes = {
        "kai.scheduler/topology": "cluster-topology", "kai.scheduler/topology-required-placement": "block",
        "kai.scheduler/topology-preferred-placement": "rack",
    }  # fmt: skip
    doc = job(notes, completionMode="Indexed")
    doc["metadata"]["labels"] = {"kai.scheduler/queue": "team"}
    spec = document(doc, "kai")["spec"]
    assert (spec["queue"], spec["minMember"]) == ("team", 4)
    assert spec["topologyConstraint"] == {
        "topology": "cluster-topology", "requiredTopologyLevel": "topology/block",
        "preferredTopologyLevel": "topology/rack",
    }  # fmt: skip


def test_the_word_on_templates_says_how_pods_are_linked() -> None:
    alone = converted(gang(LEAF), "kai").warnings
    assert [str(one) for one in alone] == [
        "serving/llm: KAI cannot say template: pods carry theirs, with annotation pod-group-name: llm"
    ]
    (several,) = converted(gang(LEAF, OTHER), "kai").warnings
    assert several.message.endswith("pod-group-name: llm and with label kai.scheduler/subgroup-name: SUBGROUP")


KAI_LOSSES = {
    "slices": gang({**LEAF, "slices": [{"level": "host", "size": 2}]}),
    "rank": gang({**LEAF, "rank": {}}),
    "maxCount": gang({**LEAF, "maxCount": 4}),
    "spread": gang({**LEAF, "topology": SPREAD}),
    "suspend": gang(LEAF, suspend=True),
    "onFailure": gang(LEAF, onFailure="RestartGang"),
    "disruption": gang(LEAF, disruption="Gang"),
    "enforcement": gang(LEAF, enforcement="Gate"),
    "controllerRef": gang(LEAF, **CONTROLLER),
    "replicaKey without replicas": gang({**LEAF, "replicaKey": INDEX}, OTHER, policy="Basic"),
    **{name: gang(LEAF, **{name: 60}) for name in TIMES if name != "recoveryTimeoutSeconds"},
}  # fmt: skip


@pytest.mark.parametrize("field", KAI_LOSSES)
def test_what_kai_cannot_say_is_named(field: str) -> None:
    assert fields(KAI_LOSSES[field], "kai") == [field]


def test_kai_wants_the_name_of_a_topology_beside_a_level() -> None:
    done = convert([gang({**LEAF, "topology": {"required": "rack"}})], "kai")
    assert [one.partition(":")[0] for one in lost(done)] == ["levels without a topology"]


def test_a_priority_number_is_lost_in_kai_and_kept_in_kueue_and_in_a_podgroup() -> None:
    pods = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": manifests.pod_spec(priority=7)}
    assert fields(pods, "kai") == ["priority"]
    assert document(pods, "kueue")["spec"]["priority"] == document(pods, "podgroup")["spec"]["priority"] == 7


# -- the designs' Workload ---------------------------------------------------------------------------------------


def test_a_gang_becomes_one_gang_group_with_ranked_groups() -> None:
    rank = {"fieldPath": INDEX, "order": "Stripe", "across": "host"}
    doc = gang(
        {**LEAF, "rank": rank, "topology": {"required": "rack"}}, {"name": "b", **classes(1, 3), "minCount": 2},
        scheduleTimeoutSeconds=60, onFailure="RestartGang", disruption="Group", topology={"required": "block"},
        **CONTROLLER,
    )  # fmt: skip
    assert lost(converted(doc, "workload")) == []
    assert document(doc, "workload") == {
        "apiVersion": "scheduling/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "llm", "namespace": "serving"},
        "spec": {
            **CONTROLLER,
            "replicaMode": "Unreplicated",
            "replicaDisruptionPolicy": "Replica",
            "gangGroups": [
                {
                    "name": "llm",
                    "topologyRequest": {"required": "topology/block"},
                    "rankedGroups": [
                        {
                            "name": "a",
                            "podRank": {"valueFrom": {"fieldRef": {"fieldPath": INDEX}}},
                            "rankPlacement": {"order": "Stripe", "across": "kubernetes.io/hostname"},
                            "topologyRequest": {"required": "topology/rack"},
                            "eqGroups": [{"name": "a", "count": 2, "template": template()}],
                        },
                        {
                            "name": "b",
                            "rankMode": "Off",
                            "minCount": 2,
                            "eqGroups": [
                                {"name": "c0", "count": 1, "template": template()},
                                {"name": "c1", "count": 3, "template": template()},
                            ],
                        },
                    ],
                    "scheduleTimeoutSeconds": 60,
                    "reschedulingPolicy": "TerminateAll",
                }
            ],
        },
    }


def test_copies_that_start_on_their_own_are_replicated_gangs() -> None:
    # W-220: without replicas the number is open
    key = "metadata.labels['phalanx.dev/replica']"
    counted = document(gang({**LEAF, "replicas": 2, "replicaKey": key}, policy="Basic"), "workload")["spec"]
    assert (counted["replicaMode"], counted["gangGroups"][0]["replicas"]) == ("ReplicatedGangs", 2)
    keyed = document(gang({**LEAF, "replicaKey": key}, policy="Basic"), "workload")["spec"]
    assert keyed["replicaMode"] == "ReplicatedGangs" and "replicas" not in keyed["gangGroups"][0]


def test_groups_inside_a_group_of_a_gang_become_eq_groups_with_levels() -> None:
    doc = gang(
        LEAF, {"name": "w", "topology": {"required": "block"}},
        {**OTHER, "parent": "w", "topology": {"required": "rack"}}, {**THIRD, "parent": "w"},
    )  # fmt: skip
    done = converted(doc, "workload")
    assert lost(done) == []
    assert asked(requests(list(done.documents)), "workload") == asked(requests([doc]), "workload")


@pytest.mark.parametrize("groups", [(LEAF,), (LEAF, OTHER)])
def test_a_spread_of_the_whole_stands_at_the_workload_with_the_levels_beside_it(groups: tuple[Doc, ...]) -> None:
    # W-208
    doc = gang(*groups, topology={"required": "rack", **SPREAD})
    done = converted(doc, "workload")
    assert lost(done) == []
    spec = done.documents[0]["spec"]
    assert spec["topologyRequest"] == {"required": "topology/rack"}
    assert spec["topologySpread"] == {"level": "kubernetes.io/hostname", "maxPerDomain": 1}
    assert asked(requests(list(done.documents)), "workload") == asked(requests([doc]), "workload")


def test_pods_that_start_as_they_fit_have_gang_mode_off() -> None:
    # X-11
    (group,) = document(gang({**LEAF, "minCount": 1}), "workload")["spec"]["gangGroups"]
    assert group["gangMode"] == "Off" and "minCount" not in group


def test_what_the_designs_have_no_field_for_our_keys_say() -> None:
    doc = gang(LEAF, queue="research", topologyName="cluster-topology")
    for to in ("workload", "podgroup"):
        done = converted(doc, to)
        assert [one.partition(":")[0] for one in lost(done)] == ["queue", "topologyName"]
        metadata = done.documents[0]["metadata"]
        assert metadata["labels"] == {"phalanx.dev/queue": "research"}
        assert metadata["annotations"] == {"phalanx.dev/topology-name": "cluster-topology"}


WORKLOAD_LOSSES = {
    "slices": gang({**LEAF, "slices": [{"level": "host", "size": 2}]}),
    "spread below the top": gang({**LEAF, "topology": SPREAD}),
    "minGroups": gang(LEAF, OTHER, minGroups=1),
    "rank without fieldPath": gang({**LEAF, "rank": {}}),
    "replicaKey": gang({**LEAF, "replicas": 2, "replicaKey": INDEX}, policy="Basic"),
    "replicaKey without replicas below the top": gang(
        {"name": "w", "policy": "Basic"}, *({**one, "parent": "w", "minCount": 1} for one in (LEAF, OTHER)),
        {**THIRD, "parent": "w", "replicaKey": INDEX, "minCount": 1}, policy="Basic",
    ),
    "policy Basic over gangs": gang(LEAF, {"name": "w", "policy": "Basic"}, *INSIDE, policy="Basic"),
    "copies of a group with policy Basic": gang(
        {"name": "w", "policy": "Basic", "replicas": 2}, *INSIDE, policy="Basic",
    ),
    "a group around a single one": gang(LEAF, {"name": "w"}, {**OTHER, "parent": "w"}, policy="Basic"),
    "groups inside a ranked group": gang(LEAF, {"name": "w", "topology": {"required": "rack"}}, *INSIDE),
    "nesting of more than three levels": gang(
        LEAF, {"name": "w"}, {"name": "x", "parent": "w"}, {**OTHER, "parent": "x", "topology": {"required": "rack"}},
        {**THIRD, "parent": "w"},
    ),
    "podClasses below a ranked group": gang(
        LEAF, {"name": "w"}, {"name": "b", "parent": "w", **RACK, **classes(1, 2)}, {**THIRD, "parent": "w"},
    ),
    "the name 'Big.One'": gang({**LEAF, "name": "Big.One"}, OTHER),
    "priorityClassName": gang(LEAF, priorityClassName="high"),
    "preemptible": gang(LEAF, preemptible=False),
    "suspend": gang(LEAF, suspend=True),
    "enforcement": gang(LEAF, enforcement="Gate"),
    **{name: gang(LEAF, **{name: 60}) for name in TIMES if name != "scheduleTimeoutSeconds"},
}  # fmt: skip


@pytest.mark.parametrize("field", WORKLOAD_LOSSES)
def test_what_the_designs_workload_cannot_say_is_named(field: str) -> None:
    assert list(dict.fromkeys(fields(WORKLOAD_LOSSES[field], "workload"))) == [field]


# -- PodGroups of Kubernetes -------------------------------------------------------------------------------------


def test_a_single_group_is_one_podgroup() -> None:
    doc = gang({**LEAF, "topology": {"required": "rack"}}, priorityClassName="high", disruption="Gang")
    assert document(doc, "podgroup") == {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "llm", "namespace": "serving"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "schedulingConstraints": {"topology": [{"key": "topology/rack"}]},
            "disruptionMode": {"all": {}},
            "priorityClassName": "high",
        },
    }


def test_a_tree_is_a_composite_with_the_workload_it_is_made_from() -> None:
    doc = gang(LEAF, {"name": "w", "minGroups": 1}, *INSIDE, **CONTROLLER)
    workload, root, first, inner, *others = converted(doc, "podgroup").documents
    assert (workload["kind"], workload["metadata"]["name"]) == ("Workload", "w-llm")
    assert workload["spec"]["controllerRef"] == CONTROLLER["controllerRef"]
    (top,) = workload["spec"]["compositePodGroupTemplates"]
    assert [one["name"] for one in top["podGroupTemplates"]] == ["a"]
    assert [one["name"] for one in top["compositePodGroupTemplates"][0]["podGroupTemplates"]] == ["b", "c"]
    assert (root["apiVersion"], root["kind"]) == ("scheduling.k8s.io/v1alpha3", "CompositePodGroup")
    assert root["spec"]["schedulingPolicy"] == {"gang": {"minGroupCount": 2}}
    assert first["spec"]["parentCompositePodGroupName"] == "llm"
    assert first["spec"]["workloadRef"] == {"workloadName": "w-llm", "templateName": "a"}
    assert inner["spec"]["schedulingPolicy"] == {"gang": {"minGroupCount": 1}}
    assert [one["metadata"]["name"] for one in others] == ["llm-b", "llm-c"]


def test_pods_that_start_as_they_fit_are_a_basic_podgroup() -> None:
    assert document(gang({**LEAF, "minCount": 1}), "podgroup")["spec"]["schedulingPolicy"] == {"basic": {}}


def deep(levels: int) -> Doc:
    inner = [{"name": f"w{i}", **({"parent": f"w{i - 1}"} if i else {})} for i in range(levels)]
    return gang(LEAF, *inner, {**OTHER, "parent": f"w{levels - 1}"}, {**THIRD, "parent": f"w{levels - 1}"})


PODGROUP_LOSSES = {
    "preferred": gang({**LEAF, "topology": {"preferred": "rack"}}),
    "spread": gang({**LEAF, "topology": SPREAD}),
    "slices": gang({**LEAF, "slices": [{"level": "host", "size": 2}]}),
    "rank": gang({**LEAF, "rank": {}}),
    "maxCount": gang({**LEAF, "maxCount": 4}),
    "controllerRef": gang(LEAF, **CONTROLLER),
    "preemptible": gang(LEAF, preemptible=False),
    "suspend": gang(LEAF, suspend=True),
    "onFailure": gang(LEAF, onFailure="RestartGang"),
    "enforcement": gang(LEAF, enforcement="Gate"),
    "replicaKey without replicas": gang({**LEAF, "replicaKey": INDEX}, OTHER, policy="Basic"),
    "more than 8 groups in one": gang(*({**LEAF, "name": f"g{i}"} for i in range(9))),
    "more than 4 levels": deep(3),
    "the name 'Big.One'": gang({**LEAF, "name": "Big.One"}, OTHER),
    **{name: gang(LEAF, **{name: 60}) for name in TIMES},
}  # fmt: skip


@pytest.mark.parametrize("field", PODGROUP_LOSSES)
def test_what_a_podgroup_cannot_say_is_named(field: str) -> None:
    assert fields(PODGROUP_LOSSES[field], "podgroup") == [field]


# -- what cannot be converted ------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", WRITERS)
def test_an_invalid_workload_is_reported_and_the_others_are_converted(to: str) -> None:
    bad = gang({"name": "a", "count": -1}, name="bad")
    done = convert([TOPOLOGY, bad, gang(LEAF)], to)
    assert [one.path for one in done.problems] == ["Gang serving/bad: spec.podGroups[0].count"]
    assert [one["metadata"]["name"] for one in done.documents] == ["llm"]


def test_documents_that_are_passed_over_are_named() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    assert [one.path for one in convert([service, gang(LEAF)], "gang").warnings] == ["Service/s"]


def test_two_documents_of_one_name_are_told() -> None:
    twins = [gang({**LEAF, "name": "b"}, {**OTHER, "name": "c"}, policy="Basic", name="a"), gang(LEAF, name="a-b")]
    assert [one.path for one in convert(twins, "kueue").warnings] == ["serving/a-b"]


def _endless() -> Doc:
    """A small document that is large to whoever walks through it: ten lists of ten of ten ..."""
    value: Any = "x"
    for _ in range(12):
        value = [value] * 10
    return gang({**LEAF, "template": {"spec": {**manifests.pod_spec(), "hostAliases": value}}})


def _bottomless() -> Doc:
    value: Any = "x"
    for _ in range(5000):
        value = [value]
    return gang({**LEAF, "template": {"spec": {**manifests.pod_spec(), "hostAliases": value}}})


@pytest.mark.parametrize("make", [_endless, _bottomless])
@pytest.mark.parametrize("to", WRITERS)
def test_documents_that_look_endless_are_a_problem(to: str, make: Any) -> None:
    done = convert([make()], to)
    assert done.documents == ()
    assert ["too large to write" in one.message for one in done.problems] == [True]


def test_copies_that_make_a_workload_endless_are_a_problem() -> None:
    large = template(hostAliases=[{"ip": str(i)} for i in range(1000)])
    doc = gang({"name": "a", "count": 1, "replicas": 9000, "template": large}, policy="Basic")
    (problem,) = convert([doc], "kueue").problems
    assert isinstance(problem, Problem) and "too large to write" in problem.message
    assert convert([doc], "gang").problems == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("to", WRITERS)
@settings(max_examples=60, deadline=None)
@given(value=JSON, key=st.sampled_from(["count", "template", "rank", "topology", "replicas", "podClasses", "slices"]))
def test_no_document_makes_the_writer_raise(to: str, value: Any, key: str) -> None:
    done = convert([TOPOLOGY, gang({**LEAF, key: value})], to)
    assert done.documents or done.problems


def test_what_was_read_with_a_remark_is_told_with_its_workload() -> None:
    doc = {**job(), "metadata": {"name": "train", "labels": {"phalanx.io/queue": "a"}}}
    (remark,) = convert([doc], "gang").remarks
    assert str(remark) == (
        "default/train: metadata.labels['phalanx.io/queue']: is not read; did you mean phalanx.dev/queue?"
    )


# -- domains of their own ----------------------------------------------------------------------------------------

RACKS = [
    topology("example.com/rack"),
    *(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": {"example.com/rack": f"r{i}"}},
         "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}}}
        for i in range(2)
    ),
]  # fmt: skip


def alone(name: str, replicas: int, **spec: Any) -> Doc:
    """A JobSet whose Jobs want a rack of their own each."""
    pods = {"metadata": {"labels": {"app": name}}, "spec": {**manifests.pod_spec(), **spec}}
    job_spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": pods}
    metadata = {"name": name, "annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "example.com/rack"}}
    jobs = [{"name": "w", "replicas": replicas, "template": {"spec": job_spec}}]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata,
        "spec": {"replicatedJobs": jobs},
    }


def statuses(docs: list[Any]) -> list[str]:
    return [one.status for one in Cluster.from_manifests(RACKS).place([*RACKS, *docs])]


@pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (2, 1), (2,), (3,)])
def test_jobs_that_want_domains_of_their_own_have_them_as_a_gang_too(sizes: tuple[int, ...]) -> None:
    docs = [alone(f"set-{i}", size) for i, size in enumerate(sizes)]
    done = convert([*RACKS, *docs], "gang")
    assert statuses(list(done.documents)) == statuses(docs)
    assert any("exclusive-topology" in one.path for one in done.remarks)


def test_rules_that_a_template_has_already_stay_beside_those_that_are_added() -> None:
    own = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "other"}}}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"nodeAffinity": {}, "podAntiAffinity": {key: [own]}}
    (doc,) = convert([*RACKS, alone("a", 1, affinity=affinity)], "gang").documents
    (group,) = [one for one in doc["spec"]["podGroups"] if "template" in one]
    found = group["template"]["spec"]["affinity"]
    assert found["podAntiAffinity"][key][0] == own and len(found["podAntiAffinity"][key]) == 3


@pytest.mark.parametrize(("to", "told"), [("kai", True), ("podgroup", True), ("gang", False), ("kueue", False)])
def test_a_dialect_without_templates_says_that_others_are_not_kept_out(to: str, told: bool) -> None:
    said = [one.message for one in convert([*RACKS, alone("a", 1)], to).warnings]
    assert told == any("exclusive-topology is no field of this dialect" in one for one in said)
    assert not any("exclusive-topology" in one for one in (str(w) for w in convert([job()], to).warnings))


def test_replicas_of_a_leaderworkerset_are_kept_from_other_sets_and_that_is_said() -> None:
    metadata = {"name": "l", "annotations": {"leaderworkerset.sigs.k8s.io/exclusive-topology": "example.com/rack"}}
    body = {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template()}}
    doc = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": metadata, "spec": body}
    done = convert([*RACKS, doc], "gang")
    assert any("other sets are kept out, replicas of its own are not" in one.message for one in done.warnings)
    (made,) = done.documents
    assert "podAntiAffinity" in made["spec"]["podGroups"][0]["template"]["spec"]["affinity"]
