"""The controllers make what ``made_by_controllers`` says that the real ones make: pods that are told alike."""

import re
from typing import Any

import pytest

from phalanx.minicluster import Pace
from tests.minicluster.site import ANNOTATED, Site
from tests.testing import live_objects
from tests.testing.made_by_controllers import MADE, OTHERWISE, pods

Doc = dict[str, Any]
SCHEDULES = {"CronJob": "60"}  # seconds between Jobs
WITHOUT = {"Rollout"}  # whose controller is not here
KINDS = {**MADE, **OTHERWISE}
PACES = {
    "at once": Pace(),
    "hasty": Pace(shuffled=True, reaction=(0.0, 0.5), at_once=1, pause=0.1),
    "slow": Pace(shuffled=True, reaction=(1.0, 9.0), at_once=2, pause=3.0, workload_with_job=True),
}


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - WITHOUT))
def test_a_controller_makes_the_pods_that_the_real_one_makes(kind: str, pace: str) -> None:
    expected = KINDS[kind]()
    site = Site(PACES[pace], seed=len(kind))
    for doc in expected:
        if "ownerReferences" not in doc["metadata"]:
            site.add(scheduled(doc))
    site.run(150)
    known = {doc["metadata"]["uid"]: doc for doc in expected}
    stored = {doc["metadata"]["uid"]: doc for each in site.store.kinds() for doc in site.store.of_kind(*each)}
    left = [told(pod, stored) for pod in site.pods()]
    for pod in pods(expected):
        wanted = told(pod, known)
        found = next((one for one in left if says(one, wanted)), None)
        assert found is not None, f"no pod like {wanted} is among {left}"
        left.remove(found)
    assert left == []


def scheduled(doc: Doc) -> Doc:
    if doc["kind"] not in SCHEDULES:
        return doc
    annotations = {ANNOTATED + "every": SCHEDULES[doc["kind"]]}
    return {**doc, "metadata": {**doc["metadata"], "annotations": annotations}}


def told(pod: Doc, known: dict[str, Doc]) -> Doc:
    """What a reader may tell a pod by."""
    meta = pod["metadata"]
    container = pod["spec"]["containers"][0]["resources"]["requests"][live_objects.GPU]
    return {
        "labels": {key: drawn(value) for key, value in meta.get("labels", {}).items()},
        "annotations": meta.get("annotations", {}),
        "owners": owners(pod, known),
        "asks": (container, pod["spec"]["schedulerName"]),
    }


def owners(doc: Doc, known: dict[str, Doc]) -> list[str]:
    """The kinds of those that made it, from the nearest up."""
    made_by = [one for one in doc["metadata"].get("ownerReferences", []) if one.get("controller")]
    return [] if not made_by else [made_by[0]["kind"], *owners(known[made_by[0]["uid"]], known)]


def says(pod: Doc, wanted: Doc) -> bool:
    """Whether it says all that is wanted; beyond that only labels and annotations."""
    more = all(wanted[part].items() <= pod[part].items() for part in ("labels", "annotations"))
    return more and all(pod[part] == wanted[part] for part in ("owners", "asks"))


def drawn(name: str) -> str:
    """Names that end in drawn letters or in a time, without those."""
    return re.sub(r"^w-(raycluster-\w+|\d+)$", "w-*", name)
