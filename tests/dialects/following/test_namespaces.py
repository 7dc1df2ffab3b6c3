"""Namespaces of a living cluster: told with the queues that choose among them, and only then."""

from typing import Any

from phalanx.dialects.following import Told
from phalanx.model.events import GangSeen, QueuesSeen
from phalanx.model.objects import ObjectKey
from phalanx.model.queues import Queues
from tests.dialects.following.living import Object, follower, job, tell

KEY = ObjectKey("", "Namespace", "default", "ml")


def queue(**spec: Any) -> Object:
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "q"}, "spec": spec}


def namespace(**labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": labels}}


def told_of(told: Told) -> Queues | None:
    found = [event.queues for event in told.events if isinstance(event, QueuesSeen)]
    return found[-1] if found else None


CHOOSY = queue(namespaceSelector={"matchLabels": {"team": "a"}})


def test_labels_are_told_where_a_queue_chooses_and_no_workload_is_read_again() -> None:
    one = follower()
    tell(one, CHOOSY, job("train", 1))
    told = tell(one, namespace(team="a"))
    assert (queues := told_of(told)) is not None
    assert queues.namespaces == {"ml": {"team": "a", "kubernetes.io/metadata.name": "ml"}}
    assert set(queues.queues) == {"q"}
    assert not [event for event in told.events if isinstance(event, GangSeen)]
    assert told_of(tell(one, namespace(team="a"))) is None, "nothing changed"


def test_a_namespace_that_goes_has_no_labels_any_more() -> None:
    one = follower()
    tell(one, CHOOSY, namespace(team="a"))
    one.gone(KEY)
    assert (queues := told_of(one.tell())) is not None
    assert queues.namespaces == {}


def test_where_no_queue_chooses_namespaces_come_and_go_unheard() -> None:
    one = follower()
    tell(one, queue())
    assert told_of(tell(one, namespace(team="a"))) is None
    assert (queues := told_of(tell(one, CHOOSY))) is not None
    assert list(queues.namespaces) == ["ml"], "until one does"
