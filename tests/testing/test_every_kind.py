"""Pods of every kind, as its controller makes them and one object after the other, get their nodes and their places."""

from typing import Any

import pytest

from phalanx.dialects import kindtable
from phalanx.dialects.kindtable import PodIdentity
from phalanx.kube.configuration import Configuration
from phalanx.model import effects
from phalanx.testing import LiveScheduler
from phalanx.testing.live import Effect
from tests.testing import live_objects as objects
from tests.testing import made_by_controllers as controllers
from tests.testing.made_by_controllers import MADE, OTHERWISE

Doc = dict[str, Any]
EVERY = {**MADE, **OTHERWISE}
FOLLOWED = {row.key for row in kindtable.FOLLOWED}


def arrives(docs: list[Doc], scheduler: LiveScheduler | None = None) -> tuple[LiveScheduler, list[Effect]]:
    """All that comes of objects that are heard of one by one, as far as their kinds are followed on a cluster."""
    scheduler, found = scheduler or LiveScheduler(), list[Effect]()
    for second, doc in enumerate([*objects.cluster(gpus=32), *docs]):
        group, slash, _ = doc["apiVersion"].partition("/")
        if (group if slash else "", doc["kind"]) in FOLLOWED:
            found += scheduler.step(seen=[doc], now=1000.0 + second)
    return scheduler, found


def bound(found: list[Effect]) -> list[str]:
    return sorted(one.name for one in found if one.kind == "Bind")


def names(docs: list[Doc]) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in controllers.pods(docs))


@pytest.mark.parametrize("pods_first", [False, True], ids=["workload-first", "pods-first"])
@pytest.mark.parametrize("kind", EVERY)
def test_all_pods_of_a_kind_are_bound(kind: str, pods_first: bool) -> None:
    docs = EVERY[kind]()
    others = [doc for doc in docs if doc["kind"] != "Pod"]
    scheduler, found = arrives([*controllers.pods(docs), *others] if pods_first else docs)
    assert bound(found) == names(docs), scheduler.gangs()
    assert not [one for one in found if isinstance(one.effect, effects.Notice)]


@pytest.mark.parametrize("kind", EVERY)
def test_pods_of_a_kind_stand_in_the_group_that_asks_for_as_much_as_they_do(kind: str) -> None:
    docs = EVERY[kind]()
    scheduler, _ = arrives(docs)
    gangs = scheduler._decider.engine.book.gangs.values()
    seated = {key.name: (gang.id, pod) for gang in gangs for key, pod in gang.pods.items()}
    assert sorted(seated) == names(docs)
    for gang in gangs:
        sizes = {one.name: one.shape.requests for one in gang.request.root.pod_sets()}
        assert all(sizes[pod.pod_set] == pod.running.requests for pod in gang.pods.values())
    assert {one["state"] for one in scheduler.gangs()} == {"Binding"}


def test_every_kind_that_makes_pods_is_tried() -> None:
    owners = {row.kind for row in kindtable.ROWS if row.pods not in (None, PodIdentity.BOUND_TO_NODES)}
    assert set(MADE) == owners


# -- pods of kinds that nobody reads -----------------------------------------------------------------------------


def test_pods_of_a_kind_that_nobody_reads_start_one_by_one() -> None:
    owner = controllers.made("sparkoperator.k8s.io/v1beta2", "SparkApplication", "w", {})
    pods = [objects.pod(f"w-{number}", 2, owner=owner) for number in range(2)]
    scheduler, found = arrives(pods)
    assert bound(found) == ["w-0", "w-1"]
    assert [one["id"] for one in scheduler.gangs()] == ["default/w-0", "default/w-1"]


# -- what workloads are read with --------------------------------------------------------------------------------


def autoscaler(target: Doc, least: int, most: int) -> Doc:
    scaled = {"apiVersion": target["apiVersion"], "kind": target["kind"], "name": target["metadata"]["name"]}
    spec = {"scaleTargetRef": scaled, "minReplicas": least, "maxReplicas": most}
    return controllers.made("autoscaling/v2", "HorizontalPodAutoscaler", "scaler", spec)


@pytest.mark.parametrize("scaler_first", [False, True])
def test_a_gang_that_is_scaled_waits_for_as_many_pods_as_its_autoscaler_makes_of_it(scaler_first: bool) -> None:
    own, *pods = MADE["StatefulSet"]()
    own["spec"]["replicas"] = 2  # its autoscaler has not been there yet
    scaler = autoscaler(own, 3, 5)
    scheduler, found = arrives([*([scaler, own] if scaler_first else [own, scaler]), *pods[:2]])
    assert not bound(found)
    assert scheduler.gangs()[0]["message"] == 'waiting: group "main" needs 3 pods; 2 of them exist yet.'
    more = scheduler.step(seen=[pods[2]], now=1100.0)
    assert bound(list(more)) == ["w-0", "w-1", "w-2"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "ReplicationController"])
def test_a_group_that_is_scaled_is_as_large_as_its_autoscaler_makes_it(kind: str) -> None:
    docs = MADE[kind]()
    scheduler, _ = arrives([docs[0], autoscaler(docs[0], 3, 40), *docs[1:]])
    (gang,) = scheduler._decider.engine.book.gangs.values()
    assert [one.count for one in gang.request.root.pod_sets()] == [3]


def test_what_belongs_to_no_namespace_is_looked_up_by_a_scheduler_of_some_namespaces() -> None:
    docs = MADE["TrainJob"]()
    for doc in docs:
        if "namespace" in doc["metadata"]:
            doc["metadata"]["namespace"] = "team"
    found = arrives(docs, LiveScheduler(Configuration(namespaces=("team",))))[1]
    assert bound(found) == names(docs)
