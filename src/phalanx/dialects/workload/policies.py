"""What PodGroups, CompositePodGroups and their templates have in common: policy, topology, disruption, priority.

The rules are those of Kubernetes 1.37, where a wrong object is refused; here each is a Problem of its own.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from phalanx.dialects import members
from phalanx.dialects.clusterstate import is_label_key
from phalanx.dialects.fields import Field
from phalanx.dialects.neighbours import Member
from phalanx.dialects.workload.joining import Joined
from phalanx.model.request import Missing

FIELDS = (
    "schedulingPolicy", "schedulingConstraints", "resourceClaims", "disruptionMode", "priorityClassName", "priority",
    "preemptionPolicy",
)  # fmt: skip

_CLAIMS_MAX = 4
_PRIORITY_MAX = 1_000_000_000
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_CLAIM = ("resourceClaimName", "resourceClaimTemplateName")

Made = dict[str, object]


@dataclass(frozen=True, slots=True)
class Policy:
    """Whether the members start together, and how many must. ``least`` holds nothing for basic."""

    gang: bool
    least: Field


@dataclass(frozen=True, slots=True)
class Common:
    """The shared fields of a group or template, checked. ``near``: the required level, where one is asked for."""

    policy: Policy
    near: Made | None
    disruption: str | None  # Pod, or Group: all pods of the group go together


def read(at: Field, number: str) -> Common:
    """The shared fields at a spec or template. ``number``: minCount of pods, or minGroupCount of groups."""
    _check_claims(at.at("resourceClaims"))
    _check_priority(at)
    return Common(_policy(at.at("schedulingPolicy"), number), _near(at), _disruption(at.at("disruptionMode")))


def pods(name: str, policy: Policy, those: Sequence[Member], joined: Joined) -> tuple[Made, tuple[Missing, ...]]:
    """Counts and shapes of a group from its members; a basic one is content with one pod."""
    found = joined.shapes(those)
    least: object = policy.least if policy.gang else 1
    needed = members.amount(least, 1)
    return {**members.pods_of(found, needed), "minCount": least}, members.missing(name, found, needed)


# -- policy ------------------------------------------------------------------------------------------------------


def _policy(at: Field, number: str) -> Policy:
    if at.mapping():
        at.typos("basic", "gang")
    given = [name for name in ("basic", "gang") if at.at(name).present]
    if len(given) != 1:  # V5
        at.wrong(f"is exactly one of basic, gang; {' and '.join(given) or 'neither'} is given", ("basic", "gang"))
    for name in given:
        at.at(name).mapping()
    least = at.at("gang", number)
    if "gang" in given and not least.present:
        least.wrong(f"a gang needs {number}: how many must start together")
    return Policy("gang" in given, least.meaning(least.integer(None, low=1)))  # V6


# -- topology ----------------------------------------------------------------------------------------------------


def _near(at: Field) -> Made | None:
    """``topology`` of the normal form: at most one key, and it is required. (V7)"""
    constraints = at.at("schedulingConstraints")
    constraints.mapping()
    constraints.typos("topology")
    listed = constraints.at("topology").items(limit=1000)
    if len(listed) > 1:
        constraints.at("topology").wrong(f"has {len(listed)} entries; a group has at most one")
    keys = [_key(one) for one in listed]
    return {"required": keys[0]} if keys and keys[0].present else None


def _key(entry: Field) -> Field:
    entry.mapping()
    at = entry.at("key")
    if not at.present:
        at.wrong("a topology constraint needs the key of a node label")
    elif isinstance(at.value, str) and not is_label_key(at.value):
        at.mistaken("is not the key of a label")
        return at.meaning(None)
    return at


def _check_claims(at: Field) -> None:
    """Shared claims are not built; what is wrong with them is told all the same. (V8)"""
    listed = at.items(limit=1000)
    if listed:
        at.wrong("resource claims of a group (DRA) are not supported yet")
    if len(listed) > _CLAIMS_MAX:
        at.wrong(f"has {len(listed)} claims; a group has at most {_CLAIMS_MAX}")
    for one in listed:
        one.mapping()
        if sum(one.at(name).present for name in _CLAIM) != 1:
            one.wrong("a claim has exactly one of " + " and ".join(_CLAIM), _CLAIM)


# -- disruption and priority -------------------------------------------------------------------------------------


def _disruption(at: Field) -> str | None:
    if not at.mapping():
        return None
    given = [name for name in ("single", "all") if at.at(name).present]
    if len(given) != 1:
        at.wrong("is exactly one of single, all", ("single", "all"))
        return None
    return "Pod" if given == ["single"] else "Group"


def together(modes: Iterable[tuple[Field, str | None]]) -> str | None:
    """The disruption mode of groups that share one in the normal form."""
    said = [(at, mode) for at, mode in modes if mode is not None]
    if len({mode for _, mode in said}) > 1:
        said[0][0].warn("groups have one disruption mode together: all pods of a group go when one has to")
        return "Group"
    return said[0][1] if said else None


def _check_priority(at: Field) -> None:
    at.at("priority").integer(None, low=-(2**31), high=_PRIORITY_MAX)
    policy = at.at("preemptionPolicy").choice(None, "Never", "PreemptLowerPriority")
    if policy == "Never":
        at.at("preemptionPolicy").warn("preemptionPolicy is not used yet")


# -- names -------------------------------------------------------------------------------------------------------


def label(at: Field, what: str) -> str:
    """A DNS label; a Problem when it is none. (V4)"""
    name = at.name("")
    if not at.present:
        at.wrong(f"{what} is missing")
    elif name and _LABEL.fullmatch(name) is None:
        at.mistaken("is not a DNS label: at most 63 of a-z, 0-9 and -, no - at either end")
    return name
