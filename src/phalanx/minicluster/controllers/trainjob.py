"""TrainJobs: a JobSet of the same name, made of a training runtime with the numbers of the TrainJob.

It waits for its runtime. ``numNodes`` sizes the replicated job ``node``; ``resourcesPerNode`` is for its container
``node``, or its only one.
Left out: overrides of pod templates, initializers, commands and environments, runtimes that change later.
"""

from collections.abc import Iterable

from phalanx.minicluster import making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import Controller, controlled_by
from phalanx.minicluster.controllers.jobset import JOB_SET
from phalanx.minicluster.documents import Document, Kind, changed, is_leaving, key_of, kind_of, merged, reference
from phalanx.minicluster.store import Event
from phalanx.model.objects import ObjectKey

GROUP = "trainer.kubeflow.org"
TRAIN_JOB = (GROUP, "TrainJob")
RUNTIMES: tuple[Kind, ...] = ((GROUP, "TrainingRuntime"), (GROUP, "ClusterTrainingRuntime"))
_NODE = "node"


def concerned(context: Context, event: Event) -> Iterable[ObjectKey]:
    """A runtime matters to all that may name it: they wait for it."""
    kind = kind_of(event.document)
    if kind in RUNTIMES:
        return [key_of(own) for own in context.store.of_kind(*TRAIN_JOB)]
    above = key_of(event.document) if kind == TRAIN_JOB else controlled_by(event.document, TRAIN_JOB)
    return () if above is None else (above,)


def reconcile(context: Context, key: ObjectKey, now: float) -> None:
    own = context.store.get(key)
    if own is None or is_leaving(own):
        return
    runtime = _runtime(context, own)
    there = next(iter(context.children(own, JOB_SET)), None)
    if there is None:
        if runtime is not None:
            making.create(context, _job_set(own, runtime), now)
        return
    held = bool(own["spec"].get("suspend"))
    if bool(there["spec"].get("suspend")) != held:
        there = context.write(there, lambda found: changed(found, "spec", "suspend", to=held), now)
    said = (there.get("status") or {}).get("conditions")
    context.write(own, lambda found: changed(found, "status", "conditions", to=said), now)


def _runtime(context: Context, own: Document) -> Document | None:
    said = own["spec"]["runtimeRef"]
    kind = said.get("kind", "ClusterTrainingRuntime")
    namespace = "default" if kind == "ClusterTrainingRuntime" else own["metadata"]["namespace"]
    return context.store.get(ObjectKey(said.get("apiGroup", GROUP), kind, namespace, said["name"]))


def _job_set(own: Document, runtime: Document) -> Document:
    template = runtime["spec"]["template"]
    above = template.get("metadata") or {}
    meta = {
        "name": own["metadata"]["name"],
        "namespace": own["metadata"]["namespace"],
        "labels": {**(above.get("labels") or {}), **(own["spec"].get("labels") or {})},
        "annotations": {**(above.get("annotations") or {}), **(own["spec"].get("annotations") or {})},
        "ownerReferences": [reference(own)],
    }
    trainer, policy = own["spec"].get("trainer") or {}, runtime["spec"].get("mlPolicy") or {}
    nodes = trainer.get("numNodes", policy.get("numNodes"))
    jobs = [_sized(each, nodes, trainer.get("resourcesPerNode")) for each in template["spec"]["replicatedJobs"]]
    spec = {**template["spec"], "replicatedJobs": jobs, "suspend": bool(own["spec"].get("suspend"))}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta, "spec": spec}


def _sized(replicated: Document, nodes: int | None, resources: Document | None) -> Document:
    if replicated["name"] != _NODE:
        return replicated
    if nodes is not None:
        replicated = merged(replicated, "template", "spec", parallelism=nodes, completions=nodes)
    if resources is None:
        return replicated
    path = ("template", "spec", "template", "spec", "containers")
    containers = replicated["template"]["spec"]["template"]["spec"]["containers"]
    alone = len(containers) == 1
    sized = [{**each, "resources": resources} if alone or each["name"] == _NODE else each for each in containers]
    return changed(replicated, *path, to=sized)


CONTROLLERS = (Controller("TrainJob", (TRAIN_JOB, JOB_SET, *RUNTIMES), concerned, reconcile),)
