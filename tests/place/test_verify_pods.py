"""``verify`` catches what breaks the rules about nodes and pods among pods, and lets pass what is allowed."""

from typing import Any

import pytest

from phalanx.model.nodes import (
    HostPort,
    LabelSelector,
    Node,
    NodeFilter,
    PodTerm,
    Requirement,
    SpreadRule,
    Taint,
    Term,
    Toleration,
)
from phalanx.model.request import PodSet, Request
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME
from tests.place.verify_cases import (
    app,
    cluster,
    judged,
    node,
    pods,
    root,
    running,
    shape,
)

# ------------------------------------------------------------------------------ rule 6, topologySpreadConstraints


def even(rule: SpreadRule, count: int = 2, **more: Any) -> Request:
    return root(pods("p", count, of=shape(spread=(rule,), **more)))


def test_pods_spread_over_a_label_only_use_nodes_that_carry_it() -> None:
    request = even(SpreadRule("rack", 9, app("a")))
    assert "without that label" in judged(request, {"p": {"x1": 2}})
    assert "without that label" in judged(request, {"p": {"n1": 1, "x1": 1}})
    assert judged(request, {"p": {"n1": 2}}) == ""


def test_a_class_is_at_most_max_skew_above_the_lowest() -> None:
    request = even(SpreadRule("block", 1, app("a")))
    assert judged(request, {"p": {"n1": 1, "n4": 1}}) == ""
    assert "above the least used" in judged(request, {"p": {"n1": 2}})
    assert judged(even(SpreadRule("block", 2, app("a"))), {"p": {"n1": 2}}) == ""


def test_running_and_other_placed_pods_count_for_the_spread() -> None:
    request = even(SpreadRule("block", 1, app("a", "b")), 1)
    assert judged(request, {"p": {"n1": 1}}) == ""
    assert "above" in judged(request, {"p": {"n1": 1}}, cluster(running=(running("r", "n2"),)))
    assert judged(request, {"p": {"n1": 1}}, cluster(running=(running("r", "n2", app="c"),))) == ""
    assert judged(request, {"p": {"n1": 1}}, cluster(running=(running("r", "n2", namespace="other"),))) == ""
    both = root(*request.root.members, pods("q", 1, of=shape(app="b")))
    assert "above" in judged(both, {"p": {"n1": 1}, "q": {"n3": 1}})
    assert judged(both, {"p": {"n1": 1}, "q": {"n4": 1}}) == ""
    assert judged(root(*request.root.members, pods("q", 2, of=shape(app="c"))), {"p": {"n1": 1}, "q": {"n3": 2}}) == ""


def test_only_classes_that_got_a_pod_are_judged() -> None:
    crowd = tuple(running(f"r{i}", "n1") for i in range(5))
    assert judged(even(SpreadRule("block", 1, app("a", "b")), 1), {"p": {"n4": 1}}, cluster(running=crowd)) == ""


def test_too_few_classes_make_the_minimum_zero() -> None:
    crowd = cluster(running=(running("r1", "n1", app="a"), running("r2", "n4", app="a")))
    assert judged(even(SpreadRule("block", 1, app("a"), min_domains=2), 1), {"p": {"n1": 1}}, crowd) == ""
    assert "above" in judged(even(SpreadRule("block", 1, app("a"), min_domains=3), 1), {"p": {"n1": 1}}, crowd)


def test_eligible_nodes_follow_the_policies() -> None:
    here = NodeFilter(selector=(("block", "b1"),))
    ignoring = SpreadRule("block", 1, app("a"), honor_affinity=False)
    assert judged(even(SpreadRule("block", 1, app("a")), filter=here), {"p": {"n1": 2}}) == ""
    assert "above" in judged(even(ignoring, filter=here), {"p": {"n1": 2}})
    taint = (Taint("k", "v", "NoSchedule"),)
    tainted = cluster(*(node(name, taint) for name in ("n4", "x1", "x2")))
    assert "above" in judged(even(SpreadRule("block", 1, app("a"))), {"p": {"n1": 2}}, tainted)
    assert judged(even(SpreadRule("block", 1, app("a"), honor_taints=True)), {"p": {"n1": 2}}, tainted) == ""


