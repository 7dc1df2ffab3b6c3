"""What is known of pods and nodes, second by second: a server that hangs, a process that was stopped, a sleep."""

from dataclasses import dataclass

import pytest

from phalanx.kube.hearing import DEAF_SECONDS, GRACE_SECONDS, Heard, Hearing


@dataclass
class Source:
    heard_until: float


class Room:
    """A hearing on two clocks: ``wall``, and ``machine``, which stands while the machine sleeps."""

    def __init__(self) -> None:
        self.wall, self.machine = 50_000.0, 300.0
        self.pods, self.nodes = Source(self.machine), Source(self.machine)
        self.said: list[str] = []
        self.hearing = Hearing(lambda: (self.pods, self.nodes), lambda: self.machine, self.said.append)
        self.unheard = 0.0

    def after(self, seconds: float, heard: bool = True) -> Heard:
        self.wall += seconds
        self.machine += seconds
        if heard:
            self.pods.heard_until = self.nodes.heard_until = self.machine
        return self.ask()

    def ask(self) -> Heard:
        found = self.hearing.at(self.wall)
        self.unheard += found.unheard
        return found


def test_clocks_count_until_the_last_moment_of_which_all_is_known_of_both() -> None:
    room = Room()
    room.after(10)
    room.pods.heard_until += 4
    room.nodes.heard_until += 1
    assert room.after(4, heard=False) == Heard(room.wall - 3)
    assert room.said == []


@pytest.mark.parametrize("every", [1.0, 7.0, 700.0])
def test_a_silent_server_is_time_that_does_not_count_and_in_which_nothing_is_decided(every: float) -> None:
    room = Room()
    room.after(10)
    for _ in range(int(700 / every)):
        last = room.after(every, heard=False)
    assert last.is_deaf
    assert room.hearing.lacks() == [
        "pods or nodes have not been heard for 700 s: nothing is decided, and clocks of gangs stand"
    ]
    back = room.after(1)
    assert back == Heard(room.wall, unheard=701)
    assert room.hearing.lacks() == []
    assert len(room.said) == 2


def test_after_a_silence_clocks_stand_until_others_had_time_to_tell() -> None:
    room = Room()
    room.after(DEAF_SECONDS + 1, heard=False)
    began = room.after(1)
    steps = [room.after(5) for _ in range(int(GRACE_SECONDS / 5) - 1)]
    assert {(one.until, one.unheard) for one in steps} == {(began.until, 0.0)}
    assert room.after(5) == Heard(room.wall, unheard=GRACE_SECONDS)
    assert room.after(5) == Heard(room.wall)
    assert room.unheard == DEAF_SECONDS + 2 + GRACE_SECONDS


def test_a_server_that_falls_silent_again_soon_takes_no_time_twice() -> None:
    room = Room()
    room.after(100, heard=False)
    room.after(1)
    room.after(3)
    room.after(100, heard=False)
    room.after(1)
    room.after(GRACE_SECONDS)
    assert room.unheard <= 100 + 1 + 3 + 100 + 1 + GRACE_SECONDS
    assert room.unheard >= 100 + 1 + 100 + 1 + GRACE_SECONDS


def test_one_kind_that_is_not_heard_is_enough() -> None:
    room = Room()
    for _ in range(5):
        room.pods.heard_until = room.machine
        last = room.after(4, heard=False)
    assert last.is_deaf


@pytest.mark.parametrize("heard_before_it_looks", [True, False])
def test_time_that_the_machine_slept_does_not_count_whoever_wakes_first(heard_before_it_looks: bool) -> None:
    room = Room()
    room.after(5)
    room.wall += 3600
    assert room.after(1, heard_before_it_looks) == Heard(room.wall, unheard=3600)
    room.after(1)
    room.after(GRACE_SECONDS)
    assert room.unheard == pytest.approx(3600 + GRACE_SECONDS + 1)


def test_a_machine_that_slept_and_hears_nothing_any_more_counts_none_of_it() -> None:
    room = Room()
    room.after(5)
    room.wall += 3600
    assert room.after(DEAF_SECONDS + 1, heard=False).is_deaf
    room.after(1)
    assert room.unheard == 3600 + DEAF_SECONDS + 2


def test_a_clock_that_is_set_back_while_nothing_is_heard_brings_no_clock_forward() -> None:
    room = Room()
    room.after(5)
    room.after(30, heard=False)
    room.wall -= 7200
    assert room.after(1) == Heard(room.wall, unheard=31)


def test_nothing_is_decided_before_pods_and_nodes_are_watched() -> None:
    assert Hearing(lambda: (), lambda: 1.0, lambda line: None).at(1000.0).is_deaf
