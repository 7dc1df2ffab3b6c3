"""Recorded placements of Kueue, read as values of our model.

The recordings live beside the repository and are never copied into it: ``VECTORS`` may be absent. How they read:

* A leaf is one node of ours, named by its hostname. Where the topology ends above the host, a leaf stands for the sum
  of its nodes; filters of nodes do not apply there.
* Nodes that are not ready, cordoned, without the labels of the flavor or outside the topology are left out.
* A workload is one request. Its root asks for nothing; each pod set, or leader with its workers, is a group below it.
* The leader of a group brings nothing but its needs: level, slices and node filter are those of the workers.
* What a repair or a resize keeps is counted as placed already; only the rest is asked for. Kept pods of a resize hold
  their room. Those of a repair hold what the recording says is used, no more: so Kueue was asked.
* The rest of a repair stays where the kept pods tie it: in the domain of the lost node for every layer of slices that
  the loss broke, and in the kept pods' domain of the required level.
* A workload that is one bare Pod is not repaired (Kueue's default): nothing is left to place.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from phalanx.model.nodes import Node, NodeFilter, PodShape, Requirement, RunningPod, Taint, Term, Toleration
from phalanx.model.placement import Placement
from phalanx.model.policy import Policy
from phalanx.model.request import Group, PodSet, Request, Slice
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology

VECTORS = Path(__file__).resolve().parents[2].parent / "shared" / "vectors" / "kueue-cases.json"

# Refusals about how a request is written, not about room: whoever reads the manifest says no before placement.
MALFORMED = {
    "unknown-level", "unknown-slice-level", "slice-level-too-high", "slice-size-missing", "inner-slice-not-deeper",
    "inner-slice-not-divisor", "level-missing", "stale-assignment",
}  # fmt: skip

Doc = Mapping[str, Any]
Path_ = tuple[str, ...]
Spots = Counter[Path_]  # pods by the path of their leaf


@dataclass(frozen=True, slots=True)
class Unit:
    """What is placed together: one pod set, or a leader with its workers (who name it).

    ``level``: asked for, by number. ``slices``: of the workers. ``kept``: pods that stay, by pod set.
    """

    name: str
    pod_sets: tuple[str, ...]
    level: int | None
    slices: tuple[Slice, ...]
    kept: Mapping[str, Spots]


@dataclass(frozen=True, slots=True)
class Case:
    """One recording. ``request`` is None where nothing is left to place."""

    id: str
    snapshot: Snapshot
    request: Request | None
    policy: Policy
    units: tuple[Unit, ...]
    theirs: Mapping[str, Spots] | None  # None: they refuse

    @property
    def topology(self) -> Topology:
        return self.snapshot.topologies[0]

    def paths(self) -> dict[str, Path_]:
        """Of every node, by name."""
        keys = [level.label for level in self.topology.levels]
        return {n.name: (*(n.labels[key] for key in keys if key != HOSTNAME), n.name) for n in self.snapshot.nodes}

    def ours(self, placement: Placement) -> dict[str, Spots]:
        """Our pods by leaf, with those that were kept."""
        paths = self.paths()
        out = {name: Counter(spots) for unit in self.units for name, spots in unit.kept.items()}
        for name, counts in placement.pod_sets.items():
            out.setdefault(name, Counter()).update({paths[node]: pods for node, pods in counts})
        return out


def load() -> list[Doc]:
    """The recordings as they are; none when the file is not there."""
    return json.loads(VECTORS.read_text(encoding="utf-8"))["cases"] if VECTORS.exists() else []


def malformed(case: Doc) -> str | None:
    """The class of a refusal that is about the manifest."""
    classes = [entry["fail"]["class"] for entry in case["outcome"]["podsets"] if "fail" in entry]
    return next((name for name in classes if name in MALFORMED), None)


def read(case: Doc) -> Case:
    return _Reader(case).case()


def common_level(spots: Iterable[Path_]) -> int:
    """The narrowest level whose one domain holds all of them; 0 is the whole cluster."""
    paths = list(spots)
    level = 0
    while level < min(map(len, paths)) and len({path[: level + 1] for path in paths}) == 1:
        level += 1
    return level


def domains(spots: Iterable[Path_], level: int) -> int:
    return len({path[:level] for path in spots})


class _Reader:
    """Turns one recording into a Case."""

    def __init__(self, case: Doc) -> None:
        self.source = case
        self.levels: list[str] = case["levels"]
        self.by_host = self.levels[-1] == HOSTNAME
        self.on = {key for key, value in case["switches"].items() if value}
        self.path_of = {node["name"]: self.path(node["labels"]) for node in case["nodes"]}
        self.leaves = {path[-1]: path for path in self.path_of.values() if path is not None}
        self.repair: Doc | None = case.get("repair")
        self.lost = self.repair["failed_nodes"][0] if self.repair else None

    def path(self, labels: Mapping[str, str]) -> Path_ | None:
        """Where a node is: the values of all levels, the name of its leaf last."""
        if any(level not in labels for level in self.levels):
            return None
        values = tuple(labels[level] for level in self.levels)
        return values if self.by_host else (*values, "/".join(values))

    def leaf(self, values: list[str]) -> Path_:
        """A leaf as outcomes write it: a hostname alone, or the values of all levels."""
        if self.by_host:
            return self.leaves.get(values[-1], (values[-1],))
        return (*values, "/".join(values))

    def case(self) -> Case:
        teams = self.teams()
        units = tuple(self.unit(team) for team in teams)
        groups = tuple(g for team, unit in zip(teams, units, strict=True) if (g := self.group(team, unit)) is not None)
        nodes = self.nodes()
        running = (*self.running(), *self.holding(units))
        here = {node.name for node in nodes}
        snapshot = Snapshot(nodes, (self.topology(),), tuple(pod for pod in running if pod.node in here))
        request = Request("Workload", "default", "w", Group("workload", groups), topology="t") if groups else None
        return Case(self.source["id"], snapshot, request, self.policy(), units, self.theirs())

    def topology(self) -> Topology:
        return Topology.of("t", self.levels)

    def number(self, level: str) -> int:
        return self.levels.index(level) + 1

    def policy(self) -> Policy:
        """Kueue's switches as values of ours."""
        loose = all(p["place"]["mode"] in ("any", "implied", "slices-only") for p in self.source["podsets"])
        return Policy(
            candidates="balance" if "balanced" in self.on else "pack",
            nodes="reuse" if loose and "loose_uses_least_free" in self.on else "compact",
        )

    # ---- the cluster --------------------------------------------------------------------------------

    def usable(self, node: Doc) -> bool:
        flavor = self.source.get("flavor_labels") or {}
        return (
            self.path_of[node["name"]] is not None
            and node.get("ready", True)
            and not node.get("cordoned", False)
            and all(node["labels"].get(key) == value for key, value in flavor.items())
        )

    def nodes(self) -> tuple[Node, ...]:
        parts: dict[Path_, list[Doc]] = {}
        for node in self.source["nodes"]:
            path = self.path_of[node["name"]]
            if path is not None and self.usable(node):
                parts.setdefault(path, []).append(node)
        return tuple(self.node(path, members) for path, members in parts.items())

    def node(self, path: Path_, members: list[Doc]) -> Node:
        total = Resources()
        for member in members:
            total = total + _amounts(member["capacity"])
        labels = {**dict(zip(self.levels, path, strict=False)), HOSTNAME: path[-1]}
        if not self.by_host:
            return Node(path[-1], labels, total)
        taints = tuple(Taint(t["key"], t.get("value", ""), t["effect"]) for t in members[0].get("taints") or ())
        return Node(path[-1], {**members[0]["labels"], **labels}, total, taints)

    def running(self) -> list[RunningPod]:
        """What others hold."""
        out = []
        for i, pod in enumerate(self.source.get("pods") or ()):
            path = self.path_of.get(pod["node"])
            if path is not None and not pod.get("finished", False):
                out.append(RunningPod(f"other-{i}", "default", path[-1], _needs(pod["requests"])))
        for i, entry in enumerate([] if self.source.get("as_if_empty") else self.source.get("used") or ()):
            leaf = entry["leaf"][-1] if self.by_host else self.leaf(entry["leaf"])[-1]
            out.append(RunningPod(f"used-{i}", "default", leaf, _amounts(entry["usage"])))
        return out

    def holding(self, units: tuple[Unit, ...]) -> list[RunningPod]:
        """The room of the pods a resize keeps."""
        if self.repair is not None:
            return []
        needs = {p["name"]: _needs(p["requests"]) for p in self.source["podsets"]}
        return [
            RunningPod(f"kept-{name}-{path[-1]}", "default", path[-1], needs[name].times(pods))
            for unit in units
            for name, spots in unit.kept.items()
            for path, pods in spots.items()
        ]

    # ---- the request --------------------------------------------------------------------------------

    def teams(self) -> list[list[Doc]]:
        """Pod sets that are placed together, workers first."""
        teams: dict[str, list[Doc]] = {}
        for pod_set in self.source["podsets"]:
            teams.setdefault(pod_set.get("group") or f"alone {pod_set['name']}", []).append(pod_set)
        # the smaller count leads; on a tie the second does
        return [sorted(team, key=lambda p: -p["count"]) for team in teams.values()]

    def unit(self, team: list[Doc]) -> Unit:
        place = team[0]["place"]
        level = self.number(place["level"]) if place["mode"] in ("required", "preferred") else None
        names = tuple(p["name"] for p in team)
        return Unit(names[0], names, level, self.slices(team[0]), {p["name"]: self.kept(p) for p in team})

    def slices(self, pod_set: Doc) -> tuple[Slice, ...]:
        return tuple(Slice(self.number(s["level"]), s["size"]) for s in pod_set.get("slices") or () if s["size"])

    def kept(self, pod_set: Doc) -> Spots:
        """Pods that stay where they are."""
        entries: Iterable[Doc] = ()
        if self.repair is not None:
            entries = self.repair["current"][pod_set["name"]]
            if not self.sole_pod():
                entries = [entry for entry in entries if entry["leaf"][-1] != self.lost]
        elif "elastic" in self.on:
            entries = [e for e in pod_set.get("previous") or () if e["leaf"][-1] in self.leaves or not self.by_host]
        kept: Spots = Counter()
        for entry in entries:
            room = pod_set["count"] - kept.total()
            if room > 0:
                kept[self.leaf(entry["leaf"])] += min(entry["count"], room)
        return kept

    def sole_pod(self) -> bool:
        """A workload that is one Pod is not moved: it cannot be anywhere but where it is bound."""
        assert self.repair is not None
        owners = self.repair.get("owners") or ()
        single = len(owners) == 1 and owners[0]["kind"] == "Pod" and not self.repair.get("pod_group", False)
        return single and "keep_sole_pod" in self.on

    def group(self, team: list[Doc], unit: Unit) -> Group | None:
        workers = team[0]
        place = workers["place"]
        sets = [self.pod_set(p, unit, leads=p is not workers) for p in team]
        members = tuple(s for s in sets if s is not None)
        if not members:
            return None
        return Group(
            unit.name,
            members,
            required=unit.level if place["mode"] == "required" else None,
            preferred=unit.level if place["mode"] == "preferred" else None,
        )

    def pod_set(self, pod_set: Doc, unit: Unit, leads: bool) -> PodSet | None:
        kept = unit.kept[pod_set["name"]]
        missing = pod_set["count"] - kept.total()
        if missing <= 0:
            return None
        slices = () if leads else unit.slices
        shape = PodShape(
            _needs(pod_set["requests"]), NodeFilter() if leads or not self.by_host else self.filter(pod_set)
        )
        if self.lost is not None and kept:
            home = self.home(pod_set, kept, missing, slices)
            shape = replace(shape, filter=self.staying(shape.filter, home))
            slices = tuple(s for s in slices if missing % s.size == 0)
        return PodSet(pod_set["name"], missing, missing, shape, slices)

    def home(self, pod_set: Doc, kept: Spots, missing: int, slices: tuple[Slice, ...]) -> Path_:
        """The domain that pods missing after a loss may not leave."""
        home: Path_ = ()
        if pod_set["place"]["mode"] == "required":
            home = next(iter(kept))[: self.number(pod_set["place"]["level"])]
        assert self.lost is not None
        for layer in slices:
            if missing % layer.size:
                home = max(home, self.leaves[self.lost][: layer.level], key=len)
        return home

    def staying(self, node_filter: NodeFilter, home: Path_) -> NodeFilter:
        names = tuple(sorted(name for name, path in self.leaves.items() if path[: len(home)] == home))
        term = Term((Requirement("metadata.name", "In", names, on_name=True),))
        return replace(node_filter, required=(*node_filter.required, (term,)))

    def filter(self, pod_set: Doc) -> NodeFilter:
        affinity = pod_set.get("affinity") or {}
        required = tuple(_term(term) for term in affinity.get("required") or ())
        soft = affinity.get("preferred") or () if "soft_node_affinity" in self.on else ()
        return NodeFilter(
            selector=tuple(sorted((pod_set.get("selector") or {}).items())),
            required=(required,) if required else (),
            tolerations=tuple(
                Toleration(t.get("key", ""), t.get("op", "Equal"), t.get("value", ""), t.get("effect", ""))
                for t in pod_set.get("tolerations") or ()
            ),
            preferred=tuple((wish["weight"], _term(wish["all"])) for wish in soft),
        )

    # ---- what they did ------------------------------------------------------------------------------

    def theirs(self) -> dict[str, Spots] | None:
        outcome = self.source["outcome"]
        if not outcome["ok"]:
            return None
        out: dict[str, Spots] = {}
        for entry in outcome["podsets"]:
            out[entry["podset"]] = Counter(
                {self.leaf(spot["leaf"]): spot["count"] for spot in entry.get("placed") or ()}
            )
        return out


def _amounts(amounts: Mapping[str, int]) -> Resources:
    return Resources.of({name: amount * (NANO // 1000 if name == "cpu" else NANO) for name, amount in amounts.items()})


def _needs(requests: Mapping[str, int]) -> Resources:
    return _amounts(requests) + Resources.of({PODS: NANO})


def _term(requirements: Iterable[Doc]) -> Term:
    return Term(tuple(Requirement(r["key"], r["op"], tuple(r.get("values") or ())) for r in requirements))
