"""TrainJob: a (Cluster)TrainingRuntime, which must be among the documents, with numbers and changes of its own.

The runtime holds a JobSet; the TrainJob's is made of it and read as such, so pod sets have the names of its replicated
jobs. Decisions:

* All replicated jobs of the step ``trainer`` are one gang (W-138, W-144), MPI's launcher among them: the TrainJob
  itself, or a unit ``trainer`` where there are initializers, which are units of their own (W-227). One that
  ``dependsOn`` another of the trainer's is left out, with a warning; with ``startupPolicyOrder: InOrder`` each is a
  gang by itself. ``phalanx.dev/gang-mode: Off`` lets every pod start as it fits.
* A replicated job is of the step that the label ``trainjob-ancestor-step`` of its Job template names; without one it
  is of the trainer's unless it is called as an initializer is.
* ``numNodes``: the TrainJob's, else the runtime's, else what the runtime's Jobs say. It is the size of the replicated
  job ``node`` (else of all of the trainer's but ``launcher``); with ``runLauncherAsNode`` the launcher is one of them.
  Under an elastic policy ``minNodes`` are wanted, unless the TrainJob says more, and up to ``maxNodes`` may come.
* A level on the TrainJob bounds the trainer's gang. Initializers are over before it starts, and where they ran is
  no matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from phalanx.dialects import outline, runtimepatches, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.jobspec import PODS_MAX
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.runtimepatches import Made, Patch, merged
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.model.objects import ObjectKey

_GROUP = "trainer.kubeflow.org"
_CLUSTER_KIND, _KIND = "ClusterTrainingRuntime", "TrainingRuntime"
_STEP = f"{_GROUP}/trainjob-ancestor-step"
_INITIALIZERS = ("dataset-initializer", "model-initializer")
_TRAINER, _NODE, _LAUNCHER = "trainer", "node", "launcher"
_LEVELS = (*(key for one in (wishes.OURS, wishes.KAI) for key in (one.required, one.preferred)), wishes.GANG_MODE)

_READ = (
    "runtimeRef", "initializer", "trainer", "suspend", "labels", "annotations",
    "podSpecOverrides", "podTemplateOverrides", "runtimePatches",
)  # fmt: skip


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a TrainJob; None, with a Problem, when its runtime is not given."""
    namespace, name = identity(doc)
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    doc.at("spec").mapping()
    doc.at("spec").typos(*_READ)
    runtimepatches.check_place(doc)
    wishes.check_our_keys(doc.at("metadata"), *wishes.on_object())
    runtime = _runtime(doc, namespace, around)
    if runtime is None or not name:
        return None
    jobs = runtime.at("template", "spec", "replicatedJobs").items()
    if not jobs:
        runtime.at("template", "spec", "replicatedJobs").wrong("the runtime has no replicated jobs")
        return None
    metadata = _metadata(doc, runtime)
    mode = _mode(metadata)
    found = around.expand(Field.of(_jobset(doc, runtime, jobs, metadata, mode), doc.notes, made=True))
    if found is None:
        return None
    spec = {
        **found.spec,
        "scheduleTimeoutSeconds": _time_out(runtime.at("podGroupPolicy")),
        **_groups(found, metadata, around),
    }
    return replace(found, kind="TrainJob", spec=_elastic(spec, doc, runtime) if mode == "Gang" else spec)


def _mode(metadata: Field) -> str:
    at = metadata.at("annotations", wishes.GANG_MODE)
    if at.value == "ReplicatedGang":
        at.wrong("a TrainJob has no replicas to start one by one", ("Gang", "Off"))
        return "Gang"
    return wishes.mode(metadata, "Gang", "Off") or "Gang"


# -- the runtime -------------------------------------------------------------------------------------------------


def _runtime(doc: Field, namespace: str, around: Surroundings) -> Field | None:
    """The spec of the runtime that the TrainJob names, with notes that count as the TrainJob's own."""
    at = doc.at("spec", "runtimeRef")
    at.mapping()
    at.typos("name", "kind", "apiGroup")
    group = at.at("apiGroup").choice(_GROUP, _GROUP)
    kind = at.at("kind").choice(_CLUSTER_KIND, _CLUSTER_KIND, _KIND)
    name = at.at("name").name(None)
    if name is None:
        if not at.at("name").present:
            at.at("name").wrong("a TrainJob names its runtime")
        return None
    where = "default" if kind == _CLUSTER_KIND else namespace
    found = around.neighbours.find(group, kind, where, name)
    if found is None:
        at.at("name").wrong(
            f"{kind} {name} is not among the documents; what the pods of the TrainJob look like stands there"
        )
        return None
    return Field.of(found.value, doc.notes, ObjectKey(group, kind, where, name)).at("spec")


