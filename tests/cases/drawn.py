"""Requests on drawn clusters, short enough to be read beside the drawing, and answers that were judged."""

from collections import Counter
from typing import Any

from phalanx.model import sketch
from phalanx.model.nodes import PodShape, RunningPod
from phalanx.model.placement import Placement
from phalanx.model.policy import Policy
from phalanx.model.request import Group, PodSet, Request, Slice
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.place import solve, verdicts
from phalanx.place.draft import Draft
from phalanx.place.verify import verify

BLOCK, RACK, HOST = 1, 2, 3  # levels of a drawing such as "b1: r1=4 r2=4"


def needs(gpu: int = 1, cpu: int = 0) -> Resources:
    return Resources.of({sketch.GPU: gpu * NANO, "cpu": cpu * NANO, PODS: NANO})


def pods(name: str, count: int = 1, gpu: int = 1, cpu: int = 0, least: int | None = None, **more: Any) -> PodSet:
    slices: tuple[Slice, ...] = more.pop("slices", ())
    return PodSet(name, count, count if least is None else least, PodShape(needs(gpu, cpu), **more), slices)


def group(name: str, *members: Group | PodSet, **more: Any) -> Group:
    return Group(name, members, **more)


def gang(root: Group, name: str = "gang", topology: str = "sketch") -> Request:
    return Request("Gang", "default", name, root, topology=topology)


def workers(count: int, gpu: int = 1, cpu: int = 0, slices: tuple[Slice, ...] = (), **more: Any) -> Request:
    """One pod set in one group."""
    return gang(group("workers", pods("workers", count, gpu, cpu, slices=slices), **more))


def running(node: str, gpu: int, name: str = "other") -> RunningPod:
    return RunningPod(f"{name}-{node}", "default", node, needs(gpu))


def decide(cluster: str | Snapshot, request: Request, policy: Policy = Policy()) -> solve.Answer:
    """The answer; a placement in it keeps every rule."""
    snapshot = sketch.snapshot(cluster) if isinstance(cluster, str) else cluster
    answer = solve.place(Draft.of(snapshot, request.topology), request, policy)
    if answer.placement is not None:
        assert verify(snapshot, request, answer.placement) == ()
    return answer


def placed(cluster: str | Snapshot, request: Request, policy: Policy = Policy()) -> Placement:
    answer = decide(cluster, request, policy)
    assert answer.status == verdicts.PLACED
    assert answer.placement is not None
    return answer.placement


def at(placement: Placement, *names: str) -> dict[str, int]:
    """Pods by node: of these pod sets, or of all."""
    total: Counter[str] = Counter()
    for name in names or placement.pod_sets:
        total.update(dict(placement.pod_sets.get(name, ())))
    return dict(sorted(total.items()))


def under(placement: Placement, parts: int, *names: str) -> dict[str, int]:
    """Pods by the first ``parts`` words of the node's name, as drawings name them: 1 the widest level."""
    total: Counter[str] = Counter()
    for node, number in at(placement, *names).items():
        total["-".join(node.split("-")[:parts])] += number
    return dict(sorted(total.items()))
