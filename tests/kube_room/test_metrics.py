"""Figures for Prometheus: counted right, with labels that cannot grow without end."""

import dataclasses

from prometheus_client.parser import text_string_to_metric_families

from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import State
from phalanx.kube.metrics import EFFECTS, OTHER_QUEUES, QUEUES_MAX, Metrics, counted
from phalanx.model.decision import Decision, Invalid, Waiting
from phalanx.model.effects import Bind, Report
from phalanx.model.events import Answer
from phalanx.model.pods import PodKey
from phalanx.model.reasons import Reason, Why
from phalanx.model.request import Group, Request
from phalanx.wire.mirror import Counts
from phalanx.wire.resources import JOBS, PODS
from tests.kube_room.watched import Clock, Flag, Mirror

REQUEST = Request("Gang", "ml", "train", Group("train", ()))
Figures = dict[tuple[str, ...], float]


def metrics(*mirrors: Mirror, clock: Clock | None = None) -> Metrics:
    return Metrics("1.2.3", lambda: mirrors, clock or Clock())


def figures(of: Metrics, name: str) -> Figures:
    """The samples of one name, by the values of their labels, those in the order of their names."""
    families = text_string_to_metric_families(of.text().decode())
    return {
        tuple(sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def waiting(why: Why, work: int = 0) -> Waiting:
    return Waiting(REQUEST, Reason(why, "workers", "rack", 4), proved=None, work=work)


def test_gangs_are_counted_by_state_and_reason() -> None:
    held = Gang(REQUEST, since=0.0, reason=waiting(Why.NO_ROOM).reason)
    runs = Gang(REQUEST, since=0.0, state=State.RUNNING)
    found = metrics()
    found.gangs(counted([held, held, runs]))
    shown = {labels: value for labels, value in figures(found, "phalanx_gangs").items() if value}
    assert shown == {("NoRoom", "Queued"): 2, ("", "Running"): 1}


def test_gangs_that_are_no_more_are_not_shown() -> None:
    found = metrics()
    found.gangs({("Queued", "NoRoom"): 2})
    found.gangs({("Running", ""): 1})
    shown = figures(found, "phalanx_gangs")
    assert ("NoRoom", "Queued") not in shown
    assert shown[("", "Queued")] == 0
    assert shown[("", "Running")] == 1


def test_decisions_are_counted_by_outcome_and_share_the_time_of_their_step() -> None:
    found = metrics()
    decisions: list[Decision] = [waiting(Why.NO_ROOM, 500), waiting(Why.NO_ROOM, 700), Invalid("Gang", "ml", "x", ())]
    found.stepped(0.9, decisions)
    shown = {labels: value for labels, value in figures(found, "phalanx_decisions_total").items() if value}
    assert shown == {("Waiting", "NoRoom"): 2, ("Invalid", ""): 1}
    assert figures(found, "phalanx_step_seconds_sum") == {(): 0.9}
    assert abs(figures(found, "phalanx_decision_seconds_sum")[()] - 0.6) < 1e-9
    assert figures(found, "phalanx_decision_work_units_sum") == {(): 1200}


def test_a_step_without_decisions_is_a_step() -> None:
    found = metrics()
    found.stepped(0.25, ())
    assert figures(found, "phalanx_step_seconds_count") == {(): 1}
    assert figures(found, "phalanx_decision_seconds_count") == {(): 0}


def test_binds_are_counted_by_what_became_of_them() -> None:
    found = metrics()
    found.bound(Answer.BOUND, 0.01)
    found.bound(Answer.UNKNOWN, 10.0)
    assert figures(found, "phalanx_binds_total") == {
        ("bound",): 1, ("here",): 0, ("conflict",): 0, ("refused",): 0, ("unknown",): 1,
    }  # fmt: skip
    assert figures(found, "phalanx_bind_seconds_sum") == {(): 10.01}


def test_effects_are_counted_and_each_kind_has_its_zero() -> None:
    found = metrics()
    found.carried_out(Bind("g", PodKey("ml", "p", "u"), "n1"), done=True)
    found.carried_out(Report("g", "Queued", ""), done=False)
    shown = figures(found, "phalanx_effects_total")
    assert {effect for effect, _ in shown} == set(EFFECTS)
    assert {labels for labels, value in shown.items() if value} == {("Bind", "done"), ("Report", "failed")}


def test_the_time_until_a_gang_is_bound_is_measured_up_to_a_day() -> None:
    found = metrics()
    found.started(3.0)
    found.started(80_000.0)
    buckets = figures(found, "phalanx_gang_start_seconds_bucket")
    assert buckets[("2.5",)] == 0
    assert buckets[("5.0",)] == 1
    assert buckets[("86400.0",)] == 2


def test_queues_are_shown_by_name_as_long_as_they_are_few() -> None:
    found = metrics()
    found.queues({"a": 3, "b": 0})
    assert figures(found, "phalanx_queue_gangs_waiting") == {("a",): 3, ("b",): 0}
    found.queues({f"q{at:04}": 1 for at in range(QUEUES_MAX + 5)})
    shown = figures(found, "phalanx_queue_gangs_waiting")
    assert len(shown) == QUEUES_MAX + 1
    assert shown[(OTHER_QUEUES,)] == 5


def test_mirrors_are_asked_at_each_scrape() -> None:
    clock = Clock(100.0)
    pods = Mirror(
        PODS,
        {("ml", "p"): object()},
        Counts(events=7, relists=2, restarts=3),
        last_heard=90.0,
        unread={("ml", "q"): "odd"},
    )
    jobs = Mirror(JOBS, synced=Flag(False))
    found = metrics(pods, jobs, clock=clock)
    assert figures(found, "phalanx_mirror_objects") == {("jobs.batch",): 0, ("pods",): 1}
    assert figures(found, "phalanx_mirror_unread") == {("jobs.batch",): 0, ("pods",): 1}
    assert figures(found, "phalanx_mirror_synced") == {("jobs.batch",): 0, ("pods",): 1}
    assert figures(found, "phalanx_mirror_silent_seconds") == {("pods",): 10}
    assert figures(found, "phalanx_mirror_events_total")[("pods",)] == 7
    assert figures(found, "phalanx_mirror_relists_total")[("pods",)] == 2
    assert figures(found, "phalanx_mirror_restarts_total")[("pods",)] == 3
    clock.now = 160.0
    assert figures(found, "phalanx_mirror_silent_seconds") == {("pods",): 70}


def test_what_is_set_aside_is_counted_by_kinds_that_we_know() -> None:
    found = metrics()
    found.set_aside({("", "Pod"): 2, ("batch", "Job"): 1, ("made.up", "Thing"): 3, ("made.up", "Other"): 4})
    aside = figures(found, "phalanx_objects_set_aside")
    assert aside == {("Pod",): 2, ("Job.batch",): 1, ("(other)",): 7}
    found.set_aside({})
    assert figures(found, "phalanx_objects_set_aside") == {}
    assert figures(found, "phalanx_begun_anew_total") == {(): 0}
    found.began_anew()
    assert figures(found, "phalanx_begun_anew_total") == {(): 1}


def test_two_of_them_do_not_count_together() -> None:
    first, second = metrics(), metrics()
    first.bound(Answer.BOUND, 0.1)
    assert figures(second, "phalanx_binds_total")[("bound",)] == 0


def test_the_version_the_backlog_and_the_process_are_shown() -> None:
    found = metrics()
    found.backlog(events=4, effects=2)
    [(_, version)] = figures(found, "phalanx_build_info")
    assert version == "1.2.3"
    assert figures(found, "phalanx_backlog") == {("events",): 4, ("effects",): 2}
    assert figures(found, "process_cpu_seconds_total")[()] > 0


def test_no_name_of_a_user_becomes_a_label() -> None:
    odd = dataclasses.replace(REQUEST, namespace="namespace-of-a-user", name="name-of-a-user")
    found = metrics()
    found.gangs(counted([Gang(odd, since=0.0)]))
    found.stepped(0.1, [Waiting(odd, waiting(Why.NO_ROOM).reason, None), Invalid("Gang", "of-a-user", "of-a-user", ())])
    found.carried_out(Report("namespace-of-a-user/name-of-a-user", "Queued", ""), done=True)
    assert b"of-a-user" not in found.text()


def test_kinds_that_restrict_and_are_not_seen_are_named() -> None:
    unseen = {"queues.phalanx.dev": "awaited", "persistentvolumes": "forbidden"}
    found = Metrics("1", lambda: (), Clock(), lambda: unseen)
    assert figures(found, "phalanx_unseen_kinds") == {
        ("queues.phalanx.dev", "awaited"): 1,
        ("persistentvolumes", "forbidden"): 1,
    }


def test_time_in_which_nothing_was_heard_is_summed_up() -> None:
    found = metrics()
    found.unheard(70.0)
    found.unheard(20.0)
    assert figures(found, "phalanx_unheard_seconds_total") == {(): 90.0}
