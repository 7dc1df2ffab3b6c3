"""Mistakes that were in the product once, planted again: each takes the place of one function."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from phalanx.dialects.documents import Document
from phalanx.dialects.following import family, makers, podseen, roll
from phalanx.dialects.following.makers import Life, Makers
from phalanx.engine import book, nodechanges
from phalanx.engine.book import Book
from phalanx.sim.objects import plan
from phalanx.sim.objects.world import Plan

Plant = Callable[[pytest.MonkeyPatch], None]


def sets_keep_their_first_names(patch: pytest.MonkeyPatch) -> None:
    """Pods keep the set they were first given, though it is called after another pod by now."""
    patch.setattr(family, "may_rename", lambda *_: False)


def a_name_is_a_gang(patch: pytest.MonkeyPatch) -> None:
    """What has the name of a gang is that gang, whatever its uid is."""

    def by_name(doc: Document) -> Life:
        return Life("", known(doc).leaving)

    known = makers.life
    patch.setattr(makers, "life", by_name)
    patch.setattr(roll, "life", by_name)
    patch.setattr(book, "_is_another", lambda *_: False)


def what_exits_0_is_done(patch: pytest.MonkeyPatch) -> None:
    """A pod that was told to end and exits 0 has done its work."""
    patch.setattr(podseen, "_was_told_to_end", lambda _: False)


def every_change_of_a_node_loses_its_places(patch: pytest.MonkeyPatch) -> None:
    """Whatever changes of a node, its places are lost."""
    patch.setattr(nodechanges, "_holds", lambda *_: False)


def orphans_stay(patch: pytest.MonkeyPatch) -> None:
    """What lost its owner is like everything else."""
    patch.setattr(Makers, "is_left_behind", lambda *_: False)


def old_pods_are_members_of_the_new_gang(patch: pytest.MonkeyPatch) -> None:
    """Pods that end slowly count for the gang that has the name of theirs."""
    patch.setattr(Makers, "is_left_behind", lambda *_: False)
    patch.setattr(Book, "_was_in_another", lambda *_: False)
    patch.setattr(Book, "_leave_alone", lambda *_: None)


@dataclass(frozen=True)
class Planted:
    """``kinds`` and ``mishaps``: worlds in which it shows soon. ``fields``: what all workloads are there. ``slowly``:
    their pods are made one by one."""

    plant: Plant
    kinds: tuple[str, ...]
    mishaps: tuple[str, ...]
    fields: dict[str, Any] = field(default_factory=dict)
    slowly: bool = False

    def world(self, seed: int) -> Plan:
        drawn = plan.drawn(seed, self.kinds, self.mishaps)
        coming = tuple((at, replace(one, **self.fields)) for at, one in drawn.coming)
        pace = replace(drawn.pace, at_once=1, pause=1.0) if self.slowly else drawn.pace
        return replace(drawn, coming=coming, pace=pace)


_HELD = {"gated": True, "held": True, "queue": "default"}
_EXITS_0 = {"remade": False, "gated": False, "pods": {"minicluster.phalanx.dev/drained-exit-code": "0"}}
_GATHERED = ("PodGroup", "PodGroup of KAI", "Gang", "CompositePodGroup", "pods of Kueue")
_MADE = ("Job", "JobSet", "StatefulSet", "PyTorchJob")

PLANTED = {  # by the point of the issue "alive" that each was
    "1 shapes": Planted(sets_keep_their_first_names, _GATHERED, ()),
    "2 made again": Planted(a_name_is_a_gang, (*_GATHERED, "Job"), ("again", "other size")),
    "5 exits 0": Planted(what_exits_0_is_done, _GATHERED, ("drain", "kill"), _EXITS_0),
    "6 labels": Planted(
        every_change_of_a_node_loses_its_places, ("Job", "JobSet"), ("touch", "touch"), _HELD, slowly=True
    ),
    "10 orphans": Planted(orphans_stay, _MADE, ("delete", "other size")),
    "11 ends slowly": Planted(old_pods_are_members_of_the_new_gang, _MADE, ("again", "other size")),
}
