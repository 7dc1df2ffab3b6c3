"""Upstream's own groups of pods (`scheduling.k8s.io`), where the server serves them."""

import pytest

from testbed.fixtures import demanded
from tests.contract.door import Doc
from tests.contract.objects import condition, pod
from tests.contract.scope import ROOTS, Scope

THEN = "2026-01-01T00:00:00Z"


@pytest.fixture
def groups(space: Scope) -> None:
    served(space, "podgroups")


@pytest.fixture
def composites(space: Scope) -> None:
    served(space, "compositepodgroups")


def served(space: Scope, resource: str) -> None:
    listed = space.door.get(ROOTS[resource]).body.get("resources", [])
    if resource not in {each["name"] for each in listed}:
        absent = f"discovery lists no {resource} under {ROOTS[resource]}"
        if demanded():  # the test bed serves them: there a missing kind is a failure, not an excuse
            pytest.fail(absent)
        pytest.skip(absent)


def pod_group(name: str, **spec: object) -> Doc:
    policy = {"gang": {"minCount": 4}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def workload(name: str, **spec: object) -> Doc:
    templates = [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}}]
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": name},
        "spec": {"podGroupTemplates": templates, **spec},
    }


def composite(name: str, **spec: object) -> Doc:
    reference = {"workloadName": "w", "templateName": "all"}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name},
        "spec": {"workloadRef": reference, "schedulingPolicy": {"gang": {"minGroupCount": 2}}, **spec},
    }


def scheduled(status: str, reason: str) -> Doc:
    said = {"type": "PodGroupInitiallyScheduled", "status": status, "reason": reason, "message": "by the contract"}
    return {"status": {"conditions": [{**said, "lastTransitionTime": THEN}]}}


# --------------------------------------------------------------------------------------------------- PodGroup


