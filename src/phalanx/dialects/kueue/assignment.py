"""``topologyAssignment``: how many pods of a pod set go into which domains. Written in three forms, read from all.

* ``groups``, the design's: for each domain a count and the node labels of every level, ready to be a node selector;
* ``domains``, of v1beta1: the level keys once, then values and a count for each domain;
* ``slices``, of v1beta2: the same turned round, values by level, with what they have in common written once.

Where the node is the lowest level Kueue's two forms leave the others out: its name alone says where it is.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from phalanx.dialects.fields import Field
from phalanx.model.placement import Counts
from phalanx.model.topology import HOSTNAME, Tree

SLICE_MAX = 100_000  # domains in one slice, Kueue's own bound
DOMAINS_MAX = 200_000  # in one assignment; a few words can claim any number of them, so we stop somewhere
_LEVELS_MAX = 16
_VALUE_MAX = 253  # no node has a longer name

Path = tuple[str, ...]
Domain = tuple[Path, int]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Domains by their values for each of ``levels`` (label keys, widest first), with the number of pods there."""

    levels: tuple[str, ...]
    domains: tuple[Domain, ...]

    @property
    def pods(self) -> int:
        return sum(count for _, count in self.domains)

    def narrowed(self) -> "Assignment":
        """As Kueue keeps it: the node's level alone, where that is the lowest one."""
        if self.levels[-1:] != (HOSTNAME,):
            return self
        return Assignment((HOSTNAME,), tuple((path[-1:], count) for path, count in self.domains))


def of(tree: Tree, counts: Counts, depth: int) -> Assignment:
    """The assignment of a pod set that was placed: its pods in each domain of the lowest level, sorted by path.

    ``depth`` is how many levels the Topology lists. A tree always ends with the nodes, a Topology need not.
    """
    pods: Counter[Path] = Counter()
    for node, count in counts:
        pods[tree.paths[tree.index[node]][:depth]] += count
    return Assignment(tuple(level.label for level in tree.topology.levels[:depth]), tuple(sorted(pods.items())))


# -- writing -----------------------------------------------------------------------------------------------------


def groups(assignment: Assignment) -> dict[str, Any]:
    """The design's form, with all levels. (K-044 to K-047)"""
    labelled = ((dict(zip(assignment.levels, path, strict=True)), count) for path, count in assignment.domains)
    return {"groups": [{"count": count, "nodeLabels": labels} for labels, count in labelled]}


def domains(assignment: Assignment) -> dict[str, Any]:
    """The form of v1beta1."""
    kept = assignment.narrowed()
    listed = [{"values": list(path), "count": count} for path, count in kept.domains]
    return {"levels": list(kept.levels), "domains": listed}


def slices(assignment: Assignment) -> dict[str, Any]:
    """The form of v1beta2: one slice, or as many as its bound makes necessary."""
    kept = assignment.narrowed()
    parts = (kept.domains[i : i + SLICE_MAX] for i in range(0, len(kept.domains), SLICE_MAX))
    return {"levels": list(kept.levels), "slices": [_slice(part) for part in parts]}


def _slice(part: tuple[Domain, ...]) -> dict[str, Any]:
    counts = [count for _, count in part]
    pod_counts = {"universal": counts[0]} if len(set(counts)) == 1 else {"individual": counts}
    columns = [_compressed(column) for column in zip(*(path for path, _ in part), strict=True)]
    return {"domainCount": len(part), "valuesPerLevel": columns, "podCounts": pod_counts}


def _compressed(values: Sequence[str]) -> dict[str, Any]:
    """One value for all, or what differs between a common start and a common end."""
    if len(set(values)) == 1:
        return {"universal": values[0]}
    prefix = _common_start(values)
    rest = [value[len(prefix) :] for value in values]  # the end is looked for behind the start: they never overlap
    suffix = _common_start([value[::-1] for value in rest])[::-1]
    roots = [value[: len(value) - len(suffix)] for value in rest]
    written = {"prefix": prefix, "suffix": suffix}
    return {"individual": {**{key: text for key, text in written.items() if text}, "roots": roots}}


def _common_start(texts: Sequence[str]) -> str:
    """What all begin with. The first and the last in order differ soonest."""
    first, last = min(texts), max(texts)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:length]


# -- reading -----------------------------------------------------------------------------------------------------


def read(at: Field, levels: tuple[str, ...]) -> Assignment | None:
    """The assignment here, in whichever form; None with Problems noted. ``levels``: those of the Topology."""
    if not at.mapping():
        return None
    forms = {"groups": _read_groups, "domains": _read_domains, "slices": _read_slices}
    given = [name for name in forms if at.at(name).present]
    if len(given) != 1:
        at.wrong(f"an assignment has exactly one of {', '.join(forms)}; this one has {len(given)}", forms)
        return None
    kept = levels if given == ["groups"] else _levels(at.at("levels"), levels)
    found = forms[given[0]](at.at(given[0]), kept) if kept else None
    if found is None or any(domain is None for domain in found):
        return None
    return _checked(at.at(given[0]), Assignment(kept, tuple(domain for domain in found if domain is not None)))


def _levels(at: Field, known: tuple[str, ...]) -> tuple[str, ...]:
    """All levels of the Topology, or its lowest one if that is the node; none with a Problem noted."""
    named = tuple(one.text("") for one in at.items(limit=_LEVELS_MAX))
    if named and named in (known, Assignment(known, ()).narrowed().levels):
        return named
    at.wrong("are not the levels of the Topology", known)
    return ()


