"""Which topology a workload speaks of, and the numbers of the levels it names."""

from collections.abc import Sequence
from dataclasses import dataclass

from phalanx.dialects.fields import Field
from phalanx.model.problems import Problem
from phalanx.model.topology import AUTO, Topology

_TEXT_MAX = 400  # no label key is longer; a hostile one is not repeated in full
FLAT = Topology.of("", ())  # stands in where no topology is: the cluster and its nodes


@dataclass(frozen=True, slots=True)
class Levels:
    """Translates level names of one workload. Without a topology every named level is answered by ``missing``."""

    topology: Topology | None
    missing: Problem | None = None

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
            at.mistaken("names a level, but no Topology is given", FLAT.level_names())
            return None
        if isinstance(number, Problem):
            at.wrong(number.message, number.allowed)
            return None
        return number

    def label(self, number: int) -> str:
        return (self.topology or FLAT).level_name(number)


def choose(named: Field, topologies: Sequence[Topology], usual: str | None = None) -> Levels:
    """The topology named at a field; the usual one, or the only one there is, when none is named (X-39).

    With several and none named nothing is wrong until a level is used: the Problem is kept for that moment.
    """
    names = tuple(sorted(topology.name for topology in topologies))
    wanted = named.text(None)
    if wanted is not None:
        found = next((topology for topology in topologies if topology.name == wanted), None)
        if found is None:
            listed = f"there are {', '.join(names)}" if names else "none is given"
            named.wrong(f"there is no Topology {wanted[:80]!r}; {listed}", names)
        return Levels(found)
    if not topologies:
        return Levels(FLAT)
    fallback = next((topology for topology in topologies if topology.name == usual), None)
    if fallback is not None:
        return Levels(fallback)
    if len(topologies) == 1:
        return Levels(topologies[0])
    message = f"a level is used and several topologies exist; name one of {', '.join(names)}"
    return Levels(None, Problem(named.path, None, names, message))


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
