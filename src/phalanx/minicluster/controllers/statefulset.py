"""The StatefulSet controller: pods with a number, one after the other or all at once.

What ended is deleted and made again. A new template reaches pods by deleting them, the highest first, when all others
are ready. Left out: partitions and revisions (what is made is of the newest template), volume claims, minReadySeconds.
"""

from phalanx.minicluster import making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import looks_after
from phalanx.minicluster.documents import POD, Document, fingerprint, is_leaving, labels_of, merged
from phalanx.minicluster.pods import has_ended, is_ready
from phalanx.model.objects import ObjectKey

STATEFUL_SET = ("apps", "StatefulSet")
INDEX = "apps.kubernetes.io/pod-index"
NAME = "statefulset.kubernetes.io/pod-name"
REVISION = "controller-revision-hash"


def reconcile(context: Context, key: ObjectKey, now: float) -> float | None:
    own = context.store.get(key)
    if own is None or is_leaving(own):
        return None
    pods = {number_of(pod): pod for pod in context.children(own, POD)}
    again = _one_by_one(context, own, pods, now) if _is_ordered(own) else _at_once(context, own, pods, now)
    _report(context, own, now)
    return again


def number_of(pod: Document) -> int:
    return int(labels_of(pod).get(INDEX, -1))


def _is_ordered(own: Document) -> bool:
    return bool(own["spec"].get("podManagementPolicy", "OrderedReady") == "OrderedReady")


def _wanted(own: Document) -> range:
    start = int((own["spec"].get("ordinals") or {}).get("start", 0))
    return range(start, start + int(own["spec"]["replicas"]))


def _one_by_one(context: Context, own: Document, pods: dict[int, Document], now: float) -> float | None:
    """Each pod waits until those before it are ready; the last ones go first, one at a time."""
    for number in _wanted(own):
        pod = pods.get(number)
        if pod is None:
            return making.make(context, own, [_made(own, number)], now)
        if has_ended(pod):
            context.remove(pod, now)
        if not is_ready(pod):
            return None
    surplus = sorted((number for number in pods if number not in _wanted(own)), reverse=True)
    if surplus:
        _remove(context, pods[surplus[0]], now)
        return None
    _renew(context, own, pods, now)
    return None


def _at_once(context: Context, own: Document, pods: dict[int, Document], now: float) -> float | None:
    for number, pod in pods.items():
        if number not in _wanted(own) or has_ended(pod):
            _remove(context, pod, now)
    missing = [_made(own, number) for number in _wanted(own) if number not in pods]
    if missing:
        return making.make(context, own, missing, now)
    _renew(context, own, pods, now)
    return None


def _renew(context: Context, own: Document, pods: dict[int, Document], now: float) -> None:
    """The highest pod of an older template goes, unless others are not ready."""
    if (own["spec"].get("updateStrategy") or {}).get("type") == "OnDelete":
        return
    newest = _revision(own)
    old = [number for number in sorted(pods, reverse=True) if labels_of(pods[number]).get(REVISION) != newest]
    if old and all(is_ready(pod) for number, pod in pods.items() if number != old[0]):
        _remove(context, pods[old[0]], now)


def _remove(context: Context, pod: Document, now: float) -> None:
    if not is_leaving(pod):
        context.remove(pod, now)


def _made(own: Document, number: int) -> Document:
    name = f"{own['metadata']['name']}-{number}"
    spec = {**own["spec"]["template"]["spec"], "hostname": name, "subdomain": own["spec"].get("serviceName", "")}
    labels = {INDEX: str(number), NAME: name, REVISION: _revision(own)}
    return making.pod(own, {**own["spec"]["template"], "spec": spec}, name=name, labels=labels)


def _revision(own: Document) -> str:
    return f"{own['metadata']['name']}-{fingerprint(own['spec']['template'])}"


def _report(context: Context, own: Document, now: float) -> None:
    pods = context.children(own, POD)
    counts = {
        "replicas": len(pods),
        "readyReplicas": sum(is_ready(pod) for pod in pods),
        "updatedReplicas": sum(labels_of(pod).get(REVISION) == _revision(own) for pod in pods),
    }
    context.write(own, lambda found: merged(found, "status", **counts), now)


CONTROLLERS = (looks_after(STATEFUL_SET, reconcile),)
