"""ReplicaSets and ReplicationControllers: so many pods, one like the other.

Pods that ended or leave are replaced at once. Left out: adoption of pods by selector.
"""

from phalanx.minicluster import making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import looks_after
from phalanx.minicluster.documents import POD, is_leaving, merged
from phalanx.minicluster.pods import active, is_ready, least_useful
from phalanx.model.objects import ObjectKey

REPLICA_SET = ("apps", "ReplicaSet")
REPLICATION_CONTROLLER = ("", "ReplicationController")


def reconcile(context: Context, key: ObjectKey, now: float) -> float | None:
    own = context.store.get(key)
    if own is None or is_leaving(own):
        return None
    pods = active(context.children(own, POD))
    wanted, again = int(own["spec"]["replicas"]), None
    if len(pods) < wanted:
        new = making.pod(own, own["spec"]["template"], generate=f"{key.name}-")
        again = making.make(context, own, [new] * (wanted - len(pods)), now)
    for pod in sorted(pods, key=least_useful)[: max(0, len(pods) - wanted)]:
        context.remove(pod, now)
    there = active(context.children(own, POD))
    counts = {"replicas": len(there), "readyReplicas": sum(map(is_ready, there))}
    context.write(own, lambda found: merged(found, "status", **counts), now)
    return again


CONTROLLERS = (looks_after(REPLICA_SET, reconcile), looks_after(REPLICATION_CONTROLLER, reconcile))
