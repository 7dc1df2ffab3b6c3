"""Controllers that make most pods of a gang only when the first have nodes: JobSet's and LeaderWorkerSet's domains of
one's own, with the webhooks that see to them."""

import pytest

from tests.kube.manifests import job, template
from tests.kube.site import Object, Site

INDEX = "batch.kubernetes.io/job-completion-index"
JOB = "batch.kubernetes.io/job-name"


def only_here(site: Site) -> str:
    return f"namespaces: [{site.namespace}]\n"


MODES = pytest.mark.parametrize(
    ("scheduler", "spec"), [("phalanx", {}), ("default-scheduler", {"suspend": True})], ids=["bind", "gate"]
)


def job_set(site: Site, name: str, scheduler: str, spec: dict[str, bool], **pods: int) -> Object:
    """A JobSet of Jobs with so many pods each, in a rack of its own each: two of ``workers``, one of any other name."""
    jobs = [
        {
            "name": one,
            "replicas": 2 if one == "workers" else 1,
            "template": {"spec": job(one, count, cpu=4, scheduler=scheduler)["spec"]},
        }
        for one, count in pods.items()
    ]
    exclusive = {"alpha.jobset.sigs.k8s.io/exclusive-topology": f"{site.namespace}/rack"}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "annotations": exclusive, "labels": {"phalanx.dev/queue": "default"}},
        "spec": {**spec, "replicatedJobs": jobs},
    }


def is_bound(site: Site, count: int) -> bool:
    return len(site.where()) == count


def racks(site: Site, label: str, values: list[str]) -> list[set[tuple[str, str]]]:
    return [site.racks(f"{label}={one}") for one in values]


@MODES
def test_a_job_set_with_a_domain_per_job_starts_when_there_is_room_for_all_of_it(
    site: Site, scheduler: str, spec: dict[str, bool]
) -> None:
    site.nodes("r1=2 r2=1")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply([job_set(site, "set", scheduler, spec, workers=4)])
        site.until(lambda: [one for one in site.events("set", "JobSet") if one["type"] == "Warning"], "why it waits")
        assert not site.where(), "not even the first pods, which alone exist, start where the others could not"
        site.nodes("r3=2")
        site.until(lambda: is_bound(site, 8), "the JobSet is bound")
    found = racks(site, JOB, ["set-workers-0", "set-workers-1"])
    assert [len(one) for one in found] == [1, 1] and found[0] != found[1]
    for one in site.pods():
        index, selector = one["metadata"]["annotations"][INDEX], one["spec"].get("nodeSelector", {})
        assert index == "0" or f"{site.namespace}/rack" in selector, "its webhook was at work"


@MODES
def test_jobs_with_a_domain_of_their_own_do_not_meet(site: Site, scheduler: str, spec: dict[str, bool]) -> None:
    site.nodes("r1=3 r2=3 r3=3")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply([job_set(site, "first", scheduler, spec, driver=1, leader=2)])
        site.until(lambda: is_bound(site, 3), "the first JobSet is bound")
        site.apply([job_set(site, "second", scheduler, spec, driver=2)])
        site.until(lambda: is_bound(site, 5), "the second is bound")
    found = racks(site, JOB, ["first-driver-0", "first-leader-0", "second-driver-0"])
    assert [len(one) for one in found] == [1, 1, 1] and len(set.union(*found)) == 3


def test_a_leader_worker_set_with_a_domain_per_replica_starts_replica_by_replica(site: Site) -> None:
    site.nodes("r1=2 r2=1")
    site.topology()
    exclusive = {"leaderworkerset.sigs.k8s.io/exclusive-topology": f"{site.namespace}/rack"}
    groups = {"size": 4, "workerTemplate": template(cpu=4)}
    serve = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "annotations": exclusive},
        "spec": {"replicas": 2, "leaderWorkerTemplate": groups},
    }
    with site.phalanx(only_here(site)):
        site.apply([serve])
        site.until(lambda: is_bound(site, 4), "one replica is bound")
        site.until(lambda: [one for one in site.events("serve") if one["type"] == "Warning"], "why the other waits")
        assert is_bound(site, 4), site.story()
        site.nodes("r3=2")
        site.until(lambda: is_bound(site, 8), "both are bound")
    found = racks(site, "leaderworkerset.sigs.k8s.io/group-index", ["0", "1"])
    assert [len(one) for one in found] == [1, 1] and found[0] != found[1]
