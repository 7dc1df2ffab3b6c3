"""Workloads with several pod templates: what their pod sets say of each other.

Kueue's ``podset-group-name`` holds two pod sets in one domain; of a workload some of whose templates carry Kueue's
wishes every one must (K-038); KAI cuts a pod set into segments. Kinds with one template need of this only the node
pool.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phalanx.dialects import links, outline, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Entry
from phalanx.dialects.surroundings import Surroundings
from phalanx.dialects.wishes import Wish

NODE_POOL = "kai.scheduler/node-pool"
SEGMENT_SIZE = "kai.scheduler/segment-size"
SEGMENT_REQUIRED = "kai.scheduler/segment-topology-required-placement"
SEGMENT_PREFERRED = "kai.scheduler/segment-topology-preferred-placement"

_KUEUE = "kueue.x-k8s.io/podset-"


@dataclass(frozen=True, slots=True)
class Part:
    """One pod set: its name, its pod template (several: its classes), and its ``podGroups``, the outermost first."""

    name: str
    templates: tuple[Field, ...]
    entries: tuple[Entry, ...]

    @property
    def metadata(self) -> Field:
        return self.templates[0].at("metadata")


# -- templates ---------------------------------------------------------------------------------------------------


def check_template(template: Field, whose: str) -> None:
    """Notes a template that is missing or has no containers, and keys of ours that mean nothing on it."""
    template.typos("metadata", "spec")
    if not template.present:
        template.wrong(f"{whose} needs a pod template")
    elif template.mapping() and not template.at("spec", "containers").items():
        template.at("spec", "containers").wrong("a pod has at least one container")
    wishes.check_our_keys(template.at("metadata"), *wishes.on_template())


def check_kueue(templates: Sequence[Field]) -> None:
    """A Problem for each template without a wish of Kueue's where another has one. (K-038)"""
    with_wish = [one for one in templates if _asks_kueue(one)]
    for lacking in templates:
        if with_wish and lacking not in with_wish:
            lacking.at("metadata", "annotations", wishes.KUEUE.required).wrong(
                f"{with_wish[0].path} asks Kueue for a level, so every pod template of the workload must",
                (wishes.KUEUE.required, wishes.KUEUE.preferred, f"{_KUEUE}unconstrained-topology"),
            )


def _asks_kueue(template: Field) -> bool:
    annotations = template.at("metadata", "annotations").value
    keys = annotations if isinstance(annotations, dict) else {}
    return any(isinstance(key, str) and key.startswith(_KUEUE) and key != wishes.GROUP_NAME for key in keys)


def linked(template: Field, namespace: str, around: Surroundings) -> bool:
    """Whether its pods say themselves what they belong to. Kueue says it of every pod, whether we see it or not."""
    link = links.of(template.aside())
    if link is None or link.carrier is not links.KUEUE:
        return link is not None
    return around.neighbours.find(link.carrier.api_group, link.carrier.kind, namespace, link.name) is not None


def first(*fields: Field) -> Field:
    """The first field at which something is written; the first of all when there is none."""
    return next((at for at in fields if at.present), fields[0])


def priority_class(templates: Sequence[Field]) -> tuple[Field, ...]:
    """Where pod templates name their PriorityClass."""
    return tuple(template.at("spec", "priorityClassName") for template in templates)


def suspended(metadata: Field, suspend: Field) -> object:
    """Whether the owner keeps a workload back. In a queue it is the queue that suspends, which says nothing."""
    queued = any(metadata.at("labels", key).present for key in (wishes.QUEUE, wishes.KUEUE_QUEUE))
    return False if queued and suspend.flag(False) else suspend


# -- node pools --------------------------------------------------------------------------------------------------


def in_pool(entries: Sequence[Entry], metadata: Field) -> list[Entry]:
    """The entries with KAI's node pool, a label of the workload or else of its pods, as a node selector.

    A pool is the nodes that carry the same label, under the key that KAI uses unless it is told another. That pods
    without a pool keep off the nodes of all pools is a matter of KAI's shards and not followed.
    """
    return [_pooled(entry, metadata.at("labels", NODE_POOL)) for entry in entries]


