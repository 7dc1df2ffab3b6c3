"""The same objects come to the same end: all at once, one by one in any order, twice, or made again in between."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from phalanx.cli import files
from phalanx.dialects import documents, kindtable
from tests.live.test_several_shapes import GROUPS, NAMES, SIZES, linked
from tests.testing import live_objects as objects
from tests.testing import made_by_controllers as controllers
from tests.testing.live_objects import Doc
from tests.testing.live_stage import LiveStage, key
from tests.testing.made_by_controllers import MADE, OTHERWISE


def gathered(kind: str) -> Callable[[], list[Doc]]:
    """A group of a dialect and four pods of two shapes."""
    return lambda: [*GROUPS[kind], *(linked(kind, name, gpus) for name, gpus in zip(NAMES, SIZES, strict=True))]


def gang_over_two_jobs() -> list[Doc]:
    jobs = [controllers.job(name=name, gpus=gpus) for name, gpus in (("a", 1), ("b", 3))]
    for own, *pods in jobs:
        named = {"phalanx.dev/gang": "g", "phalanx.dev/group": own["metadata"]["name"]}
        own["spec"]["template"]["metadata"] = {"labels": named}
        for pod in pods:
            pod["metadata"]["labels"] |= named
    groups = [{"name": "a"}, {"name": "b"}]
    return [controllers.made("phalanx.dev/v1alpha1", "Gang", "g", {"podGroups": groups}), *jobs[0], *jobs[1]]


def copies() -> list[Doc]:
    spec = {"podGroups": [{"name": "a", "count": 2, "replicas": 2}]}
    told = [{"phalanx.dev/gang": "g", "phalanx.dev/group": "a", "phalanx.dev/replica": copy} for copy in "xxyy"]
    pods = [objects.pod(f"p{number}", 2, labels=labels) for number, labels in enumerate(told)]
    return [controllers.made("phalanx.dev/v1alpha1", "Gang", "g", spec), *pods]


def group_of_a_job(made: bool) -> Callable[[], list[Doc]]:
    """A PodGroup that the pods of a Job name, and its template does not. ``made``: by the Job's controller."""

    def docs() -> list[Doc]:
        own, *pods = controllers.job(pods=3)
        spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
        group = controllers.made("scheduling.k8s.io/v1beta1", "PodGroup", "pg", spec, own if made else None)
        for pod in pods:
            pod["spec"]["schedulingGroup"] = {"podGroupName": "pg"}
        return [own, group, *pods]

    return docs


def scaled() -> list[Doc]:
    docs = controllers.deployment()
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 4}
    return [*docs, controllers.made("autoscaling/v2", "HorizontalPodAutoscaler", "scaler", spec)]


EVERY: Mapping[str, Callable[[], list[Doc]]] = {
    **MADE,
    **OTHERWISE,
    **{f"group: {kind}": gathered(kind) for kind in GROUPS},
    "Gang over two Jobs": gang_over_two_jobs,
    "Gang with copies": copies,
    "PodGroup that a Job made": group_of_a_job(made=True),
    "PodGroup that pods of a Job name": group_of_a_job(made=False),
    "Deployment that is scaled": scaled,
}
FOLLOWED = {row.key for row in kindtable.FOLLOWED}
ORDERS = 3  # drawn, of each kind


def followed(docs: list[Doc]) -> list[Doc]:
    return [doc for doc in docs if key(doc)[:2] in FOLLOWED]


def end(stage: LiveStage) -> dict[str, Any]:
    """What came of it, in the order of names: gangs, pods that have nodes, what a fresh scheduler would do."""
    gangs = stage.scheduler.gangs()
    placed = {at[3] for at, one in stage.told.items() if at[1] == "Pod" and one["spec"].get("nodeName")}
    return {"gangs": gangs, "placed": sorted(placed), "to do": stage.at_rest()}


def at_once(docs: list[Doc]) -> LiveStage:
    return LiveStage(*objects.cluster(gpus=32), *docs)


def one_by_one(docs: list[Doc]) -> LiveStage:
    stage = LiveStage(*objects.cluster(gpus=32))
    stage.one_by_one(*docs)
    return stage


def with_cluster_last(docs: list[Doc]) -> LiveStage:
    stage = LiveStage()
    stage.one_by_one(*docs)
    stage.after(0.1, *objects.cluster(gpus=32))
    return stage


