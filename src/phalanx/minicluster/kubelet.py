"""Kubelets: what becomes of a pod once it has a node.

It is refused (Failed, OutOf...) where the node has no room for it, or not the labels that it selects. Then it is
Pending, Running, ready, and ends when it is said to: with the exit code of its annotation, or, being deleted, as the
pace has it. A node with the annotation ``silent`` tells nothing more and lets nothing go. Times of a pod are counted
from when its kubelet saw each stage.
Left out: containers of their own, probes, init containers one by one, node affinity, volumes, images, resizing.
"""

from collections.abc import Iterable

from phalanx.minicluster import documents, room
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import Controller
from phalanx.minicluster.documents import NODE, POD, Document, annotation, changed, is_leaving, key_of, uid_of
from phalanx.minicluster.store import DELETED, Event
from phalanx.minicluster.times import stamp
from phalanx.model.objects import ObjectKey

RESTART_PAUSE = 10.0  # what a container that ends at once waits before it runs again
_OVER = ("Succeeded", "Failed")


def concerned(context: Context, event: Event) -> Iterable[ObjectKey]:
    doc = event.document
    if doc["kind"] == "Node":
        name = doc["metadata"]["name"]
        return [key_of(pod) for pod in context.store.of_kind(*POD) if pod["spec"].get("nodeName") == name]
    if event.type == DELETED:
        for stage in ("seen", "Running", "leaving", "over"):
            context.memory.pop((uid_of(doc), stage), None)
        return ()
    return (key_of(doc),) if doc["spec"].get("nodeName") else ()


def reconcile(context: Context, key: ObjectKey, now: float) -> float | None:
    pod = context.store.get(key)
    if pod is None or not pod["spec"].get("nodeName"):
        return None  # gone, or made again under its name
    node = context.store.get(ObjectKey(*NODE, "default", pod["spec"]["nodeName"]))
    if node is None or annotation(node, "silent"):
        return None
    phase = pod["status"].get("phase")
    if phase in _OVER:
        return _gone(context, pod, now) if is_leaving(pod) else None
    if is_leaving(pod):
        return _stopping(context, pod, now)
    if phase == "Running":
        return _running(context, pod, now)
    return _starting(context, pod, node, now)


# -- stages ------------------------------------------------------------------------------------------------------


def _starting(context: Context, pod: Document, node: Document, now: float) -> float | None:
    if "startTime" not in pod["status"]:
        wrong = room.refused(pod, node, _admitted(context, node))
        if wrong:
            refused = {**pod["status"], "phase": "Failed", "reason": wrong, "startTime": stamp(now)}
            context.write(pod, lambda found: changed(found, "status", to=refused), now)
            return None
        pod = context.write(pod, lambda found: changed(found, "status", "startTime", to=stamp(now)), now)
    runs_at = _since(context, pod, "seen", now) + context.draws.within(context.pace.start, "start", uid_of(pod))
    if runs_at > now:
        return runs_at
    _since(context, pod, "Running", now)
    return _told_running(context, pod, now)


def _running(context: Context, pod: Document, now: float) -> float | None:
    """Ready after a while, and over or restarted when its time is up."""
    since = _since(context, pod, "Running", now)
    if since > now:
        return since  # its container waits to run again
    ends_at = _ends_at(context, pod, since)
    if ends_at is not None and ends_at <= now:
        return _ended(context, pod, now)
    return _told_running(context, pod, now)


def _told_running(context: Context, pod: Document, now: float) -> float | None:
    """Writes that it runs, and that it is ready if it is time; returns what comes next."""
    since = _since(context, pod, "Running", now)
    ready_at = since + context.draws.within(context.pace.ready, "ready", uid_of(pod))
    ready = ready_at <= now and annotation(pod, "never-ready") is None
    context.write(pod, lambda found: _as_running(found, ready, now), now)
    ends_at = _ends_at(context, pod, since)
    later = [at for at in (ready_at, ends_at) if at is not None and at > now]
    return min(later, default=ends_at)


