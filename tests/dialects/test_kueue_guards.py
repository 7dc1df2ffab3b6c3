"""When a ClusterQueue is active, and when a workload takes part."""

from dataclasses import replace

import pytest

from phalanx.dialects.kueue import guards, standing
from phalanx.dialects.kueue.guards import MULTIKUEUE, PROVISIONING, Allowed, Why
from phalanx.dialects.kueue.queues import AdmissionCheck, ClusterQueue
from phalanx.dialects.levels import Levels
from phalanx.dialects.reading import read_cluster
from phalanx.model.problems import Problem
from phalanx.model.queues import Flavor, Preemption, Queue, Quota
from phalanx.model.topology import Topology
from tests.dialects.manifests import Doc, field, topology

TAS = Flavor("tas", (("group", "tas"),), topology="default")
PLAIN = Flavor("plain")
FLAVORS = {"tas": TAS, "plain": PLAIN}
CHECKS = {"mk": AdmissionCheck("mk", MULTIKUEUE), "prov": AdmissionCheck("prov", PROVISIONING),
          "own": AdmissionCheck("own", "example.com/budget")}  # fmt: skip
QUEUE = ClusterQueue(Queue("team", quotas=(Quota("tas", "cpu", 9),)))
IN_COHORT = ClusterQueue(replace(QUEUE.queue, parent="cohort/all"))
PREEMPTING = ClusterQueue(replace(QUEUE.queue, preemption=Preemption(within="LowerPriority")))
RECLAIMING = ClusterQueue(replace(QUEUE.queue, preemption=Preemption(reclaim="Any")))
ELSEWHERE = replace(QUEUE, checks=("mk",))
PROVISIONED = replace(QUEUE, checks=("prov",))

GUARDED = [
    (IN_COHORT, Allowed(cohort=True), "cohort"),  # K-089
    (PREEMPTING, Allowed(preemption=True), "preemption"),  # K-090
    (RECLAIMING, Allowed(preemption=True), "preemption"),  # K-090
    (ELSEWHERE, Allowed(multikueue=True), "MultiKueue"),  # K-092, K-005
    (PROVISIONED, Allowed(provisioning=True), "ProvisioningRequest"),  # K-093, K-006
]


def inactive(
    queue: ClusterQueue, allowed: Allowed = guards.STRICT, topologies: tuple[str, ...] = ("default",)
) -> list[Why]:
    return list(guards.inactive(queue, FLAVORS, topologies, CHECKS, allowed))


# -- queues ------------------------------------------------------------------------------------------------------


def test_a_queue_with_a_topology_and_nothing_beside_it_is_active() -> None:
    assert inactive(QUEUE) == []
    assert guards.condition(()) == {
        "type": "Active", "status": "True", "reason": "Ready", "message": "new workloads can be admitted",
    }  # fmt: skip


@pytest.mark.parametrize(("queue", "lifted", "word"), GUARDED)
def test_each_guard_makes_a_queue_with_a_topology_inactive_and_says_why(
    queue: ClusterQueue, lifted: Allowed, word: str
) -> None:
    (why,) = inactive(queue)
    condition = guards.condition((why,))
    assert (condition["type"], condition["status"]) == ("Active", "False")
    assert condition["reason"] == "NotSupportedWithTopologyAwareScheduling"
    assert word in condition["message"] and "'tas'" in condition["message"]


@pytest.mark.parametrize(("queue", "lifted", "word"), GUARDED)
def test_each_guard_is_lifted_by_its_own_field_and_by_no_other(queue: ClusterQueue, lifted: Allowed, word: str) -> None:
    # K-091
    others = Allowed(*(not getattr(lifted, name) for name in Allowed.__dataclass_fields__))
    assert inactive(queue, lifted) == []
    assert len(inactive(queue, others)) == 1


@pytest.mark.parametrize("queue", [IN_COHORT, PREEMPTING, ELSEWHERE, PROVISIONED])
def test_the_guards_do_not_concern_a_queue_without_a_topology(queue: ClusterQueue) -> None:
    assert inactive(replace(queue, queue=replace(queue.queue, quotas=(Quota("plain", "cpu", 9),)))) == []


def test_any_other_admission_check_does_no_harm() -> None:
    assert inactive(replace(QUEUE, checks=("own",))) == []


def test_all_causes_are_told_under_the_first_ones_reason() -> None:
    # K-088
    queue = replace(IN_COHORT, checks=("mk", "prov"), queue=replace(PREEMPTING.queue, parent="cohort/all"))
    whys = inactive(queue)
    assert len(whys) == 4
    message = guards.condition(tuple(whys))["message"]
    assert all(word in message for _, _, word in GUARDED)


