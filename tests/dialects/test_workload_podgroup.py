"""Kubernetes' own kinds: PodGroup, CompositePodGroup, and the Workload that holds their templates."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phalanx.cluster import Cluster
from phalanx.dialects import outline
from phalanx.dialects.fields import Field
from phalanx.dialects.reading import read_workloads
from phalanx.dialects.workload.changes import changed
from phalanx.model.decision import Invalid
from phalanx.model.request import Missing, Request
from tests.dialects.manifests import AROUND, BLOCK, RACK, Doc, gang, node, paths, pod_spec, problem, request
from tests.dialects.workload_manifests import found, job, placed, pod, said

CLAIMS: Doc = {"resourceClaims": [{"name": "x"}]}
REF = {"workloadName": "w", "templateName": "t"}
BASIC: Doc = {"basic": {}}


def gang_of(pods: object) -> Doc:
    return {"gang": {"minCount": pods}}


def tree_of(groups: object) -> Doc:
    return {"gang": {"minGroupCount": groups}}


def made(kind: str, name: str, version: str = "v1beta1", **spec: Any) -> Doc:
    return {
        "apiVersion": f"scheduling.k8s.io/{version}", "kind": kind,
        "metadata": {"name": name, "namespace": "serving"}, "spec": spec,
    }  # fmt: skip


def podgroup(name: str = "pg", policy: Doc | None = None, **spec: Any) -> Doc:
    return made("PodGroup", name, schedulingPolicy=policy or gang_of(4), **spec)


def below(parent: str, name: str, policy: Doc | None = None, **spec: Any) -> Doc:
    return podgroup(name, policy, parentCompositePodGroupName=parent, workloadRef=REF, **spec)


def composite(name: str, policy: Doc | None = None, **spec: Any) -> Doc:
    return made(
        "CompositePodGroup", name, "v1alpha3", schedulingPolicy=policy or tree_of(2), **{"workloadRef": REF, **spec}
    )


def workload(*templates: Doc, **spec: Any) -> Doc:
    listed = {"podGroupTemplates": list(templates)} if templates else {}
    return made("Workload", "w", **listed, **spec)


def t(name: str, policy: Doc | None = None, **more: Any) -> Doc:
    return {"name": name, "schedulingPolicy": policy or gang_of(4), **more}


def near(key: str) -> Doc:
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


def of_group(name: str = "pg", **more: Any) -> Doc:
    return pod_spec(schedulingGroup={"podGroupName": name}, **more)


def members_of(*names: str, pods: int = 4) -> list[Doc]:
    return [job(pods, of_group(name), name=f"job-{name}") for name in names]


def problems_of(*docs: Doc) -> list[tuple[str, str]]:
    """Kind and text of every Problem."""
    invalid = read_workloads(list(docs), AROUND).invalid
    return [(one.kind, str(each)) for one in invalid for each in one.problems]


# -- PodGroup ----------------------------------------------------------------------------------------------------


def test_a_podgroup_is_a_gang_of_the_pods_that_name_it() -> None:
    assert placed(*members_of("pg"), podgroup()) == [(None, {"pg": (4, 4)})]


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
def test_both_versions_of_today_are_read(version: str) -> None:
    doc = {**podgroup(), "apiVersion": f"scheduling.k8s.io/{version}"}
    assert placed(*members_of("pg"), doc) == [(None, {"pg": (4, 4)})]


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1"])
def test_other_versions_are_a_problem_that_names_them(version: str) -> None:
    doc = {**podgroup(), "apiVersion": f"scheduling.k8s.io/{version}"}
    assert version in problem(doc).message and problem(doc).path == "apiVersion"


def test_a_gang_is_content_with_its_minimum() -> None:
    assert placed(*members_of("pg", pods=6), podgroup()) == [(None, {"pg": (6, 4)})]


def test_pods_of_a_basic_group_start_as_they_fit() -> None:
    assert placed(*members_of("pg"), podgroup(policy=BASIC)) == [(None, {"pg": (4, 1)})]


def test_pods_that_exist_are_members_too() -> None:
    pods = [pod(f"p{i}", of_group()) for i in range(4)]
    assert placed(*pods, podgroup()) == [(None, {"pg": (4, 4)})]


def test_a_podgroup_waits_for_its_pods() -> None:
    assert request(podgroup()).missing == (Missing("pg", 4, 0),)
    assert found(*members_of("pg", pods=3), podgroup()).requests[0].missing == (Missing("pg", 4, 3),)


def test_the_key_of_a_label_is_the_required_level() -> None:
    assert request(podgroup(**near("topology/rack"))).root.required == RACK


def test_a_podgroup_is_the_identical_request_as_a_gang() -> None:
    group = {"name": "pg", "count": 4, "topology": {"required": "rack"}, "template": {"spec": pod_spec()}}
    ours = gang(group, name="pg")
    pods = [pod(f"p{i}", of_group()) for i in range(4)]
    (theirs,) = found(*pods, podgroup(**near("topology/rack"))).requests
    assert theirs.root == request(ours).root


@pytest.mark.parametrize(("mode", "want"), [(None, "Pod"), ({"single": {}}, "Pod"), ({"all": {}}, "Gang")])
def test_who_goes_together_when_evicted(mode: Doc | None, want: str) -> None:
    (one,) = found(podgroup(disruptionMode=mode)).outlines
    assert one.spec["disruption"] == want


def test_the_priority_is_the_number_kubernetes_has_written_or_the_class() -> None:
    assert request(podgroup(priority=7, priorityClassName="x")).priority == 7
    assert request(podgroup(priorityClassName="system-node-critical")).priority == 2_000_001_000


def test_pods_with_another_priority_than_their_group_are_told() -> None:
    members = job(4, of_group(priorityClassName="system-node-critical"))
    assert "share one priority" in said(members, podgroup(priorityClassName="system-cluster-critical"))
    assert "share" not in said(members, podgroup(priorityClassName="system-node-critical"))
    assert found(members, podgroup()).requests[0].priority == 2_000_001_000


def test_a_preemption_policy_is_named_as_not_used() -> None:
    assert "preemptionPolicy is not used yet" in said(podgroup(preemptionPolicy="Never"))


def test_a_podgroup_is_placed() -> None:
    cluster = Cluster.from_manifests([node(f"n{i}") for i in range(2)])
    (one,) = cluster.place([*members_of("pg"), podgroup()])
    assert one.status == "Placed" and sum(one.pod_sets["pg"].values()) == 4
    assert [d.status for d in cluster.place([podgroup()])] == ["Waiting"]


# -- validation --------------------------------------------------------------------------------------------------

NINE = [t(f"t{i}") for i in range(9)]
CLAIM = {"name": "c", "resourceClaimName": "x"}
LEAF = {"podGroupTemplates": [t("leaf")]}


def nested(levels: int) -> Doc:
    """Composite templates inside each other, with a PodGroup's at the bottom."""
    inner: Doc = {"podGroupTemplates": [t("leaf")]}
    for i in range(levels):
        inner = {"compositePodGroupTemplates": [{"name": f"c{i}", "schedulingPolicy": tree_of(1), **inner}]}
    return workload(**inner)


