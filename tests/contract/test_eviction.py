"""Eviction: deletion that asks the disruption budgets first."""

from tests.contract.door import Answer, Doc
from tests.contract.objects import budget, condition, pod
from tests.contract.scope import Scope

ELSEWHERE = "0b0b0b0b-0000-4000-8000-000000000000"


def evict(space: Scope, name: str, **options: object) -> Answer:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}
    return space.door.call("POST", space.path("pods", name, "eviction"), body)


def running(space: Scope, name: str) -> Doc:
    """A bound pod that says it is ready, as its kubelet would."""
    space.made("pods", pod(name, labels={"gang": "x"}))
    space.bind(name, "contract-nowhere").expect(201)
    ready = {"type": "Ready", "status": "True"}
    return space.strategic("pods", name, {"status": {"phase": "Running", "conditions": [ready]}}, "status").expect(200)


def guarded(space: Scope, pods: int, min_available: int) -> None:
    """A budget that knows its pods: written by the disruption controller, or by us with the same numbers."""
    made = space.made("poddisruptionbudgets", budget("guard", min_available, {"gang": "x"}))
    status = {
        "observedGeneration": made["metadata"]["generation"],
        "disruptionsAllowed": max(0, pods - min_available),
        "currentHealthy": pods,
        "desiredHealthy": min_available,
        "expectedPods": pods,
        "disruptedPods": {},
    }
    space.merge("poddisruptionbudgets", "guard", {"status": status}, "status").expect(200)
    space.reaches("poddisruptionbudgets", "guard", lambda doc: settled(doc, status))


def settled(doc: Doc, wanted: Doc) -> bool:
    keys = ("observedGeneration", "disruptionsAllowed", "currentHealthy", "expectedPods")
    return all(doc.get("status", {}).get(key) == wanted[key] for key in keys)


def test_a_pod_without_a_budget_is_evicted(space: Scope) -> None:
    running(space, "a")
    status = evict(space, "a").expect(201)
    assert (status["kind"], status["status"]) == ("Status", "Success")
    assert space.read("pods", "a")["metadata"]["deletionTimestamp"]


def test_an_evicted_pod_says_that_it_was_disrupted(space: Scope) -> None:
    running(space, "a")
    evict(space, "a").expect(201)
    said = condition(space.read("pods", "a"), "DisruptionTarget")
    assert (said["status"], said["reason"]) == ("True", "EvictionByEvictionAPI")


def test_eviction_passes_the_grace_on(space: Scope) -> None:
    running(space, "a")
    evict(space, "a", gracePeriodSeconds=7).expect(201)
    assert space.read("pods", "a")["metadata"]["deletionGracePeriodSeconds"] == 7


def test_a_budget_with_room_lets_one_pod_go(space: Scope) -> None:
    for name in "ab":
        running(space, name)
    guarded(space, pods=2, min_available=1)
    evict(space, "a").expect(201)


def test_a_budget_without_room_answers_too_many_requests(space: Scope) -> None:
    running(space, "a")
    guarded(space, pods=1, min_available=1)
    answer = evict(space, "a")
    answer.refused(429, "TooManyRequests")
    (cause,) = answer.causes()
    assert cause["reason"] == "DisruptionBudget" and "guard" in cause["message"]
    assert "deletionTimestamp" not in space.read("pods", "a")["metadata"]


def test_a_spent_budget_holds_the_next_pod(space: Scope) -> None:
    for name in "ab":
        running(space, name)
    guarded(space, pods=2, min_available=1)
    evict(space, "a").expect(201)
    evict(space, "b").refused(429, "TooManyRequests")


def test_deleting_asks_no_budget(space: Scope) -> None:
    running(space, "a")
    guarded(space, pods=1, min_available=1)
    space.delete("pods", "a").expect(200)
    assert space.read("pods", "a")["metadata"]["deletionTimestamp"]


def test_a_pod_that_never_ran_is_evicted_whatever_the_budget(space: Scope) -> None:
    running(space, "a")
    space.made("pods", pod("pending", labels={"gang": "x"}))
    space.made("poddisruptionbudgets", budget("guard", 9, {"gang": "x"}))
    evict(space, "pending").expect(201)
    space.get("pods", "pending").refused(404, "NotFound")


def test_eviction_can_be_tied_to_the_uid(space: Scope) -> None:
    running(space, "a")
    evict(space, "a", preconditions={"uid": ELSEWHERE}).refused(409, "Conflict")
    assert "deletionTimestamp" not in space.read("pods", "a")["metadata"]


def test_evicting_an_absent_pod_is_not_found(space: Scope) -> None:
    evict(space, "absent").refused(404, "NotFound")


def test_a_dry_run_of_an_eviction_asks_the_budget_and_moves_nothing(space: Scope) -> None:
    running(space, "a")
    evict(space, "a", dryRun=["All"]).expect(201)
    assert "deletionTimestamp" not in space.read("pods", "a")["metadata"]
