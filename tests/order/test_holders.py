"""Who uses most of a quota."""

from phalanx.model.queues import Queue, Queues
from phalanx.model.resources import NANO
from phalanx.order.holders import TOLD_MAX, most
from phalanx.order.quota import Short
from tests.order.makers import CPU, GPU

QUEUES = Queues({one.name: one for one in (Queue("all"), Queue("q", parent="all"), Queue("r", parent="all"))})


def short(queue: str, flavor: str | None = None) -> Short:
    return Short(GPU, flavor, 64 * NANO, 60 * NANO, 8 * NANO, queue)


def holding(queue: str, gpus: int, flavor: str | None = None) -> tuple[str, str | None, dict[str, int]]:
    return queue, flavor, {GPU: gpus * NANO, CPU: 100 * NANO}


def test_the_largest_come_first_and_of_equal_ones_the_first_by_name() -> None:
    held = {"d": holding("q", 1), "b": holding("q", 4), "c": holding("q", 8), "a": holding("q", 4)}
    assert most(short("q"), held.items(), QUEUES) == ("c", "a", "b") and TOLD_MAX == 3


def test_what_is_used_below_a_queue_is_used_by_it_and_not_beside_it() -> None:
    held = {"a": holding("q", 1), "b": holding("r", 2)}
    assert most(short("all"), held.items(), QUEUES) == ("b", "a")
    assert most(short("q"), held.items(), QUEUES) == ("a",)


def test_only_what_is_on_the_flavor_counts_and_on_several_at_once_too() -> None:
    held = {"a": holding("q", 1, "h100"), "b": holding("q", 2, "a100"), "c": holding("q", 3, "cpus+h100")}
    assert most(short("q", "h100"), held.items(), QUEUES) == ("c", "a")
    assert most(short("q"), held.items(), QUEUES) == ("c", "b", "a")


def test_who_uses_none_of_it_holds_none() -> None:
    assert most(short("q"), [("a", ("q", None, {CPU: NANO}))], QUEUES) == ()
