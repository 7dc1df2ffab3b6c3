"""Why a request found no place: the right reason, the right group, figures that hold."""

from dataclasses import replace

import numpy as np
import pytest

from phalanx.model import sketch
from phalanx.model.nodes import HostPort, LabelSelector, NodeFilter, PodTerm, RunningPod, Taint
from phalanx.model.policy import Policy
from phalanx.model.reasons import Obstacle, Reason, Why
from phalanx.model.request import Request, Slice, Spread
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME
from phalanx.place import evidence, solve, verdicts
from phalanx.place.draft import Draft
from tests.engine.asking import BLOCK, HOST, RACK, gang, group, pods, workers
from tests.properties.instances import FAMILIES, instance

GPU = sketch.GPU


def using(drawing: str, **taken: int) -> Snapshot:
    """The drawing with pods of nobody running: ``b1_r1_1=2`` takes two units of that node."""
    picture = sketch.snapshot(drawing)
    running = [
        RunningPod(name, "default", name.replace("_", "-"), Resources.of({GPU: units * NANO, PODS: NANO}))
        for name, units in taken.items()
    ]
    return replace(picture, pods=tuple(running))


def why(picture: Snapshot, request: Request) -> Reason:
    draft = Draft.of(picture, request.topology)
    answer = solve.place(draft, request)
    assert answer.status == verdicts.IMPOSSIBLE
    before = draft.free.copy()
    reason = evidence.explain_refusal(draft, request, answer)
    assert np.array_equal(draft.free, before) and not draft.journal
    return reason


# ---- which reason -----------------------------------------------------------------------------------------------


def test_pods_that_no_node_admits_are_told_so_with_the_obstacles_counted() -> None:
    picture = sketch.snapshot("r1=4,4 r2=4")
    nodes = (replace(picture.nodes[0], taints=(Taint("down", "", "NoSchedule"),)), *picture.nodes[1:])
    request = gang(workers(2, filter=NodeFilter(selector=(("gpu", "h100"),))))
    reason = why(replace(picture, nodes=nodes), request)
    assert reason.type is Why.NO_MATCHING_NODES
    assert (reason.group, reason.needed, reason.nodes_seen) == ("workers", 2, 3)
    assert reason.best is not None
    assert reason.best.obstacles == (Obstacle("selector", "gpu=h100", 2), Obstacle("taint", "down", 1))


def test_pods_bound_to_a_topology_that_no_node_is_part_of_are_told_which_label_is_missing() -> None:  # K-030
    picture = sketch.snapshot("r1=4,4")
    nodes = tuple(replace(node, labels={HOSTNAME: node.name}) for node in picture.nodes)
    reason = why(replace(picture, nodes=nodes), gang(workers(1, required=1)))
    assert reason.type is Why.NO_MATCHING_NODES
    assert reason.best is not None and reason.best.obstacles == (Obstacle("outside", "topology/rack", 2),)


def test_a_set_without_nodes_comes_before_one_without_room() -> None:
    root = group("all", pods("first", 99), pods("second", 1, filter=NodeFilter(selector=(("no", "where"),))))
    reason = why(sketch.snapshot("r1=4"), gang(root))
    assert (reason.type, reason.group) == (Why.NO_MATCHING_NODES, "second")


def test_a_set_that_may_stay_out_is_not_the_reason() -> None:
    nowhere = group("b", pods("b", 1, filter=NodeFilter(selector=(("no", "where"),))))
    root = group("all", group("a", pods("a", 9)), nowhere, min_members=1)
    assert why(using("r1=10", r1_1=4), gang(root)).type is Why.NO_ROOM


def test_what_the_empty_cluster_cannot_hold_is_too_large_with_the_figures_of_the_empty_cluster() -> None:
    reason = why(using("b1: r1=4 r2=6", b1_r2_1=5), gang(workers(7, RACK)))
    assert reason.type is Why.TOO_LARGE
    assert reason.best is not None and (reason.best.domain, reason.best.fits) == (("b1", "r2"), 6)


def test_what_would_fit_without_its_level_is_fragmented() -> None:  # K-077
    reason = why(using("b1: r1=8 r2=8 | b2: r1=8", b1_r1_1=4, b1_r2_1=3, b2_r1_1=6), gang(workers(6, RACK)))
    assert (reason.type, reason.group, reason.level, reason.needed) == (Why.FRAGMENTED, "workers", "rack", 6)
    assert [(seen.domain, seen.fits) for seen in reason.nearest] == [
        (("b1", "r2"), 5), (("b1", "r1"), 4), (("b2", "r1"), 2)
    ]  # fmt: skip
    assert reason.free_elsewhere == 11
    assert reason.wider is not None and (reason.wider_level, reason.wider.domain) == ("block", ("b1",))
    assert reason.wider.fits == 9


def test_slices_that_are_cut_are_fragmented_too() -> None:
    sliced = replace(pods("w", 8), slices=(Slice(RACK, 4),))
    assert why(using("b1: r1=4 r2=8", b1_r1_1=1, b1_r2_1=1), gang(group("w", sliced))).type is Why.FRAGMENTED


