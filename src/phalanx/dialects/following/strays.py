"""Pods that would make their gang invalid. They are left out, and told of: a wrong pod stops no gang that is good.

::

    Pod/stray: metadata.labels['phalanx.dev/group']: pod stray names group 'b' ...    the problem names it
    spec.podGroups[0].slices: slices of a group with several podClasses ...           others run, and it is new
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from phalanx.dialects import links, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.neighbours import Key
from phalanx.dialects.workloads import WorkloadReading
from phalanx.model.decision import Invalid
from phalanx.model.problems import Problem

_POD = ("", "Pod")

Docs = Mapping[Key, Document]
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


def left_out(docs: Docs, running: frozenset[Key], read: Read) -> Rest:
    """A family without its strays. ``running``: pods that have a node."""
    rest = Rest(docs, read(_in_order(docs)))
    rest = _without(rest, _named(rest), read)
    fewer = _without(rest, _new(rest, running), read)
    return fewer if len(fewer.reading.invalid) < len(rest.reading.invalid) else rest


def _without(rest: Rest, strays: Mapping[Key, Problems], read: Read) -> Rest:
    if not strays:
        return rest
    kept = {key: doc for key, doc in rest.docs.items() if key not in strays}
    told = dict(rest.told)
    for one in rest.reading.invalid:
        blamed = [problem for problem in one.problems if any(problem in those for those in strays.values())]
        told[_name(one)] = (*told.get(_name(one), ()), *blamed)
    invalid = (_invalid(rest.docs[key], those) for key, those in sorted(strays.items()))
    return Rest(kept, read(_in_order(kept)), (*rest.invalid, *invalid), told)


def _in_order(docs: Docs) -> list[Document]:
    """By kind, then age, then name: what a group is like is told by its first pods, and not by one that comes later."""
    return [docs[key] for key in sorted(docs, key=lambda key: (key[:2], _made(docs[key]), key))]


def _made(doc: Document) -> str:
    return str(Field.of(doc.value).at("metadata", "creationTimestamp").value or "")


def _named(rest: Rest) -> dict[Key, Problems]:
    """Pods that the problems of a workload are about; none where it has no others, for then that is what is wrong."""
    titles = (
        {f"{doc.title}: ": key for key, doc in rest.docs.items() if key[:2] == _POD} if rest.reading.invalid else {}
    )
    found: dict[Key, Problems] = {}
    for problem in (problem for one in rest.reading.invalid for problem in one.problems):
        title, colon, _ = problem.path.partition(": ")
        key = titles.get(title + colon)
        if key is not None:
            found[key] = (*found.get(key, ()), problem)
    good = {_gang(doc) for key, doc in rest.docs.items() if key[:2] == _POD and key not in found} if found else set()
    return {key: problems for key, problems in found.items() if _gang(rest.docs[key]) in good}


def _new(rest: Rest, running: frozenset[Key]) -> dict[Key, Problems]:
    """Pods without a node of a workload others of which have one: without them it was good enough to start."""
    wrong = {_name(one): one.problems for one in rest.reading.invalid}
    named = {key: _gang(doc) for key, doc in rest.docs.items() if key[:2] == _POD} if wrong else {}
    started = {name for key, name in named.items() if key in running}
    return {key: wrong[name] for key, name in named.items() if name in started and name in wrong and key not in running}


def _gang(pod: Document) -> Name:
    """What a pod belongs to by its link; itself where it has none."""
    link = links.of(Field.of(pod.value).aside())
    kind, namespace, name = readers.key(pod)[1:] if link is None else readers.target(link, pod.namespace)[1:]
    return kind, namespace, name


def _name(one: Invalid) -> Name:
    return one.kind, one.namespace, one.name


def _invalid(pod: Document, wrong: Problems) -> Invalid:
    """The pod itself as what is wrong; its own name is not said again."""
    own = tuple(replace(one, path=one.path.removeprefix(f"{pod.title}: ")) for one in wrong)
    return Invalid(pod.kind, pod.namespace, pod.name, own)
