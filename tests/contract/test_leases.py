"""Leases: the one object that replicas fight over."""

from tests.contract.objects import changed, lease
from tests.contract.scope import Scope

THEN = "2026-01-01T00:00:00.123456Z"
LATER = "2026-01-01T00:00:02.654321Z"


def test_a_lease_keeps_its_holder_and_microseconds(space: Scope) -> None:
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "acquireTime": THEN, "renewTime": THEN}
    spec["leaseTransitions"] = 0
    space.made("leases", lease("leader", **spec))
    assert space.read("leases", "leader")["spec"] == spec


def test_only_one_of_two_creates_the_lease(space: Scope) -> None:
    space.made("leases", lease("leader", holderIdentity="one"))
    space.create("leases", lease("leader", holderIdentity="two")).refused(409, "AlreadyExists")


def test_the_holder_renews_with_its_version(space: Scope) -> None:
    held = space.made("leases", lease("leader", holderIdentity="one", renewTime=THEN))
    held["spec"]["renewTime"] = LATER
    renewed = space.replace("leases", held).expect(200)
    assert renewed["spec"]["renewTime"] == LATER
    assert renewed["metadata"]["resourceVersion"] != held["metadata"]["resourceVersion"]


def test_of_two_who_read_the_same_version_one_wins(space: Scope) -> None:
    read = space.made("leases", lease("leader", holderIdentity="gone", renewTime=THEN))
    space.replace("leases", {**read, "spec": {**read["spec"], "holderIdentity": "one"}}).expect(200)
    second = {**read, "spec": {**read["spec"], "holderIdentity": "two"}}
    space.replace("leases", second).refused(409, "Conflict")
    assert space.read("leases", "leader")["spec"]["holderIdentity"] == "one"


def test_a_holder_whose_lease_was_made_again_is_told(space: Scope) -> None:
    held = space.made("leases", lease("leader", holderIdentity="one"))
    space.delete("leases", "leader").expect(200)
    space.made("leases", lease("leader", holderIdentity="two"))
    space.replace("leases", held).refused(409, "Conflict")


def test_a_lease_written_without_a_version_is_refused(space: Scope) -> None:
    held = space.made("leases", lease("leader", holderIdentity="one"))
    answer = space.replace("leases", changed(lease("leader", holderIdentity="two"), uid=held["metadata"]["uid"]))
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes()] == ["metadata.resourceVersion"]


def test_a_lease_is_released_by_an_empty_holder(space: Scope) -> None:
    held = space.made("leases", lease("leader", holderIdentity="one", leaseDurationSeconds=15))
    held["spec"] = {"leaseDurationSeconds": 1}
    assert "holderIdentity" not in space.replace("leases", held).expect(200)["spec"]


def test_a_lease_lasts_at_least_a_second(space: Scope) -> None:
    answer = space.create("leases", lease("leader", leaseDurationSeconds=0))
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes()] == ["spec.leaseDurationSeconds"]
