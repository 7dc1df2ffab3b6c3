"""The Workload of Kubernetes (``scheduling.k8s.io/v1beta1``): templates of PodGroups, flat or nested.

Nobody schedules from it: PodGroups are made from its templates, and pods name those. Given with its PodGroups it
places nothing. Given alone each template is read as the one group it stands for, which waits for its pods.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from phalanx.dialects import members, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline, Told
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.dialects.workload import ancestors, joining, policies
from phalanx.dialects.workload.joining import Joined
from phalanx.dialects.workload.policies import Common, Made

PODGROUPS, COMPOSITES = "podGroupTemplates", "compositePodGroupTemplates"
LIST_MAX = 8
DEPTH_MAX = 4  # levels of a tree, the PodGroups counted


@dataclass(frozen=True, slots=True)
class Template:
    """One template of the tree. ``children``: how many templates it holds; None for a PodGroup's."""

    at: Field
    name: str
    parent: str | None
    common: Common
    children: int | None


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a Workload of templates; None when its PodGroups are there to be placed."""
    namespace, name = identity(doc)
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    wishes.check_our_keys(doc.at("metadata"), wishes.OURS.topology)
    spec = doc.at("spec")
    _check_lists(spec)
    tree = list(_walk(spec, None, 1))
    _check_tree(tree)
    made = [child.at("metadata", "name").value for child in _made_of_it(namespace, name, around)]
    if made:
        doc.warn(f"places nothing itself; {', '.join(map(str, made))[:200]}, made from it, is placed")
        return None
    joined = joining.find(doc, "Workload", namespace, name, around)
    joining.check_owners(joined)
    joining.check_controller(joined, spec.at("controllerRef"))
    groups, missing = _groups(tree, joined)
    return Outline("Workload", namespace, name, _whole(doc, tree, groups), _number(tree), missing)


def _check_lists(spec: Field) -> None:
    spec.mapping()
    spec.typos("controllerRef", PODGROUPS, COMPOSITES)
    given = [name for name in (PODGROUPS, COMPOSITES) if spec.at(name).value not in (None, [], ())]
    if len(given) != 1:  # V1
        where = spec.at(COMPOSITES) if given else spec.at(PODGROUPS)
        where.wrong(f"a Workload has exactly one of {PODGROUPS} and {COMPOSITES}", (PODGROUPS, COMPOSITES))
    for name in ("gangGroups", "podGroups"):
        if spec.at(name).present:
            spec.at(name).wrong("belongs to apiVersion scheduling/v1alpha1", (PODGROUPS, COMPOSITES))


# -- the tree ----------------------------------------------------------------------------------------------------


def _walk(at: Field, parent: str | None, depth: int) -> Iterator[Template]:
    """Every template below a field, outer first."""
    for one in _listed(at.at(PODGROUPS)):
        one.typos("name", *policies.FIELDS)
        name = policies.label(one.at("name"), "the name of a template")
        yield Template(one, name, parent, policies.read(one, "minCount"), None)
    composites = _listed(at.at(COMPOSITES))
    if composites and depth >= DEPTH_MAX:  # V13
        at.at(COMPOSITES).wrong(f"a tree has at most {DEPTH_MAX} levels, PodGroups counted")
        return
    for one in composites:
        yield from _composite(one, parent, depth)


def _listed(at: Field) -> list[Field]:
    listed = at.items(limit=1000)
    if len(listed) > LIST_MAX:  # V2
        at.wrong(f"has {len(listed)} templates; at most {LIST_MAX} are allowed")
    for one in listed:
        if not isinstance(one.value, dict):
            one.wrong("a template is a mapping of fields")
    return listed


def _composite(at: Field, parent: str | None, depth: int) -> Iterator[Template]:
    at.typos("name", *policies.FIELDS, PODGROUPS, COMPOSITES)
    if at.at("resourceClaims").present:
        at.at("resourceClaims").wrong("a composite has no resource claims of its own")
    name = policies.label(at.at("name"), "the name of a template")
    below = list(_walk(at, name, depth + 1))
    children = [one for one in below if one.parent == name]
    if not children:  # V14
        at.wrong("a composite holds at least one template", (PODGROUPS, COMPOSITES))
    yield Template(at, name, parent, policies.read(at, "minGroupCount"), len(children))
    yield from below


def _check_tree(tree: list[Template]) -> None:
    """Names are unique in the whole tree (V3); priorities are the same everywhere (V12)."""
    seen: set[str] = set()
    for one in tree:
        if one.name and one.name in seen:
            one.at.at("name").mistaken("names two templates; names are unique in the whole Workload")
        seen.add(one.name)
        for part in ("priorityClassName", "priority"):
            if one.at.at(part).value != tree[0].at.at(part).value:
                one.at.at(part).wrong(f"all templates of a Workload have the same {part}")


def _made_of_it(namespace: str, name: str, around: Surroundings) -> list[Field]:
    """PodGroups and CompositePodGroups that say they are made from this Workload."""
    kinds = ("CompositePodGroup", "PodGroup")
    given = [one for kind in kinds for one in around.neighbours.of_kind(joining.API_GROUP, kind, namespace)]
    return [one for one in given if ancestors.reference(one.at("spec")).workload.value == name]


# -- the normal form ---------------------------------------------------------------------------------------------


def _groups(tree: list[Template], joined: Joined) -> tuple[list[Made], tuple[Told, ...]]:
    leaves = [one.name for one in tree if one.children is None]
    mine = joining.placed_by_name(joined.members, leaves)
    assigned = members.assign(mine, leaves, joined.doc.notes, f"Workload {joined.name}")
    groups: list[Made] = []
    told: list[Told] = []
    for one in tree:
        entry: Made = {"name": one.at.at("name"), "parent": one.parent, "topology": one.common.near}
        if one.children is None:
            made, known = policies.pods(one.name, one.common.policy, assigned.of(one.name), joined)
            told.append(known)
        else:
            made = _inner(one)
        groups.append({key: value for key, value in {**entry, **made}.items() if value is not None})
    return groups, tuple(told)


def _inner(one: Template) -> Made:
    """Policy of a composite. More groups than it has templates is no mistake: a template may be used twice."""
    least, policy = one.common.policy.least, one.common.policy
    if members.amount(least, 0) > (one.children or 0):
        least.warn(f"is more than the {one.children} templates below; all of them start together")
        return {"policy": "Gang"}
    return {"policy": "Gang", "minGroups": least} if policy.gang else {"policy": "Basic"}


def _whole(doc: Field, tree: list[Template], groups: list[Made]) -> Made:
    spec, metadata = doc.at("spec"), doc.at("metadata")
    reference = spec.at("controllerRef")
    reference.mapping()
    first = tree[0].at if tree else spec
    return {
        "controllerRef": {part: reference.at(part) for part in ("apiGroup", "kind", "name")},
        "queue": wishes.queue(metadata),
        "topologyName": wishes.topology_name(metadata),
        "priorityClassName": first.at("priorityClassName"),
        "policy": "Basic",
        "disruption": policies.together((one.at, one.common.disruption) for one in tree),
        "podGroups": groups,
    }


def _number(tree: list[Template]) -> int | None:
    return joining.priority_number((), tree[0].at.at("priority")) if tree else None
