"""The store answers as an API server does: what is filled in, what is refused, and what leaves when."""

from collections.abc import Callable
from typing import Any

import pytest

from phalanx.minicluster.errors import Rejected
from phalanx.minicluster.store import Store
from phalanx.minicluster.times import seconds, stamp
from phalanx.model.objects import ObjectKey
from tests.minicluster.site import bare, job
from tests.testing import live_objects as objects

Doc = dict[str, Any]
POD = ObjectKey("", "Pod", "default", "a")
JOB = ObjectKey("batch", "Job", "default", "train")
GATE = {"name": "example.org/gate"}


def stored(**spec: Any) -> tuple[Store, Doc]:
    """A store with a pod ``a``."""
    store = Store(seed=1)
    written = bare(objects.pod("a", 1))
    return store, store.create({**written, "spec": {**written["spec"], **spec}}, 10.0)


def setting(field: str, value: Any) -> Callable[[Doc], Doc]:
    return lambda doc: {**doc, "spec": {**doc["spec"], field: value}}


def refusal(call: Callable[[], object]) -> tuple[str, int]:
    with pytest.raises(Rejected) as caught:
        call()
    return caught.value.reason, caught.value.code


def kinds_of_events(store: Store, kind: str = "Pod") -> list[str]:
    return [event.type for event in store.events_since("", kind, 0)]


# -- being made --------------------------------------------------------------------------------------------------


def test_a_new_object_has_uid_version_time_and_generation() -> None:
    store, pod = stored()
    meta = pod["metadata"]
    assert meta["uid"] and (meta["resourceVersion"], meta["generation"]) == ("1", 1)
    assert (meta["creationTimestamp"], meta["namespace"]) == ("1970-01-01T00:00:10Z", "default")
    assert store.get(POD) == pod
    assert (pod["status"]["phase"], pod["spec"]["restartPolicy"]) == ("Pending", "Always")


def test_a_name_that_is_taken_is_refused_until_it_is_free_and_then_has_another_uid() -> None:
    store, pod = stored()
    again = bare(objects.pod("a", 1))
    assert refusal(lambda: store.create(again, 11.0)) == ("AlreadyExists", 409)
    store.delete(POD, 12.0)
    assert store.create(again, 12.0)["metadata"]["uid"] != pod["metadata"]["uid"]


def test_generated_names_differ_and_come_from_the_seed() -> None:
    def names(seed: int) -> list[str]:
        store, unnamed = Store(seed), {"generateName": "worker-", "namespace": "default"}
        made = [store.create({**objects.pod("", 1), "metadata": unnamed}, 0.0) for _ in range(3)]
        return [one["metadata"]["name"] for one in made]

    assert len(set(names(1))) == 3 and all(name.startswith("worker-") for name in names(1))
    assert names(1) == names(1) != names(2)


def test_an_object_without_a_namespace_is_found_under_default() -> None:
    store = Store(1)
    store.create(bare(objects.topology()), 0.0)
    assert store.get(ObjectKey("phalanx.dev", "Topology", "default", "topo"))


def test_what_is_of_a_kind_is_sorted_whatever_the_order_of_making() -> None:
    store = Store(1)
    for name in ("c", "a", "b"):
        store.create(bare(objects.pod(name, 1)), 0.0)
    assert [pod["metadata"]["name"] for pod in store.of_kind("", "Pod")] == ["a", "b", "c"]


# -- being changed -----------------------------------------------------------------------------------------------


def test_a_change_of_status_is_a_new_version_and_no_new_generation() -> None:
    store, pod = stored()
    after = store.change(POD, lambda doc: {**doc, "status": {"phase": "Running"}}, 11.0)
    assert (after["metadata"]["resourceVersion"], after["metadata"]["generation"]) == ("2", 1)
    assert store.change(POD, setting("activeDeadlineSeconds", 5), 11.0)["metadata"]["generation"] == 2
    assert pod["status"]["phase"] == "Pending", "what was read before stays as it was"


def test_a_write_that_changes_nothing_is_no_event() -> None:
    store, pod = stored()
    assert store.change(POD, lambda doc: {**doc}, 11.0) == pod
    assert kinds_of_events(store) == ["ADDED"]


