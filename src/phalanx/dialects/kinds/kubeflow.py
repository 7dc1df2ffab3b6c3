"""Jobs of Kubeflow's training operator: PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob.

Each role is a pod set and all are one gang (see ``replicaspecs``); ``phalanx.dev/gang-mode: Off`` lets every pod
start as it fits.

Decision: ``elasticPolicy.minReplicas`` and ``maxReplicas`` count workers, as the autoscaler that the operator makes
of them does. ``minAvailable`` goes before ``minReplicas`` where both are given.
"""

from dataclasses import dataclass

from phalanx.dialects import replicaspecs
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline
from phalanx.dialects.replicaspecs import WORKER, Bounds, Role
from phalanx.dialects.surroundings import Surroundings, identity


@dataclass(frozen=True, slots=True)
class _Form:
    """Where a kind of job has its replica specs, and which roles there are."""

    specs: str
    types: tuple[str, ...]
    elastic: bool = False


_FORMS = {
    "PyTorchJob": _Form("pytorchReplicaSpecs", ("Master", "Worker"), elastic=True),
    "TFJob": _Form("tfReplicaSpecs", ("Chief", "Master", "PS", "Worker", "Evaluator")),
    "XGBoostJob": _Form("xgbReplicaSpecs", ("Master", "Worker")),
    "PaddleJob": _Form("paddleReplicaSpecs", ("Master", "Worker"), elastic=True),
    "JAXJob": _Form("jaxReplicaSpecs", ("Worker",)),
}


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a training job; None when it wants no pods."""
    form = _FORMS[str(doc.at("kind").value)]
    spec = doc.at("spec")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.mapping()
    spec.typos(form.specs, "runPolicy", "elasticPolicy")
    found = replicaspecs.roles(spec.at(form.specs), form.types)
    bounds = _bounds(doc, found, form)
    off = replicaspecs.loose(doc)
    _, name = identity(doc)
    parts = [replicaspecs.part(role, name, around, bounds, off) for role in found]
    return replicaspecs.workload(doc, around, parts, together=not off)


def _bounds(doc: Field, found: list[Role], form: _Form) -> Bounds:
    """How few workers will do and how many there may be."""
    available = replicaspecs.least_workers(replicaspecs.policy(doc).at("minAvailable"), found)
    elastic = doc.at("spec", "elasticPolicy")
    workers = next((role for role in found if role.name == WORKER), None)
    if not form.elastic or not elastic.present or not elastic.mapping():
        return Bounds(available)
    elastic.typos("minReplicas", "maxReplicas")
    if workers is None:
        elastic.warn("is about workers, and this job has none")
        return Bounds(available)
    least, most = _fewest(elastic.at("minReplicas"), workers), _most(elastic.at("maxReplicas"), workers)
    return Bounds(available if available is not None else least, most)


def _fewest(at: Field, workers: Role) -> Field | None:
    least = at.integer(None, low=1)
    if least is not None and least > workers.count:
        at.mistaken(f"is more than the {workers.count} workers wanted")
    return at if least is not None and least <= workers.count else None


def _most(at: Field, workers: Role) -> Field | None:
    most = at.integer(None, low=1)
    if most is not None and most < workers.count:
        at.mistaken(f"is less than the {workers.count} workers wanted")
    return at if most is not None and most >= workers.count else None
