"""Workloads of Kubernetes itself: Job, CronJob, StatefulSet, ReplicaSet, Deployment, ReplicationController, Pod."""

from random import Random

from phalanx.sim.objects import templates
from phalanx.sim.objects.drawn import Doc, Drawn, Made, Role
from phalanx.sim.objects.kinds.row import Fields, Row


def one_role(chance: Random, most: int = 5) -> Fields:
    """Pods that are all alike."""
    return {"roles": (Role("main", chance.randint(1, most), chance.choice((1, 1, 2, 2, 4))),)}


def job_spec(drawn: Drawn, made: str, role: Role, indexed: bool) -> Doc:
    mode = "Indexed" if indexed else "NonIndexed"
    spec: Doc = {"parallelism": role.count, "completions": role.count, "completionMode": mode}
    return {**spec, "backoffLimit": 1000, "template": templates.template(drawn, made, role)}


def _job(drawn: Drawn, made: str) -> Made:
    spec = job_spec(drawn, made, drawn.roles[0], "indexed" in drawn.says)
    spec |= {"suspend": True} if drawn.held else {}
    return Made((templates.top(drawn, "batch/v1", "Job", spec),))


def _drawn_job(chance: Random) -> Fields:
    return {**one_role(chance), "says": chance.choice((("indexed",), ()))}


def _replicated(api: str, kind: str, drawn: Drawn, made: str, **more: object) -> Made:
    role = drawn.roles[0]
    spec = {"replicas": role.count, "template": templates.template(drawn, made, role), **more}
    return Made((templates.top(drawn, api, kind, spec),))


def _stateful_set(drawn: Drawn, made: str) -> Made:
    policy = "Parallel" if drawn.together else "OrderedReady"
    selector = {"matchLabels": {"app": drawn.name}}
    more = {"selector": selector, "podManagementPolicy": policy, "serviceName": drawn.name}
    return _replicated("apps/v1", "StatefulSet", drawn, made, **more)


def _replica_set(drawn: Drawn, made: str) -> Made:
    return _replicated("apps/v1", "ReplicaSet", drawn, made, selector={"matchLabels": {"app": drawn.name}})


def _deployment(drawn: Drawn, made: str) -> Made:
    return _replicated("apps/v1", "Deployment", drawn, made, selector={"matchLabels": {"app": drawn.name}})


def _replication_controller(drawn: Drawn, made: str) -> Made:
    return _replicated("v1", "ReplicationController", drawn, made, selector={"app": drawn.name})


def _served(chance: Random) -> Fields:
    return {**one_role(chance), "restart": "Always"}


def _apart(chance: Random) -> Fields:
    return {**_served(chance), "together": False, "level": None}


def _pod(drawn: Drawn, made: str) -> Made:
    role = drawn.roles[0]
    alone = templates.pod(drawn, made, role, drawn.name, templates.template(drawn, made, role))
    alone["metadata"]["annotations"] |= {templates.REQUIRED: drawn.level} if drawn.level else {}
    alone["metadata"]["labels"] |= {templates.QUEUE: drawn.queue} if drawn.queue else {}
    return Made((), (alone,))


ROWS = {
    "Job": Row(_job, _drawn_job, held=True),
    "StatefulSet": Row(_stateful_set, _served, resized=True, rolled=True),
    "StatefulSet in order": Row(_stateful_set, _apart, resized=True, rolled=True),
    "ReplicaSet": Row(_replica_set, _apart, resized=True),
    "Deployment": Row(_deployment, _apart, resized=True, rolled=True),
    "ReplicationController": Row(_replication_controller, _apart, resized=True),
    "Pod": Row(_pod, lambda chance: one_role(chance, most=1), by_hand=True),
}
