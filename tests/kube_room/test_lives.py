"""The judge of what is made again finds each kind of wrong in a history made by hand, and nothing in a clean one."""

from typing import Any

from tests.kube.history import Record
from tests.kube.lives import Life, Lineage, judge
from tests.kube_room.test_history import node, pod

Object = dict[str, Any]
FIRST, SECOND = Life("train", 2, ("rack",), uids={"one"}), Life("train", 2, ("rack",), uids={"two"})
NODES = (node("a"), node("b"), node("c", rack="r2"))


def owned(name: str, on: str = "", job: str = "one", **more: Any) -> Object:
    made = pod(name, on, **more)
    made["metadata"] |= {"uid": f"{name} of {job}", "ownerReferences": [{"uid": job, "controller": True}]}
    return made


def job(uid: str) -> Object:
    return {"kind": "Job", "metadata": {"name": "train", "uid": uid}, "spec": {}}


class Past:
    """A history as it is written down: each object is as it was from a second on."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.at(0, *NODES, job("one"))

    def at(self, second: float, *objects: Object, gone: bool = False) -> "Past":
        self.records += [
            Record(second, len(self.records) + number, one["kind"], gone, one) for number, one in enumerate(objects)
        ]
        return self

    def judged(self, *lives: Life) -> list[str]:
        lineage = Lineage()
        for record in self.records:
            lineage.take(record)
        return [line.partition(": ")[2] for line in judge(self.records, lineage, lives or (FIRST, SECOND), 10, 100)]


def test_a_job_that_is_bound_deleted_and_made_again_is_well() -> None:
    past = Past().at(1, owned("p", "a"), owned("q", "b")).at(5, job("one"), gone=True).at(6, job("two"))
    past.at(7, owned("p", "a"), owned("q", "b"), gone=True).at(8, owned("p", "c", "two"), owned("q", "c", "two"))
    told = Life("train", 2, ("rack",), uids={"one"}, told=4.9)
    assert past.judged(told, SECOND) == []


def test_a_pod_that_is_bound_after_its_job_was_deleted_is_found() -> None:
    past = Past().at(1, owned("p"), owned("q")).at(2, job("one"), gone=True)
    past.at(2.5, owned("q", "b")).at(5, owned("p", "a"))
    assert past.judged() == ["pod p was bound 3.0 s after its Job was deleted"]


def test_a_pod_that_is_bound_though_its_life_fits_nowhere_is_found() -> None:
    never = Life("train", 1, uids={"one"}, never=True)
    assert Past().at(1, owned("p", "a")).judged(never) == ["pod p was bound, and the whole fits nowhere"]


def test_pods_of_two_lives_are_not_counted_together() -> None:
    past = Past().at(1, owned("p", "a"), job("two"), owned("q", "b", "two"))
    assert past.judged() == ["half of it bound for 99.0 s"] * 2


def test_a_life_that_spans_two_racks_is_found() -> None:
    past = Past().at(1, owned("p", "a")).at(2, owned("q", "c"))
    assert past.judged() == ["over several domains: [('r1',), ('r2',)]"]


def test_a_pod_that_is_sent_away_while_its_life_goes_on_is_found_with_its_reason() -> None:
    away = owned("p", "a", deletionTimestamp="now")
    away["status"]["conditions"] = [{"type": "DisruptionTarget", "reason": "EvictionByPhalanx", "message": "late"}]
    past = Past().at(1, owned("p", "a"), owned("q", "b")).at(5, away).at(6, owned("p2", "a"))
    assert past.judged() == ["pod p was sent away: EvictionByPhalanx: late"]