def test_what_would_not_fit_even_without_its_level_has_no_room() -> None:  # K-079
    reason = why(using("b1: r1=8 r2=8", b1_r1_1=6, b1_r2_1=6), gang(workers(6, RACK)))
    assert (reason.type, reason.wider) == (Why.NO_ROOM, None)


def beside_a_database(count: int) -> Request:
    near = PodTerm(HOSTNAME, LabelSelector((("app", "db"),)), None)
    return gang(workers(count, affinity=(near,)))


def with_database(picture: Snapshot) -> Snapshot:
    return replace(picture, pods=tuple(replace(pod, labels={"app": "db"}) for pod in picture.pods))


def test_pods_that_are_missing_to_be_beside_make_nothing_too_large() -> None:
    reason = why(sketch.snapshot("r1=4,4"), beside_a_database(2))
    assert reason.type == Why.NO_ROOM
    assert reason.best is not None and reason.best.obstacles == (Obstacle("affinity", HOSTNAME, 2),)
    assert "PodsCame" in reason.helped_by and not reason.ends_with_others


def test_who_is_beside_the_right_pods_and_finds_their_node_full_waits_for_room() -> None:
    picture = with_database(using("r1=4,4", r1_1=3))
    reason = why(picture, beside_a_database(2))
    assert reason.type == Why.NO_ROOM and reason.ends_with_others and "PodsCame" in reason.helped_by
    assert why(picture, beside_a_database(9)).type == Why.TOO_LARGE


def test_an_undecided_answer_stays_undecided() -> None:
    draft, request = Draft.of(sketch.snapshot("r1=1"), "sketch"), gang(workers(3))
    answer = solve.place(draft, request, Policy(budget=1))
    assert answer.status == verdicts.UNDECIDED
    reason = evidence.explain_refusal(draft, request, answer)
    assert reason.type is Why.UNDECIDED and reason.best is not None and reason.best.fits == 1


# ---- which group ------------------------------------------------------------------------------------------------


def test_the_innermost_group_that_finds_no_home_is_named() -> None:
    inner = group("prefill", pods("prefill", 5), required=RACK)
    root = group("llm", group("api", pods("api", 1)), group("workers", inner, pods("extra", 1), required=BLOCK))
    reason = why(using("b1: r1=8 r2=4", b1_r1_1=4), gang(root))
    assert (reason.group, reason.level, reason.needed, reason.together) == ("prefill", "rack", 5, False)


def test_parts_that_fit_alone_and_not_at_once_are_told_as_the_parent_and_its_parts() -> None:
    parts = [group(name, pods(name, 3), required=RACK) for name in ("a", "b")]
    reason = why(using("b1: r1=4 r2=4 | b2: r1=4", b1_r2_1=2), gang(group("pair", *parts, required=BLOCK)))
    assert (reason.type, reason.group, reason.together) == (Why.FRAGMENTED, "pair", True)
    assert [(part.group, part.level, part.needed) for part in reason.parts] == [("a", "rack", 3), ("b", "rack", 3)]
    assert all(part.best is not None and part.best.fits == 3 for part in reason.parts)
    assert reason.best is not None and (reason.best.domain, reason.best.fits) == (("b1",), 5)


def test_a_part_held_by_its_parents_level_is_the_one_named() -> None:
    """Alone anywhere it would fit; in a block, which its parent asks for, it does not."""
    root = group("all", group("large", pods("large", 6)), group("small", pods("small", 1)), required=BLOCK)
    reason = why(using("b1: r1=7 | b2: r1=4", b1_r1_1=3), gang(root))
    assert (reason.group, reason.level) == ("large", "block")


def test_a_part_is_not_blamed_for_a_neighbour_that_was_left_out() -> None:
    """The follower needs the leader beside it: alone it would have nobody, and that is not its own fault."""
    beside = PodTerm("topology/rack", LabelSelector((("role", "leader"),)), None)
    root = group(
        "team", pods("leader", 1, gpu=2, labels=(("role", "leader"),)), pods("follower", 3, affinity=(beside,))
    )
    reason = why(using("r1=5 r2=3", r1_1=1), gang(root))
    assert (reason.group, reason.together) == ("team", True)


def test_a_part_that_could_stay_out_is_not_blamed() -> None:
    parts = [group(name, pods(name, count)) for name, count in (("a", 9), ("b", 3), ("c", 3))]
    reason = why(using("r1=10", r1_1=5), gang(group("all", *parts, min_members=2)))
    assert (reason.group, reason.together, reason.needed) == ("all", True, 6)


def test_a_minimum_is_what_is_needed() -> None:
    reason = why(using("r1=8", r1_1=6), gang(group("w", pods("w", 8, least=3))))
    assert reason.needed == 3 and reason.best is not None and (reason.best.fits, reason.best.needed) == (2, 3)


# ---- what stands in the way -------------------------------------------------------------------------------------


