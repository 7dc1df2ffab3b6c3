"""Whether what made an object is still there, by uid. What its maker leaves behind is about to be deleted as well.

::

    Pod -> Job (deleted, or another of its name is there)     left behind: no pod of it gets a node any more
    PodGroup -> Job (being deleted)                           left behind: no gang without its Job
    Pod -> Job -> JobSet (deleted)                            left behind too
    Pod -> FooJob (a kind that nobody reads)                  nobody can say; it stands for itself
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from phalanx.dialects import owners, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.kindtable import Kind
from phalanx.dialects.owners import Owner
from phalanx.model.objects import ObjectKey

_CRON_JOB = ("batch", "CronJob")  # its Jobs stand for themselves, and not every cluster lets us see it


@dataclass(frozen=True, slots=True)
class Life:
    """One life of an object: another uid is another object. ``leaving``: it is being deleted."""

    uid: str = ""
    leaving: bool = False


def life(doc: Document) -> Life:
    metadata = Field.of(doc.value).at("metadata")
    uid = metadata.at("uid").value
    return Life(uid if isinstance(uid, str) else "", metadata.at("deletionTimestamp").present)


class Makers:
    """Who made what. ``find``: the present life of an object; None where it is not there. ``followed``: kinds all of
    whose objects are told of; None: all that are read."""

    def __init__(self, find: Callable[[ObjectKey], Life | None], followed: Collection[Kind] | None = None) -> None:
        self._find = find
        self._followed: Collection[Kind] = readers.ALL if followed is None else followed
        self._made: dict[ObjectKey, tuple[Owner, ...]] = {}

    def see(self, key: ObjectKey, owners: tuple[Owner, ...]) -> None:
        self._made[key] = owners

    def forget(self, key: ObjectKey) -> None:
        self._made.pop(key, None)

    def is_left_behind(self, key: ObjectKey) -> bool:
        """Whether all that made an object, or made its makers, is gone or going."""
        return self._is_left(key, owners.DEPTH_MAX)

    def _is_left(self, key: ObjectKey, depth: int) -> bool:
        made_by = self._made.get(key, ())
        return bool(made_by) and depth > 0 and all(self._is_gone(key.namespace, owner, depth) for owner in made_by)

    def _is_gone(self, namespace: str, owner: Owner, depth: int) -> bool:
        if owner.of_kind not in self._followed:
            return False
        key = owner.key(namespace)
        found = self._find(key)
        if found is None:
            return owner.of_kind != _CRON_JOB
        is_other = bool(owner.uid and found.uid) and owner.uid != found.uid
        return is_other or found.leaving or self._is_left(key, depth - 1)


def made_by(doc: Document) -> tuple[Owner, ...]:
    return tuple(_owners(doc))


def _owners(doc: Document) -> Iterator[Owner]:
    """What must be there for an object to stay: its controller; of what gathers pods any of its owners will do."""
    at = Field.of(doc.value).aside()
    controller = owners.controller(at)
    if controller is not None:
        yield controller
    elif doc.of_kind in readers.GATHERERS:
        yield from _all(at.at("metadata", "ownerReferences").items())


def _all(references: Iterable[Field]) -> Iterator[Owner]:
    for at in references:
        found = owners.named(at)
        if found is not None:
            yield found
