"""What a Gang says about itself: how far it is, why it waits, where its pods are."""

from typing import Annotated, Literal

from msgspec import Meta

from phalanx.kube.crds.models.base import ATOMIC, Amount, Model, keyed, says
from phalanx.kube.crds.models.conditions import Conditions
from phalanx.model.topology import LEVELS_MAX

GROUPS_SHOWN = 1024
DOMAINS_SHOWN = 64  # of one group; `phalanx explain` shows all

CONDITION_TYPES = (
    "Valid", "Queued", "QuotaReserved", "PodsCreated", "Scheduled", "Ready", "Degraded", "Finished", "DisruptionTarget",
)  # fmt: skip

_CopyName = Annotated[str, Meta(min_length=1, max_length=253)]  # decode[1]
_Path = Annotated[tuple[Annotated[str, Meta(max_length=253)], ...], Meta(max_length=LEVELS_MAX + 1)]  # and the node


class GroupStatus(Model, frozen=True):
    """How far one group is."""

    name: Annotated[_CopyName, says("The group; copies made by replicas carry their key: decode[1].")]
    wanted: Annotated[Amount, says("Pods wanted.")]
    seen: Annotated[Amount, says("Pods that exist.")]
    reserved: Annotated[Amount, says("Pods with a place that is held for them.")]
    bound: Annotated[Amount, says("Pods with a node.")]
    ready: Annotated[Amount, says("Pods that are ready.")]
    domain: Annotated[
        _Path, says("The narrowest domain that holds the whole group, widest level first.", **ATOMIC)
    ] = ()


class DomainCount(Model, frozen=True):
    """Pods in one domain."""

    domain: Annotated[_Path, says("The domain, widest level first.", **ATOMIC)]
    pods: Annotated[Amount, says("Pods of the group in it.")]


class GroupPlacement(Model, frozen=True):
    """Where the pods of one group are."""

    name: Annotated[_CopyName, says("The group.")]
    domains: Annotated[
        tuple[DomainCount, ...], Meta(max_length=DOMAINS_SHOWN), says("The domains with most pods.", **ATOMIC)
    ] = ()
    more: Annotated[Amount | None, says("Domains that are not listed; phalanx explain shows them.")] = None


class Placement(Model, frozen=True):
    """Where the pods are, as far as there is room to say."""

    level: Annotated[
        Annotated[str, Meta(max_length=317)] | None, says("The level of the domains: the narrowest above the node.")
    ] = None
    groups: Annotated[
        tuple[GroupPlacement, ...], Meta(max_length=GROUPS_SHOWN), says("The groups.", **keyed("name"))
    ] = ()
    more: Annotated[Amount | None, says("Groups that are not listed; phalanx explain shows them.")] = None


class GangStatus(Model, frozen=True):
    """How far the gang is, and why it waits."""

    observed_generation: Annotated[
        int | None, says("The generation of the gang that this was seen on.", format="int64")
    ] = None
    state: Annotated[
        Literal["Queued", "Reserved", "Binding", "Starting", "Running", "Degraded", "Evicting", "Finished", "Invalid"]
        | None,
        says("Where it is in its life."),
    ] = None
    pods: Annotated[Annotated[str, Meta(max_length=32)] | None, says("Pods with a node, of those wanted: 12/16.")] = (
        None
    )
    domain: Annotated[
        Annotated[str, Meta(max_length=2048)] | None, says("The narrowest domain that holds all of it: zone-1/block-2.")
    ] = None
    conditions: Annotated[
        Conditions,
        says(
            "Valid, Queued, QuotaReserved, PodsCreated, Scheduled, Ready, Degraded, Finished and DisruptionTarget; "
            "LevelBroken once a node of it left a level that it requires. The reason of Scheduled says why it waits.",
            **keyed("type"),
        ),
    ] = ()
    groups: Annotated[
        tuple[GroupStatus, ...], Meta(max_length=GROUPS_SHOWN), says("How far each group is.", **keyed("name"))
    ] = ()
    placement: Annotated[Placement | None, says("Where its pods are.")] = None
