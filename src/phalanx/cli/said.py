"""What the scheduler itself last wrote about a gang: on its object, on its pods, or in an event.

What stands on its own object counts before what stands on a pod, and that before an event: events are of what happened,
and are forgotten after an hour.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from phalanx.cli.clusters import Look
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.kube import status
from phalanx.kube.glance import Glance
from phalanx.kube.notices import CONTROLLER

Doc = Mapping[Any, Any]
_TOLD_BY = {  # the condition that tells of a state; of any other it is Scheduled
    State.QUEUED: "Queued",
    State.INVALID: "Valid",
    State.DEGRADED: "Degraded",
    State.EVICTING: "DisruptionTarget",
    State.FINISHED: "Finished",
}
_BY_WORD = {"waiting": State.QUEUED, **{state.lower(): state for state in State}}
_ALL_ALIKE = (State.RESERVED, State.BINDING, State.STARTING, State.RUNNING, State.FINISHED)  # no unit is worse off


@dataclass(frozen=True, slots=True)
class Said:
    """``state`` None: it tells of something else, such as another part of the same object. ``line``: its sentence;
    ``reason``: the word beside it; ``since``: as it is written. ``generation``: of the object as it was then, where
    the object has changed since."""

    state: State | None = None
    line: str = ""
    reason: str = ""
    since: str = ""
    generation: int | None = None

    @property
    def stale(self) -> str:
        """That the object is another since, and nothing was said of it as it is now; else empty."""
        if self.generation is None:
            return ""
        return f"that was of generation {self.generation}: it has not seen the object as it is now; is it running?"

    @property
    def word(self) -> str:
        """The state in a column: why it waits, if it does."""
        if self.state is None:
            return "Unknown"
        return self.reason or str(self.state) if self.state is State.QUEUED else str(self.state)

    @property
    def title(self) -> str:
        """The state and since when, behind a name."""
        state = "unknown" if self.state is None else "Waiting" if self.state is State.QUEUED else str(self.state)
        return f"{state} since {self.since}" if self.since else state

    def as_dict(self) -> dict[str, Any]:
        return {
            "state": None if self.state is None else str(self.state), "reason": self.reason or None,
            "since": self.since or None, "message": self.line or None, "staleGeneration": self.generation,
        }  # fmt: skip


class Sayings:
    """All that was said of the gangs of one look."""

    def __init__(self, seen: Glance, look: Look) -> None:
        self._seen = seen
        self._objects = {one: doc for doc in look.objects if (one := uid(doc))}
        self._pods = _by_gang(look.objects)
        self._events = _latest(look.events)
        self._units = Counter(subject.uid for subject in seen.told.subjects.values())

    def of(self, view: View) -> Said | None:
        """What was last said of a gang; None: nothing was, by anybody."""
        subject = self._seen.told.subjects.get(view.id)
        doc = self._objects.get(subject.uid) if subject is not None and subject.uid else None
        return self._of(doc, About(view.kind, view.namespace, view.name, view.unit))

    def of_object(self, doc: Doc) -> Said | None:
        """The same of an object that no gang was read from."""
        namespace, name = _named(doc)
        return self._of(doc, About(str(doc.get("kind")), namespace, name))

    def _of(self, doc: Doc | None, about: "About") -> Said | None:
        own = _of_object(doc, about, self._units[uid(doc)]) if doc is not None else None
        if own is not None and own.state is not None:
            return own
        event = self._events.get(uid(doc)) if doc is not None else None
        return self._of_pods(about) or (_of_event(event, about) if event is not None else None) or own

    def _of_pods(self, about: "About") -> Said | None:
        """What stands on its pods: kinds of others are not written to, and their pods are."""
        told = self._pods.get((about.namespace, f"{about.kind} {about.name}"), ())
        lines = (_of_line(_text(one, "message").partition(": ")[2], one, about) for one in told)
        return next((one for one in lines if one is not None), None)


@dataclass(frozen=True, slots=True)
class About:
    """Whom something is said of. ``unit``: which part of the object, where it has several."""

    kind: str
    namespace: str
    name: str
    unit: str | None = None


# -- an object ---------------------------------------------------------------------------------------------------


def _of_object(doc: Doc, about: About, units: int) -> Said | None:
    """``units``: how many gangs were read from the object. What it says of all of them may be about another one."""
    told = _status(doc)
    state = _state(told.get("state")) if _is_ours(doc) else None
    if state is not None and (units <= 1 or state in _ALL_ALIKE):
        return _of_state(doc, state, about)
    return next((one for condition in _lines(doc) if (one := _of_condition(doc, condition, about)) is not None), None)


def _of_state(doc: Doc, state: State, about: About) -> Said:
    told = _status(doc)
    wanted = _TOLD_BY.get(state, "Scheduled")
    condition = next((one for one in status.conditions(told) if one.get("type") == wanted), {})
    said = _of_line(_text(condition, "message"), condition, about)
    return replace(said or Said(), state=state, generation=_before(doc, told.get("observedGeneration")))


def _of_condition(doc: Doc, condition: Doc, about: About) -> Said | None:
    """A group of Kubernetes' own keeps for ever that it was scheduled once: that tells nothing of now."""
    said = _of_line(_text(condition, "message"), condition, about)
    if said is None:
        return Said()
    once = _text(condition, "type").endswith("InitiallyScheduled") and condition.get("status") == "True"
    stale = _before(doc, condition.get("observedGeneration"))
    return replace(said, state=None if once else said.state, generation=stale)