def test_a_write_to_another_incarnation_or_from_an_old_reading_is_a_conflict() -> None:
    store, pod = stored()
    store.change(POD, setting("activeDeadlineSeconds", 5), 11.0)
    assert refusal(lambda: store.change(POD, lambda doc: doc, 11.0, uid="another")) == ("Conflict", 409)
    assert refusal(lambda: store.change(POD, lambda _: {**pod, "status": {}}, 11.0)) == ("Conflict", 409)
    absent = ObjectKey("", "Pod", "default", "b")
    assert refusal(lambda: store.change(absent, lambda doc: doc, 11.0)) == ("NotFound", 404)


CLOSED = {
    "schedulerName": "another",
    "containers": [],
    "nodeName": "n1",
    "nodeSelector": {"rack": "r1"},
    "schedulingGates": [GATE],
    "affinity": {"nodeAffinity": {}},
    "schedulingGroup": {"podGroupName": "g"},
}


@pytest.mark.parametrize("field", CLOSED)
def test_most_of_a_pod_never_changes(field: str) -> None:
    store, _ = stored()
    assert refusal(lambda: store.change(POD, setting(field, CLOSED[field]), 11.0)) == ("Invalid", 422)


def test_tolerations_of_a_pod_grow_and_never_shrink() -> None:
    store, _ = stored()
    one, other = {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}
    store.change(POD, setting("tolerations", [one]), 11.0)
    store.change(POD, setting("tolerations", [one, other]), 11.0)
    assert refusal(lambda: store.change(POD, setting("tolerations", [other]), 11.0)) == ("Invalid", 422)


