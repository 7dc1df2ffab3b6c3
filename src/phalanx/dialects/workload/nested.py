"""The designs' Workload in one canonical form: Workload > gang group > ranked group > eq group.

Whatever was left out is there: Rev1 and the JobSet design write gang groups only, one example puts eq groups right
into a gang group (X-22). Every gang group then has ranked groups and every ranked group knows its eq groups, which
may be none::

    gangGroups:                      GangGroup(gg, gang, least 8,
    - {name: gg, minCount: 8}          (RankedGroup(gg, unranked, ()),))
"""

import re
from dataclasses import dataclass

from phalanx.dialects.fields import Field
from phalanx.dialects.workload import matrix
from phalanx.dialects.workload.requested import Wish, topology

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_PRODUCT = re.compile(r"\d{1,9}(\s*[xX*\u00d7]\s*\d{1,9}){1,5}", re.ASCII)
_OFF = ("Off", "GangModeOff", "Default", "Basic", "PodGroupPolicyKindDefault", "PodGroupPolicyKindBasic")
_ON = ("Gang", "GangModeGang", "PodGroupPolicyKindGang")  # the longer ones are names of constants
GROUPS_MAX = 1_000
MODES = ("Unreplicated", "ReplicatedPods", "ReplicatedGangs")


@dataclass(frozen=True, slots=True)
class Counts:
    """How many pods a level has. Fields that hold nothing where nothing is said; ``count`` is both bounds (X-42)."""

    count: Field
    least: Field
    most: Field


@dataclass(frozen=True, slots=True)
class EqGroup:
    """Equal pods. ``template``: the largest they are expected to grow to, where that is said (W-226)."""

    at: Field
    name: str
    counts: Counts
    near: Wish | None
    template: Field
    grows: bool


@dataclass(frozen=True, slots=True)
class RankedGroup:
    """Pods with one numbering (``rank``, as the normal form has it), or none."""

    at: Field
    name: str
    counts: Counts
    near: Wish | None
    rank: dict[str, object] | None
    equals: tuple[EqGroup, ...]


@dataclass(frozen=True, slots=True)
class GangGroup:
    """Pods that start together (``gang``) or as they fit."""

    at: Field
    name: str
    gang: bool
    counts: Counts
    replicas: Field
    near: Wish | None
    ranked: tuple[RankedGroup, ...]
    timeout: Field
    on_failure: Field


def read(spec: Field) -> tuple[GangGroup, ...]:
    """The gang groups of a Workload, with everything below them. ``podGroups`` is their other name (X-03)."""
    listed = [*spec.at("gangGroups").items(GROUPS_MAX), *spec.at("podGroups").items(GROUPS_MAX)]
    if spec.at("gangGroups").present and spec.at("podGroups").present:
        spec.at("podGroups").wrong("gangGroups and podGroups are two names of one list; give one")
    found = tuple(_gang_group(at) for at in listed)
    _check_names([(one.at, one.name) for one in found])
    return found


def mode(spec: Field) -> str | None:
    """``replicaMode``, also as the designs' prose spells it; None when nothing is said (X-42)."""
    written, prose = spec.at("replicaMode"), spec.at("replicationMode")
    if written.present and prose.present and written.value != prose.value:
        prose.wrong("is another name of replicaMode, which says something else; give one")
    chosen = written if written.present else prose
    by_lower = {one.lower(): one for one in MODES}
    text = chosen.value if isinstance(chosen.value, str) else ""
    return chosen.meaning(by_lower.get(text.lower(), chosen.value)).choice(None, *MODES)


def _gang_group(at: Field) -> GangGroup:
    _check_mapping(at)
    matrix.check(at, 1, "rankMode", "eqGroups")
    name = _name(at)
    gang, least = _policy(at)
    counts = Counts(number(at.at("count"), 1), least, number(at.at("maxCount"), 1))
    return GangGroup(
        at=at,
        name=name,
        gang=gang,
        counts=_checked(at, counts),
        replicas=number(at.at("replicas"), 1),
        near=topology(at.at("topologyRequest")),
        ranked=_ranked_groups(at, name),
        timeout=_timeout(at),
        on_failure=_on_failure(at.at("reschedulingPolicy")),
    )