def _ended(context: Context, pod: Document, now: float) -> float | None:
    """By itself: for good, or its container starts again."""
    failed = _exit_code(pod) != 0
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Never" or (policy == "OnFailure" and not failed):
        _over(context, pod, "Failed" if failed else "Succeeded", now)
        return None
    restarts = _restarts(pod) + 1
    resumes = now + RESTART_PAUSE
    context.memory[uid_of(pod), "Running"] = resumes
    context.write(pod, lambda found: _as_restarting(found, restarts, now), now)
    return resumes


def _stopping(context: Context, pod: Document, now: float) -> float | None:
    """Being deleted: it takes its time, then says how it ended."""
    slowly = annotation(pod, "ends-slowly")
    grace = float(pod["metadata"]["deletionGracePeriodSeconds"])
    usual = min(context.draws.within(context.pace.ending, "ending", uid_of(pod)), grace)
    over_at = _since(context, pod, "leaving", now) + (usual if slowly is None else float(slowly))
    if over_at > now:
        return over_at
    drawn = context.draws.share("drained", uid_of(pod)) < context.pace.succeeds
    said = annotation(pod, "drained-exit-code")
    succeeded = drawn if said is None else said == "0"
    started = pod["status"].get("phase") == "Running"
    _over(context, pod, "Succeeded" if started and succeeded else "Failed", now)
    return _gone(context, pod, now)


def _gone(context: Context, pod: Document, now: float) -> float | None:
    gone_at = _since(context, pod, "over", now) + context.draws.within(context.pace.stays, "stays", uid_of(pod))
    if gone_at > now:
        return gone_at
    if pod["metadata"]["deletionGracePeriodSeconds"] or not pod["metadata"].get("finalizers"):
        context.remove(pod, now, grace=0)
    return None


# -- what they read and write ------------------------------------------------------------------------------------


def _admitted(context: Context, node: Document) -> list[Document]:
    """The pods that take room there: those that were let in and are not over."""
    name = node["metadata"]["name"]
    return [
        pod
        for pod in context.store.of_kind(*POD)
        if pod["spec"].get("nodeName") == name
        and "startTime" in pod["status"]
        and pod["status"].get("phase") not in _OVER
    ]


def _since(context: Context, pod: Document, stage: str, now: float) -> float:
    return float(context.memory.setdefault((uid_of(pod), stage), now))


def _ends_at(context: Context, pod: Document, since: float) -> float | None:
    times = annotation(pod, "times")
    if times is not None and _restarts(pod) >= int(times):
        return None
    said = annotation(pod, "runs-for")
    if said is not None:
        return since + float(said)
    span = context.pace.runs_for
    return None if span is None else since + context.draws.within(span, "runs", uid_of(pod), _restarts(pod))


def _exit_code(pod: Document) -> int:
    return int(annotation(pod, "fails") or 0)


def _restarts(pod: Document) -> int:
    return max((each.get("restartCount", 0) for each in pod["status"].get("containerStatuses") or ()), default=0)


def _as_running(pod: Document, ready: bool, now: float) -> Document:
    pod = changed(pod, "status", "phase", to="Running")
    pod = documents.with_condition(pod, now, "Initialized", True)
    return _with_containers(pod, ready, _restarts(pod), {"running": {}}, now)


def _as_restarting(pod: Document, restarts: int, now: float) -> Document:
    return _with_containers(pod, False, restarts, {"waiting": {"reason": "CrashLoopBackOff"}}, now)


def _with_containers(pod: Document, ready: bool, restarts: int, state: Document, now: float) -> Document:
    listed = [
        {"name": each.get("name", "main"), "ready": ready, "restartCount": restarts, "state": state}
        for each in pod["spec"].get("containers") or ()
    ]
    pod = changed(pod, "status", "containerStatuses", to=listed)
    pod = documents.with_condition(pod, now, "ContainersReady", ready)
    return documents.with_condition(pod, now, "Ready", ready)


def _over(context: Context, pod: Document, phase: str, now: float) -> Document:
    code = 0 if phase == "Succeeded" else _exit_code(pod) or 143
    state = {"terminated": {"exitCode": code, "finishedAt": stamp(now)}}

    def write(found: Document) -> Document:
        return changed(_with_containers(found, False, _restarts(found), state, now), "status", "phase", to=phase)

    return context.write(pod, write, now)


CONTROLLER = Controller("Kubelet", (POD, NODE), concerned, reconcile, lambda pace: (0.0, 0.0))
