"""Queues and flavors of three dialects, read into the same values."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.fields import Field
from phalanx.dialects.gang import queues as ours
from phalanx.dialects.kai import queue as kai
from phalanx.dialects.kueue import queues as kueue
from phalanx.model.nodes import LabelSelector, Taint, Toleration
from phalanx.model.queues import Flavor, LocalName, Preemption, Queue, Queues, Quota
from phalanx.model.resources import NANO
from tests.dialects.manifests import Doc, field

GPU = "nvidia.com/gpu"
GIGA = 10**9
READERS: list[Callable[[Field], object]] = [
    ours.queue, ours.flavor, kai.read, kueue.resource_flavor, kueue.cluster_queue, kueue.local_queue, kueue.cohort,
    kueue.admission_check,
]  # fmt: skip


def doc(name: str = "q", version: str = "v1beta2", **spec: Any) -> Doc:
    return {"apiVersion": f"kueue.x-k8s.io/{version}", "metadata": {"name": name, "namespace": "ns"}, "spec": spec}


def good(reader: Callable[[Field], Any], document: Doc) -> Any:
    at = field(document)
    value = reader(at)
    assert not at.notes.problems, [str(p) for p in at.notes.problems]
    return value


def wrong(reader: Callable[[Field], Any], document: Doc) -> list[str]:
    at = field(document)
    reader(at)
    return [problem.path for problem in at.notes.problems]


def told(reader: Callable[[Field], Any], document: Doc) -> list[str]:
    """Paths of the warnings about a document that must be good."""
    at = field(document)
    reader(at)
    assert not at.notes.problems, [str(p) for p in at.notes.problems]
    return [warning.path for warning in at.notes.warnings]


# -- ours --------------------------------------------------------------------------------------------------------


def our_quota(**resource: Any) -> list[Doc]:
    return [{"flavor": "h100", "resources": [{"name": GPU, "nominal": 64, **resource}]}]


def test_our_queue_says_everything_that_the_page_shows() -> None:
    queue = good(
        ours.queue,
        doc(
            "research", parent="company", namespaceSelector={"matchLabels": {"team": "research"}}, order="Priority",
            whenBlocked="Reserve", weight=2, quota=our_quota(borrow=32, lend=64),
            preemption={"within": "LowerPriority", "reclaim": "Any"},
        ),
    )  # fmt: skip
    assert queue == Queue(
        name="research",
        parent="company",
        namespace_selector=LabelSelector((("team", "research"),)),
        when_blocked="Reserve",
        weight=2 * NANO,
        quotas=(Quota("h100", GPU, 64 * NANO, 32 * NANO, 64 * NANO),),
        preemption=Preemption("LowerPriority", "Any"),
    )


def test_our_queue_without_a_word_is_unlimited_and_for_every_namespace() -> None:
    assert good(ours.queue, doc("open")) == Queue("open")


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"wieght": 2}, "spec.wieght"),
        ({"order": "fifo"}, "spec.order"),
        ({"whenBlocked": "Wait"}, "spec.whenBlocked"),
        ({"weight": 0}, "spec.weight"),
        ({"weight": -1}, "spec.weight"),
        ({"weight": "heavy"}, "spec.weight"),
        ({"parent": "q"}, "spec.parent"),
        ({"parent": "a b"}, "spec.parent"),
        ({"preemption": {"within": "Always"}}, "spec.preemption.within"),
        ({"preemption": {"across": "Any"}}, "spec.preemption.across"),
        ({"namespaceSelector": {"team": "a"}}, "spec.namespaceSelector.team"),
        ({"quota": {}}, "spec.quota"),
        ({"quota": [{"flavor": "h100"}]}, "spec.quota[0].resources"),
        ({"quota": [{"flavour": "h100", "resources": [{"name": "cpu", "nominal": 1}]}]}, "spec.quota[0].flavour"),
        ({"quota": [{"resources": [{"name": "cpu"}]}]}, "spec.quota[0].resources[0].nominal"),
        ({"quota": [{"resources": [{"nominal": 1}]}]}, "spec.quota[0].resources[0].name"),
        ({"quota": our_quota(nominal="64GB")}, "spec.quota[0].resources[0].nominal"),
        ({"parent": "p", "quota": our_quota(lend=65)}, "spec.quota[0].resources[0].lend"),
        ({"quota": our_quota() + our_quota()}, "spec.quota[1].resources[0].name"),
    ],
)
def test_each_mistake_in_our_queue_is_named_by_its_path(spec: Doc, path: str) -> None:
    assert wrong(ours.queue, doc("q", **spec)) == [path]


def test_lending_without_a_parent_changes_nothing_and_is_told() -> None:
    alone = doc(quota=our_quota(borrow=1), namespaceSelector={})
    assert told(ours.queue, alone) == ["spec.quota[0].resources[0].borrow"]


def test_our_flavor_is_nodes_tolerations_and_a_topology() -> None:
    found = good(
        ours.flavor,
        doc("h100", nodeLabels={"gpu": "h100"}, tolerations=[{"key": "gpu", "operator": "Exists"}], topologyName="t"),
    )
    assert found == Flavor("h100", (("gpu", "h100"),), (Toleration("gpu", "Exists", "", ""),), "t")


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"topologyName": "t"}, "spec.nodeLabels"),  # K-027
        ({"nodeLabels": {"not a key": "x"}}, "spec.nodeLabels['not a key']"),
        ({"nodeLabels": {"gpu": 1}}, "spec.nodeLabels.gpu"),
        ({"nodeTaints": []}, "spec.nodeTaints"),
        ({"tolerations": [{"operator": "Equal"}]}, "spec.tolerations[0].key"),
    ],
)
def test_each_mistake_in_our_flavor_is_named_by_its_path(spec: Doc, path: str) -> None:
    assert wrong(ours.flavor, doc("f", **spec)) == [path]


# -- Kueue: flavors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_the_designs_flavor_has_a_node_label_and_a_topology(version: str) -> None:
    # K-019, K-025
    spec = {"nodeLabels": {"cloud.provider.com/node-group": "tas"}, "topologyName": "default"}
    found = good(kueue.resource_flavor, doc("tas-flavor", version, **spec))
    assert found == Flavor("tas-flavor", (("cloud.provider.com/node-group", "tas"),), topology="default")


def test_a_flavor_keeps_its_taints_and_tolerations() -> None:
    taint = {"key": "spot", "value": "true", "effect": "NoSchedule"}
    toleration = {"key": "spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
    found = good(kueue.resource_flavor, doc(nodeTaints=[taint], tolerations=[toleration]))
    assert found.taints == (Taint("spot", "true", "NoSchedule"),)
    assert found.tolerations == (Toleration("spot", "Equal", "true", "NoSchedule"),)


@pytest.mark.parametrize("labels", [{}, None])
def test_a_flavor_with_a_topology_needs_a_node_label(labels: Doc | None) -> None:
    # K-027, X-49
    assert wrong(kueue.resource_flavor, doc(nodeLabels=labels, topologyName="default")) == ["spec.nodeLabels"]


def test_the_designs_quoted_node_label_is_a_mistake_that_is_pointed_at() -> None:
    #
    assert wrong(kueue.resource_flavor, doc(nodeLabels="cloud.provider.com/node-group: tas")) == ["spec.nodeLabels"]


def test_an_empty_flavor_is_every_node() -> None:
    assert good(kueue.resource_flavor, doc("default-flavor")) == Flavor("default-flavor")


# -- Kueue: ClusterQueues ----------------------------------------------------------------------------------------


def group(*flavors: str, resource: str = "cpu", **quota: Any) -> Doc:
    entry = {"name": resource, "nominalQuota": 9, **quota}
    return {"coveredResources": [resource], "flavors": [{"name": name, "resources": [entry]} for name in flavors]}


FLAVOR = "spec.resourceGroups[0].flavors[0]"
QUOTA = f"{FLAVOR}.resources[0]"


def test_a_cluster_queue_becomes_a_queue_with_a_quota_per_flavor_and_resource() -> None:
    # K-112, X-02
    groups = [
        {
            "coveredResources": ["cpu", GPU],
            "flavors": [
                {
                    "name": "spot",
                    "resources": [{"name": "cpu", "nominalQuota": "500m"}, {"name": GPU, "nominalQuota": 8}],
                },
                {"name": "own", "resources": [{"name": "cpu", "nominalQuota": 4}, {"name": GPU, "nominalQuota": "2"}]},
            ],
        },
        group("disk", resource="memory", nominalQuota="1Gi", borrowingLimit="2Gi", lendingLimit="512Mi"),
    ]
    found = good(
        kueue.cluster_queue,
        doc(
            "team", cohortName="all", queueingStrategy="StrictFIFO", namespaceSelector={}, resourceGroups=groups,
            preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            fairSharing={"weight": "500m"}, stopPolicy="Hold",
        ),
    )  # fmt: skip
    assert found.queue == Queue(
        name="team",
        parent="cohort/all",
        when_blocked="Strict",
        weight=NANO // 2,
        quotas=(
            Quota("spot", "cpu", NANO // 2),
            Quota("spot", GPU, 8 * NANO),
            Quota("own", "cpu", 4 * NANO),
            Quota("own", GPU, 2 * NANO),
            Quota("disk", "memory", 2**30 * NANO, 2**31 * NANO, 2**29 * NANO),
        ),
        preemption=Preemption("LowerPriority", "Any"),
        only_listed=True,
        stop="Hold",
    )
    assert found.queue.flavors == ("spot", "own", "disk")


def test_a_cluster_queue_without_a_selector_is_for_nobody_and_best_effort() -> None:
    queue = good(kueue.cluster_queue, doc()).queue
    assert queue.namespace_selector.matches_nothing
    assert (queue.when_blocked, queue.weight, queue.preemption) == ("BestEffort", NANO, Preemption())


@pytest.mark.parametrize(("version", "name"), [("v1beta1", "cohort"), ("v1beta2", "cohortName")])
def test_the_cohort_has_another_name_in_each_version(version: str, name: str) -> None:
    document = doc("team", version, **{name: "all"})
    assert good(kueue.cluster_queue, document).queue.parent == "cohort/all"
    assert told(kueue.cluster_queue, document) == []


def test_the_other_versions_name_is_read_with_a_warning_and_two_names_must_agree() -> None:
    assert told(kueue.cluster_queue, doc(cohort="all")) == ["spec.cohort"]
    assert wrong(kueue.cluster_queue, doc(cohort="all", cohortName="some")) == ["spec.cohort"]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"queueingStrategy": "FIFO"}, "spec.queueingStrategy"),
        ({"stopPolicy": "Stop"}, "spec.stopPolicy"),
        ({"fairSharing": {"weight": -1}}, "spec.fairSharing.weight"),
        ({"preemption": {"withinClusterQueue": "Any"}}, "spec.preemption.withinClusterQueue"),
        ({"preemption": {"reclaimWithinCohort": "Some"}}, "spec.preemption.reclaimWithinCohort"),
        ({"resourceGroups": [group("a", borrowingLimit=1)]}, f"{QUOTA}.borrowingLimit"),
        ({"resourceGroups": [group("a", lendingLimit=1)]}, f"{QUOTA}.lendingLimit"),
        ({"resourceGroups": [group("a", nominalQuota=None)]}, f"{QUOTA}.nominalQuota"),
        ({"resourceGroups": [group("a", nominalQuota="9GB")]}, f"{QUOTA}.nominalQuota"),
        ({"resourceGroups": [group()]}, "spec.resourceGroups[0].flavors"),
        ({"resourceGroups": [group("a"), group("b")]}, "spec.resourceGroups[1].coveredResources[0]"),
        ({"resourceGroups": [group("a"), group("a", resource="memory")]}, "spec.resourceGroups[1].flavors[0].name"),
        ({"resourceGroups": [{**group("a"), "coveredResources": ["memory"]}]}, f"{FLAVOR}.resources"),
        ({"cohortName": "c", "resourceGroups": [group("a", lendingLimit=10)]},
         f"{QUOTA}.lendingLimit"),
    ],
)  # fmt: skip
def test_each_mistake_in_a_cluster_queue_is_named_by_its_path(spec: Doc, path: str) -> None:
    assert wrong(kueue.cluster_queue, doc(**spec)) == [path]


@pytest.mark.parametrize(
    "spec",
    [
        {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}},
        {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}},
        {"concurrentAdmissionPolicy": {"migration": {"mode": "RetainFirstAdmission"}}},
        {"admissionChecks": ["prov"]},
        {"preemption": {"withinClusterQueue": "LowerOrNewerEqualPriority"}},
        {"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}, "reclaimWithinCohort": "Any"}},
        {"resourceGroup": []},
    ],
)
def test_what_a_cluster_queue_wants_and_we_do_not_do_is_told(spec: Doc) -> None:
    assert len(told(kueue.cluster_queue, doc(**spec))) == 1


def test_newer_ones_of_equal_priority_are_not_preempted() -> None:
    preemption = {"withinClusterQueue": "LowerOrNewerEqualPriority"}
    assert good(kueue.cluster_queue, doc(preemption=preemption)).queue.preemption == Preemption(within="LowerPriority")


def test_admission_checks_are_named_in_either_spelling() -> None:
    strategy = {"admissionChecks": [{"name": "prov", "onFlavors": ["a"]}, {"name": "mk"}]}
    assert good(kueue.cluster_queue, doc(admissionChecksStrategy=strategy)).checks == ("prov", "mk")
    assert good(kueue.cluster_queue, doc("q", "v1beta1", admissionChecks=["prov"])).checks == ("prov",)
    assert wrong(kueue.cluster_queue, doc(admissionChecks=["a"], admissionChecksStrategy=strategy))
    check = good(kueue.admission_check, doc("prov", controllerName="kueue.x-k8s.io/provisioning-request"))
    assert check == kueue.AdmissionCheck("prov", "kueue.x-k8s.io/provisioning-request")


# -- Kueue: LocalQueues and Cohorts ------------------------------------------------------------------------------


def test_a_local_queue_is_a_namespaces_name_for_a_cluster_queue() -> None:
    # K-017, K-112
    name = good(kueue.local_queue, doc("user-queue", clusterQueue="team"))
    assert name == LocalName("ns", "user-queue", "team")
    queues = Queues({"team": Queue("team")}, local_names={("ns", "user-queue"): name})
    assert queues.local("ns", "user-queue") == Queue("team")
    assert queues.local("other", "user-queue") is None
    assert queues.local("ns", "team") is None  # a ClusterQueue is not named directly


def test_a_local_queue_needs_its_cluster_queue() -> None:
    assert wrong(kueue.local_queue, doc("user-queue")) == ["spec.clusterQueue"]


def test_the_default_queue_is_there_and_another_one_is_not() -> None:
    # X-02, M-013
    assert Queues().named("default") == Queue("default")
    assert Queues().named("test") is None
    assert Queues({"default": Queue("default", stop="Hold")}).named("default") == Queue("default", stop="Hold")


@pytest.mark.parametrize(("version", "name"), [("v1beta1", "parent"), ("v1beta2", "parentName")])
def test_a_cohort_is_a_queue_above_others(version: str, name: str) -> None:
    groups = [group("a", borrowingLimit=1, lendingLimit=99)]
    found = good(kueue.cohort, doc("team", version, **{name: "all"}, resourceGroups=groups))
    quota = Quota("a", "cpu", 9 * NANO, NANO, 99 * NANO)
    assert found == Queue("cohort/team", "cohort/all", quotas=(quota,), only_listed=True)


def test_a_cohort_is_not_its_own_parent_and_a_root_has_nobody_to_borrow_from() -> None:
    assert wrong(kueue.cohort, doc("team", parentName="team")) == ["spec.parentName"]
    assert wrong(kueue.cohort, doc("team", "v1beta1", parent="team")) == ["spec.parent"]
    assert wrong(kueue.cohort, doc("team", resourceGroups=[group("a", borrowingLimit=1)]))


# -- KAI ---------------------------------------------------------------------------------------------------------


def share(quota: Any = None, limit: Any = None, weight: Any = 1) -> Doc:
    return {"quota": quota, "limit": limit, "overQuotaWeight": weight}


def test_kais_units_become_ours() -> None:
    resources = {"cpu": share(1500, 2000), "memory": share(4000, -1), "gpu": share(2.5, 8)}
    queue = good(kai.read, doc("test", parentQueue="team", resources=resources, priority=120))
    assert (queue.parent, queue.priority, queue.weight) == ("team", 20, NANO)
    assert queue.quotas == (
        Quota(None, "cpu", 1_500_000_000, 500_000_000),
        Quota(None, "memory", 4 * GIGA * NANO, None),
        Quota(None, GPU, 2_500_000_000, 5_500_000_000),
    )


def test_kais_unlimited_queue_has_no_quotas_and_stands_under_the_cluster() -> None:
    queue = good(kai.read, doc("top", resources={kind: share(-1, -1) for kind in ("cpu", "memory", "gpu")}))
    assert (queue.parent, queue.quotas) == (kai.CLUSTER.name, ())
    assert kai.CLUSTER.quotas == ()


def test_a_limit_below_kais_quota_is_what_counts() -> None:
    resources = {"cpu": share(-1, 1000), "memory": share(-1, -1), "gpu": share(8, 2)}
    queue = good(kai.read, doc(resources=resources))
    assert queue.quotas == (Quota(None, "cpu", NANO, 0), Quota(None, GPU, 2 * NANO, 0))


def test_a_limit_that_is_not_written_allows_nothing_and_is_told() -> None:
    unlimited = share(-1, -1)
    document = doc(resources={"cpu": unlimited, "memory": unlimited, "gpu": share(8)})
    assert told(kai.read, document) == ["spec.resources"]
    assert good(kai.read, document).quotas == (Quota(None, GPU, 0, 0),)
    assert told(kai.read, doc()) == ["spec.resources"]


def test_limits_that_are_not_written_are_one_warning_that_names_them() -> None:
    at = field(doc(resources={"cpu": share(4), "memory": share(-1, -1), "gpu": share(8)}))
    kai.read(at)
    (warning,) = at.notes.warnings
    assert warning.path == "spec.resources"
    assert warning.message.startswith("limit is not written for cpu, gpu, ")


def test_a_queue_of_one_node_pool_shares_out_all_nodes_and_says_so() -> None:
    document = doc(resources={kind: share(-1, -1) for kind in ("cpu", "memory", "gpu")})
    document["metadata"]["labels"] = {"kai.scheduler/node-pool": "gpus"}
    assert told(kai.read, document) == ["metadata.labels['kai.scheduler/node-pool']"]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"priority": "high"}, "spec.priority"),
        ({"parentQueue": "a b"}, "spec.parentQueue"),
        ({"resources": {"gpu": share(-2, 1)}}, "spec.resources.gpu.quota"),
        ({"resources": {"gpu": share("8", 1)}}, "spec.resources.gpu.quota"),
        ({"resources": {"gpu": share(1, 1, -1)}}, "spec.resources.gpu.overQuotaWeight"),
        ({"resources": {"gpu": share(float("nan"), 1)}}, "spec.resources.gpu.quota"),
        ({"resources": []}, "spec.resources"),
    ],
)
def test_each_mistake_in_kais_queue_is_named_by_its_path(spec: Doc, path: str) -> None:
    assert wrong(kai.read, doc(**spec)) == [path]


def test_a_weight_that_differs_between_resources_and_protected_run_times_are_told() -> None:
    resources = {"cpu": share(-1, -1, 2), "memory": share(-1, -1), "gpu": share(-1, -1, 3)}
    document = doc(resources=resources, preemptMinRuntime="5m")
    assert told(kai.read, document) == [
        "spec.preemptMinRuntime", "spec.resources.cpu.overQuotaWeight", "spec.resources.memory.overQuotaWeight",
    ]  # fmt: skip
    assert good(kai.read, document).weight == 3 * NANO


# -- anything at all ---------------------------------------------------------------------------------------------

WORDS = st.sampled_from([
    "metadata", "name", "spec", "quota", "resources", "flavors", "resourceGroups", "nodeLabels", "topologyName",
    "nominal", "nominalQuota", "coveredResources", "admissionChecks", "gpu", "limit", "preemption", "fairSharing",
    "weight", "priority",
])  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | WORDS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=4)
)


@pytest.mark.parametrize("reader", READERS)
@given(spec=JSON, metadata=JSON)
def test_no_document_makes_a_reader_raise(reader: Callable[[Field], object], spec: object, metadata: object) -> None:
    reader(field({"apiVersion": "x", "metadata": metadata, "spec": spec}))
    reader(field(spec))
    reader(field({"metadata": {"name": "q"}, "spec": {"resourceGroups": [spec], "quota": [spec], "resources": spec}}))
