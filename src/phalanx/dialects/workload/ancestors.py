"""The way up from a PodGroup or CompositePodGroup to the root of its tree."""

from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Surroundings
from phalanx.dialects.workload import policies
from phalanx.dialects.workload.joining import API_GROUP

PARENT = "parentCompositePodGroupName"
KIND = "CompositePodGroup"


def check(doc: Field, namespace: str, around: Surroundings) -> None:
    """Say with whom a group that has a parent is placed; a Problem when its parents run in a circle."""
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
    if at.name(None) is None:
        return
    absent = "" if here is not None else ", which is not among the documents: it waits for it"
    doc.warn(f"is placed with {KIND} {names[-1][:100]}{absent}")


def check_reference(spec: Field) -> None:
    """``workloadRef`` is whole where it is given, and given where there is a parent. (V15)"""
    reference = spec.at("workloadRef")
    if spec.at(PARENT).present and not reference.present:
        reference.wrong("a group with a parent needs a workloadRef: the template it is made from")
    if reference.mapping():
        reference.typos("workloadName", "templateName")
        reference.at("workloadName").name("")
        if not reference.at("workloadName").present:
            reference.at("workloadName").wrong("workloadName is missing")
        policies.label(reference.at("templateName"), "templateName")
