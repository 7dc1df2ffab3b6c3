"""One way of writing workloads down: what is drawn for it, and what is created of that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from phalanx.sim.objects.drawn import Drawn, Made

Fields = dict[str, Any]  # of a Drawn


@dataclass(frozen=True, slots=True)
class Row:
    """``drawn``: the fields of a Drawn that its kind says. ``make``: what its user creates, for an incarnation.

    ``copy``: the label of pods that tells its gangs apart. ``held``: whether its user may suspend it for us to resume.
    ``by_hand``: nobody but its user makes its pods. ``resized``: what of the object follows a change of the numbers, by
    making it again; empty where it has to stay as it is. ``rolled``: a change of its templates replaces its pods.
    """

    make: Callable[[Drawn, str], Made]
    drawn: Callable[[Random], Fields]
    copy: str = ""
    held: bool = False
    by_hand: bool = False
    resized: bool = False
    rolled: bool = False

    def copy_of(self, labels: Mapping[str, str]) -> str:
        return labels.get(self.copy, "") if self.copy else ""
