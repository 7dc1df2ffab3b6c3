"""What following gives: events for the engine, and what there is to say to the people who wrote the objects."""

from dataclasses import dataclass, field

from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.model.decision import Invalid
from phalanx.model.events import Event
from phalanx.model.mistakes import Mishap
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that a gang was read from: where its conditions go and whom events are about."""

    key: ObjectKey  # API group, kind, namespace, name
    api_version: str
    uid: str
    generation: int = 0

    @classmethod
    def of(cls, key: ObjectKey, doc: Document | None) -> "Subject":
        """None: a group of pods that has no object."""
        if doc is None:
            return cls(key, "", "")
        metadata = Field.of(doc.value).at("metadata")
        uid, generation = metadata.at("uid").value, metadata.at("generation").value
        version = f"{doc.group}/{doc.version}" if doc.group else doc.version
        return cls(key, version, uid if isinstance(uid, str) else "", generation if isinstance(generation, int) else 0)


@dataclass(frozen=True, slots=True)
class SetAside:
    """One object that is passed over for now. ``mishap``: of ours; None: nobody could read it."""

    subject: Subject
    problem: Problem
    mishap: Mishap | None = None


@dataclass(slots=True)
class Told:
    """``subjects``: of the gangs told of, by id. ``refused``: objects that are wrong. ``notes``: warnings by gang.

    ``problems``: of the cluster's own objects, all of them; ``unusable``: of our kinds among those, object by object;
    ``dangling``: of those that can be used, what they name and what is not there; of pods, where they do not agree with
    their gang; of Gangs, why nothing of them is placed yet. ``set_aside``: those of
    the refused that nobody could read, or over which we tripped.
    """

    events: list[Event] = field(default_factory=list)
    subjects: dict[str, Subject] = field(default_factory=dict)
    refused: list[tuple[Subject, Invalid]] = field(default_factory=list)
    accepted: list[Subject] = field(default_factory=list)  # were refused before, and are good now
    notes: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    unusable: list[tuple[Subject, tuple[Problem, ...]]] = field(default_factory=list)
    dangling: list[tuple[Subject, tuple[Problem, ...]]] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)

    def add(self, more: "Told") -> None:
        """What came of one family, after what was told before."""
        self.events += more.events
        self.refused += more.refused
        self.accepted += more.accepted
        self.dangling += more.dangling
        self.set_aside += more.set_aside
        self.subjects |= more.subjects
        self.notes |= more.notes

    def note_once(self, gang: str, problem: Problem) -> bool:
        """What many pods may have in common: the first of them stands for all. Whether this one does."""
        is_first = all(one.message != problem.message for one in self.notes.get(gang, ()))
        if is_first:
            self.note(gang, problem)
        return is_first

    def note(self, gang: str, problem: Problem) -> None:
        self.notes[gang] = (*self.notes.get(gang, ()), problem)