def test_eligible_nodes_carry_the_keys_of_all_rules() -> None:
    rules = (SpreadRule("zone", 1, app("a")), SpreadRule("slot", 9, app("a")))
    request = root(pods(of=shape(spread=rules)))
    changed = (node("n1", zone="z1", slot="s"), node("n4", zone="z2"))
    assert judged(request, {"p": {"n1": 2}}, cluster(*changed)) == ""  # z2 is no class: its node has no slot
    assert "above" in judged(request, {"p": {"n1": 2}}, cluster(changed[0], node("n4", zone="z2", slot="s")))


# ------------------------------------------------------------------------------------------- rule 7, anti-affinity


def avoiding(key: str, *apps: str, count: int = 2, namespaces: tuple[str, ...] | None = None) -> PodSet:
    return pods("p", count, of=shape(anti_affinity=(PodTerm(key, app(*apps), namespaces),)))


def test_pods_of_a_set_keep_apart_from_each_other() -> None:
    assert "two pods" in judged(root(avoiding(HOSTNAME, "a")), {"p": {"n1": 2}})
    assert "two pods" in judged(root(avoiding(HOSTNAME, "a", count=3)), {"p": {"n1": 2, "n2": 1}})
    assert judged(root(avoiding(HOSTNAME, "a")), {"p": {"n1": 1, "n2": 1}}) == ""
    assert "two pods" in judged(root(avoiding("rack", "a")), {"p": {"n1": 1, "n4": 1}})  # one value is one class
    assert judged(root(avoiding("rack", "a")), {"p": {"n1": 1, "n3": 1}}) == ""
    assert judged(root(avoiding("rack", "a")), {"p": {"x1": 2}}) == ""  # no label, no class
    assert judged(root(avoiding(HOSTNAME, "b")), {"p": {"n1": 2}}) == ""


def test_sets_keep_apart_in_whichever_order_they_stand() -> None:
    other = pods("q", 1, of=shape(app="b"))
    for request in (root(avoiding("rack", "b"), other), root(other, avoiding("rack", "b"))):
        assert "beside 'q'" in judged(request, {"p": {"n1": 2}, "q": {"n2": 1}})
        assert judged(request, {"p": {"n1": 2}, "q": {"n3": 1}}) == ""


def test_pods_keep_apart_from_running_ones() -> None:
    beside = cluster(running=(running("r", "n2"),))
    assert "beside a running pod" in judged(root(avoiding("rack", "b")), {"p": {"n1": 2}}, beside)
    assert judged(root(avoiding("rack", "b")), {"p": {"n3": 2}}, beside) == ""
    assert judged(root(avoiding("rack", "b", namespaces=("other",))), {"p": {"n1": 2}}, beside) == ""
    assert judged(root(avoiding("rack", "c")), {"p": {"n1": 2}}, beside) == ""


def test_running_pods_keep_ours_away() -> None:
    def guarded(by: PodTerm) -> Snapshot:
        return cluster(running=(running("r", "n2", anti_affinity=(by,)),))

    assert "running pod 'r' keeps" in judged(root(pods()), {"p": {"n1": 2}}, guarded(PodTerm("rack", app("a"), None)))
    assert judged(root(pods()), {"p": {"n3": 2}}, guarded(PodTerm("rack", app("a"), None))) == ""
    assert judged(root(pods()), {"p": {"n1": 2}}, guarded(PodTerm("rack", app("c"), None))) == ""
    assert judged(root(pods()), {"p": {"n1": 2}}, guarded(PodTerm("rack", app("a"), ("other",)))) == ""
    assert judged(root(pods()), {"p": {"n1": 2}}, guarded(PodTerm("zone", app("a"), None))) == ""


def test_selectors_mean_what_they_say() -> None:
    def alone(selector: LabelSelector) -> str:
        return judged(root(pods(of=shape(anti_affinity=(PodTerm(HOSTNAME, selector, None),)))), {"p": {"n1": 2}})

    assert alone(LabelSelector()) != ""
    assert alone(LabelSelector(matches_nothing=True)) == ""
    assert alone(LabelSelector(labels=(("app", "a"),))) != ""
    assert alone(LabelSelector(labels=(("app", "a"), ("tier", "x")))) == ""
    assert alone(LabelSelector(requirements=(Requirement("tier", "NotIn", ("x",)),))) != ""
    assert alone(LabelSelector(requirements=(Requirement("app", "DoesNotExist"),))) == ""