def _pooled(holder: Entry, of_workload: Field) -> Entry:
    """A group, or a class of one, whose pods keep to the pool."""
    template, classes = holder.get("template"), holder.get("podClasses")
    made = dict(holder)
    if isinstance(template, Mapping):
        made["template"] = _selecting(template, of_workload)
    if isinstance(classes, list):
        made["podClasses"] = [_pooled(one, of_workload) for one in classes]
    return made


def _selecting(template: Mapping[str, object], of_workload: Field) -> Mapping[str, object]:
    pods = Field.of(dict(template))
    own, spec = pods.at("metadata", "labels", NODE_POOL), pods.at("spec")
    pool = first(of_workload, own)
    name = pool.text("")
    if not name or not isinstance(spec.value, dict):
        return template
    if own.aside().text(name) != name:
        own.warn(f"is another node pool than {pool.path}, which is followed")
    selector = spec.at("nodeSelector")
    if selector.at(NODE_POOL).aside().text(name) != name:
        selector.at(NODE_POOL).mistaken(f"is another node pool than {pool.path}; no node is in both")
    return {**template, "spec": {**dict(spec.entries()), "nodeSelector": {**dict(selector.entries()), NODE_POOL: pool}}}


# -- segments ----------------------------------------------------------------------------------------------------


def segments(metadata: Field, wish: Wish, size: Field | None = None) -> Wish:
    """``slices`` from KAI's annotations for segments on a pod template, beside what it wishes already.

    ``size``: how large segments are when the annotations do not say so.
    """
    notes = metadata.at("annotations")
    level, preferred, written = (notes.at(key) for key in (SEGMENT_REQUIRED, SEGMENT_PREFERRED, SEGMENT_SIZE))
    if preferred.present:
        preferred.warn("a level preferred for each segment is not followed; a required one is", (SEGMENT_REQUIRED,))
    many = wishes.number(written) if written.present or size is None else size
    if not level.present:
        if written.present and not preferred.present:
            written.warn(f"changes nothing without {SEGMENT_REQUIRED}")
        return {}
    if not written.present and size is None:
        written.wrong(f"{SEGMENT_REQUIRED} needs the size of a segment beside it")
        return {}
    if wish.get("slices"):
        level.warn("Kueue's slices on the same template are followed instead")
        return {}
    return {"slices": [{"level": level, "size": many}]}


# -- groups of pod sets ------------------------------------------------------------------------------------------


def together(parts: Sequence[Part]) -> list[Entry]:
    """The entries of all parts; those with the same podset-group-name stand in one group with their level."""
    named: dict[str, list[Part]] = {}
    for part in parts:
        group = wishes.group_name(part.metadata).name(None)
        if group is not None:
            named.setdefault(group, []).append(part)
    taken = [outline.plain(entry.get("name")) for part in parts for entry in part.entries]
    made: list[Entry] = []
    parents: dict[str, str] = {}
    for group, members in named.items():
        if _is_group(group, members):
            name = group if group not in taken else f"{group}-group"
            made.append({"name": name, "topology": members[0].entries[0].get("topology")})
            parents.update({part.name: name for part in members})
    return made + [entry for part in parts for entry in _inside(part, parents.get(part.name))]


def _is_group(name: str, members: Sequence[Part]) -> bool:
    """Whether Kueue's rules for a group name are kept; Problems where not."""
    wish = outline.plain(members[0].entries[0].get("topology"))
    for part in members:
        at = wishes.group_name(part.metadata)
        if len(members) == 1:
            at.wrong(f"only {part.name} is in group {name!r}; it takes two pod templates")
        elif not wish:
            at.wrong("a group of pod sets needs a required or preferred level", (wishes.KUEUE.required,))
        elif outline.plain(part.entries[0].get("topology")) != wish:
            at.wrong(f"{part.name} and {members[0].name} are in one group and must ask for the same level")
        elif any(entry.get("slices") for entry in part.entries):
            at.wrong("a group of pod sets cannot have slices")
    return len(members) > 1 and bool(wish)


def _inside(part: Part, group: str | None) -> tuple[Entry, ...]:
    if group is None:
        return part.entries
    outer = {key: value for key, value in part.entries[0].items() if key != "topology"}
    return {**outer, "parent": group}, *part.entries[1:]
