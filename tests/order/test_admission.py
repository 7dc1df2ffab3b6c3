"""Whether a queue is open to a request, before anybody looks at what is free."""

from dataclasses import replace

import pytest

from phalanx.model.nodes import LabelSelector
from phalanx.model.queues import Flavor, LocalName, Queue, Queues, Quota
from phalanx.model.reasons import Closed, ClosedQueue
from phalanx.model.request import Request, Slice
from phalanx.model.resources import NANO
from phalanx.order.admission import asks_for_a_level, closed, is_drained
from tests.order.makers import GPU, gang, pods


def there(*queues: Queue, **flavors: Flavor) -> Queues:
    return Queues({queue.name: queue for queue in queues}, flavors)


def asking(queue: str, **more: object) -> Request:
    return gang("g", pods("w", 2), queue=queue, **more)


def test_a_queue_that_is_not_there_is_closed_and_says_which_are() -> None:  # K-017
    assert closed(asking("x"), there(Queue("b"), Queue("a"))) == ClosedQueue("x", Closed.MISSING, ("a", "b", "default"))
    assert closed(asking("default"), Queues()) is None
    assert closed(asking("a"), there(Queue("a"))) is None


@pytest.mark.parametrize(("stop", "held", "drained"), [("None", False, False), ("Hold", True, False),
                                                       ("HoldAndDrain", True, True)])  # fmt: skip
def test_a_stop_holds_a_queue_and_all_below(stop: str, held: bool, drained: bool) -> None:
    queues = there(Queue("top", stop=stop), Queue("middle", parent="top"), Queue("low", parent="middle"), Queue("else"))
    for name in ("top", "middle", "low"):
        assert closed(asking(name), queues) == (ClosedQueue("top", Closed.HELD) if held else None)
        assert is_drained(asking(name), queues) is drained
    assert (closed(asking("else"), queues), is_drained(asking("else"), queues)) == (None, False)


def test_the_nearest_queue_that_is_stopped_is_named() -> None:
    queues = there(Queue("top", stop="Hold"), Queue("low", parent="top", stop="Hold"))
    assert closed(asking("low"), queues) == ClosedQueue("low", Closed.HELD)


def test_a_stop_of_a_local_name_holds_only_those_who_used_it() -> None:
    local = {
        ("default", name): LocalName("default", name, "q", stop)
        for name, stop in (("mine", "HoldAndDrain"), ("ours", "None"))
    }
    queues = Queues({"q": Queue("q")}, {}, local)
    mine, ours = (replace(asking("q"), local_queue=name) for name in ("mine", "ours"))
    assert (closed(mine, queues), is_drained(mine, queues)) == (ClosedQueue("mine", Closed.HELD), True)
    assert (closed(ours, queues), is_drained(ours, queues)) == (None, False)
    elsewhere = replace(mine, namespace="other")
    assert (closed(elsewhere, queues), is_drained(elsewhere, queues)) == (None, False)


TEAM_A = LabelSelector((("team", "a"),))


def test_a_queue_is_open_to_the_namespaces_it_selects() -> None:
    labels = {"default": {"team": "a"}, "other": {"team": "b"}}
    queues = Queues({"q": Queue("q", namespace_selector=TEAM_A), "all": Queue("all")}, namespaces=labels)
    assert closed(asking("q"), queues) is None
    stranger = replace(asking("q"), namespace="other")
    assert closed(stranger, queues) == ClosedQueue("q", Closed.NAMESPACE, ("all", "default"))
    assert closed(replace(stranger, queue="all"), queues) is None


def test_a_namespace_that_nobody_told_of_may_use_only_what_all_may() -> None:
    queues = there(
        Queue("q", namespace_selector=TEAM_A), Queue("none", namespace_selector=LabelSelector(matches_nothing=True))
    )
    assert closed(asking("q"), queues) == ClosedQueue("q", Closed.NAMESPACE, ("default",))
    assert closed(asking("none"), queues) == ClosedQueue("none", Closed.NAMESPACE, ("default",))
    assert closed(asking("default"), queues) is None


def test_who_looks_for_a_queue_is_told_of_those_that_are_open_to_him() -> None:
    local = {
        ("default", "mine"): LocalName("default", "mine", "q"),
        ("other", "theirs"): LocalName("other", "theirs", "q"),
    }
    queues = Queues({"q": Queue("q"), "shut": Queue("shut", namespace_selector=TEAM_A)}, {}, local)
    assert closed(asking("x"), queues) == ClosedQueue("x", Closed.MISSING, ("default", "mine", "q"))


def test_a_queue_in_a_circle_is_walked_once() -> None:
    queues = there(Queue("a", parent="b"), Queue("b", parent="a"))
    assert (closed(asking("a"), queues), is_drained(asking("a"), queues)) == (None, False)


def test_a_level_needs_a_flavor_with_a_topology_where_flavors_say_so() -> None:  # K-035
    quotas = tuple(Quota(name, GPU, 9 * NANO) for name in ("plain", "tas", "unmade"))
    queue = Queue("q", quotas=quotas, only_listed=True)
    plain, tas = Flavor("plain"), Flavor("tas", topology="net")
    near = asking("q", required=1)
    assert closed(near, there(queue, plain=plain)) == ClosedQueue("q", Closed.NO_TOPOLOGY)
    assert closed(near, there(queue, plain=plain, tas=tas)) is None
    assert closed(near, there(replace(queue, only_listed=False), plain=plain)) is None
    assert closed(asking("q"), there(queue, plain=plain)) is None


def test_a_queue_is_closed_while_none_of_its_flavors_is_there() -> None:  # K-017
    queue = Queue("q", quotas=tuple(Quota(name, GPU, 9 * NANO) for name in ("a", "b")))
    assert closed(asking("q"), there(queue)) == ClosedQueue("q", Closed.NO_FLAVOR, ("a", "b"))
    assert closed(asking("q"), there(queue, b=Flavor("b"))) is None


def test_flavors_of_resources_that_are_not_asked_for_may_be_absent() -> None:
    queue = Queue("q", quotas=(Quota("cpus", "cpu", NANO), Quota("h100", GPU, 9 * NANO)), only_listed=True)
    assert closed(asking("q"), there(queue, h100=Flavor("h100"))) is None
    assert closed(asking("q"), there(queue, cpus=Flavor("cpus"))) == ClosedQueue("q", Closed.NO_FLAVOR, ("h100",))


def test_required_and_preferred_levels_and_slices_ask_for_a_level() -> None:
    sliced = replace(pods("w", 2), slices=(Slice(1, 2),))
    assert asks_for_a_level(asking("q", required=1).root)
    assert asks_for_a_level(asking("q", preferred=1).root)
    assert asks_for_a_level(gang("g", sliced).root)
    assert not asks_for_a_level(asking("q").root)
