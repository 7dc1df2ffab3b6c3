"""Groups whose pods are known only from those who name them: pods, and workloads with a link in their template.

A user-made Gang, Workload or PodGroup often says no more than how many pods belong together; how large they are
stands in the pods themselves, or in the Job that makes them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from phalanx.dialects import podspec
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.neighbours import Member
from phalanx.dialects.outline import Entry, Told
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.problems import Problem

# Fields of a pod's spec that decide nothing about its place, or do so in its shape. Any other makes pods different.
_TOLD_APART_ELSEWHERE = frozenset({
    "affinity", "containers", "initContainers", "ephemeralContainers", "nodeName", "nodeSelector", "overhead",
    "priority", "priorityClassName", "preemptionPolicy", "tolerations", "topologySpreadConstraints", "volumes",
    "hostNetwork", "hostname", "subdomain", "restartPolicy", "serviceAccount", "serviceAccountName", "schedulerName",
    "schedulingGates", "schedulingGroup", "workload", "workloadRef", "terminationGracePeriodSeconds", "dnsPolicy",
    "dnsConfig", "securityContext", "imagePullSecrets", "automountServiceAccountToken", "enableServiceLinks",
    "activeDeadlineSeconds", "hostAliases", "readinessGates", "setHostnameAsFQDN", "shareProcessNamespace",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """Some equal pods of a group: how many, of which template, and the name of the first of them. ``of_pods``: pods
    themselves tell it, and no template of what makes them."""

    name: str
    count: int
    template: object
    of_pods: bool = False


@dataclass(frozen=True, slots=True)
class Assigned:
    """Members by the name of their group."""

    groups: Mapping[str, tuple[Member, ...]]

    def of(self, group: str) -> tuple[Member, ...]:
        return self.groups.get(group, ())


def assign(joining: Iterable[Member], groups: Sequence[str], notes: Notes, title: str, word: str = "group") -> Assigned:
    """Members sorted into the groups they name; a Problem for each that names none of them. (M-023, X-07, W-103)

    ``groups``: names of those that hold pods. A member that names no group is in the only one there is (W-108).
    ``title``: what the groups belong to, as in ``PodGroup sample2``; ``word``: what it calls them.
    """
    found: dict[str, list[Member]] = {name: [] for name in groups}
    for member in joining:
        named = member.group if member.group is not None or len(groups) != 1 else groups[0]
        if named is None:
            notes.problem(_lost(member, groups, f"names no {word} of {title}, which has several"))
        elif named not in found:
            notes.problem(_lost(member, groups, f"names {word} {named[:100]!r}; {title} has: {', '.join(groups)}"))
        else:
            found[named].append(member)
    return Assigned({name: tuple(those) for name, those in found.items()})


def _lost(member: Member, groups: Sequence[str], what: str) -> Problem:
    who = f"pod {member.owner.name}" if member.is_pod else member.owner.title
    return Problem(member.at.path, member.group, tuple(groups), f"{who} {what}", member.owner)


def shapes(joining: Sequence[Member], namespace: str, around: Surroundings) -> list[Shape]:
    """The members of one group as equal pods together, in order of first sight.

    Where a template is known the pods that exist are its work already and are not counted again.
    """
    found: dict[object, Shape] = {}
    for member in telling(joining):
        for one in _of(member):
            key = likeness(one.template, namespace, around)
            known = found.get(key)
            found[key] = one if known is None else replace(known, count=known.count + one.count)
    return _named_apart(list(found.values()))


def telling(joining: Sequence[Member]) -> Sequence[Member]:
    """Those who tell how many pods there are."""
    return [member for member in joining if not member.is_pod] or joining


def size(member: Member) -> int:
    """How many pods a member is."""
    return sum(one.count for one in _of(member))


def template(entry: Entry) -> object:
    """The template of an entry; several classes speak with the voice of the first."""
    classes = entry.get("podClasses")
    first = classes[0] if isinstance(classes, list) and classes else entry
    return first.get("template")


def per_copy(found: Sequence[Shape], number: int) -> list[Shape]:
    """The shapes of one of ``number`` copies; an uneven rest counts for each, and the pods it needs are awaited."""
    return [replace(one, count=-(-one.count // number)) for one in found]


def cut(found: Sequence[Shape], most: int) -> list[Shape]:
    """The first ``most`` pods of these shapes; those beyond are extra."""
    kept: list[Shape] = []
    for one in found:
        kept.extend([replace(one, count=min(one.count, most))] if most > 0 else [])
        most -= one.count
    return kept


def _of(member: Member) -> list[Shape]:
    return [_pod(member)] if member.is_pod else _of_entry(member.entry)


def _named_apart(found: list[Shape]) -> list[Shape]:
    """Two owners may call different pods the same; the second is then called ``worker.2``."""
    names = [shape.name for shape in found]
    again = [names[: i + 1].count(name) for i, name in enumerate(names)]
    return [replace(one, name=f"{one.name}.{n}") if n > 1 else one for one, n in zip(found, again, strict=True)]


def _pod(member: Member) -> Shape:
    """A pod that exists, without the node it may have: what is asked is where such a pod can be."""
    at = Field.of(member.entry.get("template"))
    spec = {key: one for key, one in at.at("spec").entries() if key != "nodeName"}
    return Shape(member.owner.name, 1, {"metadata": at.at("metadata"), "spec": spec}, of_pods=True)


def _of_entry(entry: Entry) -> list[Shape]:
    """The shapes of an entry of ``podGroups``, its copies counted together."""
    name, copies = str(value(entry.get("name")) or ""), amount(entry.get("replicas"), 1)
    classes = entry.get("podClasses")
    if not isinstance(classes, list):
        return [Shape(name, copies * amount(entry.get("count"), 1), entry.get("template"))]
    listed = [one for one in classes if isinstance(one, Mapping)]
    return [Shape(str(value(c.get("name"))), copies * amount(c.get("count"), 1), c.get("template")) for c in listed]


def likeness(template: object, namespace: str, around: Surroundings) -> object:
    """Equal for two pods that are equal to a scheduler: in all it looks at but their labels, and in every field that
    it does not know. (W-212, W-213, W-214)"""
    at = Field.of(template).aside()
    unknown = tuple((key, _text(one.value)) for key, one in at.at("spec").entries() if key not in _TOLD_APART_ELSEWHERE)
    return replace(podspec.read(at, namespace, around), labels=()), unknown


def _text(given: object) -> str:
    """A value as text, to be compared; one that is too deep to be written is like no other."""
    try:
        return json.dumps(given, sort_keys=True, default=repr)
    except (RecursionError, TypeError, ValueError):
        return f"#{id(given)}"


def pods_of(found: Sequence[Shape], least: int) -> dict[str, object]:
    """``count`` and ``template`` of one shape, ``podClasses`` of several, for a group that needs ``least`` pods.

    Fewer than that: as many as it needs, of the last shape; the Request then says how many are missing.
    """
    total = sum(shape.count for shape in found)
    if not found:
        return {"count": max(least, 1)}
    last = replace(found[-1], count=found[-1].count + max(0, least - total))
    if len(found) == 1:
        return {"count": last.count, "template": last.template}
    classes = [{"name": one.name, "count": one.count, "template": one.template} for one in (*found[:-1], last)]
    return {"podClasses": classes}


def told(group: str, found: Sequence[Shape], least: int) -> Told:
    """How many pods of a group are known, of those that must start together. (W-019, M-022)"""
    return Told(group, least, sum(shape.count for shape in found), pool=pool(group, found))


def pool(group: str, found: Sequence[Shape]) -> str:
    """What the pods of a group are counted as, whatever their shapes, where nothing but pods tells these."""
    return group if any(shape.of_pods for shape in found) else ""


def value(given: object) -> object:
    return given.value if isinstance(given, Field) else given


def amount(given: object, default: int) -> int:
    """A count as a plain number, where it is one."""
    found = value(given)
    return found if isinstance(found, int) and not isinstance(found, bool) else default
