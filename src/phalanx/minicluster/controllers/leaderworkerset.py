"""LeaderWorkerSets: a StatefulSet of leaders, and for each leader pod a StatefulSet of its workers, owned by it.

Where a pod of a group is deleted or its container restarts, the leader goes in the foreground, and the group with it,
unless ``restartPolicy`` is None. Which group and worker a pod is stands in its labels when it is made, as by a webhook.
Left out: surge and partitions of a rollout, subgroups, exclusive placement, networks.
"""

from collections.abc import Iterable

from phalanx.minicluster import making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import Controller
from phalanx.minicluster.controllers.statefulset import INDEX, STATEFUL_SET
from phalanx.minicluster.documents import (
    POD,
    Document,
    changed,
    fingerprint,
    is_leaving,
    key_of,
    kind_of,
    labels_of,
    merged,
    reference,
)
from phalanx.minicluster.pods import is_ready
from phalanx.minicluster.store import Event
from phalanx.model.objects import ObjectKey

LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
MARK = "leaderworkerset.sigs.k8s.io/"
NAME, GROUP, WORKER = f"{MARK}name", f"{MARK}group-index", f"{MARK}worker-index"
KEY, REVISION = f"{MARK}group-key", f"{MARK}template-revision-hash"


def concerned(context: Context, event: Event) -> Iterable[ObjectKey]:
    doc = event.document
    if kind_of(doc) == LEADER_WORKER_SET:
        return (key_of(doc),)
    name = labels_of(doc).get(NAME)
    return () if name is None else (ObjectKey(*LEADER_WORKER_SET, key_of(doc).namespace, name),)


def reconcile(context: Context, key: ObjectKey, now: float) -> None:
    own = context.store.get(key)
    if own is None or is_leaving(own):
        return
    leaders = _leaders(context, own, now)
    pods = [] if leaders is None else context.children(leaders, POD)
    for leader in pods:
        _workers(context, own, leader, now)
    counts = {"replicas": len(pods), "readyReplicas": sum(_is_whole(context, own, leader) for leader in pods)}
    context.write(own, lambda found: merged(found, "status", **counts), now)


def _leaders(context: Context, own: Document, now: float) -> Document | None:
    wanted = _leader_set(own)
    found = next(iter(context.children(own, STATEFUL_SET)), None)
    if found is None:
        return making.create(context, wanted, now)
    if is_leaving(found):
        return None

    def write(before: Document) -> Document:
        after = changed(before, "spec", "replicas", to=wanted["spec"]["replicas"])
        return changed(after, "spec", "template", to=wanted["spec"]["template"])

    return context.write(found, write, now)


def _workers(context: Context, own: Document, leader: Document, now: float) -> None:
    """Makes the workers of a leader, or ends a group of which one is broken."""
    if is_leaving(leader):
        return
    sets = context.children(leader, STATEFUL_SET)
    group = [leader, *(pod for each in sets for pod in context.children(each, POD))]
    policy = own["spec"]["leaderWorkerTemplate"].get("restartPolicy", "RecreateGroupOnPodRestart")
    if policy != "None" and any(_is_broken(pod) for pod in group):
        context.remove(leader, now, "Foreground")
        return
    waits = own["spec"].get("startupPolicy") == "LeaderReady" and not is_ready(leader)
    if not sets and not waits and _size(own) > 1:
        making.create(context, _worker_set(own, leader), now)


def _is_broken(pod: Document) -> bool:
    restarted = any(each.get("restartCount") for each in pod["status"].get("containerStatuses") or ())
    return restarted or is_leaving(pod)


def _is_whole(context: Context, own: Document, leader: Document) -> bool:
    sets = context.children(leader, STATEFUL_SET)
    workers = [pod for each in sets for pod in context.children(each, POD)]
    return is_ready(leader) and sum(map(is_ready, workers)) >= _size(own) - 1


def _size(own: Document) -> int:
    return int(own["spec"]["leaderWorkerTemplate"].get("size", 1))


# -- what it makes -----------------------------------------------------------------------------------------------


def _leader_set(own: Document) -> Document:
    templates = own["spec"]["leaderWorkerTemplate"]
    marks = {NAME: own["metadata"]["name"], WORKER: "0", REVISION: _revision(own)}
    template = _marked(templates.get("leaderTemplate") or templates["workerTemplate"], marks, own)
    return _stateful_set(own, own["metadata"]["name"], int(own["spec"].get("replicas", 1)), template, marks)


def _worker_set(own: Document, leader: Document) -> Document:
    marks = {name: labels_of(leader)[name] for name in (NAME, GROUP, KEY, REVISION)}
    template = _marked(own["spec"]["leaderWorkerTemplate"]["workerTemplate"], marks, own)
    name = leader["metadata"]["name"]
    template = merged(template, "metadata", "annotations", **{f"{MARK}leader-name": name})
    made = _stateful_set(leader, name, _size(own) - 1, template, marks)
    return changed(made, "spec", "ordinals", to={"start": 1})


def _marked(template: Document, marks: dict[str, str], own: Document) -> Document:
    template = merged(template, "metadata", "labels", **marks)
    return merged(template, "metadata", "annotations", **{f"{MARK}size": str(_size(own))})


def _stateful_set(owner: Document, name: str, replicas: int, template: Document, marks: dict[str, str]) -> Document:
    meta = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "labels": {key: value for key, value in marks.items() if key != WORKER},
        "ownerReferences": [reference(owner)],
    }
    selected = {key: value for key, value in marks.items() if key in (NAME, GROUP, WORKER)}
    spec = {
        "replicas": replicas,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": selected},
        "serviceName": selected[NAME],
        "template": template,
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}


def _revision(own: Document) -> str:
    return fingerprint(own["spec"]["leaderWorkerTemplate"])


def admit(pod: Document) -> Document:
    """The webhook for its pods: which group a leader is, and which worker a worker."""
    labels = labels_of(pod)
    if NAME not in labels or INDEX not in labels:
        return pod
    if labels.get(WORKER) != "0":
        return merged(pod, "metadata", "labels", **{WORKER: labels[INDEX]})
    group = {GROUP: labels[INDEX], KEY: fingerprint([pod["metadata"]["namespace"], pod["metadata"]["name"]])}
    return merged(pod, "metadata", "labels", **group)


CONTROLLERS = (
    Controller("LeaderWorkerSet", (LEADER_WORKER_SET, STATEFUL_SET, POD), concerned, reconcile),
)  # fmt: skip