SPEC = "spec.podGroupTemplates"


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (workload(), SPEC),  # V1
        (workload(t("a"), compositePodGroupTemplates=[t("c", tree_of(1), **LEAF)]), "spec.compositePodGroupTemplates"),
        (workload(*NINE), SPEC),  # V2
        (workload(t("a"), t("a")), f"{SPEC}[1].name"),  # V3
        (workload(compositePodGroupTemplates=[t("leaf", tree_of(1), **LEAF)]),
         "spec.compositePodGroupTemplates[0].podGroupTemplates[0].name"),
        (workload(t("Upper")), f"{SPEC}[0].name"),  # V4
        (workload(t("a.b")), f"{SPEC}[0].name"),
        (workload(t("a" * 64)), f"{SPEC}[0].name"),
        (workload({"name": "a", "schedulingPolicy": {**BASIC, **gang_of(1)}}), f"{SPEC}[0].schedulingPolicy"),  # V5
        (workload({"name": "a", "schedulingPolicy": {}}), f"{SPEC}[0].schedulingPolicy"),
        (podgroup(policy={**BASIC, **gang_of(1)}), "spec.schedulingPolicy"),
        (made("PodGroup", "pg"), "spec.schedulingPolicy"),
        (workload(t("a", gang_of(0))), f"{SPEC}[0].schedulingPolicy.gang.minCount"),  # V6, X-11
        (podgroup(policy=gang_of(-1)), "spec.schedulingPolicy.gang.minCount"),
        (podgroup(policy={"gang": {}}), "spec.schedulingPolicy.gang.minCount"),
        (podgroup(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
         "spec.schedulingConstraints.topology"),  # V7
        (podgroup(schedulingConstraints={"topology": [{"key": ""}]}), "spec.schedulingConstraints.topology[0].key"),
        (podgroup(schedulingConstraints={"topology": [{"key": "a b"}]}), "spec.schedulingConstraints.topology[0].key"),
        (podgroup(resourceClaims=[CLAIM]), "spec.resourceClaims"),
        (podgroup(resourceClaims=[CLAIM] * 5), "spec.resourceClaims"),  # V8
        (podgroup(resourceClaims=[{"name": "c"}]), "spec.resourceClaims[0]"),
        (podgroup(resourceClaims=[{**CLAIM, "resourceClaimTemplateName": "y"}]), "spec.resourceClaims[0]"),
        (workload(t("a", priorityClassName="x"), t("b", priorityClassName="y")), f"{SPEC}[1].priorityClassName"),  # V12
        (workload(t("a", priority=1), t("b")), f"{SPEC}[1].priority"),
        (nested(4), "spec" + ".compositePodGroupTemplates[0]" * 3 + ".compositePodGroupTemplates"),  # V13
        (workload(compositePodGroupTemplates=[t("c", tree_of(1))]), "spec.compositePodGroupTemplates[0]"),  # V14
        (podgroup(parentCompositePodGroupName="c"), "spec.workloadRef"),  # V15
        (podgroup(workloadRef={"workloadName": "w"}), "spec.workloadRef.templateName"),
        (made("CompositePodGroup", "c", "v1alpha3", schedulingPolicy=BASIC), "spec.workloadRef"),
        (podgroup(disruptionMode={}), "spec.disruptionMode"),
        (podgroup(disruptionMode={"single": {}, "all": {}}), "spec.disruptionMode"),
        (podgroup(priority=1_000_000_001), "spec.priority"),
        (podgroup(preemptionPolicy="Always"), "spec.preemptionPolicy"),
        (workload(gangGroups=[]), "spec.gangGroups"),
    ],
)  # fmt: skip
def test_each_rule_of_kubernetes_is_a_problem_of_its_own(doc: Doc, path: str) -> None:
    assert path in paths(doc)


