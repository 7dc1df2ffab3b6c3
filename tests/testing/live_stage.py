"""A tiny world around ``LiveScheduler``: it carries out what is wanted at once, and does nothing by itself."""

from collections.abc import Iterable
from typing import Any

from phalanx.testing import Effect, LiveScheduler
from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc

Key = tuple[str, str, str, str]


def key(doc: Doc) -> Key:
    group, slash, _ = str(doc["apiVersion"]).partition("/")
    return group if slash else "", doc["kind"], doc["metadata"].get("namespace", ""), doc["metadata"]["name"]


class LiveStage:
    """``told`` is the world as the scheduler was told of it. ``effects``: all there were."""

    def __init__(self, *docs: Doc, configuration: Any = None) -> None:
        self.configuration = configuration
        self.scheduler = LiveScheduler(configuration)
        self.now = 1000.0
        self.told: dict[Key, Doc] = {}
        self.effects: list[Effect] = []
        self.see(*docs)

    def see(self, *docs: Doc, gone: Iterable[Doc] = (), carry_out: bool = True) -> tuple[Effect, ...]:
        """One step about these objects, and what comes of it until nothing more does."""
        lost = [key(one) for one in gone]
        for one in lost:
            self.told.pop(one, None)
        self.told.update({key(one): one for one in docs})
        first = last = self.scheduler.step(seen=docs, gone=lost, now=self.now)
        self.effects += first
        while carry_out and (events := self.done(last)):
            seen, away, answers = events
            last = self.scheduler.step(seen=seen, gone=away, answers=answers, now=self.now)
            self.effects += last
        return first

    def one_by_one(self, *docs: Doc, seconds: float = 0.1) -> None:
        for one in docs:
            self.after(seconds, one)

    def after(self, seconds: float, *docs: Doc, gone: Iterable[Doc] = ()) -> tuple[Effect, ...]:
        """Time passes; the scheduler is stepped whenever it wants to be, and then at the end."""
        until = self.now + seconds
        for _ in range(200):
            at = self.scheduler.next_at
            if at is None or at >= until:
                break
            self.now = max(at, self.now)
            self.see()
        self.now = until
        return self.see(*docs, gone=gone)

    def done(
        self, effects: Iterable[Effect]
    ) -> tuple[list[Doc], list[Key], list[tuple[str, str, str, str, str]]] | None:
        seen, away, answers = [], [], []
        for one in effects:
            at = ("", "Pod", one.namespace, one.name)
            pod = self.told.get(at)
            is_that = pod is not None and pod["metadata"]["uid"] == one.uid
            if one.kind == "Bind":
                fits = is_that and pod is not None and "nodeName" not in pod["spec"]
                fits = fits and pod is not None and "deletionTimestamp" not in pod["metadata"]
                answers.append((one.namespace, one.name, one.uid, one.node, "bound" if fits else "conflict"))
                if fits and pod is not None:
                    self.told[at] = objects.on(pod, one.node)
                    seen.append(self.told[at])
            elif one.kind == "Evict" and is_that:
                del self.told[at]
                away.append(at)
        return (seen, away, answers) if seen or away or answers else None

    # -- what is true ------------------------------------------------------------------------------------------------

    def where(self, *names: str) -> list[str]:
        """Nodes of pods by name; empty for those without."""
        found = [self.told.get(("", "Pod", "default", name)) for name in names]
        return ["" if pod is None else pod["spec"].get("nodeName", "") for pod in found]

    def gang(self, name: str) -> dict[str, Any] | None:
        return next((one for one in self.scheduler.gangs() if one["id"] == name), None)

    def state(self, name: str) -> str | None:
        found = self.gang(name)
        return None if found is None else found["state"]

    def kinds(self) -> list[str]:
        return [one.kind for one in self.effects]

    def fresh(self) -> "LiveStage":
        """What another scheduler makes of the same objects, told at once."""
        other = LiveStage(configuration=self.configuration)
        other.now = self.now
        other.see(*self.told.values(), carry_out=False)
        return other

    def at_rest(self) -> list[tuple[str, str, str]]:
        """What a fresh scheduler would do about the same objects: nothing, if all is well."""
        acts = ("Bind", "Ungate", "Evict", "Suspend", "Resume", "Prepare")
        return [(one.kind, one.name, one.cause) for one in self.fresh().effects if one.kind in acts]
