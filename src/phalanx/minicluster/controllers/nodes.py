"""What Kubernetes does about nodes that are silent, and about pods whose node is gone.

A silent node is tainted as unreachable and no longer ready, and its pods are not ready; later they are deleted, and
stay until it speaks again. Pods bound to a node that does not exist are removed. Left out: tolerations of these taints
by pods other than those of DaemonSets, zones that are down as a whole.
"""

from collections.abc import Iterable

from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import Controller, controlled_by
from phalanx.minicluster.controllers.daemonset import DAEMON_SET
from phalanx.minicluster.documents import (
    NODE,
    POD,
    Document,
    annotation,
    changed,
    is_leaving,
    key_of,
    kind_of,
    with_condition,
)
from phalanx.minicluster.pods import has_ended
from phalanx.minicluster.store import DELETED, Event
from phalanx.model.objects import ObjectKey

_TAINT = "node.kubernetes.io/unreachable"


def concerned(context: Context, event: Event) -> Iterable[ObjectKey]:
    doc = event.document
    if kind_of(doc) == NODE:
        return (key_of(doc),)
    name = doc["spec"].get("nodeName")
    return (ObjectKey(*NODE, "default", name),) if name and event.type != DELETED else ()


def reconcile(context: Context, key: ObjectKey, now: float) -> float | None:
    node = context.store.get(key)
    pods = [pod for pod in context.store.of_kind(*POD) if pod["spec"].get("nodeName") == key.name]
    lost = bool(pods) if node is None else annotation(node, "silent") is not None
    if not lost:
        was_lost = context.memory.pop((str(key), "lost"), None) is not None
        if was_lost and node is not None and _is_tainted(node):
            context.write(node, lambda found: _reachable(found, True, now), now)
        return None
    lost_at = float(context.memory.setdefault((str(key), "lost"), now)) + context.pace.node_grace
    if lost_at > now:
        return lost_at
    if node is None:
        for pod in pods:
            _disrupt(context, pod, "DeletionByPodGC", now, grace=0)
        return None
    return _silent(context, node, pods, lost_at, now)


def _silent(context: Context, node: Document, pods: list[Document], lost_at: float, now: float) -> float | None:
    context.write(node, lambda found: _reachable(found, False, now), now)
    for pod in pods:
        if not has_ended(pod):
            context.write(pod, lambda found: with_condition(found, now, "Ready", False), now)
    evicted_at = lost_at + context.pace.node_timeout
    if evicted_at > now:
        return evicted_at
    for pod in pods:
        if not is_leaving(pod) and controlled_by(pod, DAEMON_SET) is None:
            _disrupt(context, pod, "DeletionByTaintManager", now)
    return None


def _disrupt(context: Context, pod: Document, why: str, now: float, grace: float | None = None) -> None:
    """Says on the pod why it goes, and deletes it."""
    pod = context.write(pod, lambda found: with_condition(found, now, "DisruptionTarget", True, why), now)
    if grace == 0 and not has_ended(pod):
        pod = context.write(pod, lambda found: changed(found, "status", "phase", to="Failed"), now)
    context.remove(pod, now, grace=grace)


def _is_tainted(node: Document) -> bool:
    return any(each["key"] == _TAINT for each in (node.get("spec") or {}).get("taints") or ())


def _reachable(node: Document, is_reachable: bool, now: float) -> Document:
    taints = [each for each in (node.get("spec") or {}).get("taints") or () if each["key"] != _TAINT]
    if not is_reachable:
        taints += [{"key": _TAINT, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    node = changed(node, "spec", "taints", to=taints or None)
    why = "KubeletReady" if is_reachable else "NodeStatusUnknown"
    return with_condition(node, now, "Ready", "True" if is_reachable else "Unknown", why)


CONTROLLERS = (Controller("Nodes", (NODE, POD), concerned, reconcile),)
