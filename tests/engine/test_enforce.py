"""What a pod is given with its place: labels that lead to its node alone, its domain, and what it must tolerate."""

from dataclasses import replace

import pytest

from phalanx.model.effects import Bind, Ungate
from phalanx.model.events import NodeSeen, QueuesSeen
from phalanx.model.nodes import Taint, Toleration
from phalanx.model.queues import Flavor, Queue, Queues, Quota
from phalanx.model.resources import NANO
from phalanx.model.rules import Rules
from phalanx.model.sketch import GPU
from phalanx.model.topology import HOSTNAME
from tests.engine.casting import RACK
from tests.engine.stage import Stage, gang

TAINT, H100 = Taint("gpu", "h100", "NoSchedule"), Toleration("gpu", "Equal", "h100", "NoSchedule")


def lifted(stage: Stage, required: int | None = None) -> Ungate:
    request = gang(count=1, required=required, rules=Rules(enforcement="Gate"))
    stage.submit(request, pods=0)
    stage.pod(request, 0, gated=True)
    (found,) = (effect for effect in stage.effects if isinstance(effect, Ungate))
    return found


def relabelled(stage: Stage, **labels: str | None) -> Stage:
    (node,) = stage.nodes.values()
    changed = {key: value for key, value in {**node.labels, **labels}.items() if value is not None}
    stage.step(NodeSeen(replace(node, labels=changed)))
    return stage


def test_an_ungated_pod_selects_all_levels_of_its_node_and_learns_its_domain() -> None:  # K-046, KA-004
    found = lifted(Stage("b1: r1=1"), RACK)
    assert dict(found.selector) == {HOSTNAME: "b1-r1-1", "topology/block": "b1", "topology/rack": "r1"}
    assert (found.node, found.domain) == ("b1-r1-1", "b1/r1")


def test_a_node_outside_the_topology_is_selected_by_what_it_has() -> None:
    stage = relabelled(Stage("b1: r1=1"), **{"topology/block": None, "topology/rack": None})
    found = lifted(stage)
    assert dict(found.selector) == {HOSTNAME: "b1-r1-1"}
    assert found.domain == ""


def test_a_node_whose_hostname_is_not_its_name_is_selected_by_its_hostname() -> None:
    found = lifted(relabelled(Stage("b1: r1=1"), **{HOSTNAME: "host-7.example"}))
    assert dict(found.selector)[HOSTNAME] == "host-7.example"
    assert found.node == "b1-r1-1"


@pytest.mark.parametrize("enforcement", ["Bind", "Gate"])
def test_pods_are_given_the_tolerations_of_their_flavor(enforcement: str) -> None:
    stage = Stage("b1: r1=1")
    (node,) = stage.nodes.values()
    flavor = Flavor("h100", tolerations=(H100,))
    stage.step(
        NodeSeen(replace(node, taints=(TAINT,))),
        QueuesSeen(Queues({"q": Queue("q", quotas=(Quota("h100", GPU, NANO),))}, {"h100": flavor})),
    )
    request = replace(gang(count=1, rules=Rules(enforcement=enforcement)), queue="q")
    stage.submit(request, pods=0)
    stage.pod(request, 0, gated=enforcement == "Gate")
    (found,) = (effect for effect in stage.effects if isinstance(effect, Bind | Ungate))
    assert found.tolerations == (H100,)
