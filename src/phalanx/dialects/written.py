"""What a writer hands back: documents of its dialect, and a warning for each thing that they cannot say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phalanx.model.problems import Problem, shown

Problems = tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """One workload in another dialect. A warning names the workload, and the field that the dialect has none for."""

    documents: tuple[dict[str, Any], ...]
    warnings: Problems = ()


@dataclass(slots=True)
class Losses:
    """What a dialect cannot say of one workload, collected while it is written down."""

    dialect: str
    whose: str  # namespace/name
    found: list[Problem] = field(default_factory=list)

    def say(self, name: str, value: object, rest: str) -> None:
        """``KAI cannot say slices: group 'decode' is written without``."""
        one = Problem(self.whose, shown(value), (), f"{self.dialect} cannot say {name}: {rest}")
        if one not in self.found:
            self.found.append(one)

    def each(self, holder: Mapping[str, Any], who: str, names: Mapping[str, str]) -> None:
        """Says of every field of ``names`` that is set that it is lost; the text beside its name says what helps."""
        for name, hint in names.items():
            if name in holder:
                self.say(name, holder[name], f"{who} is written without" + (f"; {hint}" if hint else ""))

    @property
    def warnings(self) -> Problems:
        return tuple(self.found)