def twice(docs: list[Doc]) -> LiveStage:
    stage = LiveStage(*objects.cluster(gpus=32))
    for doc in docs:
        stage.see(doc, doc)
        stage.after(0.1, stage.told[key(doc)])
    return stage


def drawn(seed: int) -> Callable[[list[Doc]], LiveStage]:
    def told(docs: list[Doc]) -> LiveStage:
        shuffled = list(docs)
        Random(seed).shuffle(shuffled)
        return one_by_one(shuffled)

    return told


def pods_first(docs: list[Doc]) -> LiveStage:
    return one_by_one(sorted(docs, key=lambda doc: doc["kind"] != "Pod"))


def made_again(seed: int) -> Callable[[list[Doc]], LiveStage]:
    """Some of it is deleted when half of it was told, and told again at the end as another object."""

    def told(docs: list[Doc]) -> LiveStage:
        chance = Random(seed)
        shuffled = list(docs)
        chance.shuffle(shuffled)
        stage = LiveStage(*objects.cluster(gpus=32))
        early = shuffled[: len(shuffled) // 2 + 1]
        stage.one_by_one(*[before(doc) for doc in early])
        for doc in early:
            stage.after(0.1, gone=[doc])
        stage.one_by_one(*shuffled)
        return stage

    return told


def before(doc: Doc) -> Doc:
    """An object of the same name that was there before: other uids, and its own owners."""
    meta = {**doc["metadata"], "uid": f"former-{doc['metadata']['uid']}"}
    if "ownerReferences" in meta:
        meta["ownerReferences"] = [{**one, "uid": f"former-{one['uid']}"} for one in meta["ownerReferences"]]
    return {**doc, "metadata": meta}


WAYS: dict[str, Callable[[list[Doc]], LiveStage]] = {
    "one by one": one_by_one,
    "cluster last": with_cluster_last,
    "pods first": pods_first,
    "twice": twice,
    **{f"drawn {seed}": drawn(seed) for seed in range(ORDERS)},
    **{f"made again {seed}": made_again(seed) for seed in range(2)},
}


@pytest.mark.parametrize("kind", EVERY)
def test_pods_of_a_kind_come_to_the_same_end_in_whatever_order_all_comes(kind: str) -> None:
    wanted = end(at_once(followed(EVERY[kind]())))
    assert wanted["placed"] == sorted(pod["metadata"]["name"] for pod in controllers.pods(EVERY[kind]()))
    for way, told in WAYS.items():
        assert end(told(followed(EVERY[kind]()))) == wanted, way


# -- what waits --------------------------------------------------------------------------------------------------------

EXAMPLES = sorted(path for path in (Path(__file__).parents[2] / "examples").iterdir() if path.is_dir())


def living(folder: Path) -> list[Doc]:
    """The objects of an example as a server has them, handed to us."""
    found = [deepcopy(dict(doc.value)) for doc in documents.sort(files.load([str(folder)]))[0]]
    for doc in found:
        doc["metadata"] |= {"uid": f"uid-{doc['kind']}-{doc['metadata']['name']}"}
        if key(doc)[:2] not in kindtable.CLUSTER_SCOPED:
            doc["metadata"].setdefault("namespace", "default")
        name_us(doc.get("spec"))
    return found


def name_us(value: Any) -> None:
    """In every pod and pod template."""
    if isinstance(value, dict) and isinstance(value.get("containers"), list):
        value["schedulerName"] = "phalanx"
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        name_us(one)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_objects_of_an_example_come_to_the_same_gangs_and_reasons_in_any_order(folder: Path) -> None:
    docs = living(folder)
    nodes, rest = [doc for doc in docs if doc["kind"] == "Node"], [doc for doc in docs if doc["kind"] != "Node"]
    orders = [
        sorted(rest, key=lambda doc: doc["kind"] != "Pod"),
        *(Random(seed).sample(rest, len(rest)) for seed in (1, 2)),
    ]
    ends = []
    for order in orders:
        stage = LiveStage(*nodes)
        stage.one_by_one(*order)
        told = [(one["id"], one["reason"], one["wanted"], one["bound"]) for one in stage.scheduler.gangs()]
        ends.append((told, stage.at_rest()))
    assert ends == [ends[0]] * len(orders)
    assert ends[0][0] and not ends[0][1]