def test_a_key_that_no_label_can_have_is_told_as_such() -> None:
    # V7
    assert "is not the key of a label" in problem(podgroup(**near("a b"))).message


def test_what_is_within_the_rules_is_good() -> None:
    for doc in (nested(3), workload(*NINE[:8]), workload(t("a", priority=1), t("b", priority=1))):
        assert found(doc)


def test_a_pod_names_the_group_it_belongs_to() -> None:
    # V19
    ((kind, text),) = problems_of(pod("p", pod_spec(schedulingGroup={})))
    assert kind == "Pod" and "names no group" in text


# -- the Workload of templates -----------------------------------------------------------------------------------


def test_templates_alone_wait_for_their_pods_each_by_itself() -> None:
    made_of = found(workload(t("a"), t("b", BASIC))).requests
    assert [(one.unit, one.missing) for one in made_of] == [
        ("a", (Missing("a", 4, 0),)), ("b", (Missing("b", 1, 0),))]  # fmt: skip


def test_with_its_podgroups_a_workload_places_nothing_itself() -> None:
    docs = [workload(t("t")), podgroup("pg-1", workloadRef=REF), *members_of("pg-1")]
    assert placed(*docs) == [(None, {"pg-1": (4, 4)})]
    assert "places nothing itself; pg-1, made from it, is placed" in said(*docs)


def test_pods_that_name_the_workload_itself_are_members_of_its_templates() -> None:
    member = job(4, pod_spec(workloadRef={"name": "w", "podGroup": "b"}))
    units = {one.unit: one.missing for one in found(member, workload(t("a"), t("b"))).requests}
    assert units == {"a": (Missing("a", 4, 0),), "b": ()}


def test_composite_templates_are_a_tree() -> None:
    inner = t("c", tree_of(1), podGroupTemplates=[t("a"), t("b")], **near("topology/block"))
    (one,) = found(workload(compositePodGroupTemplates=[inner])).requests
    assert (one.unit, one.root.required, one.root.min_members) == ("c", BLOCK, 1)
    assert [group.name for group in one.root.groups()] == ["c", "a", "b"]


def test_more_groups_than_templates_is_told_and_no_mistake() -> None:
    doc = workload(compositePodGroupTemplates=[t("c", tree_of(3), **LEAF)])
    assert "is more than the 1 templates below" in said(doc)


def test_templates_that_disagree_about_disruption_are_told() -> None:
    doc = workload(t("a", disruptionMode={"all": {}}), t("b", disruptionMode={"single": {}}))
    assert "one disruption mode together" in said(doc)


