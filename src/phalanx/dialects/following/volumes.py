"""Pods that we bind ourselves wait for their volumes: we choose nodes, and nobody would choose a volume after us."""

from collections.abc import Iterable
from dataclasses import replace

from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.following import ties
from phalanx.dialects.following.family import Family
from phalanx.dialects.following.ours import GATE
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.decision import Invalid
from phalanx.model.problems import Problem


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


def _unbound(doc: Document, around: Surroundings) -> tuple[Problem, ...]:
    notes = Notes()
    is_pod = doc.kind == "Pod" and not doc.group
    for one in [doc.value] if is_pod else [template.value for template in ties.templates(doc.value)]:
        for volume in Field.of(one, notes).at("spec", "volumes").items():
            _judge(volume.at("persistentVolumeClaim", "claimName"), doc.namespace, around)
    title = f"{doc.kind}/{Field.of(doc.value).at('metadata', 'name').value}: {'' if is_pod else 'pod template: '}"
    return tuple(Problem(f"{title}{one.path}", one.value, one.allowed, one.message) for one in notes.problems)


def _judge(name: Field, namespace: str, around: Surroundings) -> None:
    claim = around.claims.get((namespace, name.value)) if isinstance(name.value, str) else None
    if claim is not None and not claim.volume:
        name.wrong(
            f"claim {name.value} has no volume yet; it is waited for. A volume that itself waits for its first pod "
            f"(WaitForFirstConsumer) needs kube-scheduler: leave schedulerName out and give the pods gate {GATE}"
        )
