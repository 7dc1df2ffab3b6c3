"""Objects: created, read, replaced and deleted, and what the server says when it will not."""

from tests.contract.objects import changed, lease, pod
from tests.contract.scope import Scope

# ------------------------------------------------------------------------------------------------- creation


def test_a_created_object_has_identity_version_and_time(space: Scope) -> None:
    made = space.made("pods", pod("a"))["metadata"]
    assert made["uid"] and made["resourceVersion"] and made["creationTimestamp"]
    assert made["namespace"] == space.namespace


def test_a_new_object_is_of_generation_one(space: Scope) -> None:
    assert space.made("pods", pod("a"))["metadata"]["generation"] == 1


def test_what_was_created_is_what_one_reads(space: Scope) -> None:
    assert space.made("pods", pod("a")) == space.read("pods", "a")


def test_generate_name_gives_every_object_a_name_of_its_own(space: Scope) -> None:
    template = pod("")
    template["metadata"] = {"generateName": "worker-"}
    names = {space.made("pods", template)["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("worker-") and len(name) > len("worker-") for name in names)


def test_a_taken_name_is_refused_as_already_existing(space: Scope) -> None:
    space.made("pods", pod("a"))
    status = space.create("pods", pod("a")).refused(409, "AlreadyExists")
    assert status["details"] == {"name": "a", "kind": "pods"}


def test_the_same_name_again_is_another_object(space: Scope) -> None:
    first = space.made("leases", lease("a"))
    space.delete("leases", "a").expect(200)
    assert space.made("leases", lease("a"))["metadata"]["uid"] != first["metadata"]["uid"]


def test_a_dry_run_answers_and_stores_nothing(space: Scope) -> None:
    space.create("pods", pod("a"), dryRun="All").expect(201)
    space.get("pods", "a").refused(404, "NotFound")


def test_defaults_are_filled_in_before_the_answer(space: Scope) -> None:
    spec = space.made("pods", pod("a"))["spec"]
    assert (spec["restartPolicy"], spec["priority"], spec["preemptionPolicy"]) == ("Always", 0, "PreemptLowerPriority")


def test_quantities_come_back_in_their_canonical_form(space: Scope) -> None:
    asked = {"cpu": "1000m", "memory": "2048Mi"}
    made = space.made("pods", pod("a", containers=[{"name": "main", "image": "i", "resources": {"requests": asked}}]))
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "2Gi"}


# ------------------------------------------------------------------------------------------------- refusals


def test_an_absent_object_is_a_not_found_status(space: Scope) -> None:
    status = space.get("pods", "absent").refused(404, "NotFound")
    assert status["details"] == {"name": "absent", "kind": "pods"}


def test_an_absent_namespace_is_not_found(cluster: Scope) -> None:
    status = Scope(cluster.door, "contract-absent").create("pods", pod("a")).refused(404, "NotFound")
    assert status["details"]["kind"] == "namespaces"


def test_an_invalid_object_is_refused_field_by_field(space: Scope) -> None:
    answer = space.create("pods", pod("a", containers=[{"name": "Main!", "image": "i"}], restartPolicy="Sometimes"))
    answer.refused(422, "Invalid")
    causes = {(cause["field"], cause["reason"]) for cause in answer.causes()}
    assert ("spec.containers[0].name", "FieldValueInvalid") in causes
    assert ("spec.restartPolicy", "FieldValueNotSupported") in causes


def test_a_bad_label_is_refused_with_its_field(space: Scope) -> None:
    answer = space.create("pods", pod("a", labels={"rack": "no spaces allowed"}))
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes()] == ["metadata.labels"]


def test_annotations_have_a_quarter_of_a_mebibyte(space: Scope) -> None:
    space.made("pods", changed(pod("a"), annotations={"x": "x" * (2**18 - 1)}))
    answer = space.create("pods", changed(pod("b"), annotations={"x": "x" * 2**18}))
    answer.refused(422, "Invalid")
    assert [(cause["field"], cause["reason"]) for cause in answer.causes()] == [
        ("metadata.annotations", "FieldValueTooLong")
    ]


def test_a_body_that_is_not_json_is_a_bad_request(space: Scope) -> None:
    space.door.call("POST", space.path("pods"), b"{not json").refused(400, "BadRequest")


