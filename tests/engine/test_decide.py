"""One decision: placed, waiting or invalid, and judged before it is handed out."""

import pytest

from phalanx.engine.decide import decide
from phalanx.model.decision import Placed, Waiting
from phalanx.model.mistakes import Mistake
from phalanx.model.placement import Placement
from phalanx.model.policy import Policy
from phalanx.model.reasons import Why
from phalanx.place import solve, verdicts
from tests.engine.asking import RACK, board, gang, group, pods, workers


def test_a_gang_that_fits_is_placed_and_the_board_stays_as_it_was() -> None:
    on = board("b1: r1=4 r2=4")
    decision = decide(on, gang(workers(4, RACK)))
    assert isinstance(decision, Placed)
    assert decision.placement.pod_sets == {"workers": (("b1-r1-1", 4),)}
    assert decision.placement.level_reached == {"workers": "host"}
    assert not on.running() and decide(on, gang(workers(4, RACK))) == decision


def test_a_gang_waits_for_a_whole_rack_and_then_starts() -> None:  # K-009, K-003
    on = board("b1: r1=4 r2=3")
    first = decide(on, gang(workers(4, RACK), "first"))
    assert isinstance(first, Placed)
    on.commit(first)
    second = decide(on, gang(workers(4, RACK), "second"))
    assert isinstance(second, Waiting) and second.proved
    on.release("default/first")
    assert isinstance(decide(on, gang(workers(4, RACK), "second")), Placed)


def test_a_gang_is_judged_before_any_of_its_pods_exists() -> None:  # W-015, W-053, W-175
    """Nothing but the request and the board is asked: no pod of the gang is known anywhere."""
    on = board("b1: r1=4")
    assert not on.snapshot().pods
    assert isinstance(decide(on, gang(workers(4, RACK))), Placed)


def test_a_search_that_is_cut_short_says_so_and_claims_no_proof() -> None:  # KA-046
    sets = [pods(f"p{i}", 3, gpu=1 + i % 3) for i in range(6)]
    decision = decide(board("b1: r1=7,5,3 r2=8,6,1"), gang(group("mixed", *sets)), Policy(budget=1))
    assert isinstance(decision, Waiting)
    assert decision.reason.type is Why.UNDECIDED and decision.proved is False
    assert decision.work <= 1


def test_a_suspended_gang_waits_whatever_is_free() -> None:
    decision = decide(board("r1=4"), gang(workers(1), suspended=True))
    assert isinstance(decision, Waiting)
    assert decision.reason.type is Why.SUSPENDED and decision.proved is None


def test_a_wrong_placement_stops_the_decision_and_shows_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def overfull(*_: object) -> solve.Answer:
        return solve.Answer(verdicts.PLACED, Placement({"workers": (("b1-r1-1", 5),)}))

    monkeypatch.setattr(solve, "place", overfull)
    with pytest.raises(Mistake, match=r"Request\(kind='Gang'.*"):
        decide(board("b1: r1=4"), gang(workers(5, RACK)))
