"""Where no answer is found within the budget, the rules that meet are named as they are written."""

from phalanx.engine.board import Board
from phalanx.engine.decide import decide
from phalanx.explain import document, text
from phalanx.model import sketch
from phalanx.model.decision import Waiting
from phalanx.model.nodes import LabelSelector, PodShape, PodTerm, SpreadRule
from phalanx.model.policy import Policy
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice, Spread
from phalanx.model.resources import NANO, Resources
from phalanx.place import meeting

RACK, HOST = 1, 2
APP = LabelSelector((("app", "w"),))
SHAPE = PodShape(Resources.of({sketch.GPU: NANO}), labels=(("app", "w"),))
SLICED = PodSet("w", 8, 8, SHAPE, (Slice(RACK, 2),))
HARD = Group("g", (SLICED,), spread=Spread(HOST, max_skew=1))
RULES = ("g.topology.spread: {level: host, maxSkew: 1}", "w.slices: {level: rack, size: 2}")


def asked(root: Group) -> Request:
    return Request("Gang", "default", "x", root, topology="sketch")


def undecided(root: Group) -> Waiting:
    answer = decide(Board.of(sketch.snapshot("r1=8,8 r2=8,8")), asked(root), Policy(budget=100))
    assert isinstance(answer, Waiting) and answer.proved is False
    return answer


def test_an_undecided_gang_names_the_rules_that_meet() -> None:
    answer = undecided(HARD)
    assert answer.reason.rules == RULES
    assert document.reason(answer.reason)["rules"] == list(RULES)
    assert text.line(answer).endswith(f"these rules meet: {'; '.join(RULES)}.")
    page = " ".join(text.full(answer).split())
    assert f"RULES {RULES[0]} {RULES[1]}" in page


def test_one_without_rules_is_undecided_by_its_size_alone() -> None:
    answer = undecided(Group("g", (PodSet("w", 8, 8, SHAPE),)))
    assert answer.reason.rules == () and "these rules meet" not in text.line(answer)


def test_who_was_decided_names_none() -> None:
    answer = decide(Board.of(sketch.snapshot("r1=1")), asked(HARD))
    assert isinstance(answer, Waiting) and answer.proved and answer.reason.rules == ()


def test_every_kind_of_rule_is_named_and_copies_are_named_once() -> None:
    term, even = PodTerm("zone", APP, None), SpreadRule("zone", 2, APP)
    near = PodShape(SHAPE.requests, labels=SHAPE.labels, affinity=(term,), anti_affinity=(term,), spread=(even,))
    copies = tuple(
        Group(f"b[{i}]", (PodSet(f"b[{i}]/w", 2, 2, near),), ranks=Ranks(with_same_rank_of="a", level=HOST))
        for i in range(2)
    )
    root = Group("g", copies, min_members=1, spread=Spread(RACK, min_domains=2))
    assert meeting.rules(asked(root), sketch.snapshot("r1=1").topologies[0]) == (
        "g.topology.spread: {level: rack, minDomains: 2}",
        "g.minGroups: 1",
        "b.rank.withSameRankOf: a",
        "b/w: podAffinity by zone",
        "b/w: podAntiAffinity by zone",
        "b/w: topologySpreadConstraints by zone, maxSkew 2",
    )
