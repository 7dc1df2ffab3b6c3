"""The status subresource: apart from the spec, in both directions."""

from tests.contract.door import Doc
from tests.contract.objects import condition, job, pod
from tests.contract.scope import Scope


def test_a_status_given_at_birth_is_ignored(space: Scope, pennants: str, pennant: Doc) -> None:
    assert "status" not in space.made(pennants, {**pennant, "status": {"phase": "Running"}})


def test_a_status_written_with_the_object_is_ignored(space: Scope, pennants: str, pennant: Doc) -> None:
    made = space.made(pennants, pennant)
    after = space.replace(pennants, {**made, "status": {"phase": "Running"}}).expect(200)
    assert after == made


def test_a_spec_written_with_the_status_is_ignored(space: Scope, pennants: str, pennant: Doc) -> None:
    made = space.made(pennants, pennant)
    wanted = {**made, "spec": {**made["spec"], "minCount": 9}, "status": {"phase": "Running"}}
    after = space.replace(pennants, wanted, "status").expect(200)
    assert (after["spec"]["minCount"], after["status"]["phase"]) == (1, "Running")


def test_labels_written_with_the_status_are_ignored(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    patch = {"metadata": {"labels": {"rank": "1"}}, "status": {"phase": "Running"}}
    assert "labels" not in space.merge(pennants, name, patch, "status").expect(200)["metadata"]


def test_the_spec_makes_generations_and_the_status_does_not(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    status = space.merge(pennants, name, {"status": {"phase": "Running"}}, "status").expect(200)
    assert status["metadata"]["generation"] == 1
    spec = space.merge(pennants, name, {"spec": {"minCount": 2}}).expect(200)
    assert (spec["metadata"]["generation"], spec["status"]["phase"]) == (2, "Running")


def test_a_stale_version_conflicts_on_the_status_too(space: Scope, pennants: str, pennant: Doc) -> None:
    made = space.made(pennants, pennant)["metadata"]
    space.merge(pennants, made["name"], {"spec": {"minCount": 2}}).expect(200)
    stale = {"metadata": {"resourceVersion": made["resourceVersion"]}, "status": {"phase": "Running"}}
    space.merge(pennants, made["name"], stale, "status").refused(409, "Conflict")


def test_a_pod_is_told_why_it_waits(space: Scope) -> None:
    space.made("pods", pod("a"))
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no rack holds 8 pods"}
    after = space.strategic("pods", "a", {"status": {"conditions": [why]}}, "status").expect(200)
    assert {key: condition(after, "PodScheduled")[key] for key in why} == why


def test_a_pods_phase_changes_without_a_generation(space: Scope) -> None:
    before = space.made("pods", pod("a"))
    after = space.merge("pods", "a", {"status": {"phase": "Running"}}, "status").expect(200)
    assert (before["status"]["phase"], after["status"]["phase"]) == ("Pending", "Running")
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


def test_a_status_is_read_at_its_own_address(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    assert space.get("pods", "a", "status").expect(200) == made


def test_the_status_of_a_job_is_checked_against_its_life(space: Scope) -> None:
    """A Job that nobody started cannot be said to be complete."""
    space.made("jobs", job("a", suspend=True))
    done = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    space.merge("jobs", "a", done, "status").refused(422, "Invalid")
