"""Where in the user's manifests it stands what a workload asks for, and how it is written that it asks for less.

The normal form holds the fields of the objects it was read from, so each level and each count is known by the place
where somebody wrote it: ``spec.topology.required`` of a Gang, an annotation on the pod template of a Job. What is
proposed here may not help, or not even be allowed: who asks makes the change and reads everything again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phalanx.dialects import wishes
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field, joined
from phalanx.dialects.outline import Outline
from phalanx.model.objects import ObjectKey
from phalanx.model.reasons import Edit, Remedy, WayOut
from phalanx.model.topology import Topology

Edits = tuple[Edit, ...]
Keys = tuple[str | int, ...]

_PREFERRED: dict[str | int, str] = {
    one.required: one.preferred for one in (wishes.OURS, wishes.KUEUE, wishes.KAI)
}  # annotations
_DEPTH = 24  # how far below the top of an object the same wish is looked for
_WORK = 5_000  # and in how many entries


@dataclass(frozen=True, slots=True)
class Written:
    """A workload as its manifests say it: its normal form, and the documents that it may have been read from."""

    outline: Outline
    docs: Sequence[Document]

    def proposals(self, way: WayOut, topology: Topology) -> Iterator[Edits]:
        """Changes of the manifests that may be what a way out means, the likeliest first."""
        if way.kind is Remedy.LEVEL:
            return self._wider(way, topology)
        if way.kind is Remedy.PREFERENCE:
            return self._preferring(way)
        return self._fewer(way) if way.kind is Remedy.PODS else iter(())

    def is_own(self, group: str, edit: Edit) -> bool:
        """Whether a field stands in what the user calls by the name of the group, and not around or below it."""
        document = next((doc.value for doc in self.docs if doc.key == edit.object), None)
        ways = [edit.keys[:length] for length in range(len(edit.keys) - 1, 0, -1)]
        around = [_at(document, keys) for keys in ways if keys[-1] != "metadata"]  # its name is that of the object
        names = [one["name"] for one in around if isinstance(one, dict) and isinstance(one.get("name"), str)]
        return names[:1] == [group]

    # -- levels ----------------------------------------------------------------------------------------------------

    def _wider(self, way: WayOut, topology: Topology) -> Iterator[Edits]:
        for at in self._levels(way.subject):
            level = _spelt(way.value, at.value, topology)
            for places in self._places(at):
                yield tuple(self._edit(at, keys, level) for keys in places)

    def _preferring(self, way: WayOut) -> Iterator[Edits]:
        for at in self._levels(way.subject):
            key = self._preferred(at, way.subject)
            if key is None:
                continue
            is_there = _at(self._document(at), (*at.keys[:-1], key)) is not None
            for places in self._places(at):
                gone = [self._edit(at, keys, None) for keys in places]
                wished = [(*keys[:-1], key) for keys in places] if not is_there else []
                yield (*gone, *(self._edit(at, keys, str(at.value)) for keys in wished))

    def _levels(self, group: str) -> Iterator[Field]:
        """Where a level is required of a group, or around it, the narrowest first."""
        for holder in (*self._chain(group), self._spec):
            at = self._level(holder)
            if at.present and self._key(at) is not None:
                yield at

    def _level(self, holder: Field) -> Field:
        return holder.at("topology", "required")

    def _preferred(self, at: Field, group: str) -> str | int | None:
        """What a preferred level is called beside this required one; None where there is no such field."""
        if at.keys[-1] in _PREFERRED:
            return _PREFERRED[at.keys[-1]]
        for holder in (*self._chain(group), self._spec):
            wish = holder.at("topology", "preferred")
            if self._level(holder).keys == at.keys and self._key(wish) is not None and wish.keys[:-1] == at.keys[:-1]:
                return wish.keys[-1]
        return None

    def _chain(self, group: str) -> list[Field]:
        """The entry of a group, and those around it up to the top. None of the workload as a whole."""
        entries = {one.at("name").value: one for one in self._spec.at("podGroups").items()}
        found: list[Field] = []
        name: object = group
        while name in entries and len(found) <= len(entries):
            found.append(entries[name])
            name = entries[name].at("parent").value
        return found

    def _places(self, at: Field) -> Iterator[list[Keys]]:
        """The field; and all of its object that say the same, for some dialects want it said on each template. Where
        Kueue joins pod sets they are one wish."""
        alike = [keys for keys in _same(self._document(at), at.keys[-1], at.value) if keys != at.keys]
        beside = _at(self._document(at), at.keys[:-1])
        if not (isinstance(beside, dict) and wishes.GROUP_NAME in beside):
            yield [at.keys]
        if alike:
            yield [at.keys, *alike]

    # -- counts ----------------------------------------------------------------------------------------------------

    def _fewer(self, way: WayOut) -> Iterator[Edits]:
        group, _, name = way.subject.partition("/")
        chain = self._chain(group)
        if not chain:
            return
        entry, target = chain[0], int(way.value)
        classes = {one.at("name").value: one for one in entry.at("podClasses").items()}
        holder = classes.get(name, entry)
        total = sum(_number(one.at("count"), 1) for one in classes.values())
        lost = _number(holder.at("count"), target) - target if classes else 0
        counts = list(self._count(holder.at("count"), target))
        if classes and self._key(entry.at("count")) is not None and entry.at("count").present:
            counts = [(*one, *more) for one in counts for more in self._count(entry.at("count"), total - lost)]
        least = total - lost if classes else target
        leasts = list(self._count(entry.at("minCount"), least)) if self._is_more(entry.at("minCount"), least) else []
        yield from ((*one, *other) for one in counts for other in leasts or [()])
        yield from leasts

    def _is_more(self, at: Field, least: int) -> bool:
        """Whether somebody wrote a larger number there."""
        is_written = self._key(at) is not None and _at(self._document(at), at.keys) is not None
        return is_written and _number(at, 0) > least

    def _count(self, at: Field, target: int) -> Iterator[Edits]:
        """The field with a number that makes ``target`` of it: what is written may count other things than pods."""
        if self._key(at) is None:
            return
        written, meant = _at(self._document(at), at.keys), _number(at, target)
        is_text = isinstance(written, str)
        number = int(written) if isinstance(written, str) and written.isdecimal() else written
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
            return
        for one in dict.fromkeys(_translated(number, meant, target)):
            if one > 0 and one != number:
                yield (self._edit(at, at.keys, str(one) if is_text else one),)

    # -- the documents ---------------------------------------------------------------------------------------------

    @property
    def _spec(self) -> Field:
        return Field.of({"spec": dict(self.outline.spec)}).at("spec")

    def _key(self, at: Field) -> ObjectKey | None:
        """The object that a field stands in; None where nobody wrote it."""
        if at.about is not None:
            return at.about
        return next((doc.key for doc in self.docs if doc.value is at.document), None)

    def _document(self, at: Field) -> object:
        key = self._key(at)
        return next((doc.value for doc in self.docs if doc.key == key), None)

    def _edit(self, at: Field, keys: Keys, value: str | int | None) -> Edit:
        key = self._key(at)
        if key is None:
            raise LookupError(f"{at.path} is in no document")
        return Edit(key, keys, joined(keys), value)


def _spelt(level: str, written: object, topology: Topology) -> str:
    """The level as the user spells levels: by the label of nodes, where the old one is."""
    labels = {one.label for one in topology.levels}
    number = topology.level_number(level, "")
    return topology.levels[number - 1].label if written in labels and isinstance(number, int) else level


def _translated(written: int | None, meant: int, target: int) -> Iterator[int]:
    """What to write where ``written`` stands for ``meant`` pods: in proportion, or as much less as there are fewer."""
    if written is not None and 0 < written < meant and meant % written == 0 and target % (meant // written) == 0:
        yield target // (meant // written)
    if written is not None and written != meant:
        yield target + written - meant
    yield target


def _number(at: Field, default: int) -> int:
    return at.value if isinstance(at.value, int) and not isinstance(at.value, bool) else default


def _at(document: object, keys: Keys) -> object:
    """What stands at the end of these keys."""
    for key in keys:
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and isinstance(key, int) and key < len(document):
            document = document[key]
        else:
            return None
    return document


def _same(document: object, key: str | int, value: object) -> list[Keys]:
    """All places in a document with this key and value."""
    found: list[Keys] = []
    layer: list[tuple[Keys, object]] = [((), document)]
    work = 0
    for _ in range(_DEPTH):
        below: list[tuple[Keys, object]] = []
        for keys, one in layer:
            held = list(one.items()) if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else []
            work += len(held)
            if work > _WORK:
                return []
            found += [(*keys, name) for name, inner in held if name == key and inner == value]
            below += [((*keys, name), inner) for name, inner in held if isinstance(inner, (dict, list))]
        layer = below
    return found
