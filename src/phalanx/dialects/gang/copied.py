"""Groups of which there are copies: where their pods say which copy they are in, and how a copy is called.

A copy is called by its number, or by its key where keys tell how many copies there are::

    replicas: 2, replicaKey: metadata.labels['k']    keys x, y    decode[0], decode[1]
    replicaKey: metadata.labels['k']                 keys x, y    decode[x], decode[y]

A key is a text and no number: only whether two are the same means something (X-10).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from phalanx.dialects import recognised
from phalanx.dialects.fields import Field
from phalanx.dialects.gang.declared import DEPTH_MAX, GROUPS_MAX

Way = tuple[str | None, int | None]


@dataclass(frozen=True, slots=True)
class Copied:
    """``number``: of copies; None: as many as keys appear. ``path``: where pods carry their key; None: in a link."""

    name: str
    number: int | None
    path: str | None

    @property
    def way(self) -> Way:
        """How its copies are told apart. Groups that share it have the same keys for the same copies."""
        return self.path, self.number


def around(entries: Sequence[Field]) -> dict[str, tuple[Copied, ...]]:
    """The copied groups that each group stands in, outermost first; itself where it is one."""
    named = {text: entry for entry in entries if isinstance(text := entry.at("name").value, str)}
    return {name: tuple(one for at in _upwards(name, named) if (one := _copied(at)) is not None) for name in named}


def _upwards(name: str, named: Mapping[str, Field]) -> list[Field]:
    """A group and those around it, outermost first. Parents that run in a circle are told elsewhere."""
    found: list[Field] = []
    while name in named and len(found) < DEPTH_MAX:
        found.append(named[name])
        parent = named[name].at("parent").value
        name = parent if isinstance(parent, str) else ""
    return found[::-1]


def _copied(at: Field) -> Copied | None:
    number = at.at("replicas").aside().integer(None, low=1, high=GROUPS_MAX)
    path, name = at.at("replicaKey").value, str(at.at("name").value)
    if number is None and path is None:
        return None
    return Copied(name, number, path if isinstance(path, str) else None)


def key(pod: Field, path: str) -> str | None:
    """The key that a pod, or the template of pods, carries where the path says; None when it carries none."""
    at = recognised.by_path(pod.aside(), Field.of(path))
    return None if at is None else at.name(None)


def marks(keys: Iterable[str], number: int | None, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """How the copy of each key is called. ``known``: those that are called so already, and stay.

    Of ``number`` copies a key that is a number of theirs means that one; others take what is left, in their order.
    Keys for which nothing is left are left out.
    """
    ordered = list(dict.fromkeys(keys))
    if number is None:
        return {one: one for one in ordered}
    names = [str(i) for i in range(number)]
    found = {one: mark for one, mark in (known or {}).items() if mark in names}
    own = set(names).difference(found.values())
    found |= {one: one for one in ordered if one in own and one not in found}
    taken = set(found.values())
    free = (name for name in names if name not in taken)
    for one in ordered:
        if one not in found and (mark := next(free, None)) is not None:
            found[one] = mark
    return found
