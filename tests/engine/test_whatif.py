"""Ways out: offered only when they work, and they work when applied."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from phalanx.engine import decide as decide_module
from phalanx.engine import newnodes, tries, whatif
from phalanx.engine.board import Board
from phalanx.engine.decide import decide
from phalanx.model import sketch
from phalanx.model.decision import Invalid, Placed, Waiting
from phalanx.model.nodes import LabelSelector, Node, NodeFilter, PodTerm, RunningPod
from phalanx.model.policy import Policy
from phalanx.model.reasons import Remedy, WayOut
from phalanx.model.request import Group, PodSet, Request, Slice, as_declared
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME
from phalanx.place import solve
from tests.engine.asking import RACK, board, gang, group, pods, workers
from tests.properties.instances import FAMILIES, instance


def ways(on: Board, request: Request, policy: Policy = Policy()) -> list[str]:
    waiting = decide(on, request, policy)
    assert isinstance(waiting, Waiting)
    return [out.change for out in whatif.ways_out(on, waiting, policy)]


def occupied(drawing: str, node: str, gpu: int, owner: str | None) -> Snapshot:
    """The drawing with one pod running that takes so many units of a node."""
    requests = Resources.of({sketch.GPU: gpu * NANO, PODS: NANO})
    return replace(sketch.snapshot(drawing), pods=(RunningPod("p", "default", node, requests, gang=owner),))


def test_the_narrowest_wider_level_that_works_and_preferring_are_offered() -> None:
    found = ways(board("z1( b1: r1=3 r2=3 | b2: r1=2 )"), gang(group("workers", pods("workers", 5), required=3)))
    assert found[:2] == ["workers.topology.required: block", "workers.topology: {preferred: rack}"]


def test_a_level_that_does_not_help_is_not_offered() -> None:
    found = ways(board("z1( b1: r1=3 r2=3 | b2: r1=2 )"), gang(group("workers", pods("workers", 7), required=3)))
    assert "workers.topology.required: block" not in found
    assert "workers.topology.required: zone" in found


def test_the_largest_smaller_number_of_pods_is_offered() -> None:
    assert "fewer pods: workers 7" in ways(board("b1: r1=7 r2=3"), gang(workers(20, RACK)))


def test_fewer_pods_are_whole_slices() -> None:
    sliced = replace(pods("workers", 12), slices=(Slice(RACK, 4),))
    assert "fewer pods: workers 8" in ways(board("b1: r1=7 r2=7"), gang(group("workers", sliced)))


def test_the_smallest_gang_whose_end_makes_room_is_named() -> None:
    on = board("b1: r1=4 r2=6")
    for name, count in (("large", 6), ("small", 4)):
        decision = decide(on, gang(workers(count, RACK), name))
        assert isinstance(decision, Placed)
        on.commit(decision)
    assert "wait for default/small" in ways(on, gang(workers(3, RACK)))
    assert on.running().keys() == {"default/large", "default/small"}


def test_a_running_gang_of_the_picture_is_named_too_and_a_pod_of_nobody_is_not() -> None:
    assert "wait for team/old" in ways(Board.of(occupied("r1=4", "r1-1", 2, "team/old")), gang(workers(4)))
    assert not any("wait" in way for way in ways(Board.of(occupied("r1=4", "r1-1", 2, None)), gang(workers(4))))


def test_the_fewest_nodes_that_help_are_counted_in_the_nearest_domain() -> None:
    assert "add 5 nodes like b1-r1-1" in ways(board("b1: r1=4,2 r2=3"), gang(workers(24, RACK)))


def test_pods_outside_the_domain_count_when_pods_look_at_each_other() -> None:
    """The one label value that is free of the app has no node for it: a node in rack r2 helps, one in r1 does not."""
    away = PodTerm("topology/rack", LabelSelector((("app", "db"),)), None)
    request = gang(workers(2, required=1, gpu=2, labels=(("app", "db"),), anti_affinity=(away,)))
    assert not any("add" in way for way in ways(board("r1=4 r2=1"), request))


def test_nodes_are_copies_of_one_that_holds_the_pod_and_not_of_the_first() -> None:
    found = ways(board("r1=1,8"), gang(group("big", pods("big", 2, gpu=8))))
    assert "add 1 nodes like r1-2" in found


def test_the_fewest_nodes_are_found_among_all_kinds_of_nodes() -> None:
    """The nearest rack has small nodes only: it would take five of them, and three of those in the other rack."""
    found = ways(board("b1: r1=2*10 r2=8"), gang(group("many", pods("many", 30), required=RACK)))
    assert [way for way in found if way.startswith("add")] == ["add 3 nodes like b1-r2-1"]


def test_fewer_pods_name_the_class_that_loses_them() -> None:
    only = gang(group("main", pods("main/worker", 5), required=RACK))
    assert "fewer pods: main/worker 3" in ways(board("b1: r1=3 r2=3"), only)
    replica = [group(f"main[{i}]", pods(f"main[{i}]/leader", 1), pods(f"main[{i}]/worker", 4)) for i in range(2)]
    assert "fewer pods: main/worker 3" in ways(board("b1: r1=4 r2=4"), gang(group("all", *replica)))


def test_fewer_pods_are_of_the_set_that_loses_fewest() -> None:
    """Of ten small pods it would take two away, of five large ones one."""
    request = gang(group("all", pods("small", 10), pods("large", 5, gpu=2), required=RACK))
    assert "fewer pods: large 4" in ways(board("b1: r1=18 r2=9"), request)


@pytest.mark.parametrize("level", [None, RACK])
def test_ways_out_of_many_groups_cost_a_share_of_what_a_decision_may(
    level: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 600 groups each could be tried with a weaker level, and each with fewer pods."""
    work: list[int] = []

    def counted(on: Board, request: Request, policy: Policy) -> solve.Answer:
        answer = decide_module.attempt(on, request, policy)
        work.append(max(answer.work, 2 * 600 * tries.PER_MEMBER))
        return answer

    on, request = board("b1: r1=8*74 r2=7"), gang(group("all", *(workers_of(i, level) for i in range(600))))
    waiting = decide(on, request)
    assert isinstance(waiting, Waiting)
    monkeypatch.setattr(tries, "attempt", counted)
    found = whatif.ways_out(on, waiting)
    assert [way.change for way in found] == ["add 1 nodes like b1-r1-1"]
    allowed = max(Policy().budget // tries.SHARE, tries.TIMES * waiting.work)
    assert sum(work) <= allowed + max(work)
    assert len(work) < 100


def test_groups_that_must_share_what_is_added_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four groups of eight whole nodes find no rack of two: they are in one, with 30 nodes more, or nowhere."""
    asked: list[int] = []
    monkeypatch.setattr(newnodes, "_would_do", lambda *given: asked.append(given[-1]))
    on = board("b1: " + " ".join(f"r{i}=8,8" for i in range(40)))
    whole = gang(group("all", *(group(f"g{i}", pods(f"g{i}", 8, gpu=8), required=RACK) for i in range(4))))
    waiting = decide(on, whole)
    assert isinstance(waiting, Waiting)
    whatif.ways_out(on, waiting)
    assert min(asked) == 30


def workers_of(number: int, level: int | None) -> Group:
    return group(f"w{number}", pods(f"w{number}", 1), required=level)


def test_a_way_out_changes_every_copy_of_a_replicated_group() -> None:
    copies = [group(f"decode[{i}]", pods(f"decode[{i}]", 5), required=RACK) for i in range(2)]
    found = ways(board("b1: r1=3 r2=3 | b2: r1=3 r2=3"), gang(group("llm", *copies)))
    assert "decode.topology.required: block" in found
    assert "fewer pods: decode 3" in found


def test_nothing_is_offered_where_no_node_admits_the_pods_or_the_owner_holds_it_back() -> None:
    on = board("r1=4")
    assert ways(on, gang(workers(1, filter=NodeFilter(selector=(("gpu", "h100"),))))) == []
    assert ways(on, gang(workers(1), suspended=True)) == []


def test_a_search_without_budget_offers_nothing() -> None:
    waiting = decide(board("b1: r1=3 r2=3"), gang(workers(5, RACK)))
    assert isinstance(waiting, Waiting)
    assert whatif.ways_out(board("b1: r1=3 r2=3"), waiting, Policy(budget=0)) == ()


def test_the_board_is_as_before() -> None:
    on = Board.of(occupied("b1: r1=4 r2=3", "b1-r1-1", 2, "team/old"))
    before, free = on.snapshot(), on.draft("sketch").free_nano(sketch.GPU)
    assert len(ways(on, gang(workers(4, RACK)))) > 2
    assert on.snapshot() == before and on.draft("sketch").free_nano(sketch.GPU) == free == [2 * NANO, 3 * NANO]


def test_the_level_of_the_whole_gang_is_weakened_where_it_holds_its_parts() -> None:
    block, rack = 2, 3
    parts = (group("a", pods("a", 3), required=rack), group("b", pods("b", 3), required=rack))
    found = ways(board("z1( b1: r1=3 | b2: r1=3 )"), gang(group("all", *parts, required=block)))
    assert "all.topology.required: zone" in found


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("spec.topology.required", ["spec.topology.required: block", "spec.topology: {preferred: rack}"]),
        ("metadata.annotations['x/required']",
         ["metadata.annotations['x/required']: block", "metadata.annotations['x/required']: null"]),
    ],
)  # fmt: skip
def test_a_level_around_a_single_group_is_named_by_the_field_it_stands_in(field: str, found: list[str]) -> None:
    request = gang(workers(5, RACK), around=field)
    assert ways(board("b1: r1=3 r2=3 | b2: r1=2"), request)[:2] == found


# ---- every way out that is offered, applied by other means, works ------------------------------------------------


def applied(change: str, picture: Snapshot, request: Request) -> tuple[Snapshot, Request]:
    """The picture and request with a change made to them, read from its text alone."""
    if match := re.fullmatch(r"wait for (\S+)", change):
        return replace(picture, pods=tuple(pod for pod in picture.pods if pod.gang != match[1])), request
    if match := re.fullmatch(r"add (\d+) nodes like (\S+)", change):
        like = next(node for node in picture.nodes if node.name == match[2])
        return replace(picture, nodes=(*picture.nodes, *(another(like, i) for i in range(int(match[1]))))), request
    if match := re.fullmatch(r"fewer pods: (\S+) (\d+)", change):
        return picture, replace(request, root=smaller(request.root, match[1], int(match[2])))
    match = re.fullmatch(r"(\S+)\.topology(\.required: |: \{preferred: )(\w+)\}?", change)
    assert match is not None, change
    topology = next(t for t in picture.topologies if t.name == request.topology)
    level = topology.level_number(match[3], "")
    assert isinstance(level, int)
    return picture, replace(request, root=releveled(request.root, match[1], match[2], level))


def another(node: Node, number: int) -> Node:
    name = f"new-{number}"
    return replace(node, name=name, labels={**node.labels, HOSTNAME: name})


def smaller(group: Group, name: str, count: int) -> Group:
    def one(member: Group | PodSet) -> Group | PodSet:
        if isinstance(member, Group):
            return smaller(member, name, count)
        named = member.name == name or (group.name == name and len(group.members) == 1)
        return replace(member, count=count, min_count=count) if named else member

    return replace(group, members=tuple(one(member) for member in group.members))


def releveled(group: Group, name: str, field: str, level: int) -> Group:
    members = tuple(releveled(m, name, field, level) if isinstance(m, Group) else m for m in group.members)
    if group.name != name:
        return replace(group, members=members)
    if field.startswith(".required"):
        return replace(group, members=members, required=level)
    return replace(group, members=members, required=None, preferred=level)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_way_out_that_is_offered_starts_the_gang_when_applied(family: str) -> None:
    for seed in range(3):
        picture, request = instance(seed, family, tight=bool(seed % 2))
        picture = replace(picture, pods=tuple(replace(p, gang=f"team/{i % 3}") for i, p in enumerate(picture.pods)))
        on = Board.of(picture)
        decision = decide(on, request)
        assert not isinstance(decision, Invalid)
        if isinstance(decision, Placed):
            continue
        for out in whatif.ways_out(on, decision):
            changed, asked = applied(out.change, picture, request)
            assert isinstance(decide(Board.of(changed), asked), Placed), (family, seed, out.change)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_nodes_offered_are_the_fewest_and_the_pods_the_most(family: str) -> None:
    """Beside every suggestion all that ask for less: one node less, of each that is there; more pods of the set."""
    for seed in range(3):
        picture, request = instance(seed, family, tight=bool(seed % 2))
        decision = decide(Board.of(picture), request)
        if not isinstance(decision, Waiting) or decision.reason.type not in whatif.ROOM:
            continue
        for out in whatif.ways_out(Board.of(picture), decision):
            for change in lesser(out, picture, request):
                changed, asked = applied(change, picture, request)
                assert not isinstance(decide(Board.of(changed), asked), Placed), (family, seed, out.change, change)


def lesser(out: WayOut, picture: Snapshot, request: Request) -> Iterator[str]:
    """Smaller changes of the same kind."""
    if out.kind is Remedy.NODES:
        for node in picture.nodes if out.value != "1" else ():
            yield f"add {int(out.value) - 1} nodes like {node.name}"
    if out.kind is Remedy.PODS:
        wanted = next(one.min_count for one in request.root.pod_sets() if as_declared(one.name) == out.subject)
        slices = next(one.slices for one in request.root.pod_sets() if as_declared(one.name) == out.subject)
        for count in range(int(out.value) + 1, wanted) if not slices else ():
            yield f"fewer pods: {out.subject} {count}"
