"""Pod templates: what a pod takes, where it may go, whom it avoids."""

from typing import Any

import pytest

from phalanx.dialects import podspec
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Claim, Surroundings
from phalanx.model.nodes import HostPort, LabelSelector, PodShape, PodTerm, Requirement, SpreadRule, Term, Toleration
from phalanx.model.resources import NANO, Resources
from tests.dialects.manifests import field

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NOTHING = Surroundings()
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def read(spec: object, around: Surroundings = NOTHING, metadata: object = None) -> tuple[PodShape, Field]:
    at = field({"metadata": metadata, "spec": spec})
    return podspec.read(at, "ns", around), at


def shape(spec: object, around: Surroundings = NOTHING) -> PodShape:
    """The shape of a spec that must be good and gives no reason to warn."""
    found, at = read(spec, around)
    assert not at.notes.problems, [str(p) for p in at.notes.problems]
    assert not at.notes.warnings, [str(w) for w in at.notes.warnings]
    return found


def problem_paths(spec: object) -> list[str]:
    return [problem.path for problem in read(spec)[1].notes.problems]


def warning_paths(spec: object, around: Surroundings = NOTHING) -> list[str]:
    at = read(spec, around)[1]
    assert not at.notes.problems
    return [warning.path for warning in at.notes.warnings]


def container(**more: Any) -> dict[str, Any]:
    return {"name": "c", **more}


def asks(requests: object = None, limits: object = None, **more: Any) -> dict[str, Any]:
    return container(resources={"requests": requests, "limits": limits}, **more)


# ------------------------------------------------------------------------------------------------------ requests


@pytest.mark.parametrize(
    ("spec", "cpu_milli", "gpus"),
    [
        ({}, 0, 0),
        ({"containers": [container()]}, 0, 0),
        ({"containers": [asks({"cpu": "100m"}), asks({"cpu": 1})]}, 1100, 0),
        ({"containers": [asks(limits={"cpu": "2", "nvidia.com/gpu": 8})]}, 2000, 8),  # limits are the default
        ({"containers": [asks({"cpu": "1"}, {"cpu": "2", "nvidia.com/gpu": 1})]}, 1000, 1),
        ({"containers": [asks({"cpu": "0"}, {"cpu": "2"})]}, 0, 0),  # an explicit nothing stays nothing
        ({"containers": [asks({"cpu": 1})], "initContainers": [asks({"cpu": 5})]}, 5000, 0),
        ({"containers": [asks({"cpu": 1})], "initContainers": [asks({"cpu": 5}, restartPolicy="Always")]}, 6000, 0),
        ({"containers": [asks({"cpu": 1})], "overhead": {"cpu": "250m"}}, 1250, 0),
        ({"containers": [asks({"cpu": 1})], "resources": {"requests": {"cpu": 3}}}, 3000, 0),
        ({"containers": [asks({"cpu": 1})], "resources": {"limits": {"cpu": 3}}}, 1000, 0),  # a container asked
        ({"containers": [container()], "resources": {"limits": {"cpu": 3}}}, 3000, 0),  # none did
        ({"containers": [container()], "resources": {"requests": {"cpu": 3}}, "overhead": {"cpu": 1}}, 4000, 0),
    ],
)
def test_a_pod_asks_for_what_kubernetes_would_count(spec: object, cpu_milli: int, gpus: int) -> None:
    expected = {"cpu": cpu_milli * NANO // 1000, "nvidia.com/gpu": gpus * NANO, "pods": NANO}
    assert shape(spec).requests == Resources.of(expected)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"containers": [asks({"memory": "100GB"})]}, "spec.containers[0].resources.requests.memory"),
        ({"containers": [asks({"cpu": None})]}, "spec.containers[0].resources.requests.cpu"),
        ({"containers": [asks({"cpu": 3}, {"cpu": 2})]}, "spec.containers[0].resources.requests.cpu"),
        ({"containers": [asks({"nvidia.com/gpu": "0.5"})]}, "spec.containers[0].resources.requests['nvidia.com/gpu']"),
        ({"containers": [asks({"pods": 1})]}, "spec.containers[0].resources"),
        ({"containers": [asks([])]}, "spec.containers[0].resources.requests"),
        ({"containers": [asks({"cpu": 2})], "resources": {"requests": {"cpu": 1}}}, "spec.resources.requests.cpu"),
        ({"resources": {"requests": {"nvidia.com/gpu": 1}}}, "spec.resources.requests['nvidia.com/gpu']"),
        ({"overhead": {"cpu": "x"}}, "spec.overhead.cpu"),
        ({"containers": {}}, "spec.containers"),
        ({"containers": [3]}, "spec.containers[0]"),
        ({"resourceClaims": [{"name": "x"}]}, "spec.resourceClaims"),
        ({"containers": [container(resources={"claims": [{}]})]}, "spec.containers[0].resources.claims"),
        ([], "spec"),
    ],
)
def test_what_cannot_be_asked_for_is_a_problem(spec: object, path: str) -> None:
    assert path in problem_paths(spec)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"containers": [asks({"cpus": 1})]}, "spec.containers[0].resources"),
        ({"containers": [container(resources={"request": {"cpu": 1}})]}, "spec.containers[0].resources.request"),
        ({"nodeselector": {"a": "b"}}, "spec.nodeselector"),
        ({"runtimeClassName": "kata"}, "spec.runtimeClassName"),
    ],
)
def test_what_looks_like_a_slip_is_a_warning(spec: object, path: str) -> None:
    assert warning_paths(spec) == [path]


