"""Who is next: order within a queue and between queues, and that nothing starves."""

from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.queues import Queue, Queues
from phalanx.order.lines import Lines
from phalanx.order.sequence import Ageing, Entry, ordered, starving

HOUR = Ageing(3600.0)
NOW = 10_000.0
OLD, YOUNG = NOW - 4000, NOW - 100


def tree(*queues: Queue) -> Queues:
    return Queues({queue.name: queue for queue in queues})


def names(*entries: Entry, queues: Queues = Queues(), now: float = NOW) -> list[str]:
    return [turn.entry.id for turn in ordered(entries, queues, now, HOUR)]


def test_priority_comes_first_then_age_then_the_name() -> None:
    entries = (Entry("c", "q", 0, 9001), Entry("b", "q", 0, 9000), Entry("a", "q", 0, 9001), Entry("d", "q", 5, 9900))
    assert names(*entries) == ["d", "b", "a", "c"]


def test_a_fifo_queue_looks_at_age_alone() -> None:
    fifo = tree(Queue("q", order="Fifo"))
    assert names(Entry("a", "q", 9, YOUNG), Entry("b", "q", 0, YOUNG - 1), queues=fifo) == ["b", "a"]


def test_who_has_starved_passes_every_priority_and_blocks_who_is_behind() -> None:
    entries = (Entry("vip", "q", 1000, YOUNG), Entry("second", "q", 0, OLD + 1), Entry("first", "q", 0, OLD))
    turns = list(ordered(entries, Queues(), NOW, HOUR))
    assert [(turn.entry.id, turn.starving, turn.blocks) for turn in turns] == [
        ("first", True, True),
        ("second", True, True),
        ("vip", False, False),
    ]


def test_who_can_never_start_does_not_starve() -> None:
    entries = (Entry("huge", "q", 0, OLD, able=False), Entry("vip", "q", 1, YOUNG))
    turns = list(ordered(entries, Queues(), NOW, HOUR))
    assert [turn.entry.id for turn in turns] == ["vip", "huge"]
    assert not any(turn.blocks for turn in turns)


def test_a_strict_queue_waits_for_its_head_and_the_others_pass_it() -> None:
    for when_blocked, blocks in (("Strict", True), ("BestEffort", False), ("Reserve", False)):
        queues = tree(Queue("q", when_blocked=when_blocked))
        (turn,) = ordered([Entry("a", "q", 0, YOUNG)], queues, NOW, HOUR)
        assert turn.blocks == blocks


def test_who_can_never_start_blocks_nobody_in_a_strict_queue_either() -> None:
    queues = tree(Queue("q", when_blocked="Strict"))
    huge, small = Entry("huge", "q", 9, OLD, able=False), Entry("small", "q", 0, YOUNG)
    turns = list(ordered([huge, small], queues, NOW, HOUR))
    assert [(turn.entry.id, turn.blocks) for turn in turns] == [("small", True), ("huge", False)]


def test_between_queues_the_oldest_head_comes_first() -> None:
    entries = (
        Entry("a1", "a", 5, 9500),
        Entry("a2", "a", 0, 9000),
        Entry("b1", "b", 0, 9400),
        Entry("b2", "b", 0, 9600),
    )
    assert names(*entries) == ["b1", "a1", "a2", "b2"]
    assert names(Entry("y", "a", 0, 9500), Entry("x", "b", 0, 9500)) == ["x", "y"]


# -- whatever comes ----------------------------------------------------------------------------------------------

QUEUES = tree(Queue("strict", when_blocked="Strict"), Queue("fifo", order="Fifo"), Queue("plain"))
entry = st.builds(
    Entry,
    id=st.uuids().map(str),
    queue=st.sampled_from(("strict", "fifo", "plain", "unknown")),
    priority=st.integers(-2, 2),
    since=st.integers(0, 10).map(lambda tenth: tenth * 1000.0),
    able=st.sampled_from((True, True, True, False)),
)
crowd = st.lists(entry, max_size=12, unique_by=lambda one: one.id)


