"""What goes wrong for many pods of a gang is one line, and what was left unsaid is counted."""

from phalanx.kube.grumbles import REMEMBERED_MAX, SECONDS, Grumbles
from tests.kube_room.kinds import Clock


def test_a_gang_says_what_went_wrong_once_in_a_while() -> None:
    said, clock = list[str](), Clock()
    grumbles = Grumbles(said.append, clock)
    for number in range(24):
        grumbles.of("g", f"pod {number}")
    grumbles.of("h", "another gang")
    assert said == ["pod 0", "another gang"]
    clock.now += SECONDS
    grumbles.of("g", "again")
    assert said[2:] == ["again (and 23 more like it before)"]


def test_gangs_that_were_quiet_longest_are_forgotten() -> None:
    said, clock = list[str](), Clock()
    grumbles = Grumbles(said.append, clock)
    for number in range(REMEMBERED_MAX + 1):
        grumbles.of(f"g{number}", "wrong")
    grumbles.of("g0", "wrong")
    grumbles.of(f"g{REMEMBERED_MAX}", "wrong")
    assert len(said) == REMEMBERED_MAX + 2
