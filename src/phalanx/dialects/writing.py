"""Any workload in another dialect: read into the normal form, written from it, with a warning for all that is lost.

Levels are written as node label keys. Their names are looked up in the Topology among the documents; where none is
given they are taken as written, and only their order is guessed, for nothing that is written depends on it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from phalanx.dialects import documents, exclusive, reading
from phalanx.dialects import outline as normal
from phalanx.dialects.fields import WORK_MAX, Field
from phalanx.dialects.gang import written as gang
from phalanx.dialects.kai import written as kai
from phalanx.dialects.kueue import written as kueue
from phalanx.dialects.levels import FLAT, choose
from phalanx.dialects.outline import Outline
from phalanx.dialects.reading import Problems, WorkloadReading
from phalanx.dialects.surroundings import Surroundings
from phalanx.dialects.workload import written as workload
from phalanx.dialects.workload import written_podgroup as podgroup
from phalanx.dialects.written import Written
from phalanx.model.decision import Invalid
from phalanx.model.mistakes import Mistake
from phalanx.model.problems import Problem
from phalanx.model.topology import AUTO, Topology

Writer = Callable[[Outline], Written]
WRITERS: Mapping[str, Writer] = {
    "gang": gang.write,
    "kueue": kueue.write,
    "kai": kai.write,
    "workload": workload.write,
    "podgroup": podgroup.write,
}
_NAMES_TOPOLOGY = ("kai",)  # dialects in which a level stands beside the name of its topology
_WITHOUT_TEMPLATES = ("kai", "podgroup")
_ALONE = "exclusive-topology is no field of this dialect"
_DEPTH_MAX = 200  # Kubernetes objects nest some 20 deep
_ORDERED_MAX = 4  # levels of unknown order that are tried in every order


@dataclass(frozen=True, slots=True)
class Conversion:
    """``documents``: of the workloads that are valid. ``problems``: why others are not, each with its workload in the
    path. ``warnings``: what the dialect cannot say, and which documents were passed over. ``remarks``: what there was
    to say when they were read, with its workload in the path too."""

    documents: tuple[dict[str, Any], ...]
    problems: Problems = ()
    warnings: Problems = ()
    remarks: Problems = ()


def convert(docs: object, to: str) -> Conversion:
    """The workloads among the documents in the dialect ``to``, one of WRITERS."""
    given = list(docs) if isinstance(docs, (tuple, Iterator)) else docs
    cluster = reading.read_cluster(given)
    around = _with_topologies(given, cluster.surroundings)
    work = reading.read_workloads(given, around)
    guessed = not cluster.surroundings.topologies
    given_as = {doc.key.address: Field.of(doc.value) for doc in documents.sort(given)[0]}
    done = [
        _written(one, given_as.get((one.kind, one.namespace, one.name), Field.of(None)), around, guessed, to)
        for one in work.outlines
    ]
    made = tuple(doc for one in done for doc in one.documents)
    problems = [*cluster.problems, *work.problems, *_invalid(work), *(p for one in done for p in one.problems)]
    warnings = [*work.warnings, *(w for one in done for w in one.warnings), *_twice(made)]
    remarks = [*cluster.warnings, *_noted(work)]
    return Conversion(made, *(tuple(dict.fromkeys(told)) for told in (problems, warnings, remarks)))


def _invalid(work: WorkloadReading) -> list[Problem]:
    return [
        replace(problem, field=f"{_title(one)}: {problem.path}", about=None)
        for one in work.invalid
        for problem in one.problems
    ]


def _noted(work: WorkloadReading) -> Iterator[Problem]:
    """What was read with a remark; units of one workload share theirs."""
    for name, notes in work.notes.items():
        whole = name.partition("#")[0]
        yield from (replace(one, field=f"{whole}: {one.path}" if one.path else whole, about=None) for one in notes)


def _title(one: Invalid) -> str:
    return f"{one.kind} {one.namespace}/{one.name}"


def _twice(documents: tuple[dict[str, Any], ...]) -> list[Problem]:
    """Groups that become objects of their own may get the name of somebody else's."""
    seen: set[tuple[str, str]] = set()
    found: list[Problem] = []
    for doc in documents:
        key = doc["kind"], f"{doc['metadata']['namespace']}/{doc['metadata']['name']}"
        if key in seen:
            found.append(Problem(key[1], key[1], (), f"two documents of kind {key[0]} have this name; rename one"))
        seen.add(key)
    return found


# -- one workload ------------------------------------------------------------------------------------------------


def _written(outline: Outline, doc: Field, around: Surroundings, guessed: bool, to: str) -> Conversion:
    """A workload written down; a Problem when it, or what it becomes, is larger than anybody can mean."""
    title = f"{outline.kind} {outline.namespace}/{outline.name}"
    if not _is_small(outline.spec):
        return Conversion((), (_too_large(title),))
    made = WRITERS[to](exclusive.as_written(_resolved(outline, around.topologies, guessed, to), doc))
    if not _is_small(made.documents):
        return Conversion((), (_too_large(title),))
    return Conversion(made.documents, (), (*made.warnings, *_shared(outline, doc, to)))


def _shared(outline: Outline, doc: Field, to: str) -> Iterator[Problem]:
    """That others may come into its own domains: where templates are not written, or cannot say all of it."""
    if not exclusive.says_alone(outline, doc):
        return
    whose = f"{outline.namespace}/{outline.name}"
    if to in _WITHOUT_TEMPLATES:
        yield Problem(whose, to, (), f"{_ALONE}: pods carry their templates, and the rules that keep others out")
    elif outline.kind == "LeaderWorkerSet":
        yield Problem(whose, to, (), f"{_ALONE}: other sets are kept out, replicas of its own are not")


