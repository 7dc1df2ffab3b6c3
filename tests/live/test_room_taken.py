"""Room on nodes that is taken by pods of others, and by our own while they are resized, as kube-scheduler counts it."""

from typing import Any

import pytest

from phalanx.kube.configuration import Configuration
from tests.testing import live_objects as objects
from tests.testing.live_objects import GPU, Doc
from tests.testing.live_stage import LiveStage


def one_node(gpus: int = 8) -> list[Doc]:
    return objects.cluster(racks=1, nodes=1, gpus=gpus)


def container(name: str = "main", **requests: str) -> Doc:
    return {"name": name, "resources": {"requests": _amounts(requests)}}


def _amounts(requests: dict[str, str]) -> dict[str, str]:
    return {GPU if name == "gpu" else name: amount for name, amount in requests.items()}


def neighbour(name: str = "other", node: str = "n0", status: Doc | None = None, **spec: Any) -> Doc:
    """A pod of another scheduler, or of the one that ``spec`` names, without an owner."""
    placed = {"nodeName": node} if node else {}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"schedulerName": "default-scheduler", **placed, **spec},
        "status": {"phase": "Running" if node else "Pending", **(status or {})},
    }  # fmt: skip


def given(requests: Doc, allocated: Doc | None = None, name: str = "main") -> Doc:
    """What the kubelet says of a container: what it has, and what it was promised."""
    found = {"name": name, "resources": {"requests": _amounts(requests)}}
    return found if allocated is None else {**found, "allocatedResources": _amounts(allocated)}


def has_left(stage: LiveStage, cpus: int) -> bool:
    """Whether exactly so many CPUs are free on n0: a pod that wants them is bound, and one that wants more is not."""
    found = []
    for cpu in (cpus, cpus + 1):
        probe = LiveStage(*stage.told.values(), cpu_pod("probe", str(cpu)), configuration=stage.configuration)
        found.append(probe.where("probe"))
    return found == [["n0"], [""]]


def cpu_pod(name: str, cpu: str) -> Doc:
    pod = objects.pod(name, 0)
    pod["spec"]["containers"] = [container(cpu=cpu)]
    return pod


RESIZED = [  # cpu of the spec, what the kubelet says, conditions, cpu that is left of 64
    ("8", [], [], 56),
    ("8", [given({"cpu": "8"}, {"cpu": "8"})], [], 56),
    ("8", [given({"cpu": "24"}, {"cpu": "8"})], [], 40),  # it is being made smaller, and is not smaller yet
    ("8", [given({"cpu": "8"}, {"cpu": "24"})], [], 40),
    ("24", [given({"cpu": "8"}, {"cpu": "8"})], [], 40),  # it is to be larger: the room is promised
    ("24", [given({"cpu": "8"}, {"cpu": "8"})], [("PodResizePending", "Deferred")], 40),
    ("60", [given({"cpu": "8"}, {"cpu": "8"})], [("PodResizePending", "Infeasible")], 56),
    ("8", [given({"cpu": "24"}, name="another")], [], 56),
    ("8", "nonsense", [], 56),
    ("8", [given({"cpu": "many"})], [], 56),
]


@pytest.mark.parametrize(("cpu", "statuses", "conditions", "left"), RESIZED)
def test_a_pod_that_is_resized_in_place_takes_the_most_of_what_it_has_and_what_it_wants(
    cpu: str, statuses: Any, conditions: list[tuple[str, str]], left: int
) -> None:
    said = [{"type": kind, "status": "True", "reason": reason} for kind, reason in conditions]
    status = {"containerStatuses": statuses, "conditions": said}
    stage = LiveStage(*one_node(), neighbour(status=status, containers=[container(cpu=cpu)]))
    assert has_left(stage, left)


def test_sidecars_and_pods_as_a_whole_are_resized_too() -> None:
    sidecar = {**container("side", cpu="4"), "restartPolicy": "Always"}
    init = container("first", cpu="2")
    spec = {"initContainers": [sidecar, init], "containers": [container(cpu="4")]}
    statuses = [given({"cpu": "10"}, name="side"), given({"cpu": "60"}, name="first")]
    stage = LiveStage(*one_node(), neighbour(status={"initContainerStatuses": statuses}, **spec))
    assert has_left(stage, 50)  # what an init container had is over when it has ended

    spec = {"containers": [container(cpu="4")], "resources": {"requests": {"cpu": "8"}}}
    for status, left in (
        ({"resources": {"requests": {"cpu": "16"}}, "allocatedResources": {"cpu": "8"}}, 48),
        ({"resources": {"requests": {"cpu": "8"}}, "allocatedResources": {"cpu": "20"}}, 44),
        ({"allocatedResources": {"memory": "1Gi"}, "containerStatuses": [given({"cpu": "12"})]}, 56),
    ):
        assert has_left(LiveStage(*one_node(), neighbour(status=status, **spec)), left)