# -------------------------------------------------------------------------------------------------------- filters


def node_affinity(required: object = None, preferred: object = None) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: required, PREFERRED: preferred}}}


def expression(key: object = "gpu", operator: object = "In", values: object = ("h100",)) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": values}


def test_selector_node_name_and_affinity_all_have_to_hold() -> None:
    terms = [{"matchExpressions": [expression()]}, {"matchFields": [expression("metadata.name", "In", ["n7"])]}, {}]
    spec = {"nodeSelector": {"b": "2", "a": "1"}, "nodeName": "n1", **node_affinity({"nodeSelectorTerms": terms})}
    found = shape(spec).filter
    assert found.selector == (("a", "1"), ("b", "2"))
    assert found.required == (
        (Term((Requirement("metadata.name", "In", ("n1",), on_name=True),)),),
        (
            Term((Requirement("gpu", "In", ("h100",)),)),
            Term((Requirement("metadata.name", "In", ("n7",), on_name=True),)),
            Term(()),  # matches nothing, and stays
        ),
    )


def test_preferred_node_affinity_keeps_weights_and_drops_terms_that_say_nothing() -> None:
    preferred = [
        {"weight": 10, "preference": {"matchExpressions": [expression()]}},
        {"weight": 1, "preference": {}},
    ]
    assert shape(node_affinity(preferred=preferred)).filter.preferred == (
        (10, Term((Requirement("gpu", "In", ("h100",)),))),
    )


@pytest.mark.parametrize(
    "bad",
    [
        expression(operator="in"), expression(operator=None), expression(key=None), expression(key=3),
        expression(values=[]), expression(values=[1]), expression(operator="Exists"),
        expression(operator="Gt", values=["x"]), expression(operator="Gt", values=["1", "2"]), 7,
    ],
)  # fmt: skip
def test_a_wrong_expression_is_a_problem(bad: object) -> None:
    assert problem_paths(node_affinity({"nodeSelectorTerms": [{"matchExpressions": [bad]}]}))


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (node_affinity({"nodeSelectorTerms": []}), f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"),
        (node_affinity({}), f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"),
        (
            node_affinity({"nodeSelectorTerms": [{"matchFields": [expression("metadata.uid")]}]}),
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields[0].key",
        ),
        (
            node_affinity(preferred=[{"weight": 101, "preference": {}}]),
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight",
        ),
        ({"nodeSelector": {"a": 1}}, "spec.nodeSelector.a"),
        ({"affinity": "x"}, "spec.affinity"),
    ],
)
def test_a_wrong_node_filter_is_a_problem(spec: object, path: str) -> None:
    assert problem_paths(spec) == [path]