def test_nodes_without_a_single_pod_are_counted_by_what_they_lack_and_the_others_by_what_runs_out() -> None:
    reason = why(using("r1=4,4,4,1", r1_1=4, r1_2=3), gang(workers(4, gpu=2)))
    assert reason.best is not None
    assert reason.best.obstacles == (Obstacle("resource", GPU, 3),)
    assert reason.best.limits == (GPU,)


def test_a_tainted_node_counts_for_its_taint_and_not_for_what_it_lacks() -> None:
    picture = using("r1=4,4,4", r1_1=4, r1_2=4)
    nodes = (replace(picture.nodes[0], taints=(Taint("down", "", "NoExecute"),)), *picture.nodes[1:])
    reason = why(replace(picture, nodes=nodes), gang(workers(5)))
    assert reason.best is not None
    assert set(reason.best.obstacles) == {Obstacle("taint", "down", 1), Obstacle("resource", GPU, 1)}


def test_taken_host_ports_are_named() -> None:
    picture = using("r1=4,4", r1_1=1)
    picture = replace(picture, pods=(replace(picture.pods[0], ports=(HostPort(80),)),))
    reason = why(picture, gang(workers(2, ports=(HostPort(80),))))
    assert reason.best is not None and reason.best.fits == 1
    assert [(one.kind, one.nodes) for one in reason.best.obstacles] == [("port", 1)]
    assert reason.best.obstacles[0].name.startswith("TCP/80")


def test_nodes_closed_by_running_pods_are_counted_as_affinity() -> None:
    alone = PodTerm(HOSTNAME, LabelSelector((("app", "db"),)), None)
    picture = using("r1=4,4,4", r1_1=1, r1_2=1)
    picture = replace(picture, pods=tuple(replace(pod, labels={"app": "db"}) for pod in picture.pods))
    reason = why(picture, gang(workers(2, labels=(("app", "db"),), anti_affinity=(alone,))))
    assert reason.best is not None and reason.best.fits == 1
    assert reason.best.obstacles == (Obstacle("affinity", HOSTNAME, 2),)


def test_where_room_is_not_the_obstacle_the_rule_is() -> None:
    root = replace(workers(3), spread=Spread(HOST, min_domains=3))
    reason = why(using("b1: r1=4,4,4", b1_r1_1=4), gang(root))
    assert reason.best is not None and reason.best.fits == 3
    assert Obstacle("spread", "host", 0) in reason.best.obstacles


def test_a_spread_that_stops_the_pods_is_named_and_not_what_would_run_out_without_it() -> None:
    """Of twenty pods two may be on each node, though each has room for four."""
    reason = why(sketch.snapshot("b1: r1=4,4,4"), gang(replace(workers(20), spread=Spread(HOST, max_per_domain=2))))
    assert reason.best is not None and (reason.best.fits, reason.best.limits) == (6, ())
    assert reason.best.obstacles == (Obstacle("spread", "host", 0),)


def test_a_spread_that_stops_nobody_is_not_named() -> None:
    reason = why(sketch.snapshot("b1: r1=4,4,4"), gang(replace(workers(20), spread=Spread(HOST, max_per_domain=5))))
    assert reason.best is not None and (reason.best.obstacles, reason.best.limits) == ((), (GPU,))


def test_pods_that_keep_away_from_each_other_are_told_by_the_label_they_do_it_by() -> None:
    apart = PodTerm("topology/rack", LabelSelector((("app", "db"),)), None)
    request = gang(workers(4, required=BLOCK, labels=(("app", "db"),), anti_affinity=(apart,)))
    reason = why(sketch.snapshot("b1: r1=4,4 r2=4,4 r3=4,4"), request)
    assert reason.best is not None and reason.best.obstacles == (Obstacle("affinity", "topology/rack", 0),)


def test_slices_are_named_where_all_pods_would_fit_without_them() -> None:
    sliced = replace(pods("workers", 8), slices=(Slice(HOST, 4),))
    reason = why(sketch.snapshot("b1: r1=3,3,3"), gang(group("workers", sliced)))
    assert reason.best is not None and reason.best.obstacles == (Obstacle("slice", "host", 0),)


# ---- on random refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_figures_never_promise_what_was_proved_impossible(family: str) -> None:
    """A domain that is said to hold all that is needed is always said to break a rule as well."""
    for seed in range(12):
        picture, request = instance(seed, family, tight=bool(seed % 2))
        draft = Draft.of(picture, request.topology)
        answer = solve.place(draft, request)
        if answer.status != verdicts.IMPOSSIBLE:
            continue
        reason = evidence.explain_refusal(draft, request, answer)
        rules = {"spread", "affinity", "rank"}
        assert reason.nearest and reason.needed > 0
        for seen in reason.nearest:
            assert 0 <= seen.fits <= seen.needed
            assert seen.fits < seen.needed or rules & {one.kind for one in seen.obstacles}, (family, seed, reason)
        order = [seen.fits for seen in reason.nearest]
        assert order == sorted(order, reverse=True)
