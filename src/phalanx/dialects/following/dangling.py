"""Names in our Queues and Flavors that stand for nothing. The object is good: what it names may come later."""

from collections.abc import Collection, Iterator

from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.model.problems import Problem
from phalanx.model.queues import Queues

INCONSISTENT = "Inconsistent"  # the reason of an object that is valid, and does not agree with others

_PARENT = "it joins the queues that name it, and has no quota of its own"
_FLAVOR = "nothing starts on this quota until there is"
_TOPOLOGY = "the flavor is as one without until there is"


def of(doc: Document, queues: Queues, topologies: Collection[str]) -> tuple[Problem, ...]:
    """What an object names and what is not there, or is there and wrong. ``queues``, ``topologies``: those in use."""
    spec = Field.of(doc.value).at("spec")
    if doc.kind == "Queue":
        return tuple(_of_queue(spec, queues))
    topology = spec.at("topologyName")
    return (_missing(topology, "Topology", _TOPOLOGY),) if topology.present and topology.value not in topologies else ()


def is_said(doc: Document) -> bool:
    """Whether an object says of itself that it names something that is not there: one of us wrote it there once."""
    conditions = Field.of(doc.value).at("status", "conditions").items()
    return any(one.at("type").value == "Valid" and one.at("reason").value == INCONSISTENT for one in conditions)


def _of_queue(spec: Field, queues: Queues) -> Iterator[Problem]:
    parent = spec.at("parent")
    if parent.present and queues.named(str(parent.value)) is None:
        yield _missing(parent, "Queue", _PARENT)
    for quota in spec.at("quota").items():
        flavor = quota.at("flavor")
        if flavor.present and flavor.value not in queues.flavors:
            yield _missing(flavor, "Flavor", _FLAVOR)


def _missing(at: Field, kind: str, so: str) -> Problem:
    return Problem(at.path, at.value, (), f"there is no {kind} {at.value!r} that can be used; {so}")
