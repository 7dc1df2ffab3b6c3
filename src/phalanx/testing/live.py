"""What ``phalanx run`` decides with, without a server: objects in, effects out, for tests of one's own.

::

    scheduler = LiveScheduler()
    effects = scheduler.step(seen=[node, topology, job, *pods], now=1000.0)
    [(effect.name, effect.node) for effect in effects if effect.kind == "Bind"]

Nothing is carried out: a test says in the next step what came of it, by the objects as they are then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from phalanx import arguments
from phalanx.arguments import Doc
from phalanx.decider import Change, Decider
from phalanx.dialects.following import Follower
from phalanx.engine import views
from phalanx.engine.engine import Engine
from phalanx.engine.lifecycle import State
from phalanx.kube import configuration as configurations
from phalanx.kube import status
from phalanx.kube.configuration import Configuration
from phalanx.model import effects as wanted
from phalanx.model.decision import Invalid
from phalanx.model.events import Answer, BindAnswered
from phalanx.model.objects import ObjectKey
from phalanx.model.pods import PodKey
from phalanx.model.problems import shown

Gone = tuple[str, str, str, str]  # API group, kind, namespace, name
Answered = tuple[str, str, str, str, str]  # namespace, name and uid of a pod, node, and one of ANSWERS

Row = TypeVar("Row")

_COUNTS = ("bound", "wanted")  # of pods

ANSWERS = {
    "bound": Answer.BOUND,
    "here": Answer.HERE,
    "conflict": Answer.CONFLICT,
    "refused": Answer.REFUSED,
    "unknown": Answer.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Effect:
    """One intended change. Fields that mean nothing for its kind are empty.

    ``kind``: Bind, Ungate, Evict, Suspend, Resume, Prepare, Report or Notice. ``namespace``, ``name`` and ``uid``: of
    the pod, or of what makes the pods (Suspend, Resume, Prepare). ``node``: where the pod goes (Bind, Ungate).
    ``gang``: its id. ``cause``: why (Evict, Suspend), what happened (Report), what it is about (Notice).
    ``effect``: the value inside, with everything else.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    node: str
    gang: str
    cause: str
    effect: wanted.Effect


class LiveScheduler:
    """What ``phalanx run`` thinks with, without a server and without a clock.

    ``configuration``: as for ``phalanx run``: a Configuration, or the text of its YAML file; None: the defaults.
    """

    def __init__(self, configuration: Configuration | str | None = None) -> None:
        if isinstance(configuration, str):
            configuration = configurations.load(configuration)
        if configuration is not None and not isinstance(configuration, Configuration):
            allowed = "a Configuration, the text of its YAML file, or None"
            raise TypeError(f"configuration: {arguments.described(configuration)} is not {allowed}")
        used = Configuration() if configuration is None else configuration
        engine = Engine(used.policy(), used.settings())
        self._decider = Decider(Follower(used.marks()), engine, lambda: 0.0)
        self._refused: dict[ObjectKey, Invalid] = {}

    def step(
        self,
        seen: Iterable[Doc] = (),
        gone: Iterable[Gone] = (),
        answers: Iterable[Answered] = (),
        now: float = 1000.0,
        jitter: float = 0.0,
        unheard: float = 0.0,
    ) -> tuple[Effect, ...]:
        """One step of the scheduler. ``gone`` is heard before ``seen``: an object in both was deleted and made again.

        ``answers``: what became of binds: "bound", "conflict" (it is elsewhere, or gone), "refused" or "unknown".
        ``jitter``: 0 to 1, spreads retries. ``unheard``: so many seconds since the last step do not count, for nothing
        could be heard of pods or nodes. A step that comes long after ``next_at`` says that by itself.

        TypeError or ValueError, and nothing is heard, where one of them is not what is said here.
        """
        deleted = [(_gone(one, f"gone[{i}]"), None) for i, one in enumerate(_row(gone, "gone"))]
        found = [_seen(one, f"seen[{i}]") for i, one in enumerate(arguments.documents(seen, "seen"))]
        heard = [_answered(one, f"answers[{i}]") for i, one in enumerate(_row(answers, "answers"))]
        arguments.number(now, "now")
        arguments.number(jitter, "jitter", 0, 1)
        arguments.number(unheard, "unheard", 0)
        outcome = self._decider.step([*deleted, *found], heard, now, jitter, unheard=unheard)
        for key in [*(one for one, _ in deleted), *(one.key for one in outcome.told.accepted)]:
            self._refused.pop(key, None)
        self._refused |= {one.key: invalid for one, invalid in outcome.told.refused}
        return tuple(_effect(one) for one in outcome.effects)

    @property
    def next_at(self) -> float | None:
        """When to step again at the latest, though nothing happens."""
        return self._decider.engine.next_at

    def gangs(self) -> list[dict[str, Any]]:
        """All gangs by id, as they are now: ``id``, ``state``, ``reason``, ``message``, ``bound``, ``wanted``.

        What is wrong and cannot be read as a gang is among them, with the state Invalid and its problems as message.
        """
        book = self._decider.engine.book
        found = {name: _told(view) for name, view in views.of_all(book, book.gangs).items()}
        for one in self._refused.values():
            name = f"{one.namespace}/{one.name}"
            if found.get(name, {"state": State.INVALID})["state"] == State.INVALID:
                found[name] = {**_refused(name, one), **{key: found[name][key] for key in _COUNTS if name in found}}
        return [one for _, one in sorted(found.items())]


