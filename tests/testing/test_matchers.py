"""Matchers say nothing when all is well, and what is wrong otherwise."""

from typing import Any

from phalanx.cluster import Cluster, Decision
from phalanx.testing.matchers import why_not_counted, why_not_placed, why_not_together


def world() -> list[dict[str, Any]]:
    levels = [{"nodeLabel": "t/block"}, {"nodeLabel": "t/rack"}]
    docs: list[dict[str, Any]] = [
        {
            "apiVersion": "phalanx.dev/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": {"levels": levels},
        }
    ]
    for name in ("a", "b"):
        labels = {"t/block": "b1", "t/rack": name, "kubernetes.io/hostname": name}
        room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
        docs.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "status": {"allocatable": room},
            }
        )
    return docs


def job(pods: int, level: str) -> Decision:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    doc = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "annotations": {"phalanx.dev/topology-required": level}},
        "spec": {"parallelism": pods, "completions": pods, "template": template},
    }
    (decision,) = Cluster.from_manifests(world()).place([doc])
    return decision


def test_a_good_placement_leaves_nothing_to_say() -> None:
    placed = job(4, "rack")
    assert not why_not_placed(placed)
    assert not why_not_together(placed, "main", depth=2)
    assert not why_not_counted(placed, "main", 4)


def test_what_is_wrong_is_said() -> None:
    spread = job(6, "block")
    assert "shares only b1" in why_not_together(spread, "main", depth=2)
    assert "has 6 pods, not 7" in why_not_counted(spread, "main", 7)
    assert "no group 'other'" in why_not_together(spread, "other", depth=1)
    waiting = job(6, "rack")
    for said in (why_not_placed(waiting), why_not_together(waiting, "main", 2), why_not_counted(waiting, "main", 6)):
        assert "TooLarge" in said