def _time_out(policy: Field) -> Field | None:
    """How long a gang may be half there: of scheduler-plugins' co-scheduling, or of the design's Workload. (W-225)"""
    policy.mapping()
    topology = policy.at("volcano", "networkTopology")
    if topology.present:
        topology.wrong("Volcano's network topology is not read; annotate the TrainJob", (wishes.OURS.required,))
    given = [policy.at(one, "scheduleTimeoutSeconds") for one in ("coscheduling", "coreWorkload", "workload")]
    return next((at for at in given if at.present and at.value != 0), None)  # 0: whatever is usual


def _is_trainer(job: Field) -> bool:
    step = job.at("template", "metadata", "labels", _STEP)
    return step.value == _TRAINER if step.present else _name(job) not in _INITIALIZERS


def _name(job: Field) -> str:
    """The name of a replicated job; empty where it is none, which the JobSet's reader tells."""
    return job.at("name").aside().name("")


# -- its JobSet --------------------------------------------------------------------------------------------------


def _metadata(doc: Field, runtime: Field) -> Field:
    """Labels and annotations of the JobSet: the runtime's, then those of the TrainJob."""
    sources = [runtime.at("template", "metadata"), *runtimepatches.of_jobset(doc)]
    sources += [doc.at("spec"), doc.at("metadata")]
    known = {part: merged([one.at(part) for one in sources]) for part in ("labels", "annotations")}
    return Field.of({"name": doc.at("metadata", "name"), **known}, doc.notes)


def _jobset(doc: Field, runtime: Field, jobs: Sequence[Field], metadata: Field, mode: str) -> Made:
    own: Made = {key: at for key, at in metadata.at("annotations").entries() if key not in _LEVELS}
    changes = runtimepatches.of_pods(doc, [_name(job) for job in jobs])
    in_order = mode == "Gang" and _in_order(runtime)
    modes = [_job_mode(job, jobs, in_order) for job in jobs]
    named = {
        "name": doc.at("metadata", "name"),
        "generateName": doc.at("metadata", "generateName"),
        "namespace": doc.at("metadata", "namespace"),
        "labels": dict(metadata.at("labels").entries()),
        "annotations": {**own, **({} if in_order else {wishes.GANG_MODE: mode})},
    }
    scheduling = runtime.at("template", "spec", "scheduling")
    if scheduling.present:
        scheduling.warn("is not followed: the trainer of a TrainJob is one gang, or what its annotations say")
    spec = {
        **dict(runtime.at("template", "spec").entries()),
        "scheduling": None,
        "suspend": doc.at("spec", "suspend"),
        "replicatedJobs": [_job(job, doc, runtime, jobs, changes, own) for job, own in zip(jobs, modes, strict=True)],
    }
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": named, "spec": spec}


def _in_order(runtime: Field) -> bool:
    """Whether replicated jobs start one after the other."""
    at = runtime.at("template", "spec", "startupPolicy", "startupPolicyOrder")
    if at.value == "InOrder":
        at.warn("replicated jobs start one after the other, so each of them is a gang by itself")
    return at.value == "InOrder"


def _job_mode(job: Field, jobs: Sequence[Field], in_order: bool) -> str | None:
    """The mode of a replicated job; None: it is part of the gang."""
    return "Gang" if in_order else None if _in_gang(job, jobs) else "Off"


def _job(
    job: Field, doc: Field, runtime: Field, jobs: Sequence[Field], changes: Sequence[Patch], mode: str | None
) -> Made:
    """A replicated job with the TrainJob's numbers and changes, and its mode."""
    template, spec = job.at("template"), job.at("template", "spec")
    metadata = template.at("metadata")
    own = {} if mode is None else {wishes.GANG_MODE: mode}
    pods = runtimepatches.applied(_resourced(job, doc), changes, _name(job))
    nodes = _nodes(doc, runtime, job, jobs)
    numbers = {} if nodes is None else {"parallelism": nodes, "completions": nodes}
    indexed = {} if spec.at("completionMode").present else {"completionMode": "Indexed"}
    made = {
        "metadata": {
            **dict(metadata.entries()),
            "annotations": {**dict(metadata.at("annotations").entries()), **own},
        },
        "spec": {**dict(spec.entries()), **indexed, **numbers, "template": pods},
    }
    waits = {"dependsOn": None} if mode is None else {}  # for initializers, with all of the gang
    return {**dict(job.entries()), **waits, "template": made}


def _in_gang(job: Field, jobs: Sequence[Field]) -> bool:
    """Whether a replicated job starts with the others of the trainer: not if it waits for one of them."""
    trainers = [_name(one) for one in jobs if _is_trainer(one)]
    awaited = [at.at("name") for at in job.at("dependsOn").items() if at.at("name").value in trainers]
    for at in awaited if _is_trainer(job) else ():
        at.warn(f"{_name(job)} is made after {at.value}, so it is no part of its gang")
    return _is_trainer(job) and not awaited


