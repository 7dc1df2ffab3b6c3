"""PodGroup of Kubernetes: one gang, or pods that start as they fit, known from the pods that name it.

A PodGroup below a CompositePodGroup is placed with the root of its tree. While an ancestor is not there it waits, as it
does in Kubernetes; the group whose parent is missing says so.
"""

from dataclasses import dataclass

from phalanx.dialects import members, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline, Told
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.dialects.workload import ancestors, joining, policies
from phalanx.dialects.workload.joining import Joined
from phalanx.dialects.workload.policies import Common, Made


@dataclass(frozen=True, slots=True)
class Leaf:
    """A PodGroup as a group of the normal form, and what the whole workload needs to know of it."""

    common: Common
    entry: Made
    told: Told
    templates: tuple[object, ...]


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a PodGroup; None when it is placed with the tree it belongs to."""
    namespace, name = identity(doc)
    spec = doc.at("spec")
    wishes.check_our_keys(doc.at("metadata"), wishes.OURS.topology)
    if spec.at(ancestors.PARENT).present:
        ancestors.check(doc, namespace, around)
        return None
    leaf = group(doc, joining.find(doc, "PodGroup", namespace, name, around))
    whole: Made = {
        "queue": wishes.queue(doc.at("metadata")),
        "topologyName": wishes.topology_name(doc.at("metadata")),
        "priorityClassName": joining.priority_class(leaf.templates, spec.at("priorityClassName")),
        "disruption": "Gang" if leaf.common.disruption == "Group" else "Pod",  # Kubernetes' default is single
        "podGroups": [leaf.entry],
    }
    number = joining.priority_number(leaf.templates, spec.at("priority"))
    return Outline("PodGroup", namespace, name, whole, number, (leaf.told,))


def group(doc: Field, joined: Joined) -> Leaf:
    """The group that a PodGroup is, with the pods that name it."""
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec = doc.at("spec")
    spec.mapping()
    spec.typos(ancestors.PARENT, "workloadRef", *policies.FIELDS)
    ancestors.check_reference(spec)
    common = policies.read(spec, "minCount")
    joining.check_wishes(joined)
    made, missing = policies.pods(joined.name, common.policy, joined.members, joined)
    entry: Made = {"name": doc.at("metadata", "name"), **made}
    if common.near is not None:
        entry["topology"] = common.near
    templates = tuple(members.template(one.entry) for one in joined.members)
    return Leaf(common, entry, missing, templates)
