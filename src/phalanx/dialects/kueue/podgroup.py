"""Kueue's groups of plain pods: there is no object, the pods name their group and say how many they are. (K-094)

::

    labels:      {kueue.x-k8s.io/pod-group-name: training, kueue.x-k8s.io/queue-name: research}
    annotations: {kueue.x-k8s.io/pod-group-total-count: "4", kueue.x-k8s.io/podset-required-topology: rack}

Pods of one size are one pod set, as Kueue's roles are; all of them start together.
"""

from phalanx.dialects import members, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.members import Shape
from phalanx.dialects.neighbours import Member
from phalanx.dialects.outline import Entry, Outline, Told
from phalanx.dialects.surroundings import Surroundings, identity

API_GROUP = "kueue.x-k8s.io"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
_ONLY = "main"


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a group of pods. ``doc`` holds no more than its name."""
    namespace, name = identity(doc)
    joining = around.neighbours.members(API_GROUP, "PodGroup", namespace, name)
    if not joining:
        return None
    pods = [Field.of(member.entry.get("template")) for member in joining]
    total = _total(doc, joining, pods)
    roles = members.shapes(joining, namespace, around)
    seen = sum(role.count for role in roles)
    first = pods[0].at("metadata")
    spec = {
        "queue": wishes.queue(first),
        "priorityClassName": pods[0].at("spec", "priorityClassName"),
        "topologyName": wishes.topology_name(first),
        "podGroups": _entries(roles, joining, max(total - seen, 0)),
    }
    known = [Told(_called(role, roles), 0, role.count, pool=_ONLY) for role in roles[:-1]]
    told = (*known, Told(_called(roles[-1], roles), total, seen, pool=_ONLY))
    return Outline("PodGroup", namespace, name, spec, told=told)


def _called(role: Shape, roles: list[Shape]) -> str:
    return role.name if len(roles) > 1 else _ONLY


def _total(doc: Field, joining: tuple[Member, ...], pods: list[Field]) -> int:
    """How many pods the group has: what its pods say, and they all say the same."""
    said = [wishes.number(pod.at("metadata", "annotations", TOTAL)).value for pod in pods]
    for member, number in zip(joining, said, strict=True):
        if number != said[0]:
            who = f"{member.owner.title} says {number} pods and {joining[0].owner.title} says {said[0]}"
            doc.wrong(f"{who}: {TOTAL} must agree")
    first = said[0]
    if not isinstance(first, int):
        doc.wrong(f"the pods of a group carry annotation {TOTAL}: how many they are")
    return first if isinstance(first, int) else 0


def _entries(roles: list[Shape], joining: tuple[Member, ...], more: int) -> list[Entry]:
    """A pod set for each role, with the wish of its first pod; those yet to come are like the last. Where a template
    tells of the pods its role goes by another name, and the first of all speaks for it."""
    by_name = {member.owner.name: member.entry for member in joining if member.is_pod}
    said = [by_name.get(role.name, joining[0].entry) for role in roles]
    return [
        {
            "name": _called(role, roles),
            "count": role.count + (more if role is roles[-1] else 0),
            **{key: entry[key] for key in ("topology", "slices") if key in entry},
            "template": role.template,
        }
        for role, entry in zip(roles, said, strict=True)
    ]
