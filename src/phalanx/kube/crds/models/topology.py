"""Topology: the levels at which nodes are close to each other."""

from typing import Annotated

from msgspec import Meta

from phalanx.kube.crds.models.base import ATOMIC, LabelKey, Model, Name, says
from phalanx.kube.crds.models.conditions import Status
from phalanx.kube.crds.rules import Rule
from phalanx.model.topology import AUTO, HOSTNAME, LEVELS_MAX

_LEVELS = (
    Rule(
        "self == oldSelf",
        "levels cannot change after the topology is made; make another Topology and name that one",
        reason="FieldValueForbidden",
    ),
    Rule(
        "self.all(a, self.exists_one(b, b.nodeLabel == a.nodeLabel))",
        "each level has its own nodeLabel; one is listed twice",
    ),
    Rule(
        f"!self.exists(l, l.nodeLabel == '{HOSTNAME}') || self[self.size() - 1].nodeLabel == '{HOSTNAME}'",
        f"{HOSTNAME} is the node itself and can only be the last level",
    ),
    Rule(
        "self.all(a, !has(a.name) || (self.exists_one(b, has(b.name) && b.name == a.name)"
        " && !self.exists(b, b.nodeLabel == a.name && b.nodeLabel != a.nodeLabel)))",
        "names of levels are unique, and none is the nodeLabel of another level",
    ),
    Rule(
        f"self.all(l, !has(l.name) || (!(l.name in ['{AUTO}', 'cluster'])"
        f" && (l.name != 'host' || l.nodeLabel == '{HOSTNAME}')))",
        f"auto and cluster have a fixed meaning and cannot name a level; host names only {HOSTNAME}",
    ),
)


class Level(Model, frozen=True):
    """One level of the tree."""

    node_label: Annotated[LabelKey, says("Key of the node label whose value tells the domain a node is in.")]
    name: Annotated[Name | None, says("A short name for the level, such as rack.")] = None


class TopologySpec(Model, frozen=True):
    """The levels of the cluster."""

    levels: Annotated[
        tuple[Level, ...],
        Meta(min_length=1, max_length=LEVELS_MAX),
        says(
            "The levels, widest first. The node itself is always the last one, whether listed or not. They cannot "
            "change.",
            *_LEVELS,
            **ATOMIC,
        ),
    ]


class Topology(Model, frozen=True):
    """How the nodes of the cluster are nested: zones, blocks, racks, hosts. Gangs name its levels."""

    spec: Annotated[TopologySpec, says("The levels of the cluster.")]
    status: Annotated[Status | None, says("What Phalanx says about the topology.")] = None