# -- gang or not -------------------------------------------------------------------------------------------------


def _policy(at: Field) -> tuple[bool, Field]:
    """Whether its pods start together, and how many of them must; written in any of four ways. (X-11)

    ``minCount: 0`` (Rev1), ``gangMode: Off`` (RevN), ``policy.kind`` (the JobSet design), ``policy.basic``.
    """
    policy = at.at("policy")
    policy.mapping()
    policy.typos("kind", "gang", "basic")
    least = _one_of(number(at.at("minCount")), number(policy.at("gang", "minCount")))
    said = [_switch(at.at("gangMode")), _switch(policy.at("kind"))]
    said += [True] if policy.at("gang").present else []
    said += [False] if policy.at("basic").present else []
    given = {one for one in said if one is not None}
    if len(given) > 1:
        policy.wrong("says both that the pods are a gang and that they are none")
    gang = given.pop() if given else True
    return gang and least.value != 0, least


def _switch(at: Field) -> bool | None:
    mode = off_as_text(at)
    found = mode.choice(None, *_ON, *_OFF)
    return None if found is None else found in _ON


def off_as_text(at: Field) -> Field:
    """YAML reads an unquoted Off as false; here it is the word."""
    if at.value is False:
        at.warn('YAML reads Off without quotes as false; it is taken as "Off"')
        return at.meaning("Off")
    return at


def _one_of(one: Field, other: Field) -> Field:
    if one.present and other.present and one.value != other.value:
        other.mistaken("differs from minCount of the group; give one of them")
    return one if one.present else other


# -- ranked groups -----------------------------------------------------------------------------------------------


def _ranked_groups(at: Field, name: str) -> tuple[RankedGroup, ...]:
    """The ranked groups of a gang group; an unranked one is put between it and eq groups of its own (X-22)."""
    listed = at.at("rankedGroups").items(GROUPS_MAX)
    if at.at("rankedGroups").present and at.at("eqGroups").present:
        at.at("eqGroups").wrong("a gang group has rankedGroups; its eqGroups belong into one of them")
    if at.at("rankMode").present and off_as_text(at.at("rankMode")).value != "Off":
        at.at("rankMode").wrong("rankMode belongs to a ranked group, not to a gang group")
    if listed:
        found = tuple(_ranked_group(one) for one in listed)
        _check_names([(one.at, one.name) for one in found])
        return found
    if at.at("eqGroups").present:
        at.at("eqGroups").warn("eqGroups belong to a ranked group; an unranked one is put between")
    silent = Counts(at.meaning(None), at.meaning(None), at.meaning(None))
    return (RankedGroup(at, name, silent, None, None, _eq_groups(at)),)


def _ranked_group(at: Field) -> RankedGroup:
    _check_mapping(at)
    matrix.check(at, 2)
    return RankedGroup(
        at=at,
        name=_name(at),
        counts=counts(at),
        near=topology(at.at("topologyRequest")),
        rank=_rank(at),
        equals=_eq_groups(at),
    )


def _rank(at: Field) -> dict[str, object] | None:
    """``rank`` of the normal form: where a pod's number is read, and how neighbours sit. (W-173, W-199, W-200)"""
    mode = off_as_text(at.at("rankMode")).choice(None, "Off", "Ranked")
    source = at.at("podRank", "valueFrom", "fieldRef", "fieldPath")
    if mode == "Off":
        for name in ("podRank", "rankPlacement"):
            if at.at(name).present:
                at.at(name).wrong(f"rankMode Off says that the pods have no ranks, so {name} means nothing")
        return None
    if not source.present:
        where = at.at("podRank") if at.at("podRank").present else at
        note = where.wrong if mode or at.at("podRank").present or at.at("rankPlacement").present else where.warn
        note("podRank.valueFrom.fieldRef.fieldPath is missing, so the ranks of its pods are not known")
        return None
    placement = at.at("rankPlacement")
    placement.known("order", "across", "withSameRankOf", "level")
    return {"fieldPath": source, **dict(placement.entries())}