@pytest.mark.usefixtures("groups")
class TestPodGroups:
    def test_a_pod_group_is_kept(self, space: Scope) -> None:
        made = space.made("podgroups", pod_group("g"))
        assert made["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}

    def test_its_conditions_are_patched(self, space: Scope) -> None:
        space.made("podgroups", pod_group("g"))
        after = space.merge("podgroups", "g", scheduled("False", "Unschedulable"), "status").expect(200)
        assert condition(after, "PodGroupInitiallyScheduled")["reason"] == "Unschedulable"

    def test_its_conditions_are_applied(self, space: Scope) -> None:
        space.made("podgroups", pod_group("g"))
        doc = {**pod_group("g"), **scheduled("True", "Scheduled")}
        del doc["spec"]
        after = space.apply("podgroups", doc, "phalanx", "status").expect(200)
        assert condition(after, "PodGroupInitiallyScheduled")["status"] == "True"

    def test_its_status_leaves_the_spec_alone(self, space: Scope) -> None:
        made = space.made("podgroups", pod_group("g"))
        patch = {"spec": {"schedulingPolicy": {"gang": {"minCount": 9}}}, **scheduled("True", "Scheduled")}
        after = space.merge("podgroups", "g", patch, "status").expect(200)
        assert after["spec"] == made["spec"]

    def test_one_topology_level_may_be_required(self, space: Scope) -> None:
        constraints = {"topology": [{"key": "example.com/rack"}]}
        made = space.made("podgroups", pod_group("g", schedulingConstraints=constraints))
        assert made["spec"]["schedulingConstraints"] == constraints

    def test_more_than_one_level_is_refused(self, space: Scope) -> None:
        constraints = {"topology": [{"key": "example.com/rack"}, {"key": "example.com/block"}]}
        answer = space.create("podgroups", pod_group("g", schedulingConstraints=constraints))
        answer.refused(422, "Invalid")
        assert [cause["field"] for cause in answer.causes()] == ["spec.schedulingConstraints.topology"]

    def test_a_gang_of_none_is_refused(self, space: Scope) -> None:
        answer = space.create("podgroups", pod_group("g", schedulingPolicy={"gang": {"minCount": 0}}))
        answer.refused(422, "Invalid")
        assert [cause["field"] for cause in answer.causes()] == ["spec.schedulingPolicy.gang.minCount"]

    def test_its_minimum_may_change(self, space: Scope) -> None:
        space.made("podgroups", pod_group("g"))
        patch = {"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}}
        after = space.merge("podgroups", "g", patch).expect(200)
        assert after["spec"]["schedulingPolicy"] == {"gang": {"minCount": 5}}

    def test_it_counts_no_generations(self, space: Scope) -> None:
        """So `observedGeneration` in its conditions has nothing to observe."""
        assert "generation" not in space.made("podgroups", pod_group("g"))["metadata"]

    def test_its_policy_and_constraints_never_change(self, space: Scope) -> None:
        space.made("podgroups", pod_group("g"))
        basic: Doc = {"spec": {"schedulingPolicy": {"gang": None, "basic": {}}}}
        space.merge("podgroups", "g", basic).refused(422, "Invalid")
        rack = {"spec": {"schedulingConstraints": {"topology": [{"key": "example.com/rack"}]}}}
        space.merge("podgroups", "g", rack).refused(422, "Invalid")

    def test_a_policy_is_one_of_two(self, space: Scope) -> None:
        both = {"gang": {"minCount": 1}, "basic": {}}
        space.create("podgroups", pod_group("g", schedulingPolicy=both)).refused(422, "Invalid")

    def test_its_workload_does_not_have_to_exist(self, space: Scope) -> None:
        reference = {"workloadName": "absent", "templateName": "workers"}
        assert space.made("podgroups", pod_group("g", workloadRef=reference))["spec"]["workloadRef"] == reference

    def test_its_lists_and_watches_work_like_any_other(self, space: Scope) -> None:
        start = space.version("podgroups")
        with space.watch("podgroups", resourceVersion=start) as watch:
            space.made("podgroups", pod_group("g"))
            assert watch.next()["object"]["metadata"]["name"] == "g"

    def test_a_finalizer_protects_it(self, space: Scope) -> None:
        """Set at birth; where controllers run they lift it once no pod is left. Without them nobody does."""
        made = space.made("podgroups", pod_group("g"))
        assert made["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]

    def test_a_pod_names_its_group(self, space: Scope) -> None:
        made = space.made("pods", pod("a", schedulingGroup={"podGroupName": "g"}))
        assert made["spec"]["schedulingGroup"] == {"podGroupName": "g"}

    def test_the_group_of_a_pod_never_changes(self, space: Scope) -> None:
        space.made("pods", pod("a", schedulingGroup={"podGroupName": "g"}))
        space.merge("pods", "a", {"spec": {"schedulingGroup": {"podGroupName": "h"}}}).refused(422, "Invalid")


def test_unknown_parts_of_a_scheduling_group_are_dropped(space: Scope) -> None:
    """Fields of another version of the API do not survive: what a pod says there may be less than its author wrote."""
    made = space.made("pods", pod("a", schedulingGroup={"podGroupName": "g", "podGroupReplicaKey": "0"}))
    assert "podGroupReplicaKey" not in made["spec"].get("schedulingGroup", {})


# --------------------------------------------------------------------------------------------------- Workload


@pytest.mark.usefixtures("groups")
class TestWorkloads:
    def test_a_workload_is_kept(self, space: Scope) -> None:
        made = space.made("workloads", workload("w"))
        assert made["spec"]["podGroupTemplates"][0]["name"] == "workers"

    def test_a_workload_has_no_status(self, space: Scope) -> None:
        space.made("workloads", workload("w"))
        assert space.get("workloads", "w", "status").code == 404

    def test_the_minimum_in_a_template_may_change(self, space: Scope) -> None:
        """Its documentation calls the templates immutable; what is fixed is which there are."""
        space.made("workloads", workload("w"))
        other = [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 5}}}]
        space.merge("workloads", "w", {"spec": {"podGroupTemplates": other}}).expect(200)

    @pytest.mark.parametrize("names", [("workers", "servers"), ("servers",)])
    def test_no_template_comes_or_goes(self, space: Scope, names: tuple[str, ...]) -> None:
        space.made("workloads", workload("w"))
        other = [{"name": name, "schedulingPolicy": {"gang": {"minCount": 4}}} for name in names]
        space.merge("workloads", "w", {"spec": {"podGroupTemplates": other}}).refused(422, "Invalid")

    def test_two_templates_of_one_name_are_refused(self, space: Scope) -> None:
        twice = [{"name": "workers", "schedulingPolicy": {"basic": {}}}] * 2
        space.create("workloads", workload("w", podGroupTemplates=twice)).refused(422, "Invalid")

    def test_it_may_name_its_controller(self, space: Scope) -> None:
        reference = {"apiGroup": "batch", "kind": "Job", "name": "j"}
        assert space.made("workloads", workload("w", controllerRef=reference))["spec"]["controllerRef"] == reference


# ------------------------------------------------------------------------------------------ CompositePodGroup


@pytest.mark.usefixtures("composites")
class TestCompositePodGroups:
    def test_a_composite_is_kept(self, space: Scope) -> None:
        made = space.made("compositepodgroups", composite("c"))
        assert made["spec"]["schedulingPolicy"] == {"gang": {"minGroupCount": 2}}

    def test_its_conditions_are_patched(self, space: Scope) -> None:
        space.made("compositepodgroups", composite("c"))
        patch = scheduled("False", "Unschedulable")
        after = space.merge("compositepodgroups", "c", patch, "status").expect(200)
        assert condition(after, "PodGroupInitiallyScheduled")["reason"] == "Unschedulable"

    def test_composites_stand_in_composites(self, space: Scope) -> None:
        space.made("compositepodgroups", composite("c"))
        inner = space.made("compositepodgroups", composite("d", parentCompositePodGroupName="c"))
        assert inner["spec"]["parentCompositePodGroupName"] == "c"

    def test_pod_groups_stand_in_composites(self, space: Scope) -> None:
        reference = {"workloadName": "w", "templateName": "workers"}
        doc = pod_group("g", parentCompositePodGroupName="c", workloadRef=reference)
        assert space.made("podgroups", doc)["spec"]["parentCompositePodGroupName"] == "c"

    def test_a_composite_names_its_workload(self, space: Scope) -> None:
        doc = composite("c")
        del doc["spec"]["workloadRef"]
        answer = space.create("compositepodgroups", doc)
        answer.refused(422, "Invalid")
        assert "spec.workloadRef" in [cause["field"] for cause in answer.causes()]
