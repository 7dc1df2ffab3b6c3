"""After a step that failed all is thought anew from the objects there are, and nothing that was begun is forgotten."""

from collections.abc import Iterable
from typing import Any

import pytest

from phalanx.decider import Change, Decider, Outcome
from phalanx.dialects.following import Follower, Marks
from phalanx.engine.book import Book, Unbooked
from phalanx.engine.engine import Engine
from phalanx.model.effects import Bind
from phalanx.model.objects import ObjectKey
from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc

NOW = 1000.0


def made() -> Decider:
    return Decider(Follower(Marks()), Engine(), lambda: 0.0)


def changes(*docs: Doc) -> list[tuple[ObjectKey, Change]]:
    return [(key_of(doc), lambda doc=doc: doc) for doc in docs]  # type: ignore[misc]


def key_of(doc: Doc) -> ObjectKey:
    group, slash, _ = str(doc["apiVersion"]).partition("/")
    metadata = doc["metadata"]
    return ObjectKey(group if slash else "", doc["kind"], metadata.get("namespace", "default"), metadata["name"])


def gang(name: str, pods: int = 4, gpus: int = 4) -> list[Doc]:
    job = objects.job(name, pods, gpus)
    return [job, *(objects.pod(f"{name}-{number}", gpus, owner=job) for number in range(pods))]


def binds(outcome: Outcome) -> dict[str, str]:
    return {one.key.name: one.node for one in outcome.effects if isinstance(one, Bind)}


def failing(monkeypatch: pytest.MonkeyPatch, decider: Decider) -> Exception:
    """A step that fails outside every border, after it has changed something."""
    with monkeypatch.context() as patch:
        patch.setattr(decider.engine.turns, "follow_queues", lambda: {}["planted"])
        with pytest.raises(KeyError, match="planted") as caught:
            decider.step(changes(*gang("late", 2)), [], NOW + 1, 0.0)
    return caught.value


def test_what_was_seen_is_thought_anew_and_binds_under_way_keep_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    decider, world = made(), [*objects.cluster(racks=3), *gang("train")]
    first = decider.step(changes(*world), [], NOW, 0.0)
    before = binds(first)
    assert len(before) == 4
    error = failing(monkeypatch, decider)
    nodes = [doc for doc in world if doc["kind"] == "Node"]
    others = [doc for doc in world if doc["kind"] != "Node"]
    outcome = decider.begin_anew(changes(*others, *reversed(nodes), *gang("late", 2)), error, NOW + 2, 0.0)
    assert outcome.is_anew
    assert binds(outcome).keys() == {"late-0", "late-1"}, "the first are under way"
    assert set(outcome.told.subjects) == {"default/train", "default/late"}
    again = decider.step([], [], NOW + 10, 0.0)
    assert {name: node for name, node in binds(again).items() if name.startswith("train")} == before
    assert decider.engine.tripped() == {}


def test_one_of_which_a_bind_was_lost_with_the_step_starts_whole_and_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was asked for in the step that failed went nowhere."""
    decider, world = made(), [*objects.cluster(), *gang("train")]
    with monkeypatch.context() as patch:
        patch.setattr(decider.engine.book.strangers, "notices", lambda *_: {}["planted"])
        with pytest.raises(KeyError) as caught:
            decider.step(changes(*world), [], NOW, 0.0)
    outcome = decider.begin_anew(changes(*world), caught.value, NOW + 1, 0.0)
    assert not binds(outcome) and outcome.next_at is not None and outcome.next_at <= NOW + 6
    assert len(binds(decider.step([], [], outcome.next_at, 0.0))) == 4


def test_an_object_whose_event_cannot_be_applied_is_passed_over_until_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Book._pod_seen
    is_set = [True]

    def trip(book: Book, event: Any) -> None:
        if is_set[0] and event.pod.key.name == "poison":
            raise ValueError("planted")
        real(book, event)

    monkeypatch.setattr(Book, "_pod_seen", trip)
    decider, poison = made(), objects.pod("poison", 1)
    world = [*objects.cluster(), *gang("train"), poison]
    with pytest.raises(Unbooked) as caught:
        decider.step(changes(*world), [], NOW, 0.0)
    outcome = decider.begin_anew(changes(*world), caught.value, NOW + 1, 0.0)
    assert binds(outcome).keys() == {f"train-{number}" for number in range(4)}
    (aside,) = outcome.told.set_aside
    assert aside.subject.key.name == "poison" and aside.mishap is not None
    assert aside.mishap.line == "ValueError: planted"
    assert outcome.aside == {("", "Pod"): 1}
    is_set[0] = False
    healed = decider.step(changes(poison), [], NOW + 2, 0.0)
    assert healed.aside == {} and binds(healed).keys() == {"poison"}


def test_an_object_that_cannot_be_unpacked_is_told_and_passed_over() -> None:
    def broken() -> Any:
        raise ValueError("bytes were lost")

    def read(docs: Iterable[Doc]) -> list[tuple[ObjectKey, Change]]:
        key = ObjectKey("", "Pod", "default", "poison")
        return [*changes(*docs), (key, broken)]

    decider = made()
    outcome = decider.step(read([*objects.cluster(), *gang("train")]), [], NOW, 0.0)
    assert len(binds(outcome)) == 4
    (aside,) = outcome.told.set_aside
    assert aside.subject.key.name == "poison" and "bytes were lost" in aside.problem.message
    assert decider.step([(aside.subject.key, None)], [], NOW + 1, 0.0).aside == {}


def test_a_gang_of_which_no_picture_can_be_made_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.engine import views

    real = views.of

    def trip(one: Any, tree: Any) -> Any:
        if one.id == "default/poison":
            raise ValueError("planted")
        return real(one, tree)

    monkeypatch.setattr(views, "of", trip)
    decider = made()
    outcome = decider.step(changes(*objects.cluster(), *gang("poison", 2), *gang("train")), [], NOW, 0.0)
    assert set(outcome.views) == {"default/train"}
    assert {name: one.line for name, one in outcome.mishaps.items()} == {"default/poison": "ValueError: planted"}


def test_advice_that_fails_is_told_once_and_not_tried_at_once_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.decider import advice

    def trip(*_: object) -> None:
        raise ValueError("planted")

    monkeypatch.setattr(advice.whatif, "ways_out", trip)
    decider = made()
    decider.step(changes(*objects.cluster(), *gang("large", 90)), [], NOW, 0.0)
    assert decider.rest == 0.0
    assert decider.advise() is None
    assert decider.rest is not None and decider.rest > 0
    outcome = decider.step(changes(*gang("train")), [], NOW + 1, 0.0)
    assert list(outcome.mishaps) == ["default/large"] and len(binds(outcome)) == 4
