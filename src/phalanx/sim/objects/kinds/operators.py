"""Workloads of operators: LeaderWorkerSet, Kubeflow's training kinds, MPIJob, and Ray's kinds."""

from collections.abc import Callable
from random import Random

from phalanx.sim.objects import templates
from phalanx.sim.objects.drawn import Doc, Drawn, Made, Role
from phalanx.sim.objects.kinds.row import Fields, Row


def _gpus(chance: Random) -> int:
    return chance.choice((1, 1, 2, 2, 4))


# -- LeaderWorkerSet ---------------------------------------------------------------------------------------------


def _leader_worker_set(drawn: Drawn, made: str) -> Made:
    leader, workers = drawn.roles
    own: Doc = {"size": 1 + workers.count, "workerTemplate": templates.template(drawn, made, workers)}
    own["restartPolicy"] = drawn.says[0]
    own["leaderTemplate"] = templates.template(drawn, made, leader)
    spec = {"replicas": drawn.copies, "leaderWorkerTemplate": own}
    return Made((templates.top(drawn, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec),))


def _drawn_leader_worker_set(chance: Random) -> Fields:
    leader = Role("leader", 1, _gpus(chance))
    workers = Role("worker", chance.randint(1, 3), chance.choice((leader.gpus, _gpus(chance))))
    says = (chance.choice(("RecreateGroupOnPodRestart", "RecreateGroupOnPodRestart", "None")),)
    return {"roles": (leader, workers), "copies": chance.randint(1, 3), "restart": "Always", "says": says}


# -- Kubeflow ----------------------------------------------------------------------------------------------------

_SPECS = {
    "PyTorchJob": ("pytorchReplicaSpecs", ("Master", "Worker")),
    "TFJob": ("tfReplicaSpecs", ("Chief", "PS", "Worker")),
    "XGBoostJob": ("xgbReplicaSpecs", ("Master", "Worker")),
    "PaddleJob": ("paddleReplicaSpecs", ("Master", "Worker")),
    "JAXJob": ("jaxReplicaSpecs", ("Worker",)),
}
_ALONE = ("Master", "Chief")


def _training(kind: str) -> Row:
    specs, names = _SPECS[kind]

    def make(drawn: Drawn, made: str) -> Made:
        listed = {
            role.name: {
                "replicas": role.count, "restartPolicy": "OnFailure",
                "template": templates.template(drawn, made, role),
            }
            for role in drawn.roles
        }  # fmt: skip
        return Made((templates.top(drawn, "kubeflow.org/v1", kind, {specs: listed}),))

    def fields(chance: Random) -> Fields:
        roles = [Role(name, 1 if name in _ALONE else chance.randint(1, 3), _gpus(chance)) for name in names]
        return {"roles": tuple(roles), "restart": "OnFailure"}

    return Row(make, fields)


def _mpi_job(drawn: Drawn, made: str) -> Made:
    launcher, workers = drawn.roles
    listed = {
        "Launcher": {"replicas": 1, "template": templates.template(drawn, made, launcher)},
        "Worker": {"replicas": workers.count, "template": templates.template(drawn, made, workers)},
    }
    return Made((templates.top(drawn, "kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": listed}),))


def _drawn_mpi_job(chance: Random) -> Fields:
    return {"roles": (Role("Launcher", 1, 1), Role("Worker", chance.randint(1, 3), _gpus(chance)))}


# -- Ray ---------------------------------------------------------------------------------------------------------


def _cluster_spec(drawn: Drawn, made: str) -> Doc:
    head, *groups = drawn.roles
    listed = [
        {
            "groupName": role.name, "replicas": role.count, "minReplicas": role.needed, "maxReplicas": role.count,
            "template": templates.template(drawn, made, role),
        }
        for role in groups
    ]  # fmt: skip
    own = {"rayStartParams": {}, "template": templates.template(drawn, made, head)}
    return {"headGroupSpec": own, "workerGroupSpecs": listed}


def _ray(kind: str, spec_of: Callable[[Doc], Doc]) -> Row:
    def make(drawn: Drawn, made: str) -> Made:
        return Made((templates.top(drawn, "ray.io/v1", kind, spec_of(_cluster_spec(drawn, made))),))

    return Row(make, _drawn_ray)


def _drawn_ray(chance: Random) -> Fields:
    groups = [Role("headgroup", 1, 1)]
    for name in ("small", "large")[: chance.choice((1, 1, 2))]:
        count = chance.randint(1, 3)
        least = chance.randint(1, count) if chance.random() < 0.3 else None
        groups.append(Role(name, count, _gpus(chance), least))
    return {"roles": tuple(groups), "restart": "Always"}


ROWS = {
    "LeaderWorkerSet": Row(
        _leader_worker_set, _drawn_leader_worker_set, copy="leaderworkerset.sigs.k8s.io/group-index"
    ),
    **{kind: _training(kind) for kind in _SPECS},
    "MPIJob": Row(_mpi_job, _drawn_mpi_job),
    "RayCluster": _ray("RayCluster", lambda spec: spec),
    "RayJob": _ray("RayJob", lambda spec: {"entrypoint": "python x.py", "rayClusterSpec": spec}),
    "RayService": _ray("RayService", lambda spec: {"rayClusterConfig": spec}),
}
