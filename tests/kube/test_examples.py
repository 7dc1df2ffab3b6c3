"""Every sample of ``examples/`` on a real server comes to what its ``expected.json`` says.

Bound by us, and where its pods can be held back also by kube-scheduler once our gate is off. ``sample`` says what a
server does not take as it stands, and how it is said there.
"""

from functools import partial
from pathlib import Path

import pytest

from tests.kube.sample import EXAMPLES, Sample
from tests.kube.site import Object, Site

pytestmark = pytest.mark.usefixtures("foreign_kinds")
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())

REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"

# No sample is left out of bind mode. Why these have no gate mode, beside those whose owner cannot be suspended:
NOT_GATED = {
    "41-workload-unindexed-job": "there is room for some of its pods, and kube-scheduler 1.37 was seen to bind none of "
    "a Job's PodGroup while others of it are gated",
}


# Pods are placed as they come, and who comes first depends on other controllers: here this many are there first.
BEFOREHAND = {
    "09-min-count": 10,  # six would do, and those that come later do not find the last place
    "41-workload-unindexed-job": 50,  # one by one, and the first chooses the block for all
    "48-workload-lws": 4,  # two gangs, and room for one
    "52-jobset-replicated-gang": 17,  # five gangs, and room for four
    "54-jobset-mixed-modes": 12,
}


def gateable() -> list[Path]:
    return [folder for folder in FOLDERS if folder.name not in NOT_GATED and Sample(folder).can_be_gated]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_sample_is_bound_as_expected(site: Site, folder: Path) -> None:
    run(site, Sample(folder))


@pytest.mark.parametrize("folder", gateable(), ids=lambda folder: folder.name)
def test_a_sample_is_ungated_as_expected(site: Site, folder: Path) -> None:  # K-048, X-01
    run(site, Sample(folder, gated=True))


def run(site: Site, sample: Sample) -> None:
    site.create(sample.created())
    site.apply(sample.surroundings())
    site.until(lambda: site.is_settled(sample.node_names), "the nodes are ready")
    beforehand = BEFOREHAND.get(sample.folder.name) if not sample.gated or sample.is_made_by_hand else None
    if beforehand is not None:
        site.apply(sample.workload())
        site.until(lambda: len(own(site.pods())) == beforehand, f"{beforehand} pods are there")
    with site.phalanx(f"namespaces: [{site.namespace}]\n"):
        if beforehand is None:
            site.apply(sample.workload())
        follow(site, sample)
        for decision in sample.expected:
            if decision["status"] != "Placed":
                site.until(partial(is_told, site, decision), f"why it is {decision['status']}")
        compare(site, sample)


def follow(site: Site, sample: Sample) -> None:
    """Until as many pods have a node as are expected to; Jobs that others wait for are let end."""
    waited_for = awaited(sample.workload())

    def is_there() -> bool:
        found = own(site.pods())
        running = [one for one in found if one["status"].get("phase") == "Running"]
        ends = [one for one in running if one["metadata"]["labels"].get(REPLICATED_JOB) in waited_for]
        if ends:
            site.bed.finish(site.namespace, *(one["metadata"]["name"] for one in ends))
        return len([one for one in found if one["spec"].get("nodeName")]) == sample.wanted()

    site.until(is_there, f"{sample.wanted()} pods have their nodes")


def awaited(docs: list[Object]) -> set[str]:
    """Replicated jobs that another one depends on."""
    jobs = [job for doc in docs if doc["kind"] == "JobSet" for job in doc["spec"]["replicatedJobs"]]
    return {other["name"] for job in jobs for other in job.get("dependsOn", ())}


def own(pods: list[Object]) -> list[Object]:
    return [one for one in pods if "sample/set" in one["metadata"].get("annotations", {})]


def is_told(site: Site, decision: Object) -> bool:
    """Whether the object, or an event about it, says why it does not start."""
    kind, name = decision["kind"], decision["name"]
    kind = "Gang" if kind == "Workload" else kind
    events = site.events(name, kind)
    if decision["status"] == "Invalid":
        said = " ".join(one["note"] for one in events if one["reason"] == "Invalid")
        return all(word in said for problem in decision["problems"] for word in problem["mentions"])
    reasons = {one["reason"] for one in events}
    if kind == "Gang":
        condition = site.condition("gang", name, "Scheduled") or {"reason": ""}
        return bool(condition["reason"] == decision["reason"]["type"])
    return decision["reason"]["type"] in reasons


def compare(site: Site, sample: Sample) -> None:
    pods, nodes = own(site.pods()), site.read("api/v1/nodes")
    for decision in sample.expected:
        if decision["status"] != "Placed":
            decision = {key: decision[key] for key in ("name", "unit", "status") if key in decision}
            decision["status"] = "Waiting"
        told = sample.told(decision, pods, nodes)
        assert told == {key: decision[key] for key in told}
