"""One request, drawn, as every dialect that can say it writes it; and a small cluster for it, as manifests."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

Doc = dict[str, Any]

GPU = "nvidia.com/gpu"
LEVELS = ("zone", "block", "rack", "host")
LABELS = {**{level: f"t/{level}" for level in LEVELS[:3]}, "host": "kubernetes.io/hostname"}


@dataclass(frozen=True, slots=True)
class Wish:
    """``pods`` pods of some GPUs each in one domain of a ``level``, that is asked of the pods or ``around`` them."""

    pods: int
    gpus: int
    level: str
    around: bool


def cluster(chance: Random) -> list[Doc]:
    """A topology, nodes of two sizes, and pods of gangs and of nobody on some of them."""
    levels = [{"nodeLabel": LABELS[level], "name": level} for level in LEVELS[:3]]
    docs: list[Doc] = [_object("phalanx.dev/v1alpha1", "Topology", "top", {"levels": levels})]
    for block in range(chance.randint(1, 3)):
        for rack in range(chance.randint(1, 3)):
            for host in range(chance.randint(1, 3)):
                name = f"n{block}{rack}{host}"
                docs += _node(name, block, rack, chance.choice((4, 8)), chance)
    return docs


def _node(name: str, block: int, rack: int, gpus: int, chance: Random) -> list[Doc]:
    where = {"zone": f"z{block // 2}", "block": f"b{block}", "rack": f"r{rack}", "host": name}
    labels = {LABELS[level]: domain for level, domain in where.items()}
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110", GPU: str(gpus)}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    found: list[Doc] = [{**node, "status": {"allocatable": allocatable}}]
    if chance.random() < 0.4:
        taken = _object("v1", "Pod", f"on-{name}", {**pod_spec(chance.choice((2, 4))), "nodeName": name})
        if chance.random() < 0.7:
            taken["metadata"]["labels"] = {"phalanx.dev/gang": f"old-{chance.randint(0, 2)}"}
        found.append({**taken, "status": {"phase": "Running"}})
    return found


def wish(chance: Random) -> Wish:
    return Wish(chance.randint(2, 14), chance.choice((1, 2, 4, 8)), chance.choice(LEVELS), chance.random() < 0.5)


def pod_spec(gpus: int, **more: Any) -> Doc:
    amounts = {GPU: str(gpus), "cpu": "1"}
    container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": {GPU: str(gpus)}}}
    return {"containers": [container], "restartPolicy": "Never", **more}


def _object(api: str, kind: str, name: str, spec: Doc, annotations: Doc | None = None) -> Doc:
    metadata = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": deepcopy(spec)}


def _template(asked: Wish, annotations: Doc | None = None, **more: Any) -> Doc:
    return {"metadata": {"annotations": annotations or {}}, "spec": pod_spec(asked.gpus, **more)}


def _job(asked: Wish, template: Doc, annotations: Doc | None = None) -> Doc:
    spec = {"parallelism": asked.pods, "completions": asked.pods, "completionMode": "Indexed", "template": template}
    return _object("batch/v1", "Job", "w", spec, annotations)


def gang(asked: Wish) -> list[Doc]:
    near = {"topology": {"required": asked.level}}
    group = {"name": "main", "count": asked.pods, "template": _template(asked), **({} if asked.around else near)}
    return [_object("phalanx.dev/v1alpha1", "Gang", "w", {"podGroups": [group], **(near if asked.around else {})})]


def gang_of_classes(asked: Wish) -> list[Doc]:
    leader, worker = ({"name": n, "count": c, "template": _template(asked)} for n, c in (("a", 1), ("b", asked.pods)))
    group = {"name": "main", "podClasses": [leader, worker], "minCount": asked.pods + 1}
    if not asked.around:
        group["topology"] = {"required": asked.level}
    spec = {"podGroups": [group], **({"topology": {"required": asked.level}} if asked.around else {})}
    return [_object("phalanx.dev/v1alpha1", "Gang", "w", spec)]


def gang_in_groups(asked: Wish) -> list[Doc]:
    """Copies in a group with a level of its own."""
    inner = {"name": "in", "parent": "out", "replicas": 2, "count": asked.pods, "template": _template(asked)}
    near = {"topology": {"required": asked.level}}
    outer = {"name": "out", **(near if asked.around else {})}
    groups = [outer, {**inner, **({} if asked.around else near)}]
    return [_object("phalanx.dev/v1alpha1", "Gang", "w", {"podGroups": groups})]


def job_of_ours(asked: Wish) -> list[Doc]:
    level = {"phalanx.dev/topology-required": asked.level}
    if asked.around:
        return [_job(asked, _template(asked), level)]
    return [_job(asked, _template(asked, level), {"phalanx.dev/gang-mode": "Gang"})]


def job_of_kueue(asked: Wish) -> list[Doc]:
    return [_job(asked, _template(asked, {"kueue.x-k8s.io/podset-required-topology": LABELS[asked.level]}))]


def job_of_kai(asked: Wish) -> list[Doc]:
    keys = {"kai.scheduler/topology": "top", "kai.scheduler/topology-required-placement": LABELS[asked.level]}
    return [_job(asked, _template(asked), keys)]


def jobset(asked: Wish, top: Doc, each: Doc, pods: Doc, jobs: int = 1) -> list[Doc]:
    template = _job(asked, _template(asked, pods), each)
    held = {"metadata": {"annotations": each}, "spec": template["spec"]}
    listed = [{"name": f"j{i}", "replicas": 1, "template": held} for i in range(jobs)]
    return [_object("jobset.x-k8s.io/v1alpha2", "JobSet", "w", {"replicatedJobs": listed}, top)]


def jobset_of_ours(asked: Wish) -> list[Doc]:
    level = {"phalanx.dev/topology-required": asked.level}
    return jobset(asked, level, {}, {}) if asked.around else jobset(asked, {}, level, {}, 2)


def jobset_of_kueue(asked: Wish) -> list[Doc]:
    level = {"kueue.x-k8s.io/podset-required-topology": LABELS[asked.level]}
    joined = {"kueue.x-k8s.io/podset-group-name": "both"} if asked.around else {}
    return jobset(asked, {}, {}, {**level, **joined}, 2)


def workload_of_kueue(asked: Wish) -> list[Doc]:
    near = {"required": LABELS[asked.level]}
    pods = {"name": "main", "count": asked.pods, "topologyRequest": near, "template": _template(asked)}
    return [_object("kueue.x-k8s.io/v1beta1", "Workload", "w", {"podSets": [pods]})]


def podgroup_of_kai(asked: Wish) -> list[Doc]:
    near = {"topologyConstraint": {"topology": "top", "requiredTopologyLevel": LABELS[asked.level]}}
    subgroup = {"name": "s0", "minMember": asked.pods, **({} if asked.around else near)}
    spec: Doc = {"subGroups": [subgroup], **(near if asked.around else {})}
    return [_object("scheduling.run.ai/v2alpha2", "PodGroup", "w", spec), *_pods(asked, "s0")]


def _pods(asked: Wish, subgroup: str) -> list[Doc]:
    found = [_object("v1", "Pod", f"p{i}", pod_spec(asked.gpus), {"pod-group-name": "w"}) for i in range(asked.pods)]
    for one in found:
        one["metadata"]["labels"] = {"kai.scheduler/subgroup-name": subgroup}
    return found


def podgroup(asked: Wish) -> list[Doc]:
    job = _job(asked, _template(asked, schedulingGroup={"podGroupName": "w"}))
    return [_k8s("PodGroup", "w", {"gang": {"minCount": asked.pods}}, asked.level), {**job, "metadata": {"name": "j"}}]


def _k8s(kind: str, name: str, policy: Doc, level: str | None, **more: Any) -> Doc:
    near = {"schedulingConstraints": {"topology": [{"key": LABELS[level]}]}} if level else {}
    return _object("scheduling.k8s.io/v1alpha3", kind, name, {"schedulingPolicy": policy, **near, **more})


def composite(asked: Wish) -> list[Doc]:
    """A level around PodGroups, or on each."""
    link: Doc = {"workloadRef": {"workloadName": "t", "templateName": "t"}}
    outer = _k8s(
        "CompositePodGroup", "w", {"gang": {"minGroupCount": 2}}, asked.level if asked.around else None, **link
    )
    found = [outer]
    for name in ("a", "b"):
        inner = {**link, "parentCompositePodGroupName": "w"}
        level = None if asked.around else asked.level
        found.append(_k8s("PodGroup", name, {"gang": {"minCount": asked.pods}}, level, **inner))
        job = _job(asked, _template(asked, schedulingGroup={"podGroupName": name}))
        found.append({**job, "metadata": {"name": f"job-{name}"}})
    return found


def workload_of_designs(asked: Wish) -> list[Doc]:
    """The first design's Workload: a level on its gang group, or on the ranked group inside."""
    near = {"topologyRequest": {"required": asked.level}}
    equal = {"name": "t", "count": asked.pods, "template": _template(asked)}
    ranked = {"name": "rg", "rankMode": "Off", "eqGroups": [equal], **({} if asked.around else near)}
    group = {"name": "gg", "rankedGroups": [ranked], **(near if asked.around else {})}
    return [_object("scheduling/v1alpha1", "Workload", "w", {"gangGroups": [group]})]


def leaderworkerset(asked: Wish) -> list[Doc]:
    level = {"phalanx.dev/topology-required": asked.level}
    template = {"size": asked.pods, "workerTemplate": _template(asked, {} if asked.around else level)}
    spec = {"replicas": 1, "leaderWorkerTemplate": template}
    return [_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "w", spec, level if asked.around else None)]


DIALECTS: dict[str, Callable[[Wish], list[Doc]]] = {
    one.__name__: one
    for one in (
        gang, gang_of_classes, gang_in_groups, job_of_ours, job_of_kueue, job_of_kai, jobset_of_ours, jobset_of_kueue,
        workload_of_kueue, podgroup_of_kai, podgroup, composite, workload_of_designs,
        leaderworkerset,
    )
}  # fmt: skip