# ------------------------------------------------------------------------------------------------ rule 8, affinity


def near(name: str, *apps: str, own: str = "a", key: str = "rack", count: int = 2) -> PodSet:
    return pods(name, count, of=shape(app=own, affinity=(PodTerm(key, app(*apps), None),)))


def test_pods_with_affinity_only_use_nodes_that_carry_the_key() -> None:
    assert "without that label" in judged(root(near("p", "a")), {"p": {"x1": 2}})
    assert "without that label" in judged(root(near("p", "a")), {"p": {"n1": 1, "x1": 1}})


def test_a_class_needs_a_running_pod_that_matches() -> None:
    request = root(near("p", "b"))
    anchored = cluster(running=(running("r", "n2"),))
    assert judged(request, {"p": {"n1": 2}}, anchored) == ""
    assert "no pod to be near to" in judged(request, {"p": {"n3": 2}}, anchored)
    assert "no pod to be near to" in judged(request, {"p": {"n1": 2}})


def test_a_placed_pod_of_another_set_serves_as_well() -> None:
    request = root(near("p", "b"), pods("q", 1, of=shape(app="b")))
    assert judged(request, {"p": {"n1": 2}, "q": {"n2": 1}}) == ""
    assert "no pod to be near to" in judged(request, {"p": {"n1": 1, "n3": 1}, "q": {"n2": 1}})


def test_the_first_pod_founds_one_class() -> None:
    request = root(near("p", "a"))
    assert judged(request, {"p": {"n1": 1, "n2": 1}}) == ""
    assert "in 2 places" in judged(request, {"p": {"n1": 1, "n3": 1}})
    elsewhere = cluster(running=(running("r", "n3", app="a"),))
    assert "no pod to be near to" in judged(request, {"p": {"n1": 2}}, elsewhere)  # a match runs, so none may found
    assert judged(request, {"p": {"n3": 2}}, elsewhere) == ""


def test_a_running_pod_on_a_node_without_the_key_still_forbids_founding() -> None:
    assert "near to" in judged(root(near("p", "a")), {"p": {"n1": 2}}, cluster(running=(running("r", "x1", app="a"),)))


def test_a_team_founds_together_by_a_pod_that_matches() -> None:
    team = root(near("p", "a"), near("q", "a", own="b"))
    assert judged(team, {"p": {"n1": 2}, "q": {"n2": 2}}) == ""
    assert "near to" in judged(team, {"p": {"n1": 2}, "q": {"n3": 2}})
    apart = root(near("p", "a", key=HOSTNAME), near("q", "a", own="b"))  # two terms, two teams
    assert judged(apart, {"p": {"n1": 2}, "q": {"n2": 2}}) == ""


# ---------------------------------------------------------------------------------------------- rule 9, node filter


def filtered(wish: NodeFilter, at: Node) -> bool:
    return judged(root(pods(of=shape(filter=wish))), {"p": {at.name: 2}}, cluster(at)) == ""


def needs(key: str, operator: str, *values: str, on_name: bool = False) -> NodeFilter:
    return NodeFilter(required=((Term((Requirement(key, operator, values, on_name),)),),))


