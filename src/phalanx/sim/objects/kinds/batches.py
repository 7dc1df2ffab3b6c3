"""Workloads made of Jobs: JobSet whole and with a gang for each Job, TrainJob, CronJob."""

from random import Random

from phalanx.sim.objects import templates
from phalanx.sim.objects.drawn import Doc, Drawn, Made, Role
from phalanx.sim.objects.kinds.builtin import job_spec, one_role
from phalanx.sim.objects.kinds.row import Fields, Row

JOB_INDEX = "jobset.sigs.k8s.io/job-index"
_NEVER_OVER = 1000


def _job_template(drawn: Drawn, made: str, role: Role, jobs: int = 1) -> Doc:
    """``jobs``: the pods of the role are shared among so many."""
    spec = job_spec(drawn, made, role, indexed=True)
    each = role.count // jobs
    spec |= {"parallelism": each, "completions": each}
    if "restarts" in drawn.says:
        spec["backoffLimit"] = 0
    return {"spec": spec}


def _job_set(drawn: Drawn, listed: list[Doc], **annotations: str) -> Doc:
    spec: Doc = {"replicatedJobs": listed}
    if "restarts" in drawn.says:
        spec["failurePolicy"] = {"maxRestarts": _NEVER_OVER}
    spec |= {"suspend": True} if drawn.held else {}
    return templates.top(drawn, "jobset.x-k8s.io/v1alpha2", "JobSet", spec, **annotations)


def _jobs_of(drawn: Drawn) -> int:
    return 2 if "two Jobs" in drawn.says else 1


def _whole(drawn: Drawn, made: str) -> Made:
    jobs = _jobs_of(drawn)
    listed = [
        {"name": role.name, "replicas": jobs, "template": _job_template(drawn, made, role, jobs)}
        for role in drawn.roles
    ]
    return Made((_job_set(drawn, listed, **{templates.GANG_MODE: "Gang"}),))


def _drawn_whole(chance: Random) -> Fields:
    jobs = chance.choice((1, 2))
    names = ("driver", "workers")[: chance.choice((1, 2, 2))]
    roles = tuple(Role(name, jobs * chance.randint(1, 2), chance.choice((1, 2, 4))) for name in names)
    return {"roles": roles, "says": _says(chance, jobs)}


def _says(chance: Random, jobs: int) -> tuple[str, ...]:
    restarts = ("restarts",) if chance.random() < 0.6 else ()
    return (*restarts, *(("two Jobs",) if jobs == 2 else ()))


def _each_job(drawn: Drawn, made: str) -> Made:
    """A gang for each Job, near each other only within a Job."""
    role = drawn.roles[0]
    template = _job_template(drawn, made, role)
    near = {templates.REQUIRED: drawn.level} if drawn.level else {}
    template["metadata"] = {"annotations": near}
    one = {"name": role.name, "replicas": drawn.copies, "gangConfig": {"gangMode": "ReplicatedGang"}}
    doc = _job_set(drawn, [{**one, "template": template}])
    doc["metadata"].pop("annotations", None)
    return Made((doc,))


def _drawn_each(chance: Random) -> Fields:
    return {**one_role(chance, most=3), "copies": chance.randint(1, 3), "says": _says(chance, 1)}


def _train_job(drawn: Drawn, made: str) -> Made:
    role = drawn.roles[0]
    template = _job_template(drawn, made, role)
    template["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    listed = [{"name": role.name, "replicas": 1, "template": template}]
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
        "metadata": {"name": f"{drawn.name}-runtime"},
        "spec": {"mlPolicy": {"numNodes": role.count}, "template": {"spec": {"replicatedJobs": listed}}},
    }  # fmt: skip
    spec = {"runtimeRef": {"name": f"{drawn.name}-runtime"}}
    return Made((runtime, templates.top(drawn, "trainer.kubeflow.org/v1alpha1", "TrainJob", spec)))


def _drawn_train_job(chance: Random) -> Fields:
    role = one_role(chance)["roles"][0]
    return {"roles": (Role("node", role.count, role.gpus),)}


def _cron_job(drawn: Drawn, made: str) -> Made:
    """A Job every so often, and never two at once."""
    near = {"metadata": {"annotations": {templates.REQUIRED: drawn.level}}} if drawn.level else {}
    own = {"spec": job_spec(drawn, made, drawn.roles[0], indexed=True), **near}
    spec = {"schedule": "* * * * *", "concurrencyPolicy": drawn.says[0], "jobTemplate": own}
    doc = templates.top(drawn, "batch/v1", "CronJob", spec)
    doc["metadata"]["annotations"] = {"minicluster.phalanx.dev/every": drawn.says[1]}
    return Made((doc,))


def _drawn_cron_job(chance: Random) -> Fields:
    says = chance.choice(("Forbid", "Replace", "Allow")), chance.choice(("15", "40"))
    return {**one_role(chance, most=3), "says": says}


ROWS = {
    "JobSet": Row(_whole, _drawn_whole, held=True),
    "JobSet, each Job": Row(_each_job, _drawn_each, copy=JOB_INDEX),
    "TrainJob": Row(_train_job, _drawn_train_job),
    "CronJob": Row(_cron_job, _drawn_cron_job, copy="job-name"),
}