def test_a_gated_pod_may_be_narrowed_with_the_write_that_lifts_its_gate() -> None:
    store, pod = stored(schedulingGates=[GATE], nodeSelector={"zone": "z"})
    assert pod["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert refusal(lambda: store.change(POD, setting("nodeSelector", {"rack": "r"}), 11.0)) == ("Invalid", 422)
    narrowed = {"nodeSelector": {"zone": "z", "rack": "r"}, "schedulingGates": []}
    after = store.change(POD, lambda doc: {**doc, "spec": {**doc["spec"], **narrowed}}, 11.0)
    assert after["spec"]["nodeSelector"] == {"zone": "z", "rack": "r"}
    further = {"zone": "z", "rack": "r", "host": "h"}
    assert refusal(lambda: store.change(POD, setting("nodeSelector", further), 12.0)) == ("Invalid", 422)


def test_the_template_of_a_job_is_steered_only_while_it_is_suspended_and_says_so() -> None:
    store = Store(1)
    store.create(job(suspend=True), 0.0)

    def steered(doc: Doc, **spec: Any) -> Doc:
        template = doc["spec"]["template"]
        new = {**template, "spec": {**template["spec"], **spec}}
        return {**doc, "spec": {**doc["spec"], "template": new}}

    store.change(JOB, lambda doc: steered(doc, schedulingGates=[GATE]), 1.0)
    assert refusal(lambda: store.change(JOB, lambda doc: steered(doc, schedulerName="x"), 1.0)) == ("Invalid", 422)
    store.change(JOB, setting("suspend", False), 1.0)
    assert refusal(lambda: store.change(JOB, lambda doc: steered(doc, nodeSelector={}), 1.0)) == ("Invalid", 422)
    store.change(JOB, lambda doc: {**setting("suspend", True)(doc), "status": {"startTime": stamp(1.0)}}, 2.0)
    assert refusal(lambda: store.change(JOB, lambda doc: steered(doc, nodeSelector={}), 2.0)) == ("Invalid", 422)


# -- binding -----------------------------------------------------------------------------------------------------


def test_a_bind_gives_the_node_says_so_and_is_no_new_generation() -> None:
    store, pod = stored()
    store.create(bare(objects.node("n1", "b0", "r0", labels={"topology.kubernetes.io/zone": "z"})), 10.0)
    store.bind("default", "a", pod["metadata"]["uid"], "n1", 11.0, {"said": "this"})
    bound = store.get(POD)
    assert bound is not None
    assert bound["spec"]["nodeName"] == "n1" and bound["metadata"]["generation"] == 1
    assert bound["metadata"]["annotations"] == {"said": "this"}
    assert bound["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z"}
    said = [(each["type"], each["status"]) for each in bound["status"]["conditions"]]
    assert said == [("PodScheduled", "True")] and kinds_of_events(store) == ["ADDED", "MODIFIED"]


def test_a_second_bind_is_a_conflict_and_changes_nothing() -> None:
    store, _ = stored()
    store.bind("default", "a", None, "n1", 11.0)
    before = store.get(POD)
    assert refusal(lambda: store.bind("default", "a", None, "n2", 12.0)) == ("Conflict", 409)
    assert store.get(POD) == before


def test_a_pod_that_is_gated_leaves_is_another_or_is_not_there_is_not_bound() -> None:
    gated, _ = stored(schedulingGates=[GATE])
    assert refusal(lambda: gated.bind("default", "a", None, "n1", 11.0)) == ("Conflict", 409)
    store, _ = stored()
    assert refusal(lambda: store.bind("default", "a", "another", "n1", 11.0)) == ("Conflict", 409)
    assert refusal(lambda: store.bind("default", "a", None, "", 11.0)) == ("BadRequest", 400)
    assert refusal(lambda: store.bind("default", "b", None, "n1", 11.0)) == ("NotFound", 404)
    held = {"finalizers": ["example.org/hold"]}
    store.change(POD, lambda doc: {**doc, "metadata": {**doc["metadata"], **held}}, 11.0)
    store.delete(POD, 12.0)
    assert refusal(lambda: store.bind("default", "a", None, "n1", 12.0)) == ("Conflict", 409)


# -- leaving -----------------------------------------------------------------------------------------------------


def test_a_pod_without_a_node_goes_at_once() -> None:
    store, _ = stored()
    store.delete(POD, 11.0)
    assert store.get(POD) is None and kinds_of_events(store) == ["ADDED", "DELETED"]


def test_a_bound_pod_gets_its_grace_and_goes_when_it_is_said_to_be_over() -> None:
    store, _ = stored()
    store.bind("default", "a", None, "n1", 11.0)
    store.delete(POD, 12.0)
    leaving = store.get(POD)
    assert leaving is not None and leaving["metadata"]["deletionTimestamp"] == stamp(42.0)
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30
    store.delete(POD, 13.0)
    assert store.get(POD) == leaving, "a second deletion changes nothing"
    store.delete(POD, 14.0, grace=0)
    assert store.get(POD) is None


def test_a_finalizer_holds_what_was_deleted_until_it_is_taken_away() -> None:
    store, _ = stored()
    finalizers = {"finalizers": ["example.org/hold"]}
    store.change(POD, lambda doc: {**doc, "metadata": {**doc["metadata"], **finalizers}}, 11.0)
    store.delete(POD, 12.0)
    assert store.get(POD) is not None

    def released(doc: Doc) -> Doc:
        return {**doc, "metadata": {key: each for key, each in doc["metadata"].items() if key != "finalizers"}}

    store.change(POD, released, 13.0)
    assert store.get(POD) is None and kinds_of_events(store)[-1] == "DELETED"


def test_a_deletion_is_of_one_incarnation() -> None:
    store, _ = stored()
    assert refusal(lambda: store.delete(POD, 11.0, uid="another")) == ("Conflict", 409)
    assert refusal(lambda: store.delete(JOB, 11.0)) == ("NotFound", 404)


def test_a_deletion_of_what_leaves_already_neither_adds_nor_takes_finalizers() -> None:
    store = Store(1)
    store.create(job(), 0.0)
    store.delete(JOB, 1.0, propagation="Foreground")
    store.delete(JOB, 2.0)
    found = store.get(JOB)
    assert found is not None and found["metadata"]["finalizers"] == ["foregroundDeletion"]


# -- being followed ----------------------------------------------------------------------------------------------


def test_events_of_a_kind_are_those_after_a_version_in_order() -> None:
    store, _ = stored()
    store.create(job(), 10.0)
    store.change(POD, setting("activeDeadlineSeconds", 5), 11.0)
    store.delete(POD, 12.0)
    assert [(event.version, event.type) for event in store.events_since("", "Pod", 1)] == [
        (3, "MODIFIED"),
        (4, "DELETED"),
    ]
    assert [event.version for event in store.events_since("batch", "Job", 0)] == [2]
    assert store.version == 4 == int(next(store.events_since("", "Pod", 3)).document["metadata"]["resourceVersion"])


@pytest.mark.parametrize(
    ("at", "written"),
    [
        (0.0, "1970-01-01T00:00:00Z"),
        (951782400.9, "2000-02-29T00:00:00Z"),
        (1795082399.0, "2026-11-19T09:59:59Z"),
        (4107542400.0, "2100-03-01T00:00:00Z"),
    ],
)
def test_times_are_written_as_kubernetes_writes_them(at: float, written: str) -> None:
    assert stamp(at) == written and seconds(written) == at // 1