@pytest.mark.parametrize(
    ("wish", "good"),
    [
        (NodeFilter(selector=(("disk", "ssd"),)), True),
        (NodeFilter(selector=(("disk", "hdd"),)), False),
        (NodeFilter(selector=(("disk", "ssd"), ("gen", "7"), ("no", "x"))), False),
        (needs("disk", "In", "hdd", "ssd"), True),
        (needs("disk", "In", "hdd"), False),
        (needs("no", "In", "x"), False),
        (needs("disk", "NotIn", "hdd"), True),
        (needs("disk", "NotIn", "ssd"), False),
        (needs("no", "NotIn", "x"), True),
        (needs("disk", "Exists"), True),
        (needs("no", "Exists"), False),
        (needs("disk", "DoesNotExist"), False),
        (needs("no", "DoesNotExist"), True),
        (needs("gen", "Gt", "6"), True),
        (needs("gen", "Gt", "7"), False),
        (needs("gen", "Lt", "10"), True),  # as numbers: as text 7 is not less than 10
        (needs("gen", "Lt", "7"), False),
        (needs("disk", "Gt", "1"), False),
        (needs("no", "Lt", "1"), False),
        (needs("metadata.name", "In", "n1", on_name=True), True),
        (needs("metadata.name", "In", "n2", on_name=True), False),
        (NodeFilter(required=((Term(()),),)), False),
        (NodeFilter(required=((),)), False),
        (NodeFilter(required=((Term(()), Term((Requirement("disk", "Exists"),))),)), True),
        (NodeFilter(required=((Term((Requirement("disk", "Exists"), Requirement("no", "Exists"))),),)), False),
        (NodeFilter(required=(needs("disk", "Exists").required[0], needs("no", "Exists").required[0])), False),
        (NodeFilter(preferred=((1, Term((Requirement("no", "Exists"),))),)), True),
    ],
)
def test_the_node_filter_admits_what_kubernetes_admits(wish: NodeFilter, good: bool) -> None:
    assert filtered(wish, node("n1", disk="ssd", gen="7")) == good


@pytest.mark.parametrize(
    ("effect", "tolerations", "good"),
    [
        ("NoSchedule", (), False),
        ("NoExecute", (), False),
        ("PreferNoSchedule", (), True),
        ("NoSchedule", (Toleration("k", "Equal", "v", ""),), True),
        ("NoSchedule", (Toleration("k", "Equal", "w", ""),), False),
        ("NoSchedule", (Toleration("k", "Exists", "", "NoExecute"),), False),
        ("NoExecute", (Toleration("", "Exists", "", ""),), True),
        ("NoSchedule", (Toleration("other", "Exists", "", ""),), False),
    ],
)
def test_taints_are_tolerated_or_keep_pods_away(effect: str, tolerations: tuple[Toleration, ...], good: bool) -> None:
    assert filtered(NodeFilter(tolerations=tolerations), node("n1", (Taint("k", "v", effect),))) == good


def test_every_taint_needs_its_toleration() -> None:
    both = node("n1", (Taint("k", "v", "NoSchedule"), Taint("l", "v", "NoExecute")))
    assert not filtered(NodeFilter(tolerations=(Toleration("k", "Exists", "", ""),)), both)


# ---------------------------------------------------------------------------------------- rule 11, host ports


def test_host_ports_clash_with_themselves_with_others_and_with_running_pods() -> None:
    def with_ports(name: str, *ports: HostPort, count: int = 1) -> PodSet:
        return pods(name, count, of=shape(ports=ports))

    http, local = HostPort(80), HostPort(80, ip="10.0.0.1")
    assert "taken" in judged(root(with_ports("p", http, count=2)), {"p": {"n1": 2}})
    assert judged(root(with_ports("p", http, count=2)), {"p": {"n1": 1, "n2": 1}}) == ""
    assert "taken" in judged(root(with_ports("p", http), with_ports("q", local)), {"p": {"n1": 1}, "q": {"n1": 1}})
    elsewhere = with_ports("q", HostPort(80, ip="10.0.0.2"))
    assert judged(root(with_ports("p", local), elsewhere), {"p": {"n1": 1}, "q": {"n1": 1}}) == ""
    assert "taken" in judged(root(with_ports("p", local), with_ports("q", local)), {"p": {"n1": 1}, "q": {"n1": 1}})
    for other in (HostPort(80, "UDP"), HostPort(81)):
        assert judged(root(with_ports("p", http), with_ports("q", other)), {"p": {"n1": 1}, "q": {"n1": 1}}) == ""
    busy = cluster(running=(running("r", "n1", ports=(http,)),))
    assert "taken" in judged(root(with_ports("p", local)), {"p": {"n1": 1}}, busy)
    assert judged(root(with_ports("p", local)), {"p": {"n2": 1}}, busy) == ""