def _lines(doc: Doc) -> list[dict[str, Any]]:
    kinds = ("phalanx.dev/Scheduled", f"{doc.get('kind')}InitiallyScheduled")
    wanted = ("Scheduled", *kinds) if _is_ours(doc) else kinds
    found = status.conditions(_status(doc))
    leaving = [one for one in found if _is_leaving(doc, one)]
    return leaving + [one for one in found if one.get("type") in wanted and one.get("message")]


def _is_leaving(doc: Doc, condition: Doc) -> bool:
    """Whether a group of Kubernetes' own is made to leave just now."""
    is_group = doc.get("kind") in ("PodGroup", "CompositePodGroup")
    return is_group and condition.get("type") == "DisruptionTarget" and condition.get("status") == "True"


def _before(doc: Doc, observed: object) -> int | None:
    """The generation that was told of, where the object has another by now."""
    metadata = doc.get("metadata")
    now = metadata.get("generation") if isinstance(metadata, Mapping) else None
    return observed if isinstance(observed, int) and isinstance(now, int) and observed < now else None


# -- sentences ---------------------------------------------------------------------------------------------------


def _of_line(line: str, condition: Doc, about: About) -> Said | None:
    """A sentence with what stands beside it; None: it is about another part of the same object."""
    unit = f"{about.unit}: " if about.unit is not None else ""
    if not line.startswith(unit):
        return None
    reason = _text(condition, "reason")
    word = line.removeprefix(unit).partition(":")[0]
    state = State.INVALID if reason == State.INVALID else _BY_WORD.get(word)
    return Said(state, line, reason, _text(condition, "lastTransitionTime"))


def _of_event(event: Doc, about: About) -> Said | None:
    said = _of_line(_text(event, "note"), event, about)
    return replace(said, since=_when(event)) if said is not None and said.state is not None else None


def _latest(events: Iterable[Doc]) -> dict[str, Doc]:
    """The last event about the state of each object, by its uid."""
    found: dict[str, Doc] = {}
    for event in sorted(events, key=_when):
        regarding = event.get("regarding")
        of_a_state = event.get("reason") == State.INVALID or _has_state(_text(event, "note"))
        if isinstance(regarding, Mapping) and event.get("reportingController") == CONTROLLER and of_a_state:
            found[_text(regarding, "uid")] = event
    return found


def _has_state(note: str) -> bool:
    """Whether a sentence begins with a state, or with a part and its state."""
    return any(word.strip() in _BY_WORD for word in note.split(":")[:2])


def _when(event: Doc) -> str:
    series = event.get("series")
    last = series.get("lastObservedTime") if isinstance(series, Mapping) else None
    return str(last or event.get("eventTime") or "")


# -- documents ---------------------------------------------------------------------------------------------------


def _by_gang(objects: Iterable[Doc]) -> dict[tuple[str, str], list[Doc]]:
    """Why pods have no node, as it stands on them, by what each says it is of: ``Job train``."""
    found: dict[tuple[str, str], list[Doc]] = {}
    for doc in objects:
        condition = _pod_condition(doc)
        if condition is not None:
            of = _text(condition, "message").partition(": ")[0]
            found.setdefault((_named(doc)[0], of), []).append(condition)
    return found


def _pod_condition(doc: Doc) -> Doc | None:
    """Why a pod has no node, as it stands on it."""
    if doc.get("kind") != "Pod":
        return None
    found = status.conditions(_status(doc))
    return next((one for one in found if one.get("type") == "PodScheduled" and one.get("status") == "False"), None)


def _status(doc: Doc) -> Mapping[str, Any]:
    found = doc.get("status")
    return found if isinstance(found, Mapping) else {}


def _state(value: object) -> State | None:
    return next((state for state in State if state == value), None)


def _is_ours(doc: Doc) -> bool:
    return str(doc.get("apiVersion")).startswith("phalanx.dev/")


def _named(doc: Doc) -> tuple[str, str]:
    metadata = doc.get("metadata")
    about = metadata if isinstance(metadata, Mapping) else {}
    return str(about.get("namespace") or "default"), str(about.get("name"))


def _text(value: Doc, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def uid(value: Doc) -> str:
    """Empty: it never was in a cluster."""
    metadata = value.get("metadata")
    return _text(metadata, "uid") if isinstance(metadata, Mapping) else ""
