"""Custom kinds: defined, defaulted, pruned, validated."""

from tests.contract import pennant as flag
from tests.contract.door import Doc, until
from tests.contract.objects import condition, unique
from tests.contract.scope import Scope


def with_spec(pennant: Doc, **spec: object) -> Doc:
    return {**pennant, "spec": {**pennant["spec"], **spec}}


# -------------------------------------------------------------------------------------------- the definition


def test_a_definition_is_established_and_served(cluster: Scope) -> None:
    group = f"{unique('c')}.contract.example"
    name = cluster.made("customresourcedefinitions", flag.definition(group))["metadata"]["name"]
    served = flag.wait_until_served(cluster, name)
    assert condition(served, "NamesAccepted")["status"] == "True"
    assert served["status"]["storedVersions"] == ["v1"]
    cluster.delete("customresourcedefinitions", name).expect(200)


def test_a_withdrawn_kind_is_no_longer_served(cluster: Scope) -> None:
    group = f"{unique('c')}.contract.example"
    name = cluster.made("customresourcedefinitions", flag.definition(group))["metadata"]["name"]
    flag.wait_until_served(cluster, name)
    cluster.delete("customresourcedefinitions", name).expect(200)
    cluster.gone("customresourcedefinitions", name)
    for _ in until("the kind to follow its definition"):  # it is served a moment longer
        if cluster.door.get(f"/apis/{group}/v1/{flag.PLURAL}").code == 404:
            break


def test_a_name_that_is_not_plural_and_group_is_refused(cluster: Scope) -> None:
    wrong = flag.definition(f"{unique('c')}.contract.example")
    wrong["metadata"]["name"] = "pennants.elsewhere.example"
    cluster.create("customresourcedefinitions", wrong).refused(422, "Invalid")


def test_a_schema_that_is_not_structural_is_refused(cluster: Scope) -> None:
    """Every node of a schema has a type."""
    loose = {"type": "object", "properties": {"spec": {"properties": {"rack": {"type": "string"}}}}}
    answer = cluster.create("customresourcedefinitions", flag.definition(f"{unique('c')}.contract.example", loose))
    answer.refused(422, "Invalid")
    assert "properties[spec].type" in str(answer.causes())


def test_a_rule_that_does_not_compile_is_refused(cluster: Scope) -> None:
    rules = [{"rule": "self.absent > 1"}]
    spec = {"type": "object", "properties": {"rack": {"type": "string"}}, "x-kubernetes-validations": rules}
    definition = flag.definition(f"{unique('c')}.contract.example", {"type": "object", "properties": {"spec": spec}})
    answer = cluster.create("customresourcedefinitions", definition)
    answer.refused(422, "Invalid")
    assert "undefined field 'absent'" in answer.body["message"]


# ------------------------------------------------------------------------------------------------- the objects


def test_defaults_are_stored_and_returned(space: Scope, pennants: str, pennant: Doc) -> None:
    made = space.made(pennants, pennant)
    assert made["spec"] == {"rack": "r1", "minCount": 1, "mode": "Gang"}
    assert space.read(pennants, made["metadata"]["name"]) == made


def test_a_default_does_not_make_its_parent(space: Scope, pennants: str, pennant: Doc) -> None:
    bare = {key: value for key, value in pennant.items() if key != "spec"}
    assert "spec" not in space.made(pennants, bare)


def test_unknown_fields_are_pruned(space: Scope, pennants: str, pennant: Doc) -> None:
    made = space.made(pennants, with_spec(pennant, formation="testudo"))
    assert "formation" not in made["spec"]


def test_unknown_fields_are_refused_when_validation_is_strict(space: Scope, pennants: str, pennant: Doc) -> None:
    answer = space.create(pennants, with_spec(pennant, formation="testudo"), fieldValidation="Strict")
    assert 'unknown field "spec.formation"' in answer.refused(400, "BadRequest")["message"]


def test_free_form_fields_are_kept(space: Scope, pennants: str, pennant: Doc) -> None:
    free = {"anything": {"at": ["all", 1, True]}}
    assert space.made(pennants, with_spec(pennant, free=free))["spec"]["free"] == free


def test_the_schema_refuses_field_by_field(space: Scope, pennants: str, pennant: Doc) -> None:
    answer = space.create(pennants, with_spec(pennant, minCount=0, mode="Mob"))
    answer.refused(422, "Invalid")
    causes = {(cause["field"], cause["reason"]) for cause in answer.causes()}
    # One more cause may say that rules were not asked because of these.
    assert {("spec.minCount", "FieldValueInvalid"), ("spec.mode", "FieldValueNotSupported")} <= causes


def test_a_wrong_type_is_refused(space: Scope, pennants: str, pennant: Doc) -> None:
    answer = space.create(pennants, with_spec(pennant, minCount="many"))
    answer.refused(422, "Invalid")
    assert ("spec.minCount", "FieldValueTypeInvalid") in {(each["field"], each["reason"]) for each in answer.causes()}


def test_two_entries_of_one_key_are_refused(space: Scope, pennants: str, pennant: Doc) -> None:
    answer = space.create(pennants, with_spec(pennant, groups=[{"name": "workers"}, {"name": "workers"}]))
    answer.refused(422, "Invalid")
    assert [(cause["field"], cause["reason"]) for cause in answer.causes()] == [
        ("spec.groups[1]", "FieldValueDuplicate")
    ]


def test_a_rule_refuses_with_its_own_message_and_field(space: Scope, pennants: str, pennant: Doc) -> None:
    groups = [{"name": name} for name in "abcde"]
    answer = space.create(pennants, with_spec(pennant, groups=groups))
    answer.refused(422, "Invalid")
    (cause,) = answer.causes()
    assert cause["field"] == "spec.groups" and "at most four groups" in cause["message"]


def test_an_immutable_field_does_not_change(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    answer = space.merge(pennants, name, {"spec": {"rack": "r2"}})
    answer.refused(422, "Invalid")
    (cause,) = answer.causes()
    assert cause["field"] == "spec.rack" and "rack is immutable" in cause["message"]


def test_an_immutable_field_may_be_removed_unless_its_parent_forbids(space: Scope, pennants: str, pennant: Doc) -> None:
    """A transition rule on a field is only asked when the field is there before and after. Ours stand on the parent."""
    name = space.made(pennants, pennant)["metadata"]["name"]
    assert "rack" not in space.merge(pennants, name, {"spec": {"rack": None}}).expect(200)["spec"]


def test_a_rule_on_the_spec_does_not_stand_in_the_way_of_the_status(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    space.merge(pennants, name, {"status": {"phase": "Running"}}, "status").expect(200)


def test_the_status_is_validated_by_the_schema(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    space.merge(pennants, name, {"status": {"conditions": [{"type": "Placed"}]}}, "status").refused(422, "Invalid")


def test_no_scale_unless_defined(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    assert space.get(pennants, name, "scale").code == 404


def test_custom_kinds_support_generate_name_and_conflicts(space: Scope, pennants: str, pennant: Doc) -> None:
    made = space.made(pennants, {**pennant, "metadata": {"generateName": "gang-"}})
    name = made["metadata"]["name"]
    assert name.startswith("gang-")
    space.merge(pennants, name, {"spec": {"minCount": 2}}).expect(200)
    space.replace(pennants, made).refused(409, "Conflict")


def test_a_custom_object_is_not_replaced_without_its_version(space: Scope, pennants: str, pennant: Doc) -> None:
    space.made(pennants, pennant)
    answer = space.replace(pennants, pennant)
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes()] == ["metadata.resourceVersion"]
