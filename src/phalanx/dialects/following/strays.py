"""Pods that would make their gang invalid. They are left out, and told of: a wrong pod stops no gang that is good.

::

    Pod/stray: metadata.labels['phalanx.dev/group']: pod stray names group 'b' ...    the problem names it
    spec.podGroups[0].slices: slices of a group with several podClasses ...           others run, and it is new
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from phalanx.dialects import links, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.workloads import WorkloadReading
from phalanx.model.decision import Invalid
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

_POD = ("", "Pod")

Docs = Mapping[ObjectKey, Document]
Problems = tuple[Problem, ...]
Read = Callable[[list[Document]], WorkloadReading]
Name = tuple[str, str, str]  # kind, namespace, name


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left of a family. ``invalid``: one for each stray; ``told``: what they did to the workload they name."""

    docs: Docs
    reading: WorkloadReading
    invalid: tuple[Invalid, ...] = ()
    told: Mapping[Name, Problems] = field(default_factory=dict)

    @property
    def notes(self) -> dict[str, Problems]:
        """By gang: what there is to say of it, and of pods that are none of it."""
        named = {one.id: self.told.get((one.kind, one.namespace, one.name), ()) for one in self.reading.requests}
        notes = self.reading.notes
        return {**notes, **{gang: (*notes.get(gang, ()), *more) for gang, more in named.items()}}


def left_out(docs: Docs, running: frozenset[ObjectKey], read: Read) -> Rest:
    """A family without its strays. ``running``: pods that have a node."""

    def read_in_order(those: Docs) -> WorkloadReading:
        return read(_in_order(those, running))

    rest = Rest(docs, read_in_order(docs))
    rest = _without(rest, _named(rest), read_in_order)
    fewer = _without(rest, _new(rest, running), read_in_order)
    return fewer if len(fewer.reading.invalid) < len(rest.reading.invalid) else rest


def _without(rest: Rest, strays: Mapping[ObjectKey, Problems], read: Callable[[Docs], WorkloadReading]) -> Rest:
    if not strays:
        return rest
    kept = {key: doc for key, doc in rest.docs.items() if key not in strays}
    told = dict(rest.told)
    for one in rest.reading.invalid:
        blamed = [problem for problem in one.problems if any(problem in those for those in strays.values())]
        told[_name(one)] = (*told.get(_name(one), ()), *blamed)
    invalid = (_invalid(rest.docs[key], those) for key, those in sorted(strays.items()))
    return Rest(kept, read(kept), (*rest.invalid, *invalid), told)


def _in_order(docs: Docs, running: frozenset[ObjectKey]) -> list[Document]:
    """By kind, then age, then name: what a group is like is told by its first pods, and not by one that comes later.
    Those that have a node are its first pods, however old they are."""
    return [docs[key] for key in sorted(docs, key=lambda key: (key.of_kind, key not in running, _made(docs[key]), key))]


def _made(doc: Document) -> str:
    return str(Field.of(doc.value).at("metadata", "creationTimestamp").value or "")


def _named(rest: Rest) -> dict[ObjectKey, Problems]:
    """Pods that the problems of a workload are about; none where it has no others, for then that is what is wrong."""
    found: dict[ObjectKey, Problems] = {}
    for problem in (problem for one in rest.reading.invalid for problem in one.problems):
        key = problem.about
        if key is not None and key.of_kind == _POD and key in rest.docs:
            found[key] = (*found.get(key, ()), problem)
    good = (
        {_gang(doc) for key, doc in rest.docs.items() if key.of_kind == _POD and key not in found} if found else set()
    )
    return {key: problems for key, problems in found.items() if _gang(rest.docs[key]) in good}


def _new(rest: Rest, running: frozenset[ObjectKey]) -> dict[ObjectKey, Problems]:
    """Pods without a node of a workload others of which have one: without them it was good enough to start."""
    wrong = {_name(one): one.problems for one in rest.reading.invalid}
    named = {key: _gang(doc) for key, doc in rest.docs.items() if key.of_kind == _POD} if wrong else {}
    started = {name for key, name in named.items() if key in running}
    return {key: wrong[name] for key, name in named.items() if name in started and name in wrong and key not in running}


def _gang(pod: Document) -> Name:
    """What a pod belongs to by its link; itself where it has none."""
    link = links.of(Field.of(pod.value).aside())
    found = pod.key if link is None else readers.target(link, pod.namespace)
    return found.address


def _name(one: Invalid) -> Name:
    return one.kind, one.namespace, one.name


def _invalid(pod: Document, wrong: Problems) -> Invalid:
    """The pod itself as what is wrong; its own name is not said again."""
    own = tuple(one.told_on(pod.key) for one in wrong)
    return Invalid(pod.kind, pod.namespace, pod.name, own)