def _too_large(title: str) -> Problem:
    return Problem(title, None, (), f"is too large to write: more than {WORK_MAX} entries, or nested too deep")


def _is_small(value: object) -> bool:
    """Whether a value has few entries, aliases counted as often as they are used. Never looks at more than that."""
    left = WORK_MAX
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        one = one.value if isinstance(one, Field) else one
        below = one.values() if isinstance(one, Mapping) else one if isinstance(one, (list, tuple)) else ()
        left -= len(below)
        if left < 0 or depth > _DEPTH_MAX:
            return False
        waiting += [(each, depth + 1) for each in below]
    return True


# -- levels ------------------------------------------------------------------------------------------------------


def _resolved(outline: Outline, topologies: tuple[Topology, ...], guessed: bool, to: str) -> Outline:
    """The outline as plain values, with node label keys for names of levels.

    ``guessed``: the topologies are, and so nothing is known of which level is the wider one.
    """
    spec = normal.plain(outline.spec)
    if not isinstance(spec, dict):
        raise Mistake("the plain form of an outline is no mapping")
    levels = choose(Field.of(spec).at("topologyName"), topologies)
    groups = spec.get("podGroups", ()) if guessed else _narrowed(spec, levels.topology)
    groups = [_group(group, levels.topology) for group in groups]
    named = {"topologyName": levels.name} if to in _NAMES_TOPOLOGY and levels.name else {}
    return replace(outline, spec={**spec, **named, **_near(spec, levels.topology), "podGroups": groups})


def _narrowed(spec: dict[str, Any], topology: Topology | None) -> list[dict[str, Any]]:
    """The groups without levels wider than one required around them, which change nothing. (M-018)"""
    groups = {group["name"]: group for group in spec.get("podGroups", ())}

    def outer(group: dict[str, Any]) -> int:
        """The narrowest level required around a group."""
        above = groups.get(group.get("parent"))
        if above is None:
            return _number(spec.get("topology", {}).get("required"), topology)
        return max(_number(above.get("topology", {}).get("required"), topology), outer(above))

    return [_kept(group, outer(group), topology) if "topology" in group else group for group in groups.values()]


def _kept(group: dict[str, Any], outer: int, topology: Topology | None) -> dict[str, Any]:
    near = group["topology"]
    wide = [key for key in ("required", "preferred") if key in near and _number(near[key], topology) < outer]
    return {**group, "topology": {key: value for key, value in near.items() if key not in wide}}


def _group(group: dict[str, Any], topology: Topology | None) -> dict[str, Any]:
    slices = [_relabelled(one, topology, "level") for one in group.get("slices", ()) if isinstance(one, dict)]
    rank = {"rank": _relabelled(group["rank"], topology, "across", "level")} if "rank" in group else {}
    return {**group, **_near(group, topology), **({"slices": slices} if slices else {}), **rank}


def _near(holder: dict[str, Any], topology: Topology | None) -> dict[str, Any]:
    if "topology" not in holder:
        return {}
    near = _relabelled(holder["topology"], topology, "required", "preferred")
    spread = {"spread": _relabelled(near["spread"], topology, "level")} if "spread" in near else {}
    return {"topology": {**near, **spread}}


def _relabelled(holder: dict[str, Any], topology: Topology | None, *keys: str) -> dict[str, Any]:
    return {key: _label(value, topology) if key in keys else value for key, value in holder.items()}


def _label(name: Any, topology: Topology | None) -> Any:
    number = _number(name, topology)
    return topology.levels[number - 1].label if topology is not None and number else name


def _number(name: Any, topology: Topology | None) -> int:
    """The number of a level; 0, the whole cluster, when none is named."""
    number = topology.level_number(name, "") if topology is not None and isinstance(name, str) else 0
    return number if isinstance(number, int) else 0


# -- levels of which no Topology tells ---------------------------------------------------------------------------


def _with_topologies(docs: object, around: Surroundings) -> Surroundings:
    """The surroundings; where no Topology is given, with those that the workloads speak of."""
    if around.topologies:
        return around
    names = _complaints(
        reading.read_workloads(docs, around), lambda one: one.message.startswith("there is no Topology")
    )
    bare = replace(around, topologies=tuple(Topology.of(name, ()) for name in names))
    levels = _complaints(reading.read_workloads(docs, bare), lambda one: one.allowed == FLAT.level_names())
    if AUTO in levels:  # the narrowest level above the node: which one nobody can guess
        return around
    orders = permutations(levels) if len(levels) <= _ORDERED_MAX else [tuple(levels)]
    tried = (replace(around, topologies=_standing_in(names, order)) for order in orders if names or levels)
    return min(tried, key=lambda one: len(reading.read_workloads(docs, one).invalid), default=around)


def _complaints(work: WorkloadReading, about: Callable[[Problem], bool]) -> list[str]:
    """The values that Problems of a kind are about, each once, as they come."""
    found = [problem.value for one in work.invalid for problem in one.problems if about(problem)]
    return list(dict.fromkeys(value for value in found if isinstance(value, str)))


def _standing_in(names: list[str], levels: tuple[str, ...]) -> tuple[Topology, ...]:
    return tuple(Topology.of(name, levels) for name in names or [""])