def test_a_flavor_waits_for_its_topology_and_is_active_when_it_appears() -> None:
    # K-026
    (why,) = inactive(QUEUE, topologies=())
    assert why.reason == "TopologyNotFound" and "'default'" in why.message
    assert guards.flavor_inactive(TAS, ()) == (why,)
    assert guards.flavor_inactive(TAS, ("default",)) == ()
    assert guards.flavor_inactive(PLAIN, ()) == ()
    assert inactive(QUEUE) == []


def test_with_multikueue_the_topology_is_in_another_cluster() -> None:
    assert inactive(ELSEWHERE, Allowed(multikueue=True), topologies=()) == []


def test_what_a_queue_names_must_be_there_and_a_stopped_queue_says_so() -> None:
    stopped = ClusterQueue(Queue("team", quotas=(Quota("gone", "cpu", 1),), stop="Hold"), ("lost",))
    assert [why.reason for why in inactive(stopped)] == ["Stopped", "FlavorNotFound", "AdmissionCheckNotFound"]
    condition = guards.condition(tuple(inactive(stopped)))
    assert condition["reason"] == "Stopped"
    assert all(word in condition["message"] for word in ("Hold", "gone", "lost"))


@pytest.mark.parametrize(("queue", "lifted", "word"), GUARDED)
def test_todays_kueue_accepts_all_four_and_so_does_reading(queue: ClusterQueue, lifted: Allowed, word: str) -> None:
    assert inactive(queue, guards.TODAY) == []  # K-091
    assert (word in str(guards.unbuilt({"team": queue}))) == (not queue.checks)


def test_what_is_not_built_is_one_sentence_for_all_queues() -> None:
    five = dict.fromkeys("abcde", IN_COHORT)
    assert guards.unbuilt({**five, "f": PREEMPTING, "g": QUEUE}) == (
        "read, and not acted on yet: a cohort (a, b, c and 2 more), preemption (f)"
    )
    assert guards.unbuilt({"g": QUEUE, "h": ELSEWHERE}) is None


def test_reading_a_queue_with_a_topology_in_a_cohort_gives_that_sentence_and_no_guard() -> None:  # K-089, K-090
    docs = [
        topology("rack", name="default"),
        kueues("ResourceFlavor", "tas", {"topologyName": "default", "nodeLabels": {"a": "b"}}),
        kueues("ClusterQueue", "team", {
            "cohort": "all", "preemption": {"withinClusterQueue": "LowerPriority"}, "resourceGroups": [
                {"coveredResources": ["cpu"], "flavors": [
                    {"name": "tas", "resources": [{"name": "cpu", "nominalQuota": 9}]}]}]}),
    ]  # fmt: skip
    assert [str(warning) for warning in read_cluster(docs).warnings] == [
        "ClusterQueue: read, and not acted on yet: a cohort (team), preemption (team)"
    ]


def kueues(kind: str, name: str, spec: Doc) -> Doc:
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


# -- workloads ---------------------------------------------------------------------------------------------------

KEY = "kueue.x-k8s.io/podset-required-topology"


def asked(level: str, *labels: str) -> tuple[Problem, ...]:
    """The Problems of an annotation that names a level, against a Topology with these labels."""
    at = field({KEY: level}).at(KEY)
    Levels(Topology.of("default", labels)).number(at)
    return tuple(at.notes.problems)


def test_a_level_that_is_not_there_deactivates_and_the_valid_ones_are_listed() -> None:
    # K-036, K-037
    found = standing.of(asked("no.such/level", "cloud/block", "cloud/rack"))
    assert not found.active
    evicted, requeued = found.conditions
    assert (evicted["type"], evicted["status"]) == ("Evicted", "True")
    assert (requeued["type"], requeued["status"]) == ("Requeued", "False")
    assert evicted["reason"].startswith("Deactivated")
    assert KEY in evicted["message"] and "block, rack, host" in evicted["message"]


def test_a_deactivated_workload_is_active_again_once_it_is_corrected() -> None:
    # K-040
    assert not standing.of(asked("clod/rack", "cloud/block", "cloud/rack")).active
    assert standing.of(asked("cloud/rack", "cloud/block", "cloud/rack")) == standing.Standing(active=True)


def test_a_level_taken_away_deactivates_who_waits_and_leaves_who_runs() -> None:
    # K-039
    before, after = asked("cloud/rack", "cloud/rack"), asked("cloud/rack", "cloud/block")
    assert standing.of(before).active
    assert not standing.of(after).active
    assert standing.of(after, admitted=True) == standing.Standing(active=True)


def test_the_right_values_are_listed_once_and_every_problem_is_told() -> None:
    # K-038: the template that lacks an annotation is in the Problem's path
    missing = Problem("spec.replicatedJobs[1].template", None, ("required", "preferred"), "has no topology annotation")
    level = Problem("a", "x", ("rack",), "'x' is none of rack")
    message = standing.of((missing, level)).conditions[0]["message"]
    assert message == (
        "spec.replicatedJobs[1].template: has no topology annotation (allowed: required, preferred); "
        "a: 'x' is none of rack"
    )