def _nodes(doc: Field, runtime: Field, job: Field, jobs: Sequence[Field]) -> Field | None:
    """Pods of one of the replicated jobs, where ``numNodes`` counts them."""
    named = {_name(one) for one in jobs if _is_trainer(one)}
    counted = {_NODE} if _NODE in named else named - {_LAUNCHER}
    at = _num_nodes(doc, runtime)
    nodes = at.integer(None, low=1, high=PODS_MAX)
    if nodes is None or _name(job) not in counted:
        return None
    launcher = runtime.at("mlPolicy", "mpi", "runLauncherAsNode").flag(False) and _LAUNCHER in named
    return at.meaning(max(1, nodes - 1)) if launcher else at


def _num_nodes(doc: Field, runtime: Field) -> Field:
    own, policy = doc.at("spec", "trainer", "numNodes"), runtime.at("mlPolicy")
    elastic = policy.at("torch", "elasticPolicy", "minNodes")
    return own if own.present else elastic if elastic.present else policy.at("numNodes")


def _elastic(spec: Mapping[str, object], doc: Field, runtime: Field) -> Mapping[str, object]:
    """The normal form with the bounds of an elastic policy on the group ``node``."""
    policy = runtime.at("mlPolicy", "torch", "elasticPolicy")
    listed = spec.get("podGroups")
    if not policy.mapping() or not isinstance(listed, list):
        return spec
    wanted = _num_nodes(doc, runtime).aside().integer(1)
    bounds = {"minCount": _fewest(policy.at("minNodes"), wanted), "maxCount": _most(policy.at("maxNodes"), wanted)}
    return {**spec, "podGroups": [{**one, **bounds} if _is_node(one) else one for one in listed]}


def _fewest(at: Field, wanted: int) -> Field | None:
    least = at.integer(wanted, low=1)
    if least > wanted:
        at.mistaken(f"is more than the {wanted} nodes wanted")
    return at if least <= wanted else None


def _most(at: Field, wanted: int) -> Field | None:
    most = at.integer(wanted, low=1)
    if most < wanted:
        at.mistaken(f"is less than the {wanted} nodes wanted")
    return at if most >= wanted else None


def _is_node(entry: Entry) -> bool:
    return outline.plain(entry.get("name")) == _NODE and "replicas" not in entry


# -- resources of pods ---------------------------------------------------------------------------------------------


def _resourced(job: Field, doc: Field) -> Made:
    """The pod template, with ``resourcesPerNode`` in the trainer's container ``node``."""
    pods = job.at("template", "spec", "template")
    resources = doc.at("spec", "trainer", "resourcesPerNode")
    spec: Made = dict(pods.at("spec").entries())
    if resources.present and resources.mapping() and _is_trainer(job):
        containers = pods.at("spec", "containers").items()
        spec["containers"] = [
            {**dict(one.entries()), "resources": resources} if one.at("name").value == _NODE else one
            for one in containers
        ]
        if _name(job) == _NODE and all(one.at("name").value != _NODE for one in containers):
            resources.warn(f"the runtime has no container {_NODE!r} to give them to")
    return {**dict(pods.entries()), "spec": spec}


# -- gangs -------------------------------------------------------------------------------------------------------


def _groups(found: Outline, metadata: Field, around: Surroundings) -> Made:
    """Groups and topology: what is asked of the TrainJob holds for its trainer's gang, under that name."""
    top = wishes.of_object(metadata, around.topologies)
    parents = {outline.plain(one.get("parent")) for one in found.groups}
    listed = [one for one in found.groups if _holds_pods(one) or outline.plain(one.get("name")) in parents]
    gang = next((one for one in listed if not _holds_pods(one) and one.get("parent") is None and _is_gang(one)), None)
    if gang is None:
        return {"podGroups": listed, **top}
    names = [outline.plain(one.get("name")) for one in listed]
    name = next(free for free in (_TRAINER, f"{_TRAINER}.", f"{_TRAINER}..") if free not in names)
    nested = [
        {**one, "parent": name} if one.get("parent") == gang["name"] else one for one in listed if one is not gang
    ]
    return {"podGroups": [*nested, {**gang, "name": name, **top}]}  # initializers are decided first


def _holds_pods(entry: Entry) -> bool:
    return "template" in entry or "podClasses" in entry


def _is_gang(entry: Entry) -> bool:
    """Whether this is the JobSet's group around those replicated jobs that start together."""
    return outline.plain(entry.get("name")) in ("gang", "gang.")