@given(crowd, st.randoms(use_true_random=False))
def test_everybody_has_one_turn_and_the_order_of_arrival_does_not_matter(entries: list[Entry], chance: object) -> None:
    shuffled = list(entries)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert names(*shuffled, queues=QUEUES) == names(*entries, queues=QUEUES)
    assert sorted(names(*entries, queues=QUEUES)) == sorted(one.id for one in entries)


@given(crowd)
def test_before_a_starving_entry_stand_only_older_ones(entries: list[Entry]) -> None:
    turns = list(ordered(entries, QUEUES, NOW, HOUR))
    for place, turn in enumerate(turns):
        if turn.starving:
            ahead = [(one.entry.since, one.entry.id) for one in turns[:place]]
            assert all(one < (turn.entry.since, turn.entry.id) for one in ahead)


@given(crowd, st.sampled_from(("strict", "fifo", "plain")), st.integers(1, 3))
def test_every_entry_is_first_at_last_whatever_stream_there_is(entries: list[Entry], queue: str, each: int) -> None:
    """Every minute the first one starts, and more of a higher priority come than can start."""
    one = Entry("me", queue, -5, NOW)
    standing = {**{other.id: other for other in entries if other.able}, one.id: one}
    most = 60 + each + len(standing)  # to starve, and for those who were here before
    for minute in range(most + 1):
        now = NOW + 60.0 * minute
        first = next(ordered(standing.values(), QUEUES, now, HOUR)).entry
        del standing[first.id]
        if first is one:
            return
        for number in range(each):
            fresh = Entry(f"{minute:03}-{number}", queue, 5, now + 1)
            standing[fresh.id] = fresh
    raise AssertionError("still not first")


@given(crowd, st.data())
def test_lines_know_the_head_and_the_blocker_of_every_queue(entries: list[Entry], data: st.DataObject) -> None:
    lines = Lines()
    for one in entries:
        lines.add(one)
    gone = data.draw(st.sets(st.sampled_from([one.id for one in entries]))) if entries else set()
    for name in gone:
        lines.remove(name)
    left = [one for one in entries if one.id not in gone]
    for queue in ("strict", "fifo", "plain", "unknown"):
        turns = list(ordered([one for one in left if one.queue == queue], QUEUES, NOW, HOUR))
        assert lines.head(queue, QUEUES, NOW, HOUR) == (turns[0].entry if turns else None)
        blocking = next((turn for turn in turns if turn.blocks), None)
        assert lines.blocker(queue, QUEUES, NOW, HOUR) == (blocking.entry.id if blocking else None)
        assert blocking is None or blocking is turns[0], "whoever blocks is the head"


@given(crowd)
def test_lines_know_when_the_next_one_starves(entries: list[Entry]) -> None:
    lines = Lines()
    for one in entries:
        lines.add(one)
    coming = [one.since + 3600 for one in entries if one.able and not starving(one, NOW, HOUR)]
    assert lines.next_starving(NOW, HOUR) == min(coming, default=None)


def test_lines_say_in_which_of_them_another_may_be_the_first() -> None:
    lines = Lines()
    lines.add(Entry("a", "q", 0, 0.0))
    lines.add(Entry("b", "p", 0, 100.0, able=False))
    assert (lines.stirred(), lines.stirred()) == (["p", "q"], [])
    lines.add(Entry("a", "q", 0, 0.0))
    assert not lines.are_stirred  # nothing new
    lines.add(Entry("a", "r", 0, 0.0))
    assert lines.stirred() == ["q", "r"]
    lines.age(0.0, 3599.0, HOUR)
    assert not lines.are_stirred
    lines.age(3599.0, 9999.0, HOUR)
    assert lines.stirred() == ["r"]  # the other never starves
    lines.remove("b")
    assert lines.stirred() == ["p"]


def test_one_that_comes_again_stands_in_line_once() -> None:
    lines = Lines()
    lines.add(Entry("a", "q", 0, 1.0))
    lines.add(Entry("a", "p", 3, 2.0))
    assert list(lines) == [Entry("a", "p", 3, 2.0)]
    assert lines.head("q", Queues(), NOW) is None
