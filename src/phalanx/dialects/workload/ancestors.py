"""The way up from a PodGroup or CompositePodGroup to the root of its tree."""

from dataclasses import dataclass

from phalanx.dialects import links
from phalanx.dialects.fields import Field
from phalanx.dialects.links import Carrier
from phalanx.dialects.surroundings import Surroundings
from phalanx.dialects.workload import policies
from phalanx.dialects.workload.joining import API_GROUP

PARENT = "parentCompositePodGroupName"
KIND = "CompositePodGroup"

_REFERENCE, _EARLY = "workloadRef", "podGroupTemplateRef"


def check(doc: Field, namespace: str, around: Surroundings) -> None:
    """Say with whom a group that has a parent is placed; a Problem when its parent is not there, or when its parents
    run in a circle."""
    at = doc.at("spec", PARENT)
    check_reference(doc.at("spec"))
    names: list[str] = [doc.at("metadata", "name").aside().text("")] if doc.at("kind").value == KIND else []
    here: Field | None = doc
    while here is not None and (parent := here.at("spec", PARENT).aside().name(None)) is not None:
        names.append(parent)
        if parent in names[:-1]:
            at.wrong("the parents run in a circle: " + " -> ".join(names)[:200])
            return
        here = around.neighbours.find(API_GROUP, KIND, namespace, parent)
    own = at.name(None)
    if own is None:
        return
    if around.neighbours.find(API_GROUP, KIND, namespace, own) is None:
        at.wrong(links.leads_nowhere(Carrier(at.path, API_GROUP, KIND), own, "it waits"))
        return
    absent = "" if here is not None else ", which is not among the documents: it waits for it"
    doc.warn(f"is placed with {KIND} {names[-1][:100]}{absent}")


@dataclass(frozen=True, slots=True)
class Reference:
    """What a group is made from: the name of the Workload and of its template, at their places."""

    workload: Field
    template: Field

    @property
    def present(self) -> bool:
        return self.workload.present or self.template.present


def reference(spec: Field) -> Reference:
    """``workloadRef``, or ``podGroupTemplateRef.workload``, as the design spells it."""
    own, early = spec.at(_REFERENCE), spec.at(_EARLY, "workload")
    if own.present or not early.present:
        return Reference(own.at("workloadName"), own.at("templateName"))
    return Reference(early.at("workloadName"), early.at("podGroupTemplateName"))


def check_reference(spec: Field) -> None:
    """The reference is whole where it is given, and given where there is a parent. (V15)"""
    own, early = spec.at(_REFERENCE), spec.at(_EARLY)
    if early.present:
        read = f"is not read beside {own.path}" if own.present else f"is read as {own.path}, which Kubernetes has"
        early.warn(f"{read}: {{workloadName, templateName}}", (_REFERENCE,))
        early.mapping()
        early.at("workload").mapping()
    if spec.at(PARENT).present and not own.present and not early.present:
        own.wrong("a group with a parent needs a workloadRef: the template it is made from")
    own.typos("workloadName", "templateName")
    if own.mapping() or early.present:
        found = reference(spec)
        found.workload.name("")
        if not found.workload.present:
            found.workload.wrong("workloadName is missing")
        policies.label(found.template, "templateName")
