"""Work that waits for its moment."""

from phalanx.kube.pending import Pace, Pending


def test_what_is_due_comes_in_the_order_of_its_time() -> None:
    pending: Pending[str] = Pending()
    for key, due in (("late", 3.0), ("first", 1.0), ("second", 1.0)):
        pending.add(key, due)
    assert [pending.pop(2.0), pending.pop(2.0), pending.pop(2.0)] == ["first", "second", None]
    assert pending.next_at == 3.0


def test_what_is_added_again_is_not_put_off() -> None:
    pending: Pending[str] = Pending()
    pending.add("a", 1.0)
    pending.add("a", 9.0)
    assert (pending.pop(1.0), pending.pop(99.0), len(pending)) == ("a", None, 0)


def test_what_is_added_again_for_sooner_comes_sooner_and_once() -> None:
    pending: Pending[str] = Pending()
    pending.add("a", 9.0)
    pending.add("a", 1.0)
    assert (pending.pop(1.0), pending.pop(99.0)) == ("a", None)


def test_what_was_discarded_never_comes() -> None:
    pending: Pending[str] = Pending()
    pending.add("a", 0.0)
    pending.discard("a")
    assert (pending.next_at, pending.is_due(9.0), "a" in pending) == (None, False, False)


def test_a_pace_lets_so_many_go_in_a_second() -> None:
    pace = Pace(2.0)
    assert [pace.take(0.0) for _ in range(3)] == [True, True, False]
    assert pace.next_at(0.0) == 0.5
    assert [pace.take(0.5), pace.take(0.5)] == [True, False]


def test_a_slow_pace_still_lets_one_go_after_the_other() -> None:
    pace = Pace(0.1)
    assert [pace.take(0.0), pace.take(5.0), pace.take(10.0)] == [True, False, True]


def test_what_did_not_go_is_given_back() -> None:
    pace = Pace(1.0)
    assert pace.take(0.0)
    pace.give_back()
    assert pace.take(0.0)


def test_a_clock_that_is_set_back_stops_nothing() -> None:
    pace = Pace(1.0)
    pace.take(100.0)
    pace.take(0.0)
    assert pace.take(1.0)