# -- trees -------------------------------------------------------------------------------------------------------


def test_a_tree_of_groups_is_one_workload() -> None:
    docs = [composite("c", **near("topology/block")), below("c", "a", **near("topology/rack")), below("c", "b")]
    (one,) = found(*docs, *members_of("a", "b")).requests
    assert (one.kind, one.name, one.root.required) == ("CompositePodGroup", "c", BLOCK)
    assert {group.name: group.required for group in one.root.groups()} == {"c": BLOCK, "a": RACK, "b": None}
    assert {pods.name: pods.count for pods in one.root.pod_sets()} == {"a": 4, "b": 4}


def test_the_groups_of_a_tree_say_with_whom_they_are_placed() -> None:
    docs = [
        composite("c"),
        composite("inner", parentCompositePodGroupName="c"),
        below("inner", "a"),
        below("inner", "b"),
    ]
    notes = found(*docs, below("c", "d")).notes
    assert {key: str(notes[f"serving/{key}"][0]) for key in ("inner", "a")} == {
        "inner": "is placed with CompositePodGroup c", "a": "is placed with CompositePodGroup c"}  # fmt: skip


def test_composites_nest() -> None:
    docs = [composite("c"), composite("inner", tree_of(1), parentCompositePodGroupName="c"), below("c", "x")]
    (one,) = found(*docs, below("inner", "a"), below("inner", "b")).requests
    groups = {group.name: group.min_members for group in one.root.groups()}
    assert groups == {"c": None, "inner": 1, "a": None, "b": None, "x": None}


def test_fewer_groups_than_there_are_will_do() -> None:
    (one,) = found(composite("c", tree_of(1)), below("c", "a"), below("c", "b")).requests
    assert one.root.min_members == 1


def test_a_tree_waits_for_groups_that_are_not_there_yet() -> None:
    docs = [composite("c", tree_of(3)), below("c", "a"), below("c", "b"), *members_of("a", "b")]
    (one,) = found(*docs).requests
    assert one.missing == (Missing("c", 3, 2, groups=True),)
    assert "2 of 3 groups are there" in said(*docs)


def test_a_composite_without_groups_places_nothing() -> None:
    assert found(composite("c")).requests == ()
    assert "no group names it as its parent yet" in said(composite("c"))


def test_the_groups_of_a_basic_tree_start_on_their_own() -> None:
    docs = [composite("c", BASIC), below("c", "a"), below("c", "b"), *members_of("a", "b")]
    assert placed(*docs) == [("a", {"a": (4, 4)}), ("b", {"b": (4, 4)})]


def test_a_basic_tree_with_a_domain_is_one_decision() -> None:
    docs = [composite("c", BASIC, **near("topology/rack")), below("c", "a"), below("c", "b")]
    (one,) = found(*docs).requests
    assert (one.root.required, one.root.min_members) == (RACK, 1)


def test_a_group_whose_parent_is_not_given_waits_for_it_and_says_so() -> None:
    told = "names CompositePodGroup c (scheduling.k8s.io), which does not exist; it waits until it does"
    assert problems_of(below("c", "a")) == [("PodGroup", f"spec.parentCompositePodGroupName: {told}")]


def test_of_a_tree_without_its_root_the_group_that_names_it_says_so() -> None:
    mid = composite("mid", parentCompositePodGroupName="c")
    read = read_workloads([mid, below("mid", "a")], AROUND)
    assert [(one.kind, one.name) for one in read.invalid] == [("CompositePodGroup", "mid")]
    notes = [note.message for those in read.notes.values() for note in those]
    assert notes == ["is placed with CompositePodGroup c, which is not among the documents: it waits for it"]


def test_parents_that_run_in_a_circle_are_a_problem() -> None:
    docs = [composite("a", parentCompositePodGroupName="b"), composite("b", parentCompositePodGroupName="a")]
    texts = problems_of(*docs, below("a", "pg"))
    assert len(texts) == 3 and all("run in a circle" in text for _, text in texts)


def test_a_tree_of_five_levels_is_a_problem() -> None:
    # V13
    chain = [composite("c1", tree_of(1))]
    chain += [composite(f"c{i}", tree_of(1), parentCompositePodGroupName=f"c{i - 1}") for i in (2, 3, 4)]
    assert "at most 4 levels" in problems_of(*chain, below("c4", "a"))[0][1]
    assert not problems_of(*chain[:3], below("c3", "a"))


