"""What happened in a world, line by line, for whoever has to find out why."""

from collections import Counter
from collections.abc import Iterable, Mapping

from phalanx.minicluster.documents import key_of
from phalanx.minicluster.store import DELETED, Event
from phalanx.model.effects import Bind, Effect, Evict, Notice, Report, Ungate
from phalanx.model.events import BindAnswered
from phalanx.model.objects import ObjectKey
from phalanx.sim.objects.drawn import Doc

_TOLD = frozenset({"Pod", "Job", "Node"})


class Journal:
    def __init__(self) -> None:
        self._lines: list[tuple[float, str]] = []
        self.effects: Counter[str] = Counter()

    def note(self, now: float, text: str) -> None:
        self._lines.append((now, text))

    def event(self, event: Event) -> None:
        doc = event.document
        meta, status, spec = doc["metadata"], doc.get("status") or {}, doc.get("spec") or {}
        said = [event.type.lower(), str(key_of(doc)), meta["uid"][:8]]
        if doc["kind"] == "Pod":
            ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())
            said += [spec.get("nodeName", "-"), status.get("phase", ""), "ready" if ready else ""]
            said += ["gated"] if spec.get("schedulingGates") else []
        said += ["suspended"] if spec.get("suspend") is True else []
        said += ["leaving"] if "deletionTimestamp" in meta and event.type != DELETED else []
        self.note(event.at, "  " + " ".join(one for one in said if one))

    def step(self, now: float, changes: Mapping[ObjectKey, Doc | None], answers: Iterable[BindAnswered]) -> None:
        """What the scheduler hears in a step."""
        heard = [f"{key.kind}/{key.name}{'' if doc else ' gone'}" for key, doc in changes.items()]
        heard += [f"{one.key.name} {one.answer.name.lower()}" for one in answers]
        self.note(now, f"<- {', '.join(heard) or 'its clock'}")

    def effect(self, now: float, effect: Effect) -> None:
        self.effects[type(effect).__name__] += 1
        match effect:
            case Bind() | Ungate():
                text = f"{type(effect).__name__} {effect.key} {effect.key.uid[:8]} to {effect.node}"
            case Evict():
                text = f"Evict {effect.key} {effect.key.uid[:8]} of {effect.gang}: {effect.cause}"
            case Report():
                why = "" if effect.reason is None else f" {effect.reason.type.value} {effect.reason.group}"
                text = f"Report {effect.gang} {effect.state} {effect.cause}{why}"
            case Notice():
                text = f"Notice {effect.about} {effect.topic}"
            case _:
                text = f"{type(effect).__name__} {effect.gang}"
        self.note(now, "-> " + text)

    def lines(self, last: int) -> list[str]:
        return [f"{at:9.2f} {text}" for at, text in self._lines[-last:]]
