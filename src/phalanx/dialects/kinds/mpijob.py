"""MPIJob: a launcher and its workers, one gang (W-138).

Decisions:

* With ``launcherCreationPolicy: WaitForWorkersReady`` the launcher does not exist until all workers run. A gang of
  both would wait for ever, so the workers are one gang and the launcher a unit of its own, with a warning.
* With ``runLauncherAsWorker`` the launcher is rank 0 and the workers go on from 1. Where both templates ask for the
  same they are two classes of one group, ``worker/launcher`` and ``worker/worker``, with one numbering. Where they
  do not, they stay two pod sets: then nothing but the common levels keeps rank 0 near rank 1.
* A Worker without ``replicas`` wants none in v2beta1 and one in v1, as the two operators have it.
"""

from phalanx.dialects import links, outline, replicaspecs, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.podsets import Part
from phalanx.dialects.replicaspecs import WORKER, Bounds, Role
from phalanx.dialects.surroundings import Surroundings, identity

_TYPES = ("Launcher", "Worker")
_READ = ("mpiReplicaSpecs", "runPolicy", "slotsPerWorker", "launcherCreationPolicy", "runLauncherAsWorker")


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of an MPIJob; None when it wants no pods."""
    spec = doc.at("spec")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.mapping()
    spec.typos(*_READ)
    newer = doc.at("apiVersion").value == "kubeflow.org/v2beta1"
    found = replicaspecs.roles(spec.at("mpiReplicaSpecs"), _TYPES, {"Worker": 0} if newer else None)
    waits, as_worker = _waits(spec, found), spec.at("runLauncherAsWorker").flag(False)
    counted = [role for role in found if role.name == WORKER or not waits]
    least = replicaspecs.least_workers(replicaspecs.policy(doc).at("minAvailable"), counted)
    off = replicaspecs.loose(doc)
    _, name = identity(doc)
    if as_worker and not waits and not off and _alike(found, around):
        parts = [_joined(found, name, around, least)]
    else:
        ordered = [*counted, *(role for role in found if role not in counted)]
        parts = [
            replicaspecs.part(role, name, around, Bounds(least), off, ranked=role.name == WORKER) for role in ordered
        ]
    return replicaspecs.workload(doc, around, parts, together=not off and not waits)


def _waits(spec: Field, found: list[Role]) -> bool:
    """Whether the launcher is made only when all workers run."""
    at = spec.at("launcherCreationPolicy")
    waits = at.choice("AtStartup", "AtStartup", "WaitForWorkersReady") == "WaitForWorkersReady"
    both = len(found) == len(_TYPES)
    if waits and both:
        at.warn("the launcher is made when all workers run: they are one gang, and it is placed after them")
    return waits and both


def _alike(found: list[Role], around: Surroundings) -> bool:
    """Whether launcher and workers can be two classes of one group."""
    templates = [role.template for role in found]
    named = any(wishes.group_name(one.at("metadata")).present or links.of(one.aside()) for one in templates)
    if named or len(found) < len(_TYPES):
        return False
    launcher, workers = (replicaspecs.wish(role, around) for role in found)
    return outline.plain(launcher) == outline.plain(workers) and "slices" not in workers


def _joined(found: list[Role], job: str, around: Surroundings, least: Field | None) -> Part:
    """Launcher and workers with one numbering."""
    launcher, workers = found
    classes = [
        {
            "name": role.name,
            "count": role.count,
            "template": outline.template(role.template, replicaspecs.labels(job, role.name)),
        }
        for role in (launcher, workers)
    ]
    entry: Entry = {
        "name": WORKER,
        "minCount": None if least is None else least.meaning(launcher.count + _number(least)),
        **replicaspecs.wish(workers, around),
        "rank": {"fieldPath": replicaspecs.INDEX},
        "podClasses": classes,
    }
    return Part(WORKER, (launcher.template, workers.template), (entry,))


def _number(at: Field) -> int:
    return at.value if isinstance(at.value, int) else 0