@pytest.mark.parametrize(
    ("toleration", "found"),
    [
        ({"key": "gpu"}, Toleration("gpu", "Equal", "", "")),
        ({"key": "gpu", "value": "a", "effect": "NoSchedule"}, Toleration("gpu", "Equal", "a", "NoSchedule")),
        ({"key": "gpu", "operator": "Exists"}, Toleration("gpu", "Exists", "", "")),
        ({"operator": "Exists"}, Toleration("", "Exists", "", "")),
        ({"key": "k", "effect": "NoExecute", "tolerationSeconds": 300}, Toleration("k", "Equal", "", "NoExecute")),
    ],
)
def test_tolerations_are_read_as_kubernetes_reads_them(toleration: object, found: Toleration) -> None:
    assert shape({"tolerations": [toleration]}).filter.tolerations == (found,)


@pytest.mark.parametrize(
    ("toleration", "part"),
    [
        ({}, "key"),
        ({"key": "a", "operator": "Gt", "value": "3"}, "operator"),  # newer Kubernetes; not understood, so not ignored
        ({"key": "a", "operator": "Lt", "value": "3"}, "operator"),
        ({"key": "a", "operator": "Exists", "value": "3"}, "value"),
        ({"key": "a", "effect": "Never"}, "effect"),
    ],
)
def test_a_toleration_that_is_not_understood_is_a_problem(toleration: object, part: str) -> None:
    assert problem_paths({"tolerations": [toleration]}) == [f"spec.tolerations[0].{part}"]


# ------------------------------------------------------------------------------------------------- ports, volumes


def test_host_ports_come_from_containers_and_sidecars_each_once() -> None:
    port = {"containerPort": 80, "hostPort": 8080}
    spec = {
        "containers": [
            container(ports=[port, {"containerPort": 1}]),
            container(ports=[port, {"containerPort": 53, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]),
        ],
        "initContainers": [
            container(ports=[{"containerPort": 9, "hostPort": 9}], restartPolicy="Always"),
            container(ports=[{"containerPort": 7, "hostPort": 7}]),
        ],
    }
    assert shape(spec).ports == (HostPort(9), HostPort(53, "UDP", "10.0.0.1"), HostPort(8080))


def test_with_the_hosts_network_every_port_is_a_host_port() -> None:
    assert shape({"hostNetwork": True, "containers": [container(ports=[{"containerPort": 80}])]}).ports == (
        HostPort(80),
    )


def test_a_wrong_port_is_a_problem() -> None:
    ports = [{"containerPort": 70000}, {"containerPort": 1, "protocol": "tcp"}]
    assert problem_paths({"containers": [container(ports=ports)]}) == [
        "spec.containers[0].ports[0].containerPort",
        "spec.containers[0].ports[1].protocol",
    ]


ON_N1 = (Term((Requirement("kubernetes.io/hostname", "In", ("n1",)),)),)
CLAIMS = {
    ("ns", "local"): Claim("pv-1", True, ON_N1),
    ("ns", "everywhere"): Claim("pv-2", True, None),
    ("ns", "unbound"): Claim(),
    ("ns", "lost"): Claim("pv-9", False, None),
    ("ns", "single"): Claim("pv-2", True, None, one_pod=True),
    ("other", "foreign"): Claim("pv-2", True, None),
}


def mounted(*claims: str) -> dict[str, Any]:
    return {"volumes": [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]}


def test_a_bound_volume_says_which_nodes_can_reach_it() -> None:
    around = Surroundings(claims=CLAIMS)
    assert shape(mounted("local", "everywhere"), around).filter.required == (ON_N1,)


@pytest.mark.parametrize("claim", ["unbound", "lost", "single", "unheard-of", "foreign"])
def test_a_claim_about_which_something_is_not_known_is_a_warning(claim: str) -> None:
    around = Surroundings(claims=CLAIMS)
    assert warning_paths(mounted(claim), around) == ["spec.volumes[0].persistentVolumeClaim.claimName"]


def test_a_disk_named_in_the_pod_is_a_warning() -> None:
    assert warning_paths({"volumes": [{"name": "d", "rbd": {}}, {"name": "e", "emptyDir": {}}]}) == [
        "spec.volumes[0].rbd"
    ]


# ------------------------------------------------------------------------------------------------- between pods


def pod_affinity(kind: str = "podAntiAffinity", **term: Any) -> dict[str, Any]:
    return {"affinity": {kind: {REQUIRED: [{"topologyKey": "rack", **term}]}}}


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ({}, PodTerm("rack", LabelSelector(matches_nothing=True), ("ns",))),
        ({"labelSelector": {}}, PodTerm("rack", LabelSelector(), ("ns",))),
        (
            {"labelSelector": {"matchLabels": {"app": "x"}, "matchExpressions": [expression("tier", "NotIn", ["a"])]}},
            PodTerm("rack", LabelSelector((("app", "x"),), (Requirement("tier", "NotIn", ("a",)),)), ("ns",)),
        ),
        ({"labelSelector": {}, "namespaces": ["b", "a"]}, PodTerm("rack", LabelSelector(), ("a", "b"))),
        ({"labelSelector": {}, "namespaces": ["b"], "namespaceSelector": {}}, PodTerm("rack", LabelSelector(), None)),
    ],
)
def test_required_rules_between_pods_say_which_pods_in_which_namespaces(term: dict[str, Any], found: PodTerm) -> None:
    assert shape(pod_affinity("podAntiAffinity", **term)).anti_affinity == (found,)
    assert shape(pod_affinity("podAffinity", **term)).affinity == (found,)