def test_a_name_that_differs_from_the_address_is_a_bad_request(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    path = space.path("pods", "b")
    space.door.call("PUT", path, made).refused(400, "BadRequest")


def test_an_unknown_field_is_dropped_with_a_warning(space: Scope) -> None:
    answer = space.create("pods", pod("a", formation="testudo"))
    assert "formation" not in answer.expect(201)["spec"]
    assert "unknown field" in answer.headers["warning"] and "spec.formation" in answer.headers["warning"]


def test_an_unknown_field_is_refused_when_validation_is_strict(space: Scope) -> None:
    answer = space.create("pods", pod("a", formation="testudo"), fieldValidation="Strict")
    assert "spec.formation" in answer.refused(400, "BadRequest")["message"]


# ------------------------------------------------------------------------------------------------- replacing


def test_a_replaced_object_has_a_new_version_and_the_old_identity(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    after = space.replace("pods", changed(made, labels={"rank": "3"})).expect(200)["metadata"]
    assert after["resourceVersion"] != made["metadata"]["resourceVersion"]
    assert (after["uid"], after["labels"]) == (made["metadata"]["uid"], {"rank": "3"})


def test_a_stale_version_is_a_conflict_and_changes_nothing(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    space.replace("pods", changed(made, labels={"seen": "first"})).expect(200)
    space.replace("pods", changed(made, labels={"seen": "second"})).refused(409, "Conflict")
    assert space.read("pods", "a")["metadata"]["labels"] == {"seen": "first"}


def test_a_foreign_uid_is_a_conflict(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    space.replace("pods", changed(made, uid="0b0b0b0b-0000-4000-8000-000000000000")).refused(409, "Conflict")


def test_a_write_that_changes_nothing_keeps_the_version(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    assert space.replace("pods", made).expect(200) == made


def test_metadata_does_not_count_as_a_generation(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    after = space.replace("pods", changed(made, annotations={"note": "moved"})).expect(200)
    assert after["metadata"]["generation"] == 1


def test_replacing_an_absent_object_is_not_found(space: Scope) -> None:
    space.replace("pods", pod("absent")).refused(404, "NotFound")


def test_most_of_a_pods_spec_never_changes(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    made["spec"]["nodeName"] = "somewhere"
    answer = space.replace("pods", made)
    answer.refused(422, "Invalid")
    assert [(cause["field"], cause["reason"]) for cause in answer.causes()] == [("spec", "FieldValueForbidden")]


# -------------------------------------------------------------------------------------------------- deletion


def test_a_pod_without_a_node_is_deleted_at_once(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.delete("pods", "a").expect(200)
    space.get("pods", "a").refused(404, "NotFound")


def test_deleting_an_absent_object_is_not_found(space: Scope) -> None:
    space.delete("pods", "absent").refused(404, "NotFound")


def test_a_bound_pod_gets_time_to_stop(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.bind("a", "contract-nowhere").expect(201)
    space.delete("pods", "a").expect(200)
    leaving = space.read("pods", "a")["metadata"]
    assert leaving["deletionTimestamp"] and leaving["deletionGracePeriodSeconds"] == 30


def test_grace_zero_removes_a_bound_pod_at_once(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.bind("a", "contract-nowhere").expect(201)
    space.delete("pods", "a", {"gracePeriodSeconds": 0}).expect(200)
    space.get("pods", "a").refused(404, "NotFound")


def test_deletion_can_be_tied_to_the_uid(space: Scope) -> None:
    uid = space.made("pods", pod("a"))["metadata"]["uid"]
    other = {"preconditions": {"uid": "0b0b0b0b-0000-4000-8000-000000000000"}}
    space.delete("pods", "a", other).refused(409, "Conflict")
    space.delete("pods", "a", {"preconditions": {"uid": uid}}).expect(200)


def test_deletion_can_be_tied_to_the_version(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    space.replace("pods", changed(made, labels={"seen": "first"})).expect(200)
    stale = {"preconditions": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    space.delete("pods", "a", stale).refused(409, "Conflict")


def test_a_collection_is_deleted_by_label(space: Scope) -> None:
    for name, gang in (("a", "x"), ("b", "x"), ("c", "y")):
        space.made("pods", pod(name, labels={"gang": gang}))
    space.door.call("DELETE", space.path("pods"), query={"labelSelector": "gang=x"}).expect(200)
    assert space.names("pods") == ["c"]


# ------------------------------------------------------------------------------------------------ finalizers


def test_a_finalizer_holds_a_deleted_object_until_it_is_removed(space: Scope) -> None:
    space.made("pods", changed(pod("a"), finalizers=["contract.example/hold"]))
    space.delete("pods", "a").expect(200)
    held = space.read("pods", "a")["metadata"]
    assert held["deletionTimestamp"] and held["finalizers"] == ["contract.example/hold"]
    space.merge("pods", "a", {"metadata": {"finalizers": None}}).expect(200)
    space.get("pods", "a").refused(404, "NotFound")


def test_an_object_on_its_way_out_takes_no_new_finalizer(space: Scope) -> None:
    space.made("pods", changed(pod("a"), finalizers=["contract.example/hold"]))
    space.delete("pods", "a").expect(200)
    more = {"metadata": {"finalizers": ["contract.example/hold", "contract.example/late"]}}
    space.merge("pods", "a", more).refused(422, "Invalid")
    space.merge("pods", "a", {"metadata": {"finalizers": None}}).expect(200)


def test_deleting_twice_keeps_the_first_time(space: Scope) -> None:
    space.made("pods", changed(pod("a"), finalizers=["contract.example/hold"]))
    first = space.delete("pods", "a").expect(200)["metadata"]["deletionTimestamp"]
    assert space.delete("pods", "a").expect(200)["metadata"]["deletionTimestamp"] == first
    space.merge("pods", "a", {"metadata": {"finalizers": None}}).expect(200)