def _row(given: Iterable[Row], name: str) -> Iterable[Row]:
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(f"{name}: {arguments.described(given)} is no list of tuples")
    return given


def _texts(given: tuple[str, ...], name: str, means: str) -> tuple[str, ...]:
    """A tuple of as many texts as it means."""
    if not isinstance(given, (tuple, list)) or not all(isinstance(part, str) for part in given):
        raise TypeError(f"{name}: {arguments.described(given)} is not a tuple of texts: {means}")
    if len(given) != means.count(",") + 1:
        raise ValueError(f"{name}: {tuple(map(shown, given))} has {len(given)} parts; they are {means}")
    return tuple(given)


def _gone(given: Gone, name: str) -> ObjectKey:
    group, kind, namespace, called = _texts(given, name, "API group, kind, namespace, name")
    return ObjectKey(group, kind, namespace or "default", called)


def _seen(value: Doc | None, name: str) -> tuple[ObjectKey, Change]:
    if not isinstance(value, Mapping):
        allowed = "an object as a server has it: a mapping with apiVersion, kind and metadata"
        raise TypeError(f"{name}: {arguments.described(value)} is not {allowed}")
    own = arguments.copied(value)  # it is looked at again later, and the test may have changed its own by then
    return _key(own), lambda: own


def _told(view: views.View) -> dict[str, Any]:
    waits = view.state is State.QUEUED and view.reason is not None
    return {
        "id": view.id,
        "state": view.state.value,
        "reason": view.reason.type.value if waits and view.reason is not None else None,
        "message": status.sentence(view),
        "bound": view.whole.bound,
        "wanted": view.whole.wanted,
    }


def _refused(name: str, invalid: Invalid) -> dict[str, Any]:
    return {
        "id": name,
        "state": State.INVALID.value,
        "reason": None,
        "message": status.listed(invalid.problems),
        **dict.fromkeys(_COUNTS, 0),
    }


def _key(value: Doc) -> ObjectKey:
    """The key of an object as servers tell it; empty texts where it does not say."""
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    api, kind, namespace, name = (
        one if isinstance(one, str) else ""
        for one in (value.get("apiVersion"), value.get("kind"), metadata.get("namespace"), metadata.get("name"))
    )
    group, slash, _ = api.partition("/")
    return ObjectKey(group if slash else "", kind, namespace or "default", name)


def _answered(answer: Answered, name: str) -> BindAnswered:
    namespace, pod, uid, node, word = _texts(answer, name, "namespace, name, uid, node, answer")
    if word not in ANSWERS:
        raise ValueError(f"{name}: {shown(word)!r} is not one of {', '.join(ANSWERS)}")
    return BindAnswered(PodKey(namespace, pod, uid), node, ANSWERS[word])


def _effect(effect: wanted.Effect) -> Effect:
    namespace, name, uid, node, cause = "", "", "", "", ""
    if isinstance(effect, (wanted.Bind, wanted.Ungate, wanted.Evict)):
        namespace, name, uid = effect.key.namespace, effect.key.name, effect.key.uid
        node = "" if isinstance(effect, wanted.Evict) else effect.node
        cause = effect.cause if isinstance(effect, wanted.Evict) else ""
    elif isinstance(effect, (wanted.Prepare, wanted.Resume, wanted.Suspend)):
        (_, _, namespace, name), uid = effect.owner
        cause = effect.cause if isinstance(effect, wanted.Suspend) else ""
    elif isinstance(effect, wanted.Report):
        cause = effect.cause
    elif isinstance(effect, wanted.Notice):
        name = effect.about.name
        cause = str(effect.topic)
    gang = "" if isinstance(effect, wanted.Notice) else effect.gang
    return Effect(type(effect).__name__, namespace, name, uid, node, gang, cause, effect)
