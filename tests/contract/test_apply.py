"""Server-side apply: who owns which field, and what happens when two want the same."""

from tests.contract.door import APPLY, Doc
from tests.contract.objects import condition, pod, unique
from tests.contract.scope import Scope


def wanted(name: str, **annotations: str) -> Doc:
    """What a manager applies to a pod that is there: only the fields it means to own."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations}}


def annotations(doc: Doc) -> Doc:
    found: Doc = doc["metadata"].get("annotations", {})
    return found


def conditions(name: str, kind: str, reason: str) -> Doc:
    entry = {"type": kind, "status": "False", "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": {"conditions": [entry]}}


def test_apply_creates_what_is_not_there_and_then_changes_it(space: Scope) -> None:
    space.apply("pods", pod("a"), "one").expect(201)
    space.apply("pods", pod("a", labels={"rank": "1"}), "one").expect(200)
    assert space.read("pods", "a")["metadata"]["labels"] == {"rank": "1"}


def test_the_owner_of_applied_fields_is_on_record(space: Scope) -> None:
    space.made("pods", pod("a"))
    made = space.apply("pods", wanted("a", one="1"), "one").expect(200)
    mine = next(entry for entry in made["metadata"]["managedFields"] if entry["manager"] == "one")
    assert (mine["operation"], mine["apiVersion"], mine["fieldsType"]) == ("Apply", "v1", "FieldsV1")
    assert mine["fieldsV1"] == {"f:metadata": {"f:annotations": {"f:one": {}}}}


def test_managers_of_different_fields_do_not_meet(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.apply("pods", wanted("a", one="1"), "one").expect(200)
    after = space.apply("pods", wanted("a", two="2"), "two").expect(200)
    assert annotations(after) == {"one": "1", "two": "2"}


def test_a_field_no_longer_applied_is_removed(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.apply("pods", wanted("a", one="1", two="2"), "one").expect(200)
    assert annotations(space.apply("pods", wanted("a", two="2"), "one").expect(200)) == {"two": "2"}


def test_a_field_of_two_owners_stays_until_both_let_go(space: Scope) -> None:
    space.made("pods", pod("a"))
    for manager in ("one", "two"):
        space.apply("pods", wanted("a", shared="1"), manager).expect(200)
    assert annotations(space.apply("pods", wanted("a"), "one").expect(200)) == {"shared": "1"}
    assert annotations(space.apply("pods", wanted("a"), "two").expect(200)) == {}


def test_a_field_of_another_is_a_conflict_that_names_the_other(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.apply("pods", wanted("a", shared="1"), "one").expect(200)
    answer = space.apply("pods", wanted("a", shared="2"), "two")
    answer.refused(409, "Conflict")
    (cause,) = answer.causes()
    assert (cause["reason"], cause["field"]) == ("FieldManagerConflict", ".metadata.annotations.shared")
    assert 'conflict with "one"' in cause["message"]
    assert annotations(space.read("pods", "a")) == {"shared": "1"}


def test_a_field_once_set_by_a_plain_write_is_a_conflict_too(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.merge("pods", "a", {"metadata": {"annotations": {"shared": "1"}}}).expect(200)
    space.apply("pods", wanted("a", shared="2"), "two").refused(409, "Conflict")


def test_the_same_value_is_no_conflict(space: Scope) -> None:
    space.made("pods", pod("a"))
    for manager in ("one", "two"):
        space.apply("pods", wanted("a", shared="1"), manager).expect(200)


def test_force_takes_the_field_over(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.apply("pods", wanted("a", shared="1"), "one").expect(200)
    after = space.apply("pods", wanted("a", shared="2"), "two", force="true").expect(200)
    assert annotations(after) == {"shared": "2"}
    assert "one" not in {entry["manager"] for entry in after["metadata"]["managedFields"]}


def test_applying_the_same_again_keeps_the_version(space: Scope) -> None:
    space.made("pods", pod("a"))
    first = space.apply("pods", wanted("a", one="1"), "one").expect(200)
    assert space.apply("pods", wanted("a", one="1"), "one").expect(200) == first


def test_apply_has_to_name_its_manager(space: Scope) -> None:
    answer = space.door.call("PATCH", space.path("pods", "a"), pod("a"), content=APPLY)
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes()] == ["fieldManager"]


def test_apply_tied_to_a_uid_does_not_create(space: Scope) -> None:
    """Nobody applies a status to a pod that is gone and so makes an empty one."""
    ghost = pod("a")
    ghost["metadata"]["uid"] = "0b0b0b0b-0000-4000-8000-000000000000"
    space.apply("pods", ghost, "one").refused(409, "Conflict")
    space.get("pods", "a").refused(404, "NotFound")


def test_apply_with_a_stale_version_is_a_conflict(space: Scope) -> None:
    version = space.made("pods", pod("a"))["metadata"]["resourceVersion"]
    space.merge("pods", "a", {"metadata": {"labels": {"rank": "1"}}}).expect(200)
    stale = wanted("a", one="1")
    stale["metadata"]["resourceVersion"] = version
    space.apply("pods", stale, "one").refused(409, "Conflict")


def test_apply_reads_yaml(space: Scope) -> None:
    text = b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: {one: '1'}\n"
    space.made("pods", pod("a"))
    path = space.path("pods", "a")
    after = space.door.call("PATCH", path, text, {"fieldManager": "one"}, content=APPLY).expect(200)
    assert annotations(after) == {"one": "1"}


# --------------------------------------------------------------------------------------------------- status


def test_apply_to_the_status_owns_status_only(space: Scope) -> None:
    space.made("pods", pod("a"))
    after = space.apply("pods", conditions("a", "PodScheduled", "Unschedulable"), "one", "status").expect(200)
    assert condition(after, "PodScheduled")["reason"] == "Unschedulable"
    mine = next(entry for entry in after["metadata"]["managedFields"] if entry["manager"] == "one")
    assert mine["subresource"] == "status" and mine["fieldsV1"].keys() == {"f:status"}


def test_each_manager_owns_its_own_condition(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.apply("pods", conditions("a", "contract.example/One", "First"), "one", "status").expect(200)
    after = space.apply("pods", conditions("a", "contract.example/Two", "Second"), "two", "status").expect(200)
    assert condition(after, "contract.example/One")["reason"] == "First"
    assert condition(after, "contract.example/Two")["reason"] == "Second"


def test_apply_to_the_status_of_an_absent_object_is_not_found(space: Scope) -> None:
    space.apply("pods", conditions("a", "PodScheduled", "Unschedulable"), "one", "status").refused(404, "NotFound")


def test_lists_with_keys_in_custom_resources_are_owned_entry_by_entry(
    space: Scope, pennants: str, pennant: Doc
) -> None:
    name = unique("gang")

    def groups(*wanted: str) -> Doc:
        spec = {"groups": [{"name": group, "count": 1} for group in wanted]}
        return {**pennant, "metadata": {"name": name}, "spec": spec}

    space.apply(pennants, groups("workers"), "one").expect(201)
    after = space.apply(pennants, groups("servers"), "two").expect(200)
    assert [group["name"] for group in after["spec"]["groups"]] == ["workers", "servers"]
    left = space.apply(pennants, groups("drivers"), "one").expect(200)
    assert sorted(group["name"] for group in left["spec"]["groups"]) == ["drivers", "servers"]