@pytest.mark.parametrize(
    ("term", "part"),
    [
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, "namespaceSelector"),
        ({"matchLabelKeys": ["a"]}, "matchLabelKeys"),
        ({"mismatchLabelKeys": ["a"]}, "mismatchLabelKeys"),
        ({"topologyKey": ""}, "topologyKey"),
        ({"topologyKey": None}, "topologyKey"),
        ({"labelSelector": {"matchExpressions": [expression(operator="Gt")]}},
         "labelSelector.matchExpressions[0].operator"),
    ],
)  # fmt: skip
def test_a_rule_between_pods_that_is_not_understood_is_a_problem(term: dict[str, Any], part: str) -> None:
    assert problem_paths(pod_affinity(**term)) == [f"spec.affinity.podAntiAffinity.{REQUIRED}[0].{part}"]


def test_preferred_rules_between_pods_are_a_warning() -> None:
    spec = {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "rack"}}]}}}
    assert warning_paths(spec) == [f"spec.affinity.podAffinity.{PREFERRED}"]


def spread(**more: Any) -> dict[str, Any]:
    rule = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    return {"topologySpreadConstraints": [{**rule, **more}]}


def test_spread_constraints_that_forbid_are_read_with_their_policies() -> None:
    assert shape(spread()).spread == (SpreadRule("zone", 1, LabelSelector()),)
    rule = spread(maxSkew=2, minDomains=3, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor", labelSelector=None)
    nothing = LabelSelector(matches_nothing=True)
    assert shape(rule).spread == (SpreadRule("zone", 2, nothing, 3, honor_affinity=False, honor_taints=True),)


def test_spread_constraints_that_only_wish_are_a_warning() -> None:
    found, at = read(spread(whenUnsatisfiable="ScheduleAnyway"))
    assert found.spread == ()
    assert [w.path for w in at.notes.warnings] == ["spec.topologySpreadConstraints[0]"]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"matchLabelKeys": ["a"]}, "matchLabelKeys"),
        ({"maxSkew": 0}, "maxSkew"),
        ({"maxSkew": None}, "maxSkew"),
        ({"whenUnsatisfiable": "Sometimes"}, "whenUnsatisfiable"),
        ({"whenUnsatisfiable": None}, "whenUnsatisfiable"),
        ({"topologyKey": None}, "topologyKey"),
        ({"minDomains": 0}, "minDomains"),
        ({"nodeTaintsPolicy": "honor"}, "nodeTaintsPolicy"),
    ],
)
def test_a_wrong_spread_constraint_is_a_problem(change: dict[str, Any], part: str) -> None:
    assert problem_paths(spread(**change)) == [f"spec.topologySpreadConstraints[0].{part}"]


# --------------------------------------------------------------------------------------------------------- labels


def test_labels_of_the_template_win_over_those_a_controller_adds() -> None:
    at = field({"metadata": {"labels": {"app": "x", "job-name": "mine"}}})
    found = podspec.read(at, "ns", Surroundings(), {"job-name": "train", "extra": "1"})
    assert found.labels == (("app", "x"), ("extra", "1"), ("job-name", "mine"))
    assert found.namespace == "ns"


def test_a_label_that_is_no_text_is_a_problem() -> None:
    _, at = read({}, metadata={"labels": {"rack": 1}})
    assert [p.path for p in at.notes.problems] == ["metadata.labels.rack"]
