"""May they: what is needed, what is short, in which flavors, and what the books say."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import Taint, Toleration
from phalanx.model.queues import Flavor, Queue, Queues, Quota
from phalanx.model.request import Group
from phalanx.model.resources import NANO, PODS
from phalanx.order.flavors import applied, flavors, usable
from phalanx.order.quota import Counts, Short, amounts, line, need, over, short
from phalanx.order.usage import Usage
from tests.order.makers import CPU, GPU, gang, pods, shape

H100, A100 = Flavor("h100", (("gpu", "h100"),)), Flavor("a100", (("gpu", "a100"),))


def gpus(nominal: int, flavor: str | None = None, resource: str = GPU) -> Quota:
    return Quota(flavor, resource, nominal * NANO)


def tree(*queues: Queue, sorts: tuple[Flavor, ...] = (H100, A100)) -> Queues:
    return Queues({queue.name: queue for queue in queues}, {flavor.name: flavor for flavor in sorts})


# -- need --------------------------------------------------------------------------------------------------------


def test_a_request_needs_all_its_pods_or_its_minimum() -> None:
    asked = gang("g", pods("leader", 1, of=shape(0, cpu=4)), Group("in", (pods("workers", 8, 6, shape(2)),)))
    assert need(asked) == {CPU: 4 * NANO, GPU: 16 * NANO, PODS: 9 * NANO}
    assert need(asked, Counts.MINIMUM) == {CPU: 4 * NANO, GPU: 12 * NANO, PODS: 7 * NANO}


def test_members_that_may_stay_out_count_as_the_smallest_of_them() -> None:
    asked = gang("g", pods("a", 5), pods("b", 2), pods("c", 3), min_members=2)
    assert need(asked, Counts.MINIMUM)[GPU] == 5 * NANO
    assert need(asked)[GPU] == 10 * NANO


def test_what_is_booked_are_the_pods_that_were_placed() -> None:
    assert amounts(gang("g", pods("a", 5), pods("b", 2)), {"a": 3}) == {GPU: 3 * NANO, PODS: 3 * NANO}


# -- short -------------------------------------------------------------------------------------------------------


def test_a_queue_without_quotas_limits_nobody() -> None:
    everything = {GPU: 10**6 * NANO}
    assert short(Queue("default"), None, {}, everything) == ()
    assert short(None, None, {}, everything) == ()


def test_quota_for_one_of_two_lets_the_second_wait() -> None:  # K-112, K-060
    queue = Queue("research", quotas=(gpus(8),))
    asked = {GPU: 8 * NANO}
    assert short(queue, None, {}, asked) == ()
    assert short(queue, None, {(None, GPU): 1}, asked) == (Short(GPU, None, 8 * NANO, 1, 8 * NANO, "research"),)


def test_a_quota_on_any_node_counts_what_every_flavor_takes() -> None:
    queue = Queue("research", quotas=(gpus(8, "h100"), gpus(10)))
    used = {("h100", GPU): 4 * NANO, ("a100", GPU): 4 * NANO}
    assert short(queue, "h100", used, {GPU: 2 * NANO}) == ()
    (found,) = short(queue, "h100", used, {GPU: 3 * NANO})
    assert (found.flavor, found.limit, found.used) == (None, 10 * NANO, 8 * NANO)


def test_a_quota_in_one_flavor_does_not_limit_another() -> None:
    queue = Queue("research", quotas=(gpus(1, "h100"),))
    assert short(queue, "a100", {}, {GPU: 5 * NANO}) == ()
    assert len(short(queue, "h100", {}, {GPU: 5 * NANO})) == 1


def test_a_resource_that_is_not_listed_is_refused_or_unlimited_as_the_queue_says() -> None:
    queue = Queue("research", quotas=(gpus(8, "h100"),))
    asked = {GPU: NANO, CPU: 4 * NANO, PODS: NANO}
    assert short(queue, "h100", {}, asked) == ()
    (found,) = short(replace(queue, only_listed=True), "h100", {}, asked)
    assert (found.resource, found.limit, found.needed) == (CPU, 0, 4 * NANO)


def test_who_needs_nothing_of_an_overdrawn_quota_may_start() -> None:
    queue = Queue("research", quotas=(gpus(1),))
    assert short(queue, None, {(None, GPU): 9 * NANO}, {CPU: NANO, GPU: 0}) == ()


# -- queues above ------------------------------------------------------------------------------------------------


def test_what_children_use_counts_in_the_queues_above_that_have_quotas() -> None:
    queues = tree(Queue("top", quotas=(gpus(8),)), Queue("mid", "top"), Queue("a", "mid"), Queue("b", "mid"))
    usage = Usage(queues)
    usage.take("a", None, {GPU: 6 * NANO})
    assert over("b", None, usage, {GPU: 2 * NANO}, queues) == ()
    (found,) = over("b", None, usage, {GPU: 3 * NANO}, queues)
    assert (found.queue, found.used) == ("top", 6 * NANO)


def test_a_queue_above_refuses_nothing_that_it_does_not_list() -> None:
    above = Queue("top", quotas=(gpus(8),), only_listed=True)
    queues = tree(above, Queue("a", "top", quotas=(gpus(4), gpus(4, resource=CPU)), only_listed=True))
    assert over("a", None, {}, {GPU: NANO, CPU: NANO}, queues) == ()


def test_queues_in_a_circle_are_walked_once() -> None:
    assert line("a", tree(Queue("a", "b"), Queue("b", "a"))) == ("a", "b")
    assert line("a", tree(Queue("a", "nobody"))) == ("a", "nobody")


# -- flavors -----------------------------------------------------------------------------------------------------


def test_flavors_are_tried_in_the_order_of_the_quotas() -> None:
    queue = Queue("research", quotas=(gpus(1, "a100"), gpus(1, "h100"), gpus(9, "a100", CPU)))
    assert flavors(queue, tree(queue)) == (A100, H100)
    assert flavors(Queue("q", quotas=(gpus(3),)), tree()) == (None,)
    assert flavors(None, tree()) == (None,)


def test_a_queue_whose_flavors_are_not_there_starts_nobody() -> None:
    queue = Queue("research", quotas=(gpus(1, "h100"),))
    assert flavors(queue, tree(queue, sorts=())) == ()


def test_resources_without_a_flavor_in_common_take_one_each_at_the_same_time() -> None:  # K-112
    cpus = Flavor("cpus", (("pool", "general"),))
    queue = Queue("q", quotas=(gpus(8, "cpus", CPU), gpus(4, "h100"), gpus(4, "a100")), only_listed=True)
    queues = tree(queue, sorts=(cpus, H100, A100))
    tried = flavors(queue, queues, {CPU: NANO, GPU: NANO})
    assert [one.name for one in tried if one is not None] == ["cpus+h100", "cpus+a100"]
    assert tried[0] is not None
    assert tried[0].node_labels == (("gpu", "h100"), ("pool", "general"))
    assert flavors(queue, queues, {CPU: NANO}) == (cpus,)
    used = {("cpus+h100", CPU): 7 * NANO, ("cpus+h100", GPU): NANO}
    assert [one.flavor for one in short(queue, "cpus+a100", used, {CPU: 2 * NANO, GPU: 4 * NANO})] == ["cpus"]


def test_a_request_on_a_flavor_asks_for_its_labels_and_tolerates_its_taints() -> None:
    tolerated = Toleration("gpu", "Exists", "", "")
    flavor = Flavor("h100", (("gpu", "h100"),), (tolerated,))
    asked = gang("g", Group("in", (pods("a", 1, of=shape(1, (("zone", "z"),))),)))
    (found,) = applied(asked, flavor).root.pod_sets()
    assert found.shape.filter.selector == (("gpu", "h100"), ("zone", "z"))
    assert found.shape.filter.tolerations == (tolerated,)
    assert applied(applied(asked, flavor), flavor) == applied(asked, flavor)
    assert applied(asked, None) is asked


def test_a_flavor_with_taints_is_for_those_who_tolerate_them() -> None:
    taint = Taint("gpu", "", "NoSchedule")
    flavor = Flavor("h100", taints=(taint, Taint("soft", "", "PreferNoSchedule")))
    asked = gang("g", pods("a", 1))
    assert not usable(asked, flavor)
    assert usable(asked, replace(flavor, tolerations=(Toleration("gpu", "Exists", "", ""),)))
    assert usable(asked, None)


# -- the books ---------------------------------------------------------------------------------------------------

PLACES = ("a", "b", "mid", "top")
held = st.tuples(
    st.sampled_from(PLACES),
    st.sampled_from((None, "h100", "a100")),
    st.dictionaries(st.sampled_from((GPU, CPU)), st.integers(0, 5), max_size=2),
)
NESTED = tree(Queue("top"), Queue("mid", "top"), Queue("a", "mid"), Queue("b", "top"))
MOVED = tree(Queue("top"), Queue("mid"), Queue("a", "top"), Queue("b", "mid"))


@given(st.lists(held, max_size=12), st.data())
def test_the_books_agree_with_counting_anew_whatever_comes_and_goes(takes: list[tuple], data: st.DataObject) -> None:  # type: ignore[type-arg]
    usage = Usage(NESTED)
    for one in takes:
        usage.take(*one)
    gone = data.draw(st.sets(st.sampled_from(range(len(takes))))) if takes else set()
    for number in gone:
        usage.give(*takes[number])
    left = [one for number, one in enumerate(takes) if number not in gone]
    assert usage.audit(left) == ()
    usage.under(MOVED)
    assert usage.audit(left) == ()
    for one in left:
        usage.give(*one)
    assert dict(usage) == {}


def test_the_audit_tells_what_leaked() -> None:
    usage = Usage(NESTED)
    usage.take("a", "h100", {GPU: 3})
    assert usage.audit([("a", "h100", {GPU: 2})]) == tuple(
        f"queue {name}: h100 {GPU} is 3 in the books, 2 counted anew" for name in ("a", "mid", "top")
    )


def test_giving_back_says_where_less_is_used_and_never_more_than_was_taken() -> None:
    usage = Usage(NESTED)
    usage.take("a", None, {GPU: 3})
    assert usage.give("a", None, {GPU: 1}) == ("a", "mid", "top")
    with pytest.raises(Mistake, match="gives back 1 of"):
        usage.give("a", None, {GPU: 3})
