"""The judge of the fault tests finds each kind of wrong in a history made by hand, and nothing in a clean one."""

from typing import Any

from tests.kube.history import Promise, Record, amount, counts, judge

Object = dict[str, Any]
RACK = ("block", "rack")
GANG = Promise("train", 2, RACK)
WINDOW = 10.0


def node(name: str, rack: str = "r1", cpu: str = "8", block: str = "b1") -> Object:
    labels = {"block": block, "rack": rack}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": {"cpu": cpu, "pods": "110"}},
    }


def pod(name: str, on: str = "", gang: str = "train", cpu: str = "4", phase: str = "Pending", **more: Any) -> Object:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "uid": name, "labels": {"phalanx.dev/gang": gang}, **more},
        "spec": {"containers": containers, **({"nodeName": on} if on else {})},
        "status": {"phase": phase},
    }


class Past:
    """A history as it is written down: each object is as it was from a second on."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def at(self, second: float, *objects: Object, gone: bool = False) -> "Past":
        for one in objects:
            self.records.append(Record(second, len(self.records), one["kind"], gone, one))
        return self

    def judged(self, *promises: Promise, until: float = 100.0) -> list[str]:
        return judge(self.records, promises or [GANG], WINDOW, until)


def two_nodes() -> Past:
    return Past().at(0, node("a"), node("b"), pod("p"), pod("q"))


def test_a_gang_that_is_bound_whole_in_one_rack_is_well() -> None:
    past = two_nodes().at(1, pod("p", "a")).at(2, pod("q", "b")).at(50, pod("p", "a", phase="Running"))
    assert past.judged() == []
    assert counts(past.records, GANG) == [0, 1, 2]


def test_a_gang_that_is_half_for_longer_than_the_window_is_found() -> None:
    past = two_nodes().at(1, pod("p", "a")).at(12, pod("q", "b"))
    assert past.judged() == ["gang train: half of it bound for 11.0 s"]


def test_a_gang_that_is_half_to_the_end_is_found() -> None:
    past = two_nodes().at(1, pod("p", "a"))
    assert past.judged(until=12) == ["gang train: half of it bound for 11.0 s"]
    assert past.judged(until=11) == []


def test_a_pod_counts_no_more_when_it_was_told_to_go_has_failed_or_its_node_is_gone() -> None:
    whole = (pod("p", "a"), pod("q", "b"))
    assert len(two_nodes().at(1, *whole).at(2, pod("q", "b", deletionTimestamp="now")).judged()) == 1
    assert len(two_nodes().at(1, *whole).at(2, pod("q", "b", phase="Failed")).judged()) == 1
    assert len(two_nodes().at(1, *whole).at(2, node("b"), gone=True).judged()) == 1
    assert len(two_nodes().at(1, *whole).at(2, pod("q", "b"), gone=True).judged()) == 1
    assert two_nodes().at(1, *whole).at(2, pod("q", "b", phase="Succeeded")).judged() == []


def test_a_pod_that_is_bound_twice_is_found() -> None:
    past = two_nodes().at(1, pod("p", "a"), pod("q", "b")).at(2, pod("p", "b"))
    assert past.judged() == ["pod /p: bound twice"]


def test_a_pod_made_anew_under_its_old_name_may_be_elsewhere() -> None:
    past = two_nodes().at(1, pod("p", "a"), pod("q", "b")).at(2, pod("p", "a"), gone=True)
    assert past.at(3, pod("p", "b", uid="p2")).judged() == []


def test_a_node_over_what_it_has_is_found_even_if_only_for_a_moment() -> None:
    past = two_nodes().at(1, pod("p", "a"), pod("q", "a"), pod("other", "a", gang="", cpu="100m"))
    past.at(1, pod("other", "a", gang="", cpu="100m"), gone=True)
    assert past.judged() == ["node a: cpu over what it has: 8.1"]


def test_a_pod_that_is_leaving_still_takes_its_room() -> None:
    past = two_nodes().at(1, pod("p", "a", cpu="8", deletionTimestamp="now"), pod("q", "a"))
    assert "node a: cpu over what it has: 12" in past.judged(Promise("none", 1))


def test_a_pod_that_has_ended_takes_no_room() -> None:
    past = two_nodes().at(1, pod("p", "a", cpu="8")).at(2, pod("p", "a", cpu="8", phase="Succeeded"))
    assert past.at(3, pod("q", "a", cpu="8")).judged() == []


def test_more_of_something_than_a_node_ever_had_is_found() -> None:
    past = two_nodes()
    greedy = pod("p", "a")
    greedy["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"
    assert past.at(1, greedy, pod("q", "b")).judged() == ["node a: nvidia.com/gpu over what it has: 1"]


def test_a_gang_over_two_racks_is_found() -> None:
    past = Past().at(0, node("a"), node("c", rack="r2")).at(1, pod("p", "a"), pod("q", "c"))
    assert past.judged() == ["gang train: over several domains: [('b1', 'r1'), ('b1', 'r2')]"]


def test_racks_of_one_name_in_two_blocks_are_two() -> None:
    past = Past().at(0, node("a"), node("c", block="b2")).at(1, pod("p", "a"), pod("q", "c"))
    assert past.judged() == ["gang train: over several domains: [('b1', 'r1'), ('b2', 'r1')]"]


def test_a_level_is_judged_by_the_labels_at_the_time_of_the_bind() -> None:
    past = two_nodes().at(1, pod("p", "a"), pod("q", "b")).at(5, node("b", rack="r2"))
    assert past.judged() == []


def test_groups_of_one_gang_are_judged_apart() -> None:
    def member(name: str, on: str, group: str) -> Object:
        return pod(name, on, labels={"phalanx.dev/gang": "train", "phalanx.dev/group": group})

    past = Past().at(0, node("a"), node("c", rack="r2")).at(1, member("p", "a", "one"), member("q", "c", "two"))
    apart = [Promise("train", 1, RACK, group) for group in ("one", "two")]
    assert past.judged(*apart) == []
    assert len(past.judged(Promise("train", 1, RACK))) == 1


def test_a_gang_of_the_same_name_in_another_namespace_is_another() -> None:
    past = two_nodes().at(1, pod("p", "a", namespace="here"), pod("q", "b", namespace="there"))
    assert len(past.judged(Promise("train", 2, namespace="here"))) == 1
    assert past.judged() == []


def test_records_of_two_watches_are_put_in_the_order_of_the_store() -> None:
    past = two_nodes().at(1, pod("p", "a"), pod("q", "b"))
    past.records.reverse()
    assert past.judged() == []


def test_quantities_are_numbers() -> None:
    assert [amount(one) for one in ("2", "500m", "1Ki", "2k", "1.5Gi")] == [2, 0.5, 1024, 2000, 1.5 * 2**30]