def test_what_is_wrong_with_a_group_of_a_tree_spoils_the_tree() -> None:
    texts = problems_of(composite("c", tree_of(1)), below("c", "a", **near("topology/rak")))
    assert texts[0][0] == "CompositePodGroup" and texts[0][1].startswith("PodGroup/a: spec.schedulingConstraints")


def test_another_priority_in_a_tree_is_told() -> None:
    docs = [composite("c", tree_of(1), priorityClassName="x"), below("c", "a", priorityClassName="y")]
    assert "differs from that of CompositePodGroup c" in said(*docs)


@pytest.mark.parametrize(
    ("root", "leaf", "want"),
    [({"all": {}}, None, "Gang"), (None, {"all": {}}, "Group"), (None, None, "Pod")],
)
def test_who_goes_together_in_a_tree(root: Doc | None, leaf: Doc | None, want: str) -> None:
    (one,) = found(composite("c", tree_of(1), disruptionMode=root), below("c", "a", disruptionMode=leaf)).outlines
    assert outline.plain(one.spec["disruption"]) == want


# -- what may not change -----------------------------------------------------------------------------------------


def changes(old: Doc, new: Doc) -> list[str]:
    return [one.path for one in changed(Field.of(old), Field.of(new))]


TREE = workload(compositePodGroupTemplates=[t("c", tree_of(1), podGroupTemplates=[t("a")])])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (podgroup(), podgroup(policy=gang_of(2))),
        (workload(t("a")), workload(t("a", gang_of(2)))),
        (TREE, workload(compositePodGroupTemplates=[t("c", tree_of(2), podGroupTemplates=[t("a", gang_of(9))])])),
        (podgroup(), podgroup()),
        (job(4, pod_spec()), job(5, pod_spec())),
    ],
)
def test_how_many_must_start_together_may_change(old: Doc, new: Doc) -> None:
    # V9
    assert changes(old, new) == []


LINKED = pod("p", of_group())


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (podgroup(), podgroup(policy=BASIC), "spec.schedulingPolicy"),  # V10
        (podgroup(), podgroup(**near("a")), "spec.schedulingConstraints"),
        (podgroup(resourceClaims=[CLAIM]), podgroup(), "spec.resourceClaims"),
        (podgroup(disruptionMode={"all": {}}), podgroup(disruptionMode={"single": {}}), "spec.disruptionMode"),
        (podgroup(), podgroup(priorityClassName="x"), "spec.priorityClassName"),
        (below("c", "a"), below("d", "a"), "spec.parentCompositePodGroupName"),
        (podgroup(workloadRef=REF), podgroup(workloadRef={**REF, "workloadName": "v"}), "spec.workloadRef"),
        (composite("c", tree_of(1)), composite("c", tree_of(2)), "spec.schedulingPolicy"),
        (workload(t("a"), controllerRef={"kind": "Job", "name": "a"}), workload(t("a")), "spec.controllerRef"),
        (workload(t("a")), workload(t("a", BASIC)), f"{SPEC}[0].schedulingPolicy"),
        (workload(t("a")), workload(t("a", **near("b"))), f"{SPEC}[0].schedulingConstraints"),
        (workload(t("a")), workload(t("a"), t("b")), SPEC),  # V11
        (workload(t("a"), t("b")), workload(t("a")), SPEC),
        (TREE, workload(compositePodGroupTemplates=[t("c", tree_of(1), podGroupTemplates=[t("b")])]),
         "spec.compositePodGroupTemplates[0].podGroupTemplates"),
        (LINKED, pod("p", of_group("other")), "spec.schedulingGroup"),  # V20, W-099
        (LINKED, pod("p", pod_spec()), "spec.schedulingGroup"),
        (pod("p", pod_spec(workload={"name": "a"})), pod("p", pod_spec(workload={"name": "b"})), "spec.workload"),
        (pod("p", pod_spec()), pod("p", pod_spec(workloadRef={"name": "b"})), "spec.workloadRef"),
    ],
)  # fmt: skip
def test_everything_else_may_not(old: Doc, new: Doc, path: str) -> None:
    assert changes(old, new) == [path]


# -- anything at all ---------------------------------------------------------------------------------------------

