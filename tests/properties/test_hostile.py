"""Whatever is asked, there is an answer or a Problem, and the work it took was counted.

Work units stand for time, so a search that does much more than it books is as bad as one that never ends. Here the
calls of Python functions are counted beside the booked work: the same number on every machine, and a search that
runs away is stopped by it.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phalanx.dialects.reading import read
from phalanx.model.decision import Invalid
from phalanx.model.nodes import HostPort, LabelSelector, Node, PodShape, PodTerm, SpreadRule
from phalanx.model.policy import Policy
from phalanx.model.problems import Problem
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice, Spread
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology
from phalanx.place import solve
from phalanx.place.build import likeness
from phalanx.place.draft import Draft
from phalanx.place.verify import verify

BUDGET = 2_000_000
CALLS_FREE = 300_000  # reading a request of hundreds of groups and telling what came out
CALLS_PER_WORK = 8  # so many work units to one call; at the default budget this is about three seconds
VERIFIED_MAX = 20_000  # pods; beyond this verifying costs more than deciding

LEVELS = Topology.of("t", ("b", "r"))
BLOCK, RACK, HOST = 1, 2, 3
EVERY_POD = LabelSelector()
GPU = "gpu"


class RanAway(BaseException):
    """More calls than the booked work allows. No Exception, so that nothing on the way takes it for an answer."""


@contextmanager
def calls_at_most(most: int) -> Iterator[None]:
    """Counts calls and returns, and stops at the limit."""
    left = [2 * most]

    def count(frame: FrameType, event: str, arg: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            sys.setprofile(None)
            raise RanAway(f"more than {most} calls, the last one {frame.f_code.co_name} in {frame.f_code.co_filename}")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def cluster(blocks: int = 2, racks: int = 2, nodes: int = 3, gpus: int = 8) -> Snapshot:
    found = []
    for block in range(blocks):
        for rack in range(racks):
            for number in range(nodes):
                name = f"n{block}-{rack}-{number}"
                labels = {"b": f"b{block}", "r": f"r{rack}", HOSTNAME: name}
                found.append(Node(name, labels, Resources.of({GPU: gpus * NANO, "cpu": 64 * NANO, PODS: 110 * NANO})))
    return Snapshot(tuple(found), (LEVELS,))


def pods(name: str, count: int, least: int | None = None, gpus: int = NANO, cpu: int = 0, **more: Any) -> PodSet:
    slices = more.pop("slices", ())
    shape = PodShape(Resources.of({GPU: gpus, "cpu": cpu, PODS: NANO}), **more)
    return PodSet(name, count, count if least is None else least, shape, slices)


def bare(name: str, count: int, gpus: int = 1, **more: Any) -> PodSet:
    """Pods that are not counted as pods, so that a node may hold any number."""
    return PodSet(name, count, count, PodShape(Resources.of({GPU: gpus * NANO}), **more))


def group(name: str, *members: Group | PodSet, **more: Any) -> Group:
    return Group(name, members, **more)


def nested(depth: int, inner: Group | PodSet, **more: Any) -> Group | PodSet:
    for number in range(depth):
        inner = group(f"depth-{number}", inner, **more)
    return inner


def many(number: int, make: Callable[[int], Group | PodSet], **more: Any) -> Group:
    return group("root", *(make(i) for i in range(number)), **more)


def linked(number: int, count: int, level: int) -> Group:
    """Groups that each share ranks with the one before."""
    chain = [Ranks(with_same_rank_of=f"g{i - 1}", level=level) if i else None for i in range(number)]
    return many(number, lambda i: group(f"g{i}", bare(f"p{i}", count), ranks=chain[i]))


def app(name: str) -> tuple[tuple[str, str], ...]:
    return (("app", name),)


def terms(number: int, names: int, keys: tuple[str, ...]) -> tuple[PodTerm, ...]:
    return tuple(PodTerm(key, LabelSelector(app(f"{(number + j) % names}")), None) for j in range(1, 5) for key in keys)


def judged(snapshot: Snapshot, root: Group, budget: int = BUDGET) -> solve.Answer:
    """Asks, and checks all that must hold of any answer."""
    request = Request("Gang", "default", "hostile", root, topology="t")
    with calls_at_most(CALLS_FREE + budget // CALLS_PER_WORK):
        answer = solve.place(Draft.of(snapshot, "t"), request, Policy(budget=budget))
    assert answer.status in ("placed", "impossible", "undecided", "invalid")
    assert 0 <= answer.work <= budget
    assert (answer.status == "invalid") == (answer.problem is not None)
    assert (answer.status == "placed") == (answer.placement is not None)
    if answer.placement is not None and sum(s.count for s in root.pod_sets()) <= VERIFIED_MAX:
        broken = verify(snapshot, request, answer.placement)
        assert not broken, broken[0]
    return answer


CROWD = cluster(4, 4, 4)
EMPTY = Snapshot((), (LEVELS,))

CASES: dict[str, Callable[[], tuple[Snapshot, Group]]] = {
    "200 groups, a rack each": lambda: (
        CROWD, many(200, lambda i: group(f"g{i}", pods(f"p{i}", 1 + i % 3), required=RACK))),
    "170 groups that would like a node each": lambda: (
        CROWD, many(170, lambda i: group(f"g{i}", pods(f"p{i}", 1 + i % 5), preferred=HOST))),
    "50 shapes": lambda: (
        CROWD, many(50, lambda i: pods(f"p{i}", 3, gpus=(1 + i % 7) * NANO, cpu=(i + 1) * NANO))),
    "50 shapes that nearly fit": lambda: (
        CROWD, many(50, lambda i: pods(f"p{i}", 3, gpus=(1 + i % 5) * NANO, cpu=(i + 1) * NANO // 2))),
    "50 shapes in groups of all levels": lambda: (
        CROWD, many(50, lambda i: group(f"g{i}", pods(f"p{i}", 3, gpus=(1 + i % 4) * NANO, cpu=i * NANO // 3),
                                        required=1 + i % 3))),
    "30 shapes in slices": lambda: (
        cluster(4, 4, 4, 64), many(30, lambda i: pods(f"p{i}", 2 * (i % 5 + 2), gpus=(1 + i % 4) * NANO,
                                                      slices=(Slice(RACK, i % 5 + 2),)))),
    "a million pods": lambda: (cluster(), group("root", pods("p", 10**6))),
    "a million pods, one needed": lambda: (cluster(), group("root", pods("p", 10**6, 1))),
    "a million pods, one needed, evenly": lambda: (
        cluster(), group("root", pods("p", 10**6, 1), spread=Spread(RACK, max_skew=1))),
    "a million pods that ask for nothing": lambda: (cluster(), group("root", bare("p", 10**6, 0))),
    "a million pods that fit": lambda: (cluster(gpus=10**6), group("root", bare("p", 10**6))),
    "a million ranks": lambda: (
        cluster(gpus=10**6), group("root", bare("p", 10**6), ranks=Ranks("Stripe", across=RACK))),
    "two shapes of a million, evenly": lambda: (
        cluster(gpus=10**7), group("root", bare("p", 10**6), bare("q", 10**6, 3), spread=Spread(RACK, max_skew=1))),
    "two shapes of a million, few to a rack": lambda: (
        cluster(gpus=10**7), group("root", bare("p", 10**6), bare("q", 10**6, 3),
                                   spread=Spread(RACK, max_per_domain=10**5))),
    "three sets of which a thousand or one, evenly": lambda: (
        cluster(), many(3, lambda i: pods(f"p{i}", 1000, 1), spread=Spread(RACK, max_skew=1))),
    "slices of large primes": lambda: (
        cluster(), group("root", pods("p", 10**6, 1, slices=(Slice(BLOCK, 999983), Slice(RACK, 999979))))),
    "slices that do not divide each other": lambda: (
        cluster(), many(4, lambda i: pods(f"p{i}", 105 * (i + 1), slices=(Slice(BLOCK, 15), Slice(RACK, 7 * i + 7))))),
    "amounts of 10^18": lambda: (cluster(), group("root", pods("p", 10**6, gpus=10**18 * NANO))),
    "amounts of 10^18 that fit": lambda: (cluster(gpus=10**18), group("root", pods("p", 10, gpus=10**17 * NANO))),
    "200 groups of 10^18": lambda: (
        cluster(gpus=10**18), many(200, lambda i: group(f"g{i}", pods(f"p{i}", 10**6, gpus=(10**18 - i) * NANO),
                                                        required=BLOCK))),
    "a nano of 10^18": lambda: (cluster(gpus=10**18), group("root", pods("p", 10, gpus=1))),
    "nano fractions": lambda: (
        cluster(), many(12, lambda i: pods(f"p{i}", 5, gpus=NANO // (i + 2), cpu=NANO // 7 + i))),
    "30 groups inside each other": lambda: (cluster(), group("root", nested(30, pods("p", 5)))),
    "30 optional groups inside each other": lambda: (
        cluster(), group("root", nested(30, pods("p", 5), required=RACK, min_members=1))),
    "25 of 50 equal groups": lambda: (
        cluster(), many(50, lambda i: group(f"g{i}", pods(f"p{i}", 8), required=HOST), min_members=25)),
    "25 of 50 different groups": lambda: (
        cluster(), many(50, lambda i: group(f"g{i}", pods(f"p{i}", i + 1), required=RACK), min_members=25)),
    "12 of 50 different groups": lambda: (
        cluster(), many(50, lambda i: group(f"g{i}", pods(f"p{i}", i + 1), required=RACK), min_members=12)),
    "100 linked groups on a node": lambda: (cluster(gpus=200), linked(100, 2, HOST)),
    "100 linked groups on a node, too large": lambda: (cluster(), linked(100, 2, HOST)),
    "100 linked groups in a rack": lambda: (cluster(gpus=200), linked(100, 2, RACK)),
    "100 linked groups in a rack, too large": lambda: (cluster(), linked(100, 2, RACK)),
    "linked groups of 10^4 in a rack": lambda: (cluster(gpus=10**4), linked(2, 10**4, RACK)),
    "linked groups of 10^6 in a rack": lambda: (cluster(), linked(2, 10**6, RACK)),
    "linked groups of 10^5 on a node": lambda: (cluster(gpus=10**5), linked(2, 10**5, HOST)),
    "1000 host ports": lambda: (
        cluster(), group("root", pods("p", 12, ports=tuple(HostPort(p) for p in range(1, 1001))))),
    "host ports of many addresses": lambda: (
        cluster(), many(20, lambda i: pods(f"p{i}", 2, ports=tuple(
            HostPort(p, "TCP", f"10.0.0.{p % 7}" if p % 2 else "0.0.0.0") for p in range(i, i + 40))))),
    "many affinity terms": lambda: (
        cluster(), many(10, lambda i: pods(f"p{i}", 2, labels=app(f"{i % 5}"), affinity=terms(i, 5, ("b", "r"))))),
    "many anti-affinity terms": lambda: (
        cluster(), many(10, lambda i: pods(f"p{i}", 2, labels=app(f"{i}"), anti_affinity=terms(i, 10, ("b", "r"))))),
    "everyone apart from everyone": lambda: (
        cluster(), many(20, lambda i: pods(f"p{i}", 2, anti_affinity=(PodTerm(HOSTNAME, EVERY_POD, None),)))),
    "spreads that contradict each other": lambda: (
        cluster(), many(4, lambda i: pods(f"p{i}", 5, labels=app("a"), spread=(
            SpreadRule("b", 1, EVERY_POD), SpreadRule("r", 1, EVERY_POD, 5), SpreadRule(HOSTNAME, 1, EVERY_POD))))),
    "group spreads that contradict each other": lambda: (
        cluster(), group("root", group("x", pods("p", 5), spread=Spread(RACK, max_skew=1)),
                         group("y", pods("q", 7), spread=Spread(BLOCK, min_domains=5)),
                         spread=Spread(HOST, max_per_domain=1))),
    "eight even groups": lambda: (
        cluster(), many(8, lambda i: group(f"g{i}", pods(f"p{i}", 5), pods(f"q{i}", 3),
                                           spread=Spread(RACK, max_skew=1)))),
    "at least 17 of 16 racks": lambda: (
        cluster(4, 4, 3), many(12, lambda i: pods(f"p{i}", 20, gpus=(i % 3 + 1) * NANO),
                               spread=Spread(RACK, min_domains=17))),
    "no nodes": lambda: (EMPTY, group("root", pods("p", 5), pods("q", 2, gpus=0), required=RACK)),
    "no nodes, nothing needed": lambda: (EMPTY, group("root", pods("p", 5, 0))),
    "no nodes, nothing asked": lambda: (EMPTY, group("root", pods("p", 0))),
    "no nodes, all rules": lambda: (
        EMPTY, group("root", group("x", pods("p", 5), required=RACK, spread=Spread(RACK, max_skew=1)),
                     group("y", pods("r", 5), pods("s", 1), spread=Spread(HOST, min_domains=2)),
                     pods("q", 1, labels=app("a"), spread=(SpreadRule("b", 1, EVERY_POD),),
                          affinity=(PodTerm("b", EVERY_POD, None),), anti_affinity=(PodTerm("r", EVERY_POD, None),)))),
    "one node": lambda: (
        cluster(1, 1, 1), many(200, lambda i: group(f"g{i}", pods(f"p{i}", 1 + i), preferred=1 + i % 3),
                               min_members=1)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_request_gets_an_answer_within_the_budget(case: str) -> None:  # W-060, KA-053
    judged(*CASES[case]())


def test_groups_deep_inside_each_other_are_told_apart_at_the_price_of_their_depth() -> None:
    shallow, deep = (len(likeness(nested(depth, pods("p", 5)))) for depth in (7, 14))
    assert deep <= 4 * shallow, "the description of a group doubles with every level"
    judged(cluster(), group("root", nested(30, pods("p", 5)), pods("q", 1000), min_members=1))


@pytest.mark.parametrize("budget", [0, 1, 20_000, 60_000])
@pytest.mark.parametrize("case", ["200 groups, a rack each", "50 shapes that nearly fit", "eight even groups"])
def test_a_tiny_budget_is_kept_too(case: str, budget: int) -> None:
    judged(*CASES[case](), budget=budget)


# ---- anything that can be written down ----------------------------------------------------------------------------

LEVEL = st.sampled_from((None, None, None, BLOCK, RACK, HOST))
NUMBER = st.sampled_from((0, 1, 2, 3, 5, 8, 24, 100, 10**6))
AMOUNT = st.sampled_from((0, 1, 333_333_333, NANO // 2, NANO, 2 * NANO, 7 * NANO, 10**18, 10**18 * NANO))
KEY = st.sampled_from(("b", "r", HOSTNAME, "nowhere"))
SELECTOR = st.sampled_from((EVERY_POD, LabelSelector(app("x")), LabelSelector(matches_nothing=True)))
SELECTED = st.builds(PodTerm, KEY, SELECTOR, st.sampled_from((None, ("default",), ())))
RULE = st.builds(
    SpreadRule, KEY, st.integers(1, 3), SELECTOR, st.sampled_from((1, 2, 50)), st.booleans(), st.booleans()
)
PORT = st.builds(HostPort, st.sampled_from((80, 81)), st.just("TCP"), st.sampled_from(("0.0.0.0", "10.0.0.1", "::")))
SHAPE = st.builds(
    PodShape,
    st.dictionaries(st.sampled_from((GPU, "cpu", PODS, "unheard/of")), AMOUNT, max_size=3).map(Resources.of),
    ports=st.lists(PORT, max_size=2, unique=True).map(tuple),
    labels=st.sampled_from(((), app("x"), app("y"))),
    affinity=st.lists(SELECTED, max_size=1).map(tuple),
    anti_affinity=st.lists(SELECTED, max_size=1).map(tuple),
    spread=st.lists(RULE, max_size=1).map(tuple),
)
PLAIN = st.builds(PodShape, st.dictionaries(st.sampled_from((GPU, "cpu", PODS)), AMOUNT, max_size=3).map(Resources.of))
APART = st.one_of(
    st.none(),
    st.builds(lambda at, n: Spread(at, max_per_domain=n), st.integers(1, 3), st.sampled_from((1, 3, 10**6))),
    st.builds(lambda at, n: Spread(at, min_domains=n), st.integers(1, 3), st.sampled_from((1, 2, 9, 10**6))),
    st.builds(lambda at, n: Spread(at, max_skew=n), st.integers(1, 3), st.sampled_from((1, 2, 10**6))),
)
RANKS = st.one_of(
    st.none(), st.builds(Ranks, st.sampled_from(("None", "Consecutive", "Stripe", "Balance")), st.integers(1, 3))
)


@st.composite
def trees(draw: st.DrawFn) -> Group:
    """Any tree of groups; names are given at the end so that they are unique."""
    names = iter(range(10**6))

    def pod_set() -> PodSet:
        count = draw(NUMBER)
        sizes = draw(st.lists(st.tuples(st.integers(1, 3), st.sampled_from((1, 2, 3, 4, 10**6))), max_size=2))
        slices = tuple(Slice(*cut) for cut in sorted(dict(sizes).items()))
        least = min(draw(NUMBER), count) if draw(st.booleans()) else count
        return PodSet(f"p{next(names)}", count, least, draw(st.one_of(PLAIN, SHAPE)), slices)

    def tree(depth: int) -> Group:
        number = draw(st.integers(1, 4))
        members = [pod_set() if depth <= 0 or draw(st.booleans()) else tree(depth - 1) for _ in range(number)]
        least = draw(st.integers(1, number)) if draw(st.integers(0, 3)) == 0 else None
        required, preferred = draw(LEVEL), draw(LEVEL)
        return Group(f"g{next(names)}", tuple(members), required, preferred, least, draw(APART), draw(RANKS))

    return tree(draw(st.integers(0, 3)))


@settings(derandomize=True, max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees(), st.sampled_from(((0, 0, 0), (1, 1, 1), (1, 2, 2), (2, 2, 3), (3, 1, 1))))
def test_any_tree_gets_an_answer_within_the_budget(root: Group, size: tuple[int, int, int]) -> None:
    judged(cluster(*size), root, budget=500_000)


# ---- through manifests --------------------------------------------------------------------------------------------

NODE = {
    "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"topology/rack": "r1"}},
    "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}},
}  # fmt: skip
TREE = {
    "apiVersion": "phalanx.dev/v1alpha1", "kind": "Topology", "metadata": {"name": "t"},
    "spec": {"levels": [{"nodeLabel": "topology/rack"}]},
}  # fmt: skip
WORKER = {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]}}


def gang(*groups: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": {"name": "g", "namespace": "default"},
        "spec": {**spec, "podGroups": list(groups)},
    }  # fmt: skip


def decided(*docs: Any) -> list[Invalid | solve.Answer | Problem]:
    """What becomes of documents: an answer for each request, a Problem for everything else."""
    with calls_at_most(CALLS_FREE + BUDGET // CALLS_PER_WORK):
        found = read([NODE, TREE, *docs])
        out: list[Invalid | solve.Answer | Problem] = [*found.invalid, *found.problems]
        for request in found.requests:
            draft = Draft.of(found.snapshot, request.topology)
            answer = solve.place(draft, request, Policy(budget=BUDGET))
            assert answer.work <= BUDGET
            out.append(answer)
    return out


@pytest.mark.parametrize(
    "parents",
    [("a",), ("b", "a"), ("b", "c", "a"), ("nobody", None, None), ("b", "c", "b"), (7, None, {})],
    ids=repr,
)
def test_parents_that_go_round_in_circles_are_a_problem(parents: tuple[Any, ...]) -> None:
    names = "abc"[: len(parents)]
    groups = [
        {"name": name, "count": 1, "template": WORKER, **({} if parent is None else {"parent": parent})}
        for name, parent in zip(names, parents, strict=True)
    ]
    (outcome,) = decided(gang(*groups))
    assert isinstance(outcome, Invalid) and outcome.problems


@pytest.mark.parametrize("count", [0, 1, 10**6, 10**6 + 1, 10**18, -1, 2**70, "7", 1.5, True, None], ids=repr)
@pytest.mark.parametrize("cpu", ["1", "1n", "1e18", "1E", "9" * 60, "0.1"])
def test_absurd_numbers_in_a_manifest_get_an_answer_or_a_problem(count: Any, cpu: str) -> None:
    worker = {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": cpu}}}]}}
    assert decided(gang({"name": "a", "count": count, "template": worker}))


def test_a_gang_without_groups_is_not_passed_over_in_silence() -> None:  # W-188
    found = read([NODE, TREE, gang()])
    assert not found.requests and any(found.notes.values())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**19), 10**19) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("name", "count", "minCount", "minMembers", "parent", "topology", "ranks", "slices", "template", "replicas")


@settings(derandomize=True, max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4), max_size=4), JSON)
def test_junk_in_a_manifest_gets_an_answer_or_a_problem(groups: list[dict[str, Any]], other: Any) -> None:
    good = {"name": "a", "count": 1, "template": WORKER}
    assert decided(gang(good, *({**good, "name": f"g{i}", **junk} for i, junk in enumerate(groups))), other)
