"""Another scheduler beside ours: it gives a node to every pod that does not name us and has no gate, where it fits."""

from collections.abc import Iterator

from phalanx.minicluster.documents import is_leaving, labels_of, selected
from phalanx.minicluster.errors import Rejected
from phalanx.minicluster.store import Store
from phalanx.sim.objects.drawn import Doc
from phalanx.sim.objects.templates import GPU, SCHEDULER


def bind_who_waits(store: Store, now: float) -> None:
    """One look at all pods."""
    for pod in store.of_kind("", "Pod"):
        spec = pod["spec"]
        if spec.get("nodeName") or spec.get("schedulingGates") or spec.get("schedulerName") == SCHEDULER:
            continue
        node = next(_fitting(store, pod), None)
        if node is not None and not is_leaving(pod):
            try:
                store.bind("default", pod["metadata"]["name"], pod["metadata"]["uid"], node, now)
            except Rejected as rejected:
                if rejected.reason != "Conflict":
                    raise


def free(store: Store, node: Doc) -> int:
    """GPUs of a node that no pod holds."""
    name = node["metadata"]["name"]
    there = [pod for pod in store.of_kind("", "Pod") if pod["spec"].get("nodeName") == name]
    taken = sum(gpus(pod) for pod in there if pod["status"].get("phase") not in ("Succeeded", "Failed"))
    return int(node["status"]["allocatable"].get(GPU, 0)) - taken


def gpus(pod: Doc) -> int:
    listed = pod["spec"]["containers"]
    return sum(int((one.get("resources") or {}).get("requests", {}).get(GPU, 0)) for one in listed)


def takes_pods(node: Doc) -> bool:
    """Whether pods that tolerate nothing may go there."""
    hard = [one for one in node["spec"].get("taints") or () if one["effect"] != "PreferNoSchedule"]
    return not (node["spec"].get("unschedulable") or hard or is_leaving(node))


def _fitting(store: Store, pod: Doc) -> Iterator[str]:
    for node in store.of_kind("", "Node"):
        is_open = takes_pods(node)
        wanted = selected(labels_of(node), pod["spec"].get("nodeSelector") or {})
        if is_open and wanted and free(store, node) >= gpus(pod):
            yield node["metadata"]["name"]
