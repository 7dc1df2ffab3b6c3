"""One file for each controller; what it leaves out stands in its first lines."""

from phalanx.minicluster.controller import Controller
from phalanx.minicluster.controllers import (
    cronjob,
    daemonset,
    deployment,
    job,
    jobset,
    leaderworkerset,
    mpijob,
    nodes,
    ray,
    replicaset,
    statefulset,
    training,
    trainjob,
)

CONTROLLERS: tuple[Controller, ...] = (
    *job.CONTROLLERS,
    *cronjob.CONTROLLERS,
    *statefulset.CONTROLLERS,
    *replicaset.CONTROLLERS,
    *deployment.CONTROLLERS,
    *daemonset.CONTROLLERS,
    *jobset.CONTROLLERS,
    *trainjob.CONTROLLERS,
    *leaderworkerset.CONTROLLERS,
    *training.CONTROLLERS,
    *mpijob.CONTROLLERS,
    *ray.CONTROLLERS,
    *nodes.CONTROLLERS,
)
