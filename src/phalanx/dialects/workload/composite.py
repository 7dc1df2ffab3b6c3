"""CompositePodGroup of Kubernetes: a tree of groups that is one workload, read at its root.

Its children are the PodGroups and CompositePodGroups that name it as their parent. With policy ``gang`` they start
together, or ``minGroupCount`` of them. With ``basic`` each is a decision of its own, unless the composite asks for a
domain around all of them: then they are one decision, in which each is placed if it fits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phalanx.dialects import members, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline, Told
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.dialects.workload import ancestors, joining, podgroup, policies
from phalanx.dialects.workload.policies import Common, Made
from phalanx.dialects.workload.templates import DEPTH_MAX
from phalanx.model.objects import ObjectKey

Families = dict[object, list[Field]]  # by the name of the parent


@dataclass(frozen=True, slots=True)
class Grown:
    """One group of the tree below the root."""

    doc: Field
    common: Common
    entry: Made
    told: tuple[Told, ...] = ()
    templates: tuple[object, ...] = ()


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a tree at its root; None for a composite inside another."""
    namespace, name = identity(doc)
    spec = doc.at("spec")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    wishes.check_our_keys(doc.at("metadata"), wishes.OURS.topology)
    if spec.at(ancestors.PARENT).present:
        ancestors.check(doc, namespace, around)
        return None
    common = _common(doc)
    families = _families(doc, namespace, around)
    inside = name if not common.policy.gang and common.near is not None else None
    below = list(_below(name, inside, families, (namespace, around), 2))
    if not below:
        doc.warn("no group names it as its parent yet")
    _check_priority(doc, below)
    templates = [one for grown in below for one in grown.templates]
    told = (*_lacking(doc, common, families), *(one for grown in below for one in grown.told))
    number = joining.priority_number(templates, spec.at("priority"))
    return Outline("CompositePodGroup", namespace, name, _whole(doc, common, below, inside), number, told)


def _common(doc: Field) -> Common:
    spec = doc.at("spec")
    spec.mapping()
    spec.typos(ancestors.PARENT, "workloadRef", *policies.FIELDS)
    if spec.at("resourceClaims").present:
        spec.at("resourceClaims").wrong("a composite has no resource claims of its own")
    if not ancestors.reference(spec).present:
        spec.at("workloadRef").wrong("a CompositePodGroup needs a workloadRef: the template it is made from")
    ancestors.check_reference(spec)
    return policies.read(spec, "minGroupCount")


# -- the tree ----------------------------------------------------------------------------------------------------


def _families(doc: Field, namespace: str, around: Surroundings) -> Families:
    """Groups with a parent, by its name. What is wrong with them is noted at the root, which they are placed with."""
    found: Families = {}
    for kind in (ancestors.KIND, "PodGroup"):
        for one in around.neighbours.of_kind(joining.API_GROUP, kind, namespace):
            parent = one.at("spec", ancestors.PARENT).value
            if isinstance(parent, str):
                name = str(one.at("metadata", "name").value)[:300]
                about = ObjectKey(joining.API_GROUP, kind, namespace, name)
                found.setdefault(parent, []).append(Field.of(one.value, doc.notes, about))
    return found


def _below(
    name: str, inside: str | None, families: Families, where: tuple[str, Surroundings], depth: int
) -> Iterator[Grown]:
    """Everything below a composite, outer first. ``inside``: the parent of the normal form, None at the top."""
    for child in families.get(name, ()):
        own = child.at("metadata", "name").name("")
        if child.at("kind").value != ancestors.KIND:
            joined = joining.find(child, "PodGroup", where[0], own, where[1])
            leaf = podgroup.group(child, joining.told_to_root(joined))
            yield Grown(child, leaf.common, _inside(leaf.entry, inside), (leaf.told,), leaf.templates)
        elif depth >= DEPTH_MAX:  # V13
            child.at("spec", ancestors.PARENT).wrong(f"a tree has at most {DEPTH_MAX} levels, PodGroups counted")
        else:
            yield _inner(child, inside, families)
            yield from _below(own, own, families, where, depth + 1)


def _inside(entry: Made, parent: str | None) -> Made:
    return entry if parent is None else {**entry, "parent": parent}


def _inner(doc: Field, inside: str | None, families: Families) -> Grown:
    common = _common(doc)
    entry: Made = {"name": doc.at("metadata", "name"), **_policy(doc, common, families)}
    if common.near is not None:
        entry["topology"] = common.near
    return Grown(doc, common, _inside(entry, inside), _lacking(doc, common, families))


def _policy(doc: Field, common: Common, families: Families) -> Made:
    """Policy over the children. More than there are yet: all of those, and the tree waits for the rest."""
    if not common.policy.gang:
        return {"policy": "Basic"}
    enough = members.amount(common.policy.least, 0) <= len(_children(doc, families))
    return {"policy": "Gang", "minGroups": common.policy.least} if enough else {"policy": "Gang"}


def _lacking(doc: Field, common: Common, families: Families) -> tuple[Told, ...]:
    """The composite, when fewer groups are there than must start together."""
    children = _children(doc, families)
    needed = members.amount(common.policy.least, 0)
    if len(children) >= needed or not children:
        return ()
    common.policy.least.warn(f"{len(children)} of {needed} groups are there; it waits for the rest")
    only = children[0].at("metadata", "name").value if len(children) == 1 else doc.at("metadata", "name").value
    return (Told(str(only), needed, len(children), groups=True),)


def _children(doc: Field, families: Families) -> list[Field]:
    return families.get(doc.at("metadata", "name").value, [])


# -- the whole ---------------------------------------------------------------------------------------------------


def _whole(doc: Field, common: Common, below: Sequence[Grown], inside: str | None) -> Made:
    metadata, spec = doc.at("metadata"), doc.at("spec")
    groups = [one.entry for one in below]
    families: Families = {metadata.at("name").value: [one.doc for one in below if one.entry.get("parent") == inside]}
    templates = [one for grown in below for one in grown.templates]
    whole: Made = {
        "queue": wishes.queue(metadata),
        "topologyName": wishes.topology_name(metadata),
        "priorityClassName": joining.priority_class(templates, spec.at("priorityClassName")),
        "disruption": _disruption(common, below),
        **_policy(doc, common, families),
    }
    if inside is not None:
        around = {"name": inside, "policy": "Basic", "topology": common.near}
        return {**whole, "podGroups": [around, *groups]}
    return {**whole, "topology": common.near, "podGroups": groups}


def _disruption(common: Common, below: Sequence[Grown]) -> str:
    """``all`` at the root means everything, further down the group it stands on."""
    if common.disruption == "Group":
        return "Gang"
    return policies.together((one.doc, one.common.disruption or "Pod") for one in below) or "Pod"


def _check_priority(doc: Field, below: Sequence[Grown]) -> None:
    """The priority of the root is that of the tree."""
    own = doc.at("spec", "priorityClassName")
    for one in below:
        at = one.doc.at("spec", "priorityClassName")
        if at.present and at.value != own.value:
            at.warn(f"differs from that of CompositePodGroup {doc.at('metadata', 'name').value}, which is followed")