FIELDS = [
    "name", "schedulingPolicy", "basic", "gang", "minCount", "minGroupCount", "schedulingConstraints", "topology",
    "key", "resourceClaims", "disruptionMode", "all", "priority", "priorityClassName", "workloadRef", "workloadName",
    "templateName", "parentCompositePodGroupName", "podGroupTemplates", "compositePodGroupTemplates", "controllerRef",
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-2, 5) | st.sampled_from(["a", "b", "c", "topology/rack", ""])
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5)
)
SPECS = st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=6)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SPECS, SPECS, SPECS)
def test_anything_ends_in_requests_or_problems(one: Doc, two: Doc, three: Doc) -> None:
    group, tree, templates = made("PodGroup", "a"), made("CompositePodGroup", "b", "v1alpha3"), made("Workload", "c")
    docs = [{**group, "spec": one}, {**tree, "spec": two}, {**templates, "spec": three}]
    for item in read_workloads([*docs, *members_of("a")], AROUND).items:
        assert isinstance(item, (Request, Invalid))
    for old in docs:
        for new in docs:
            changed(Field.of(old), Field.of(new))


# ------------------------------------------------------------------------------------------- what members are told


def test_what_is_wrong_with_the_pods_of_a_group_is_told_once_and_by_its_path() -> None:
    pods = job(4, pod_spec(schedulingGroup={"podGroupName": "pg"}, **CLAIMS))
    for docs in ([pods, podgroup()], [podgroup(), pods]):
        (one,) = read_workloads(docs, AROUND).items
        assert isinstance(one, Invalid)
        assert [found.path for found in one.problems] == ["Job/train: spec.template.spec.resourceClaims"]


def test_what_is_wrong_with_the_pods_of_a_tree_is_told_to_its_root() -> None:
    pods = job(4, pod_spec(schedulingGroup={"podGroupName": "a"}, **CLAIMS))
    others = job(4, pod_spec(schedulingGroup={"podGroupName": "b"}), name="other")
    docs = [composite("root"), below("root", "a"), below("root", "b"), pods, others]
    for given_docs in (docs, docs[::-1]):
        (one,) = read_workloads(given_docs, AROUND).items
        assert isinstance(one, Invalid) and one.name == "root"
        assert [found.path for found in one.problems] == ["Job/train: spec.template.spec.resourceClaims"]


def test_a_remark_about_the_pods_of_a_group_is_made_once() -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    pods = job(4, pod_spec(schedulingGroup={"podGroupName": "pg"}, volumes=[volume]))
    found = read_workloads([podgroup(), pods], AROUND)
    everything = [*found.warnings, *(note for notes in found.notes.values() for note in notes)]
    assert [note.path for note in everything if "claim serving/c" in note.message] == [
        "Job/train: spec.template.spec.volumes[0].persistentVolumeClaim.claimName"
    ]


# ------------------------------------------------------------------------------------- the reference to the template

EARLY = {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}


def test_the_designs_spelling_of_the_reference_is_read_with_a_warning() -> None:
    pods = job(4, pod_spec(schedulingGroup={"podGroupName": "pg"}))
    made_of_it = podgroup(podGroupTemplateRef=EARLY)
    reading = found(workload(t("t")), made_of_it, pods)
    assert [one.id for one in reading.requests] == ["serving/pg"]
    (only,) = reading.notes["serving/pg"]
    assert (only.path, only.allowed) == ("spec.podGroupTemplateRef", ("workloadRef",))
    assert "is read as spec.workloadRef" in only.message
    assert "made from it, is placed" in said(workload(t("t")), made_of_it, pods)


def test_the_released_spelling_goes_before_the_designs() -> None:
    both = podgroup(workloadRef=REF, podGroupTemplateRef={"workload": {"workloadName": "other"}})
    pods = job(4, pod_spec(schedulingGroup={"podGroupName": "pg"}))
    assert "is not read beside spec.workloadRef" in said(workload(t("t")), both, pods)
    assert [one.id for one in found(workload(t("t")), both, pods).requests] == ["serving/pg"]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ({"workload": {"podGroupTemplateName": "t"}}, "spec.podGroupTemplateRef.workload.workloadName"),
        ({"workload": {"workloadName": "w"}}, "spec.podGroupTemplateRef.workload.podGroupTemplateName"),
        ({"workload": "w"}, "spec.podGroupTemplateRef.workload"),
    ],
)
def test_the_designs_spelling_is_whole_too(written: Doc, path: str) -> None:
    assert path in paths(podgroup(podGroupTemplateRef=written))


def test_a_parent_is_content_with_the_designs_spelling() -> None:
    child = podgroup("a", parentCompositePodGroupName="root", podGroupTemplateRef=EARLY)
    assert not read_workloads([composite("root", tree_of(1)), child], AROUND).invalid
