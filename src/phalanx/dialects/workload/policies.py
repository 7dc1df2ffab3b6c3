"""What PodGroups, CompositePodGroups and their templates have in common: policy, topology, disruption, priority.

The rules are those of Kubernetes 1.37, where a wrong object is refused; here each is a Problem of its own.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from phalanx.dialects import members, scheduling
from phalanx.dialects.fields import Field
from phalanx.dialects.neighbours import Member
from phalanx.dialects.outline import Told
from phalanx.dialects.scheduling import Policy
from phalanx.dialects.workload.joining import Joined

FIELDS = (*scheduling.FIELDS, "priorityClassName", "priority", "preemptionPolicy")

_PRIORITY_MAX = 1_000_000_000
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)

Made = dict[str, object]


@dataclass(frozen=True, slots=True)
class Common:
    """The shared fields of a group or template, checked. ``near``: the required level, where one is asked for."""

    policy: Policy
    near: Made | None
    disruption: str | None  # Pod, or Group: all pods of the group go together


def read(at: Field, number: str) -> Common:
    """The shared fields at a spec or template. ``number``: minCount of pods, or minGroupCount of groups."""
    scheduling.check_claims(at.at("resourceClaims"))
    _check_priority(at)
    policy = _policy(at.at("schedulingPolicy"), number)
    near = scheduling.near(at.at("schedulingConstraints"))
    return Common(policy, near, scheduling.disruption(at.at("disruptionMode")))


def pods(name: str, policy: Policy, those: Sequence[Member], joined: Joined) -> tuple[Made, Told]:
    """Counts and shapes of a group from its members; a basic one is content with one pod."""
    found = joined.shapes(those)
    least: object = policy.least if policy.gang else 1
    needed = members.amount(least, 1)
    return {**members.pods_of(found, needed), "minCount": least}, members.told(name, found, needed)


def _policy(at: Field, number: str) -> Policy:
    """The policy, which a group must have; a gang says how many must start together."""
    found = scheduling.policy(at, number)
    if found.gang and not at.at("gang", number).present:
        at.at("gang", number).wrong(f"a gang needs {number}: how many must start together")
    return found


# -- disruption and priority -------------------------------------------------------------------------------------


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