# -- eq groups ---------------------------------------------------------------------------------------------------


def _eq_groups(at: Field) -> tuple[EqGroup, ...]:
    listed = at.at("eqGroups").items(GROUPS_MAX)
    found = tuple(_eq_group(one) for one in listed)
    _check_names([(at, group.name) for at, group in zip(listed, found, strict=True)])
    return found


def _eq_group(at: Field) -> EqGroup:
    _check_mapping(at)
    matrix.check(at, 3)
    largest = at.at("maxTemplate")
    if largest.present:
        largest.warn("room is kept for the largest size the pods are expected to grow to")
    for template in (at.at("template"), largest):
        _check_template(template)
    chosen = largest if largest.present else at.at("template")
    return EqGroup(at, _name(at), counts(at), topology(at.at("topologyRequest")), chosen, largest.present)


def _check_template(at: Field) -> None:
    """The designs write templates in three shapes; one is read (X-42)."""
    at.mapping()
    for key in ("resources", "containers", "volumes", "nodeSelector", "tolerations", "affinity"):
        if at.at(key).present:
            place = "spec.containers[].resources" if key == "resources" else f"spec.{key}"
            at.at(key).wrong(f"a template is a partial pod template; write this as template.{place}")


# -- names and numbers -------------------------------------------------------------------------------------------


def _name(at: Field) -> str:
    """A DNS label (W-132)."""
    name = at.at("name").name("")
    if not at.at("name").present:
        at.at("name").wrong("a group needs a name")
    elif name and _LABEL.fullmatch(name) is None:
        at.at("name").mistaken("is not a DNS label: at most 63 of a-z, 0-9 and -, no - at either end")
    return name


def _check_mapping(at: Field) -> None:
    if not isinstance(at.value, dict):
        at.wrong("a group is a mapping of fields")


def _check_names(named: list[tuple[Field, str]]) -> None:
    seen: set[str] = set()
    for at, name in named:
        if name and name in seen:
            at.at("name").mistaken("names two groups; names are unique among siblings")
        seen.add(name)


def counts(at: Field) -> Counts:
    found = Counts(number(at.at("count"), 1), number(at.at("minCount")), number(at.at("maxCount"), 1))
    return _checked(at, found)


def _checked(at: Field, counts: Counts) -> Counts:
    """The counts, with a Problem where they contradict each other."""
    count, least, most = counts.count.value, counts.least.value, counts.most.value
    if isinstance(least, int) and isinstance(most, int) and most < least:
        at.at("maxCount").wrong(f"maxCount {most} is less than minCount {least}")
    if isinstance(count, int) and any(isinstance(one, int) and one != count for one in (least, most)):
        at.at("count").wrong(f"count {count} is both minCount and maxCount; leave those out or make them equal")
    return counts


def number(at: Field, low: int = 0) -> Field:
    """The field with a whole number in it, or with nothing and a Problem. A sum to do is answered with its result."""
    text = at.value
    if isinstance(text, str) and len(text) <= 80 and _PRODUCT.fullmatch(text.strip()):
        result = 1
        for factor in re.findall(r"\d+", text):
            result *= int(factor)
        at.mistaken(f"is not a whole number; write {result}")
        return at.meaning(None)
    return at.meaning(at.integer(None, low=low))


def _timeout(at: Field) -> Field:
    """``scheduleTimeoutSeconds``, also as the designs misspell it (X-32)."""
    spelt, misspelt = at.at("scheduleTimeoutSeconds"), at.at("schedulerTimeoutSeconds")
    if misspelt.present:
        misspelt.warn("is read as scheduleTimeoutSeconds", ("scheduleTimeoutSeconds",))
    return number(spelt if spelt.present else misspelt, 1)


def _on_failure(at: Field) -> Field:
    """``onFailure`` of the normal form (X-33)."""
    chosen = at.choice(None, "TerminateAll", "None", "ReplacePod", "RestartGang")
    return at.meaning("RestartGang" if chosen == "TerminateAll" else chosen)
