"""Which topology a workload speaks of, and the numbers of the levels it names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from phalanx.dialects.fields import Field
from phalanx.model.problems import Problem
from phalanx.model.topology import AUTO, HOSTNAME, Topology

_TEXT_MAX = 400  # no label key is longer; a hostile one is not repeated in full
_KEYS_SHOWN = 8
_NODE = (HOSTNAME, "host")
_OURS = "phalanx.dev/v1alpha1"
FLAT = Topology.of("", ())  # stands in where no topology is: the cluster and its nodes


@dataclass(frozen=True, slots=True)
class Levels:
    """Translates level names of one workload. Without a topology every named level is answered by ``missing``.

    ``absent``: what is said of a level that only a Topology could know, where none is.
    """

    topology: Topology | None
    missing: Problem | None = None
    absent: str = "no Topology is given"

    @property
    def name(self) -> str | None:
        """What the Request carries: the topology's name, or None where there is none."""
        return self.topology.name if self.topology is not None and self.topology is not FLAT else None

    def number(self, at: Field) -> int | None:
        """The number of the level named at this field; None when nothing, or nothing good, is written."""
        text = at.text(None)
        if text is None:
            return None
        if self.topology is None:
            if self.missing is not None:
                at.notes.problem(self.missing)
            return None
        number = self.topology.level_number(text[:_TEXT_MAX], "")
        if self.topology is FLAT and (isinstance(number, Problem) or text == AUTO):
            at.mistaken(f"names a level, but {self.absent}", FLAT.level_names())
            return None
        if isinstance(number, Problem):
            at.wrong(number.message, number.allowed)
            return None
        return number

    def label(self, number: int) -> str:
        return (self.topology or FLAT).level_name(number)


def choose(
    named: Field,
    topologies: Sequence[Topology],
    usual: str | None = None,
    used: Callable[[], Sequence[Field]] = tuple,
    refused: Sequence[str] = (),
) -> Levels:
    """The topology named at a field; the usual one, or the only one there is, when none is named (X-39).

    With several and none named the label keys among the levels ``used`` tell which one is meant, for a key is what a
    level is known by (X-05). If they do not, nothing is wrong until a level is used: the Problem is kept for that
    moment. ``refused``: names of Topologies that were given and could not be read.
    """
    wanted = named.text(None)
    if wanted is not None:
        return Levels(_named(named, wanted, topologies, refused))
    if not topologies:
        return Levels(FLAT, absent=_absent(used(), refused))
    fallback = next((topology for topology in topologies if topology.name == usual), None)
    if fallback is not None:
        return Levels(fallback)
    return Levels(topologies[0]) if len(topologies) == 1 else _meant(named, topologies, used())


def _named(named: Field, wanted: str, topologies: Sequence[Topology], refused: Sequence[str]) -> Topology | None:
    names = tuple(sorted(topology.name for topology in topologies))
    found = next((topology for topology in topologies if topology.name == wanted), None)
    if found is None and wanted in refused:
        named.wrong(f"Topology {wanted[:80]!r} is given, but it is refused: see its own problem", names)
    elif found is None:
        listed = f"there are {', '.join(names)}" if names else "none is given"
        named.wrong(f"there is no Topology {wanted[:80]!r}; {listed}", names)
    return found


def _absent(used: Sequence[Field], refused: Sequence[str]) -> str:
    """Why no level is known, and what to do about it: for levels written as label keys the Topology to give."""
    if refused:
        return f"Topology {', '.join(refused)[:200]} is refused: see its own problem"
    keys = [str(at.value)[:_TEXT_MAX] for at in _firsts(used) if "/" in str(at.value) and at.value != HOSTNAME]
    if not keys:
        return "no Topology is given"
    levels = ", ".join(f"{{nodeLabel: {key}}}" for key in keys[:_KEYS_SHOWN])
    return (
        "no Topology is given; one with that nodeLabel is needed, its levels widest first: "
        f"{{apiVersion: {_OURS}, kind: Topology, metadata: {{name: default}}, spec: {{levels: [{levels}]}}}}"
    )


def _meant(named: Field, topologies: Sequence[Topology], used: Sequence[Field]) -> Levels:
    """The one topology that has all label keys among the levels used. The node is a level of every one."""
    if all(at.value in _NODE for at in _firsts(used)):
        return Levels(FLAT)
    left, last = list(topologies), ""
    for at in _firsts(used):
        having = [topology for topology in topologies if _has(topology, at.value)]
        if not having or at.value == HOSTNAME:
            continue
        both = [topology for topology in left if topology in having]
        if not both:
            return Levels(None, _torn(at, having, last, left))
        left, last = both, str(at.value)
    if len(left) == 1:
        return Levels(left[0])
    names = tuple(sorted(topology.name for topology in left))
    message = f"a level is used and several topologies exist; name one of {', '.join(names)}"
    return Levels(None, Problem(named.path, None, names, message, named.about))


def _has(topology: Topology, key: object) -> bool:
    return any(level.label == key for level in topology.levels)


def _torn(at: Field, having: list[Topology], last: str, left: list[Topology]) -> Problem:
    own, others = (", ".join(sorted(topology.name for topology in those)) for those in (having, left))
    allowed = tuple(dict.fromkeys(level.label for topology in left for level in topology.levels))
    message = f"{at.value!r} is a level of Topology {own} and {last!r} one of {others}; a workload has one topology"
    return Problem(at.path, at.value, allowed, message, at.about)


def _firsts(used: Sequence[Field]) -> list[Field]:
    """For each text the first field that holds it."""
    found: dict[str, Field] = {}
    for at in used:
        if isinstance(at.value, str):
            found.setdefault(at.value, at)
    return list(found.values())


def bounds(required: Field, preferred: Field, levels: Levels) -> tuple[int | None, int | None]:
    """The required and the preferred level; required must be at or above (as wide as or wider than) preferred."""
    outer, inner = levels.number(required), levels.number(preferred)
    if outer is not None and inner is not None and outer > inner:
        required.wrong(
            f"required level {levels.label(outer)!r} lies inside preferred level {levels.label(inner)!r}; "
            "required is the outer bound and must be as wide or wider"
        )
        return outer, None
    return outer, inner