def resized(pod: Doc, wanted: str, has: str) -> Doc:
    """The pod after somebody asked for another size, and what the kubelet says of it."""
    spec = {**pod["spec"], "containers": [{**pod["spec"]["containers"][0], **container(cpu=wanted, gpu="1")}]}
    return {**pod, "spec": spec, "status": {**pod["status"], "containerStatuses": [given({"cpu": has}, {"cpu": has})]}}


def sized(name: str, owner: Doc | None = None, **metadata: Any) -> Doc:
    pod = objects.pod(name, 1, owner=owner, **metadata)
    pod["spec"]["containers"] = [container(cpu="4", gpu="1")]
    return pod


@pytest.mark.parametrize("made", ["Job", "PodGroup"])
def test_a_gang_whose_pods_are_resized_in_place_stays_as_it_is_and_takes_what_they_take(made: str) -> None:
    names = ["p0", "p1", "p2"]
    if made == "Job":
        owner = objects.job("g", 3, 1)
        owner["spec"]["template"]["spec"]["containers"] = [container(cpu="4", gpu="1")]
        pods = [sized(name, owner) for name in names]
    else:
        spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
        meta = {"name": "g", "namespace": "default", "uid": "uid-g"}
        owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec}
        pods = [sized(name) for name in names]
        for pod in pods:
            pod["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    stage = LiveStage(*one_node(), owner, *pods)
    assert stage.where(*names) == ["n0"] * 3 and has_left(stage, 52)
    stage.effects.clear()
    stage.see(resized(stage.told["", "Pod", "default", "p1"], "14", "4"))
    assert has_left(stage, 42)
    stage.see(resized(stage.told["", "Pod", "default", "p1"], "2", "14"))
    assert has_left(stage, 42)
    stage.see(resized(stage.told["", "Pod", "default", "p1"], "2", "2"))
    assert has_left(stage, 54)
    stage.after(3600)
    assert (stage.state("default/g"), stage.at_rest()) == ("Running", [])
    assert {one.kind for one in stage.effects} <= {"Report"}


# -- pods of others -----------------------------------------------------------------------------------------------

TOLD = "2026-11-01T00:00:00Z"
ASKS = {"containers": [container(cpu="8")]}
GATED = {"schedulingGates": [{"name": "example.com/wait"}]}
OTHERS = [  # what it is, the pod, CPUs that are left of 64
    ("on a node", neighbour(**ASKS), 56),
    ("without a node", neighbour(node="", **ASKS), 64),
    ("gated", neighbour(node="", **ASKS, **GATED), 64),
    ("succeeded", neighbour(status={"phase": "Succeeded"}, **ASKS), 64),
    ("failed", neighbour(status={"phase": "Failed"}, **ASKS), 64),
    ("not heard of", neighbour(status={"phase": "Unknown"}, **ASKS), 56),
    ("bound, not started", neighbour(status={"phase": "Pending"}, **ASKS), 56),
    ("of no node that is there", neighbour(node="elsewhere", **ASKS), 64),
    ("with overhead", neighbour(**ASKS, overhead={"cpu": "2"}), 54),
    ("with a sidecar", neighbour(**ASKS, initContainers=[{**container("s", cpu="4"), "restartPolicy": "Always"}]), 52),
    ("with an init container", neighbour(**ASKS, initContainers=[container("i", cpu="10")]), 54),
    ("nominated", neighbour(node="", status={"nominatedNodeName": "n0"}, **ASKS), 56),
    ("nominated elsewhere", neighbour(node="", status={"nominatedNodeName": "elsewhere"}, **ASKS), 64),
    ("nominated and gated", neighbour(node="", status={"nominatedNodeName": "n0"}, **ASKS, **GATED), 64),
    ("nominated and ended", neighbour(node="", status={"nominatedNodeName": "n0", "phase": "Failed"}, **ASKS), 64),
    ("nominated and bound", neighbour(status={"nominatedNodeName": "elsewhere"}, **ASKS), 56),
    ("nominated to nonsense", neighbour(node="", status={"nominatedNodeName": ["n0"]}, **ASKS), 64),
]


def with_meta(pod: Doc, **metadata: Any) -> Doc:
    return {**pod, "metadata": {**pod["metadata"], **metadata}}


GANG = {"phalanx.dev/gang": "never-seen"}
LET_GO = {"phalanx.dev/pinned": "kubernetes.io/hostname", "phalanx.dev/node": "n0"}
PINNED = {"nodeSelector": {"kubernetes.io/hostname": "n0"}, **ASKS}
OWNED = {"ownerReferences": [objects.reference(objects.job("never-seen", 1, 1))]}
UNREAD = [{"apiVersion": "example.com/v1", "kind": "Flock", "name": "f", "uid": "f", "controller": True}]
STATIC = {"annotations": {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "file"}}
NODE_OWNS = [{"apiVersion": "v1", "kind": "Node", "name": "n0", "uid": "node-n0", "controller": True}]
OTHERS += [
    ("being deleted", with_meta(neighbour(**ASKS), deletionTimestamp=TOLD), 56),
    ("gated, and pinned to a node", neighbour(node="", **PINNED, **GATED), 64),
    ("pinned to a node", neighbour(node="", **PINNED), 64),
    ("of an owner that is never seen", with_meta(neighbour(**ASKS), **OWNED), 56),
    ("of an owner that is never seen, nominated", with_meta(OTHERS[11][1], **OWNED), 56),
    ("of an owner that is never seen, gated", with_meta(OTHERS[2][1], **OWNED), 64),
    ("of a kind that nobody reads", with_meta(neighbour(**ASKS), ownerReferences=UNREAD), 56),
    ("ours, of an owner that is never seen", with_meta(neighbour(**ASKS, schedulerName="phalanx"), **OWNED), 56),
    ("ours, of no node, and an owner that is never seen", with_meta(cpu_pod("other", "8"), **OWNED), 64),
    ("ours, of a gang that is never seen", with_meta(neighbour(**ASKS, schedulerName="phalanx"), labels=GANG), 56),
    ("ours, let go from our gate, with a node", with_meta(neighbour(**ASKS), annotations=LET_GO), 56),
    ("static", with_meta(neighbour(**ASKS), **STATIC, ownerReferences=NODE_OWNS), 56),
    (
        "nominated and being deleted",
        with_meta(neighbour(node="", status={"nominatedNodeName": "n0"}, **ASKS), deletionTimestamp=TOLD),
        64,
    ),
]


@pytest.mark.parametrize(("pod", "left"), [one[1:] for one in OTHERS], ids=[one[0] for one in OTHERS])
def test_a_pod_of_another_scheduler_takes_room_as_kube_scheduler_counts_it(pod: Doc, left: int) -> None:
    assert has_left(LiveStage(*one_node(), pod), left)
    assert has_left(LiveStage(pod, *one_node()), left)
    later = LiveStage(*one_node())
    later.see(cpu_pod("first", "1"))  # what is free is kept current from now on, not made anew
    later.see(pod)
    later.see(gone=[later.told["", "Pod", "default", "first"]])
    assert has_left_now(later, left)


def has_left_now(stage: LiveStage, cpus: int) -> bool:
    """The same, asked of the scheduler itself. It ends with the room taken."""
    stage.see(cpu_pod("too-large", str(cpus + 1)))
    stage.see(gone=[stage.told["", "Pod", "default", "too-large"]])
    stage.see(cpu_pod("fits", str(cpus)))
    return stage.where("too-large", "fits") == ["", "n0"]


def test_room_that_a_pod_was_nominated_for_is_free_again_when_it_goes_elsewhere_or_away() -> None:
    waits = neighbour(node="", status={"nominatedNodeName": "n0"}, **ASKS)
    for then in (neighbour(node="", **ASKS), neighbour(node="elsewhere", **ASKS), None):
        stage = LiveStage(*one_node(), waits, cpu_pod("ours", "60"))
        assert stage.where("ours") == [""]
        if then is None:
            stage.see(gone=[waits])
        else:
            stage.see(then)
        assert stage.where("ours") == ["n0"]


def test_a_pod_that_comes_to_the_node_it_was_nominated_to_is_counted_once() -> None:
    stage = LiveStage(*one_node(), neighbour(node="", status={"nominatedNodeName": "n0"}, **ASKS))
    stage.see(neighbour(status={"nominatedNodeName": "n0"}, **ASKS))
    assert has_left_now(stage, 56)


def test_pods_that_name_us_where_we_do_not_place_are_those_of_others() -> None:
    ours = cpu_pod("theirs", "8")
    for pod, left in (
        (with_meta(ours, namespace="team"), 64),
        (with_meta(objects.on(ours, "n0"), namespace="team"), 56),
        (with_meta({**ours, "status": {"phase": "Pending", "nominatedNodeName": "n0"}}, namespace="team"), 56),
    ):
        stage = LiveStage(*one_node(), pod, configuration=Configuration(namespaces=("default",)))
        assert "Bind" not in stage.kinds()
        assert has_left(stage, left)


def test_our_own_pods_hold_no_room_where_somebody_nominated_them() -> None:
    gang = objects.job("g", 2, 1, required=None)
    pods = [objects.pod(f"g-{number}", 1, owner=gang) for number in range(2)]
    for pod in pods:
        pod["status"]["nominatedNodeName"] = "n0"
        pod["spec"]["containers"] = [container(cpu="33", gpu="1")]
    gang["spec"]["template"]["spec"]["containers"] = [container(cpu="33", gpu="1")]
    stage = LiveStage(*one_node(), gang, *pods)
    assert stage.where("g-0", "g-1") == ["", ""]  # W-161: both do not fit, and neither is bound
    assert has_left(stage, 64)
