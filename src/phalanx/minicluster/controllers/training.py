"""Kubeflow's training operator, as far as pods: PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob, and MPIJob v1.

It makes all pods itself, so many of each role; one that is deleted is made again under its name. What failed ends
the job unless its policy restarts it. Left out: elastic policies, services, clean-up, active deadlines, backoff limits.
"""

from phalanx.minicluster import documents, making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import looks_after
from phalanx.minicluster.documents import POD, Document, holds, is_leaving
from phalanx.minicluster.pods import is_active
from phalanx.model.objects import ObjectKey

MARK = "training.kubeflow.org/"
GROUP = "kubeflow.org"
REPLICAS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
}
_FIRST = ("Master", "Chief", "Launcher")  # the job is done when the first of these is; without them, all workers
_SIGNALLED = 128  # exit codes from here on are of a container that was killed


def reconcile(context: Context, key: ObjectKey, now: float) -> float | None:
    own = context.store.get(key)
    if own is None or is_leaving(own) or is_over(own):
        return None
    pods = {pod["metadata"]["name"]: pod for pod in context.children(own, POD)}
    if is_suspended(own):
        for pod in filter(is_active, pods.values()):
            context.remove(pod, now)
        context.write(own, lambda found: documents.with_condition(found, now, "Suspended", True), now)
        return None
    wanted = {pod["metadata"]["name"]: (role, pod) for role in _roles(own) for pod in _pods(own, role)}
    for name, pod in pods.items():
        if name not in wanted and not is_leaving(pod):
            context.remove(pod, now)
    failed = [name for name, pod in pods.items() if name in wanted and _is_final(pod, own, wanted[name][0])]
    ended = _verdict(pods, wanted, failed)
    context.write(own, lambda found: reported(found, ended, now), now)
    if ended:
        return None
    _restart(context, pods, now)
    return making.make(context, own, [pod for name, (_, pod) in wanted.items() if name not in pods], now)


def is_over(own: Document) -> bool:
    return holds(own, "Succeeded") or holds(own, "Failed")


def is_suspended(own: Document) -> bool:
    return bool((own["spec"].get("runPolicy") or {}).get("suspend"))


def reported(own: Document, ended: str, now: float) -> Document:
    if documents.condition(own, "Suspended"):
        own = documents.with_condition(own, now, "Suspended", False)
    return documents.with_condition(own, now, ended or "Created", True)


# -- roles and their pods ----------------------------------------------------------------------------------------


def _roles(own: Document) -> list[str]:
    return list(own["spec"][REPLICAS[own["kind"]]])


def _of_role(own: Document, role: str) -> Document:
    found: Document = own["spec"][REPLICAS[own["kind"]]][role]
    return found


def _pods(own: Document, role: str) -> list[Document]:
    said = _of_role(own, role)
    policy = said.get("restartPolicy", "OnFailure")
    spec = {**said["template"]["spec"], "restartPolicy": "Never" if policy == "ExitCode" else policy}
    name = own["metadata"]["name"]
    return [
        making.pod(own, {**said["template"], "spec": spec}, f"{name}-{role.lower()}-{i}", labels=_labels(own, role, i))
        for i in range(int(said.get("replicas", 1)))
    ]


def _labels(own: Document, role: str, number: int) -> dict[str, str]:
    first = {f"{MARK}job-role": "master"} if role in ("Master", "Chief") else {}
    return {
        f"{MARK}operator-name": f"{own['kind'].lower()}-controller",
        f"{MARK}job-name": own["metadata"]["name"],
        f"{MARK}replica-type": role.lower(),
        f"{MARK}replica-index": str(number),
        **first,
    }


def _is_final(pod: Document, own: Document, role: str) -> bool:
    """Whether it failed for good: one that was deleted, or killed under the policy ExitCode, is made again."""
    if pod["status"].get("phase") != "Failed" or is_leaving(pod):
        return False
    return not (_of_role(own, role).get("restartPolicy") == "ExitCode" and _exit_code(pod) >= _SIGNALLED)


def _exit_code(pod: Document) -> int:
    codes = (each["state"].get("terminated") or {} for each in pod["status"].get("containerStatuses") or ())
    return max((int(each.get("exitCode", 0)) for each in codes), default=0)


def _restart(context: Context, pods: dict[str, Document], now: float) -> None:
    for pod in pods.values():
        if pod["status"].get("phase") == "Failed" and not is_leaving(pod):
            context.remove(pod, now)


def _verdict(pods: dict[str, Document], wanted: dict[str, tuple[str, Document]], failed: list[str]) -> str:
    if failed:
        return "Failed"
    first = [name for name, (role, _) in wanted.items() if role in _FIRST][:1]
    asked = first or [name for name, (role, _) in wanted.items() if role == "Worker"]
    done = [name in pods and _has_succeeded(pods[name]) for name in asked]
    return "Succeeded" if done and all(done) else ""


def _has_succeeded(pod: Document) -> bool:
    return pod["status"].get("phase") == "Succeeded" and not is_leaving(pod)


CONTROLLERS = tuple(looks_after((GROUP, kind), reconcile) for kind in REPLICAS if kind != "MPIJob")
