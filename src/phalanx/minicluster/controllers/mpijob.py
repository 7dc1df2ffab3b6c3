"""MPIJobs: of v2beta1 the launcher is a Job and the workers are pods; those of v1 are the training operator's.

Left out: the config map, ssh, services, clean-up of workers other than when the launcher ended, elastic workers.
"""

from phalanx.minicluster import documents, making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import looks_after
from phalanx.minicluster.controllers import training
from phalanx.minicluster.controllers.job import JOB
from phalanx.minicluster.controllers.training import GROUP, MARK
from phalanx.minicluster.documents import POD, Document, changed, holds, is_leaving, merged, reference
from phalanx.minicluster.pods import active, is_ready
from phalanx.model.objects import ObjectKey

MPI_JOB = (GROUP, "MPIJob")


def reconcile(context: Context, key: ObjectKey, now: float) -> float | None:
    own = context.store.get(key)
    if own is None or is_leaving(own):
        return None
    if own["apiVersion"] == f"{GROUP}/v1":
        return training.reconcile(context, key, now)
    pods = {pod["metadata"]["name"]: pod for pod in context.children(own, POD)}
    launcher = next(iter(context.children(own, JOB)), None)
    ended = _ended(launcher)
    if ended or training.is_suspended(own):
        for pod in active(pods.values()):
            context.remove(pod, now)
    _launch(context, own, launcher, pods, now)
    if ended:
        context.write(own, lambda found: training.reported(found, ended, now), now)
        return None
    if training.is_suspended(own):
        context.write(own, lambda found: documents.with_condition(found, now, "Suspended", True), now)
        return None
    wanted = _workers(own)
    for name in sorted(pods.keys() - {pod["metadata"]["name"] for pod in wanted}):
        if not is_leaving(pods[name]):
            context.remove(pods[name], now)
    context.write(own, lambda found: training.reported(found, "", now), now)
    return making.make(context, own, [pod for pod in wanted if pod["metadata"]["name"] not in pods], now)


def _ended(launcher: Document | None) -> str:
    if launcher is None:
        return ""
    return "Succeeded" if holds(launcher, "Complete") else "Failed" if holds(launcher, "Failed") else ""


def _launch(context: Context, own: Document, job: Document | None, pods: dict[str, Document], now: float) -> None:
    """Its Job is held with it, and may wait until all workers are ready."""
    held = training.is_suspended(own)
    if job is not None:
        if bool(job["spec"].get("suspend")) != held and not _ended(job):
            context.write(job, lambda found: changed(found, "spec", "suspend", to=held), now)
        return
    ready = sum(map(is_ready, pods.values())) == len(_workers(own))
    if own["spec"].get("launcherCreationPolicy") != "WaitForWorkersReady" or ready:
        making.create(context, _launcher(own, held), now)


def _launcher(own: Document, held: bool) -> Document:
    template = own["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
    template = merged(template, "metadata", "labels", **_common(own), **{f"{MARK}job-role": "launcher"})
    policy = template["spec"].get("restartPolicy", "OnFailure")
    template = changed(template, "spec", "restartPolicy", to=policy)
    meta = {
        "name": f"{own['metadata']['name']}-launcher",
        "namespace": own["metadata"]["namespace"],
        "labels": _common(own),
        "ownerReferences": [reference(own)],
    }
    limit = (own["spec"].get("runPolicy") or {}).get("backoffLimit", 6)
    spec = {"template": template, "suspend": held, "backoffLimit": limit}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def _workers(own: Document) -> list[Document]:
    said = own["spec"]["mpiReplicaSpecs"].get("Worker")
    if said is None:
        return []
    marks = {**_common(own), f"{MARK}job-role": "worker"}
    name = own["metadata"]["name"]
    return [
        making.pod(own, said["template"], f"{name}-worker-{i}", labels={**marks, f"{MARK}replica-index": str(i)})
        for i in range(int(said.get("replicas", 1)))
    ]


def _common(own: Document) -> dict[str, str]:
    return {f"{MARK}operator-name": "mpi-operator", f"{MARK}job-name": own["metadata"]["name"]}


CONTROLLERS = (looks_after(MPI_JOB, reconcile, makes=(POD, JOB)),)
