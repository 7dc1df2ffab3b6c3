"""Pods wait for their volumes: we choose nodes, and where we bind ourselves nobody would choose a volume after us.

A pod waits as if it were not there for a claim, or a volume, that was not seen yet. A claim that is there and has no
volume refuses what we would bind, with a way out: perhaps nobody will ever make one.
"""

from collections.abc import Iterable
from dataclasses import replace

from phalanx.dialects import attachments, claims
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.following import ours, ties
from phalanx.dialects.following.family import Family
from phalanx.dialects.following.ours import GATE
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.decision import Invalid
from phalanx.model.problems import Problem
from phalanx.model.request import Group, PodSet
from phalanx.model.resources import Resources, combine

_FIRST = "WaitForFirstConsumer"
_WAYS = f"leave schedulerName out and give the pods gate {GATE}, or use a class with volumeBindingMode: Immediate"


def waits_for(pod: Document, around: Surroundings) -> str:
    """What a pod without a node waits for, before anybody may give it one; empty: nothing."""
    at = Field.of(pod.value)
    found = (claims.waits_for(one, pod.namespace, around, ours.was_gated(at)) for one in claims.wanted(at))
    return next((f"pod {pod.name} waits for {what}" for what in found if what), "")


def held_back(family: Family, docs: Iterable[Document], around: Surroundings) -> Family:
    """The family without what we would bind, and with the reason, where a claim of its pods has no volume yet.

    In gate mode kube-scheduler does the last step, and finds the volume with the node.
    """
    bound = [one for one in family.requests if one.rules.enforcement == "Bind"]
    wrong = tuple(problem for doc in docs for problem in _unbound(doc, around)) if bound and around.claims else ()
    if not wrong:
        return family
    refused = dict.fromkeys((one.kind, one.namespace, one.name) for one in bound)
    kept = tuple(one for one in family.requests if one not in bound)
    invalid = (*family.invalid, *(Invalid(*name, wrong) for name in refused))
    return replace(family, requests=kept, invalid=invalid, seats=())


def counted(family: Family, made: Iterable[Document], around: Surroundings) -> Family:
    """The family with the volumes of pods that a template made, and that it does not name: claims that each pod has for
    itself. All are taken to have as many as the one with most."""
    if not around.limited or not family.requests:
        return family
    found = [attachments.of(Field.of(doc.value), doc.namespace, around) for doc in made]
    most = combine(found, max) if found else Resources()
    if not dict(most):
        return family
    return replace(family, requests=tuple(replace(one, root=_with(one.root, most)) for one in family.requests))


def _with(group: Group, volumes: Resources) -> Group:
    return replace(group, members=tuple(_with_member(one, volumes) for one in group.members))


def _with_member(member: Group | PodSet, volumes: Resources) -> Group | PodSet:
    if isinstance(member, Group):
        return _with(member, volumes)
    requests = combine((member.shape.requests, volumes), max)
    return replace(member, shape=replace(member.shape, requests=requests))


def _unbound(doc: Document, around: Surroundings) -> tuple[Problem, ...]:
    notes = Notes()
    is_pod = doc.kind == "Pod" and not doc.group
    for one in [doc.value] if is_pod else [template.value for template in ties.templates(doc.value)]:
        for wanted in claims.wanted(Field.of(one, notes)):
            found = wanted.find(doc.namespace, around)
            if found is not None and not found.volume:
                wanted.at.wrong(_no_volume(wanted.name, found.storage_class, around))
    where = "" if is_pod else "pod template: "
    return tuple(Problem(f"{where}{one.field}", one.value, one.allowed, one.message, doc.key) for one in notes.problems)


def _no_volume(name: str, storage_class: str, around: Surroundings) -> str:
    known = around.classes.get(storage_class)
    if known is not None and known.waits:
        why = f"class {storage_class} ({_FIRST}) makes one only for a pod that has a node"
        return f"claim {name} has no volume yet, and {why}. That needs kube-scheduler: {_WAYS}"
    waits = f"claim {name} has no volume yet; it is waited for"
    if known is not None:
        return waits
    return f"{waits}. A volume that itself waits for its first pod ({_FIRST}) needs kube-scheduler: {_WAYS}"