def _checked(at: Field, found: Assignment) -> Assignment | None:
    """At least one domain, and each once."""
    if not found.domains:
        at.wrong("an assignment has at least one domain")
        return None
    path, times = Counter(path for path, _ in found.domains).most_common(1)[0]
    if times > 1:
        at.wrong(f"domain {'/'.join(path)[:200]!r} is listed {times} times; each is listed once")
        return None
    return found


def _read_groups(at: Field, levels: tuple[str, ...]) -> list[Domain | None]:
    return [_group(entry, levels) for entry in at.items(limit=DOMAINS_MAX)]


def _group(entry: Field, levels: tuple[str, ...]) -> Domain | None:
    entry.mapping()
    entry.typos("count", "nodeLabels")
    count = _count(entry.at("count"))
    labels = entry.at("nodeLabels")
    if {key for key, _ in labels.entries()} != set(levels):
        labels.wrong("a group has a value for every level of the Topology, and no other", levels)
        return None
    return _complete([_value(labels.at(level)) for level in levels], count)


def _read_domains(at: Field, levels: tuple[str, ...]) -> list[Domain | None]:
    return [_domain(entry, len(levels)) for entry in at.items(limit=DOMAINS_MAX)]


def _domain(entry: Field, depth: int) -> Domain | None:
    entry.mapping()
    entry.typos("values", "count")
    values = [_value(one) for one in entry.at("values").items(limit=_LEVELS_MAX)]
    count = _count(entry.at("count"))
    if len(values) != depth:
        entry.at("values").wrong(f"has {len(values)} values for {depth} levels")
        return None
    return _complete(values, count)


def _complete(values: list[str | None], count: int | None) -> Domain | None:
    """The domain, if every part of it could be read."""
    path = tuple(value for value in values if value is not None)
    return (path, count) if len(path) == len(values) and count is not None else None


def _count(at: Field) -> int | None:
    if not at.present:
        at.wrong("the number of pods is missing")
    return at.integer(None, low=1)


# -- reading slices ----------------------------------------------------------------------------------------------


def _read_slices(at: Field, levels: tuple[str, ...]) -> list[Domain | None] | None:
    found: list[Domain | None] = []
    for entry in at.items():
        size = _size(entry)
        if size is None:
            return None
        if len(found) + size > DOMAINS_MAX:
            at.wrong(f"has more than {DOMAINS_MAX} domains; that many are not read")
            return None
        columns = [_column(level, size) for level in entry.at("valuesPerLevel").items(limit=_LEVELS_MAX)]
        counts = _pod_counts(entry.at("podCounts"), size)
        if len(columns) != len(levels):
            entry.at("valuesPerLevel").wrong(f"has {len(columns)} entries for {len(levels)} levels")
        if len(columns) != len(levels) or not counts or not all(columns):
            return None
        found.extend(zip(zip(*columns, strict=True), counts, strict=True))
    return found


def _size(entry: Field) -> int | None:
    entry.mapping()
    entry.typos("domainCount", "valuesPerLevel", "podCounts")
    if not entry.at("domainCount").present:
        entry.at("domainCount").wrong("a slice needs the number of its domains")
    return entry.at("domainCount").integer(None, low=1, high=SLICE_MAX)


def _column(at: Field, size: int) -> list[str]:
    """The values of one level, one for each domain; none with a Problem noted."""
    if not _is_one_of_two(at):
        return []
    if at.at("universal").present:
        value = _value(at.at("universal"))
        return [value] * size if value is not None else []
    individual = at.at("individual")
    individual.mapping()
    individual.typos("prefix", "suffix", "roots")
    prefix, suffix = (
        _value(individual.at(part)) if individual.at(part).present else "" for part in ("prefix", "suffix")
    )
    roots = [_value(root) for root in individual.at("roots").items(limit=SLICE_MAX)]
    if prefix is None or suffix is None or not _is_as_long(individual.at("roots"), len(roots), size):
        return []
    whole = [prefix + root + suffix for root in roots if root is not None]
    return whole if len(whole) == size else []


def _pod_counts(at: Field, size: int) -> list[int]:
    """The pods of each domain; none with a Problem noted."""
    if not _is_one_of_two(at):
        return []
    if at.at("universal").present:
        count = _count(at.at("universal"))
        return [count] * size if count is not None else []
    listed = [_count(one) for one in at.at("individual").items(limit=SLICE_MAX)]
    good = [count for count in listed if count is not None]
    return good if _is_as_long(at.at("individual"), len(listed), size) and len(good) == size else []


def _is_one_of_two(at: Field) -> bool:
    at.mapping()
    at.typos("universal", "individual")
    if at.at("universal").present == at.at("individual").present:
        at.wrong("has exactly one of universal and individual", ("universal", "individual"))
        return False
    return True


def _is_as_long(at: Field, length: int, size: int) -> bool:
    if length != size:
        at.wrong(f"has {length} entries for {size} domains")
    return length == size


def _value(at: Field) -> str | None:
    value = at.text(None)
    if not at.present:
        at.wrong("a value is missing")
    if value is not None and len(value) > _VALUE_MAX:
        at.mistaken(f"is longer than the {_VALUE_MAX} characters that a name can have")
        return None
    return value
