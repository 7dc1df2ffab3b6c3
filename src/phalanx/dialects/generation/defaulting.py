"""Values that a user's object leaves out: the workload that it names, or the cluster's policy, knows them."""

from collections.abc import Iterator, Mapping

from phalanx.dialects import parts
from phalanx.dialects.fields import Field
from phalanx.dialects.generation import made
from phalanx.dialects.generation.stacks import Pile, Top
from phalanx.dialects.generation.values import Default, Generation
from phalanx.dialects.owners import controller
from phalanx.model.objects import ObjectKey

WORKLOAD = ("scheduling.k8s.io", "Workload")
_NO_GANG = ("Off", "Basic", "Default", "PodGroupPolicyKindBasic", False)


def of(pile: Pile, usual: Mapping[str, object]) -> Generation:
    """Defaults for Gangs and Workloads that nobody generated. What is written there is never changed. (W-071, W-082)"""
    gangs = [(key, at) for key, at in pile.gatherers.items() if key.of_kind == made.GANG and not _is_controlled(at)]
    found = [one for key, at in gangs for one in _of_policy(key, at, usual)]
    for top in pile.tops:
        for key in pile.referring.get(top.key, ()):
            found += _of_workload(key, pile.gatherers[key], top) if key.of_kind in (made.GANG, WORKLOAD) else ()
    return Generation(defaults=tuple(found))


def _is_controlled(at: Field) -> bool:
    return controller(at.aside()) is not None


def _of_policy(key: ObjectKey, at: Field, usual: Mapping[str, object]) -> list[Default]:
    """What the cluster's policy says where a Gang says nothing. (W-080)"""
    spec = at.at("spec")
    return [Default(key, f"spec.{name}", one) for name, one in usual.items() if not spec.at(name).present]


def _of_workload(key: ObjectKey, at: Field, top: Top) -> Iterator[Default]:
    """``minCount`` of groups that do not say it, where the workload is a gang."""
    if top.outline is None or top.problems or not made.is_gang(top.outline):
        return
    leaves = {part.name: part.least for part in parts.of(top.outline).leaves()}
    for group in _groups(at):
        least = leaves.get(str(group.at("name").value))
        if least is None and len(leaves) == 1:
            least = next(iter(leaves.values()))
        place = _place(group)
        if least is not None and place is not None and _wanted(group) >= least:
            yield Default(key, place.path, least)


def _groups(at: Field) -> list[Field]:
    """The groups of pods of a Gang, or of the designs' Workload; where there are several, those without children."""
    listed = [group for name in ("podGroups", "gangGroups") for group in at.at("spec", name).aside().items()]
    parents = [group.at("parent").value for group in listed]
    return [group for group in listed if group.at("name").value not in parents and not group.at("podClasses").present]


def _place(group: Field) -> Field | None:
    """Where ``minCount`` would be written; None when it is, or when the group is no gang."""
    policy = group.at("policy")
    at = policy.at("gang", "minCount") if policy.present else group.at("minCount")
    off = policy.at("basic").present or any(one.value in _NO_GANG for one in (group.at("gangMode"), policy.at("kind")))
    return None if at.present or group.at("minCount").present or off else at


def _wanted(group: Field) -> float:
    """Pods that a group wants, where it says so."""
    return group.at("count").aside().integer(float("inf"))
