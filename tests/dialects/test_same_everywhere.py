"""One workload written in every dialect that can say it: the same Request to the byte, and the same placement.

Names are the only thing that differs, so they are replaced by numbers before comparing; so are the labels that
controllers put on their pods. How a gang is treated over time (its rules) has other defaults in other dialects.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from phalanx import Cluster
from phalanx.dialects.reading import read
from phalanx.model.nodes import PodShape
from phalanx.model.request import Group, PodSet, Ranks, Request
from phalanx.model.rules import Rules
from tests.dialects.manifests import topology

Doc = dict[str, Any]
Docs = list[Doc]
Written = dict[str, Docs]

RACK, BLOCK = "topology/rack", "topology/block"
CONTAINERS = {"containers": [{"name": "a", "image": "registry.example/train", "resources": {"requests": {"cpu": "4"}}}]}
TOPOLOGY = topology(BLOCK, RACK, "kubernetes.io/hostname", name="net")
OURS_REQUIRED, OURS_PREFERRED = "phalanx.dev/topology-required", "phalanx.dev/topology-preferred"
KUEUE_REQUIRED = "kueue.x-k8s.io/podset-required-topology"


# -- writing -----------------------------------------------------------------------------------------------------


def doc(api: str, kind: str, spec: Doc, name: str = "w", **annotations: str) -> Doc:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "annotations": annotations}, "spec": spec}


def template(**annotations: str) -> Doc:
    return {"metadata": {"annotations": annotations}, "spec": CONTAINERS}


def gang(*groups: Doc, **spec: Any) -> Docs:
    return [doc("phalanx.dev/v1alpha1", "Gang", {**spec, "podGroups": list(groups)})]


def group(name: str = "main", count: int = 8, **more: Any) -> Doc:
    return {"name": name, "count": count, "template": template(), **more}


def job(pods: int = 8, on_template: Doc | None = None, mode: str = "NonIndexed", **annotations: str) -> Docs:
    spec = {"parallelism": pods, "completions": pods, "completionMode": mode, "template": template(**on_template or {})}
    return [doc("batch/v1", "Job", spec, **annotations)]


def kueue_workload(*pod_sets: Doc) -> Docs:
    return [doc("kueue.x-k8s.io/v1beta2", "Workload", {"podSets": list(pod_sets)})]


def pod_set(request: Doc, count: int = 8) -> Doc:
    return {"name": "main", "count": count, "template": template(), "topologyRequest": request}


def pods(count: int, metadata: Callable[[int], Doc], **spec: Any) -> Docs:
    made = [doc("v1", "Pod", {**CONTAINERS, **spec}, f"p{i}") for i in range(count)]
    for i, one in enumerate(made):
        one["metadata"] |= metadata(i)
    return made


def kai(spec: Doc, **members: int) -> Docs:
    """A PodGroup and its pods by subgroup; ``main`` is the group itself."""
    found = [doc("scheduling.run.ai/v2alpha2", "PodGroup", spec)]
    for name, count in members.items():
        labels = {} if name == "main" else {"kai.scheduler/subgroup-name": name}
        link = {"annotations": {"pod-group-name": "w"}, "labels": labels}
        found += [replaced(one, f"{name}-{i}") for i, one in enumerate(pods(count, lambda _, link=link: link))]
    return found


def replaced(one: Doc, name: str) -> Doc:
    return {**one, "metadata": {**one["metadata"], "name": name}}


def constraint(required: str | None = None, preferred: str | None = None) -> Doc:
    found = {"topology": "net", "requiredTopologyLevel": required, "preferredTopologyLevel": preferred}
    return {"topologyConstraint": {key: value for key, value in found.items() if value}}


def revn(*groups: Doc, **spec: Any) -> Docs:
    return [doc("scheduling/v1alpha1", "Workload", {**spec, "gangGroups": list(groups)})]


def gang_group(count: int, ranked: Doc | None = None, **more: Any) -> Doc:
    shapes = [{"name": "pods", "count": count, "template": template()}]
    inner = {"name": "all", **(ranked or {"rankMode": "Off"}), "eqGroups": shapes}
    return {"name": "main", "gangMode": "Gang", "minCount": count, "rankedGroups": [inner], **more}


def podgroup(policy: Doc, key: str, count: int) -> Docs:
    spec = {"schedulingPolicy": policy, "schedulingConstraints": {"topology": [{"key": key}]}}
    members = pods(count, lambda _: {}, schedulingGroup={"podGroupName": "w"})
    return [doc("scheduling.k8s.io/v1beta1", "PodGroup", spec), *members]


def jobset(*jobs: Doc, **annotations: str) -> Docs:
    return [doc("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": list(jobs)}, **annotations)]


def replicated(name: str, replicas: int, count: int, on_job: Doc | None = None, **on_pods: str) -> Doc:
    spec = {"parallelism": count, "completions": count, "template": template(**on_pods)}
    return {"name": name, "replicas": replicas, "template": {"metadata": {"annotations": on_job or {}}, "spec": spec}}


def pytorch(workers: Doc, **annotations: str) -> Docs:
    master = {"replicas": 1, "template": template()}
    return [doc("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Master": master, **workers}}, **annotations)]


def lws(replicas: int, size: int, **annotations: str) -> Docs:
    inner = {"size": size, "workerTemplate": template()}
    return [
        doc("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"replicas": replicas, "leaderWorkerTemplate": inner},
            **annotations)
    ]  # fmt: skip


# -- the table ---------------------------------------------------------------------------------------------------

IN_A_RACK: Written = {
    "gang": gang(group(topology={"required": "rack"})),
    "gang, around all": gang(group(), topology={"required": "rack"}),
    "job, ours": job(**{OURS_REQUIRED: "rack"}),
    "job, ours on the template": job(on_template={OURS_REQUIRED: "rack"}),
    "job, kueue": job(on_template={KUEUE_REQUIRED: RACK}),
    "job, kai": job(**{"kai.scheduler/topology": "net", "kai.scheduler/topology-required-placement": "rack"}),
    "cronjob": [
        doc("batch/v1", "CronJob", {"schedule": "@daily", "jobTemplate": {"spec": job()[0]["spec"]}},
            **{OURS_REQUIRED: "rack"})
    ],
    "kueue workload": kueue_workload(pod_set({"required": RACK})),
    "kueue workload, as designed": kueue_workload(pod_set({"policy": "Required", "level": RACK})),
    "kai podgroup": kai({"minMember": 8, **constraint(RACK)}, main=8),
    "workload RevN": revn(gang_group(8, topologyRequest={"required": RACK})),
    "podgroup": podgroup({"gang": {"minCount": 8}}, RACK, 8),
    "deployment": [
        doc("apps/v1", "Deployment", {"replicas": 8, "selector": {}, "template": template()},
            **{OURS_REQUIRED: "rack", "phalanx.dev/gang-mode": "Gang"})
    ],
}  # fmt: skip

PREFERRED: Written = {
    "gang": gang(group(topology={"required": "block", "preferred": "rack"})),
    "job, ours": job(**{OURS_REQUIRED: "block", OURS_PREFERRED: "rack"}),
    "job, kai": job(
        **{
            "kai.scheduler/topology": "net",
            "kai.scheduler/topology-required-placement": BLOCK,
            "kai.scheduler/topology-preferred-placement": RACK,
        }
    ),
    "kai podgroup": kai({"minMember": 8, **constraint(BLOCK, RACK)}, main=8),
    "workload RevN": revn(gang_group(8, topologyRequest={"required": BLOCK, "preferred": RACK})),
}

RANKED: Written = {
    "gang": gang(group(topology={"required": "block"}, rank={})),
    "job": job(mode="Indexed", **{OURS_REQUIRED: "block"}),
    "statefulset": [
        doc("apps/v1", "StatefulSet",
            {"replicas": 8, "podManagementPolicy": "Parallel", "selector": {}, "template": template()},
            **{OURS_REQUIRED: "block"})
    ],
    "jobset": jobset(replicated("main", 1, 8), **{OURS_REQUIRED: "block", "phalanx.dev/gang-mode": "Gang"}),
    "workload RevN": revn(
        gang_group(
            8,
            {"podRank": {"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['index']"}}}},
            topologyRequest={"required": BLOCK},
        )
    ),
}  # fmt: skip

WORKERS_IN_A_RACK: Written = {
    "gang": gang(
        group("leader", 1), group("workers", 4, topology={"required": "rack"}), topology={"required": "block"}
    ),
    "kai podgroup": kai(
        {
            **constraint(BLOCK),
            "subGroups": [{"name": "leader", "minMember": 1}, {"name": "workers", "minMember": 4, **constraint(RACK)}],
        },
        leader=1,
        workers=4,
    ),
}  # fmt: skip

RANKED_WORKERS_IN_A_RACK: Written = {
    "gang": gang(
        group("leader", 1, rank={}),
        group("workers", 4, rank={}, topology={"required": "rack"}),
        topology={"required": "block"},
    ),
    "jobset": jobset(
        replicated("leader", 1, 1), replicated("workers", 1, 4, **{OURS_REQUIRED: "rack"}), **{OURS_REQUIRED: "block"}
    ),
    "pytorchjob": pytorch(
        {"Worker": {"replicas": 4, "template": template(**{OURS_REQUIRED: "rack"})}}, **{OURS_REQUIRED: "block"}
    ),
}

EACH_IN_A_RACK: Written = {
    "gang": gang(group(count=3, rank={}, replicas=2, topology={"required": "rack"}), policy="Basic"),
    "lws": lws(2, 3, **{OURS_REQUIRED: "rack"}),
    "jobset": jobset(
        replicated("main", 2, 3, on_job={OURS_REQUIRED: "rack", "phalanx.dev/gang-mode": "ReplicatedGang"})
    ),
}

ONE_GANG_EACH_IN_A_RACK: Written = {
    "gang": gang(group(count=3, replicas=2, topology={"required": "rack"})),
    "kueue workload, as designed": kueue_workload(
        {
            **pod_set({"policy": "Required", "level": RACK}, 6),
            "replicatedJobCount": 2,
            "replicatedJobKeyLabel": "jobset.sigs.k8s.io/job-index",
        }
    ),
    "kai podgroup": kai(
        {"subGroups": [{"name": f"r{i}", "minMember": 3, **constraint(RACK)} for i in range(2)]}, r0=3, r1=3
    ),
}

ONE_RANKED_GANG_EACH_IN_A_RACK: Written = {
    "gang": gang(group(count=3, rank={}, replicas=2, topology={"required": "rack"})),
    "jobset": jobset(replicated("main", 2, 3, on_job={OURS_REQUIRED: "rack"}), **{"phalanx.dev/gang-mode": "Gang"}),
}

SLICED: Written = {
    "gang": gang(group(count=8, topology={"required": "block"}, slices=[{"level": "rack", "size": 4}])),
    "job, kueue": job(
        on_template={
            KUEUE_REQUIRED: BLOCK,
            "kueue.x-k8s.io/podset-slice-required-topology": RACK,
            "kueue.x-k8s.io/podset-slice-size": "4",
        }
    ),
    "kueue workload": kueue_workload(
        pod_set({"required": BLOCK, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 4})
    ),
}

TABLE = {
    "in a rack": IN_A_RACK,
    "preferred": PREFERRED,
    "ranked": RANKED,
    "workers in a rack": WORKERS_IN_A_RACK,
    "ranked workers in a rack": RANKED_WORKERS_IN_A_RACK,
    "one ranked gang, each in a rack": ONE_RANKED_GANG_EACH_IN_A_RACK,
    "independent, each in a rack": EACH_IN_A_RACK,
    "one gang, each in a rack": ONE_GANG_EACH_IN_A_RACK,
    "sliced": SLICED,
}
ROWS = [(shape, dialect) for shape, written in TABLE.items() for dialect in written]


# -- comparing ---------------------------------------------------------------------------------------------------


def normal(request: Request) -> bytes:
    """A Request without its names and without the labels of its pods, as bytes."""
    names: dict[str, str] = {}
    root = _group(request.root, names)
    return repr(replace(request, kind="", name="", unit=None, root=root, rules=Rules())).encode()


def _number(name: str, names: dict[str, str]) -> str:
    return names.setdefault(name, f"#{len(names)}")


def _group(group: Group, names: dict[str, str]) -> Group:
    name = _number(group.name, names)
    members = tuple(_group(m, names) if isinstance(m, Group) else _pod_set(m, names) for m in group.members)
    ranks = None if group.ranks is None else Ranks(group.ranks.order, group.ranks.across)
    return replace(group, name=name, members=members, ranks=ranks)


def _pod_set(pods: PodSet, names: dict[str, str]) -> PodSet:
    shape: PodShape = replace(pods.shape, labels=())
    return replace(pods, name=_number(f"pods {pods.name}", names), shape=shape)


def requests(docs: Docs) -> list[bytes]:
    found = read([TOPOLOGY, *docs])
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    return [normal(one) for one in found.requests]


NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"b{b}-r{r}-n{n}", "labels": {BLOCK: f"b{b}", RACK: f"r{r}"}},
        "status": {"allocatable": {"cpu": str(4 * (2 + b + r)), "pods": "110"}},
    }
    for b in range(2)
    for r in range(3)
    for n in range(2)
]
for _node in NODES:
    _node["metadata"]["labels"]["kubernetes.io/hostname"] = _node["metadata"]["name"]


def placed(docs: Docs) -> list[list[tuple[str, int]]]:
    """Pods per node of each pod set, in order, without names."""
    decisions = Cluster.from_manifests([*NODES, TOPOLOGY]).place(docs)
    assert [one.status for one in decisions] == ["Placed"] * len(decisions), [str(one) for one in decisions]
    return [sorted(counts.items()) for one in decisions for counts in one.pod_sets.values()]


@pytest.mark.parametrize(("shape", "dialect"), ROWS, ids=lambda value: value.replace(" ", "-"))
def test_the_same_workload_is_the_same_request_in_every_dialect(shape: str, dialect: str) -> None:  # W-187, W-022
    assert requests(TABLE[shape][dialect]) == requests(TABLE[shape]["gang"])


@pytest.mark.parametrize(("shape", "dialect"), ROWS, ids=lambda value: value.replace(" ", "-"))
def test_the_same_workload_is_placed_the_same_in_every_dialect(shape: str, dialect: str) -> None:
    assert placed(TABLE[shape][dialect]) == placed(TABLE[shape]["gang"])


@pytest.mark.parametrize("shape", TABLE)
def test_the_shapes_of_the_table_differ(shape: str) -> None:
    others = [requests(written["gang"]) for name, written in TABLE.items() if name != shape]
    assert requests(TABLE[shape]["gang"]) not in others
