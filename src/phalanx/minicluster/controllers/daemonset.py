"""DaemonSets: a pod for each node that fits, bound directly.

Left out: rollouts, node affinity, taints of node conditions beyond those written on the node.
"""

from collections.abc import Iterable

from phalanx.minicluster import making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import Controller, controlled_by
from phalanx.minicluster.documents import NODE, POD, Document, is_leaving, key_of, kind_of, labels_of, selected
from phalanx.minicluster.pods import has_ended
from phalanx.minicluster.store import Event
from phalanx.model.objects import ObjectKey

DAEMON_SET = ("apps", "DaemonSet")
_TOLERATED = ("node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def concerned(context: Context, event: Event) -> Iterable[ObjectKey]:
    doc = event.document
    if kind_of(doc) == NODE:
        return [key_of(each) for each in context.store.of_kind(*DAEMON_SET)]
    above = key_of(doc) if kind_of(doc) == DAEMON_SET else controlled_by(doc, DAEMON_SET)
    return () if above is None else (above,)


def reconcile(context: Context, key: ObjectKey, now: float) -> None:
    own = context.store.get(key)
    if own is None or is_leaving(own):
        return
    wanted = {node["metadata"]["name"] for node in context.store.of_kind(*NODE) if _fits(own, node)}
    there = set()
    for pod in context.children(own, POD):
        node = pod["spec"].get("nodeName")
        if not is_leaving(pod) and (has_ended(pod) or node not in wanted or node in there):
            context.remove(pod, now)
        there.add(node)
    template = own["spec"]["template"]
    for name in sorted(wanted - there):
        spec = {**template["spec"], "nodeName": name}
        making.create(context, making.pod(own, {**template, "spec": spec}, generate=f"{key.name}-"), now)


def _fits(own: Document, node: Document) -> bool:
    spec = own["spec"]["template"]["spec"]
    taints = (node.get("spec") or {}).get("taints") or ()
    hard = [each for each in taints if each.get("effect") in ("NoSchedule", "NoExecute")]
    matches = selected(labels_of(node), spec.get("nodeSelector") or {})
    return matches and all(_is_tolerated(each, spec.get("tolerations") or ()) for each in hard)


def _is_tolerated(taint: Document, tolerations: Iterable[Document]) -> bool:
    if taint["key"] in _TOLERATED:
        return True
    return any(
        each.get("key") in (None, "", taint["key"])
        and each.get("effect") in (None, "", taint["effect"])
        and (each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", ""))
        for each in tolerations
    )


CONTROLLERS = (Controller("DaemonSet", (DAEMON_SET, NODE, POD), concerned, reconcile),)
