"""Random Gangs that ask for everything at once, on small random clusters: ``drawn(seed, manner)`` is always the same.

All of it is written as manifests and read by the dialect, so whatever comes out is something a user can write. A
``Manner`` says how often each feature is drawn; two manners meet the solver from different sides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from phalanx.dialects import reading
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME
from tests.properties.cluster_documents import DISK, GPU, POWER, Levels, cluster, selects

Document = dict[str, Any]

APPS = ("a0", "a1", "a2")
PODS_MOST = 30  # of a gang; more is drawn again
SETS_MOST = 9


@dataclass(frozen=True)
class Manner:
    """How often what is drawn: chances between 0 and 1, and sizes. ``levels``: required and preferred ones."""

    nodes: tuple[int, int] = (2, 12)
    pods: int = 5  # at most, of one group
    groups: int = 3  # at most, at the top
    levels: float = 0.35
    spread: float = 0.35
    slices: float = 0.35
    elastic: float = 0.2
    inner: float = 0.3
    copies: float = 0.2
    classes: float = 0.2
    ranks: float = 0.25
    linked: float = 0.4  # of ranks
    basic: float = 0.12
    fewer_groups: float = 0.2
    nodes_chosen: float = 0.2  # node selectors, affinity and tolerations
    ports: float = 0.1
    neighbours: float = 0.25  # each: affinity, anti-affinity, topologySpreadConstraints


ANY = Manner()
DENSE = Manner(
    nodes=(3, 8), pods=6, groups=2, levels=0.5, spread=0.7, slices=0.6, elastic=0.35, inner=0.5, copies=0.35,
    classes=0.35, ranks=0.4, linked=0.7, basic=0.08, fewer_groups=0.35, nodes_chosen=0.1, ports=0.05, neighbours=0.12,
)  # fmt: skip
CROSSED = Manner(
    nodes=(4, 12), pods=4, groups=2, levels=0.25, spread=0.5, slices=0.25, elastic=0.3, inner=0.2, copies=0.2,
    classes=0.5, ranks=0.15, linked=0.5, basic=0.03, fewer_groups=0.15, nodes_chosen=0.25, ports=0.12, neighbours=0.5,
)  # fmt: skip
MANNERS = {"any": ANY, "dense": DENSE, "crossed": CROSSED}


def documents(seed: int, manner: str) -> tuple[list[Document], Document]:
    """The documents of a cluster, and a Gang for it that the dialect takes without a Problem."""
    chance = Random(f"{manner}:{seed}")
    while True:
        wants = MANNERS[manner]
        state, levels = cluster(chance, wants.nodes)
        gang = _Pen(chance, wants, levels).gang()
        read = reading.read([*state, gang])
        if read.requests and not read.invalid and not read.problems and all(map(_is_small, read.requests)):
            return state, gang


def drawn(seed: int, manner: str) -> tuple[Snapshot, tuple[Request, ...]]:
    """The same, read: one request, or under policy Basic several."""
    state, gang = documents(seed, manner)
    read = reading.read([*state, gang])
    return read.snapshot, read.requests


def _is_small(request: Request) -> bool:
    sets = list(request.root.pod_sets())
    return len(sets) <= SETS_MOST and sum(one.count for one in sets) <= PODS_MOST


@dataclass
class _Pen:
    """Writes one Gang."""

    chance: Random
    wants: Manner
    levels: Levels
    names: int = 0

    def gang(self) -> Document:
        flat = self.happens(self.wants.basic)
        entries = [e for _ in range(self.chance.randint(1, self.wants.groups)) for e in self.group(None, 0)]
        tops = [entry for entry in entries if "parent" not in entry]
        spec: Document = {"podGroups": self.linked(entries)}
        if flat:
            spec["policy"] = "Basic"
        elif len(tops) > 1 and self.happens(self.wants.fewer_groups):
            spec["minGroups"] = self.chance.randint(1, len(tops))
        near = self.near(flat)
        if near:
            spec["topology"] = near
        if self.levels.named:
            spec["topologyName"] = "main"
        return {
            "apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang",
            "metadata": {"name": "gang", "namespace": "default"}, "spec": spec,
        }  # fmt: skip

    def happens(self, share: float) -> bool:
        return self.chance.random() < share

    # ---- groups -------------------------------------------------------------------------------------

    def group(self, parent: str | None, depth: int) -> Iterator[Document]:
        self.names += 1
        entry: Document = {"name": f"g{self.names}"}
        if parent is not None:
            entry["parent"] = parent
        if near := self.near(False):
            entry["topology"] = near
        inside = self.levels.names.index(near["required"]) if "required" in near else 0
        if self.happens(self.wants.copies):
            entry["replicas"] = self.chance.randint(1, 3)
        yield entry
        if depth < 2 and self.happens(self.wants.inner):
            below = [e for _ in range(self.chance.randint(1, 3)) for e in self.group(entry["name"], depth + 1)]
            yield from below
            if self.happens(self.wants.basic):
                entry["policy"] = "Basic"
            elif self.happens(self.wants.fewer_groups):
                entry["minGroups"] = 1
        else:
            self.leaf(entry, inside)

    def near(self, flat: bool) -> Document:
        out: Document = {}
        names = self.levels.names
        if not flat and self.happens(self.wants.levels):
            out["required"] = self.chance.choice((names[0], *names))
            names = names[names.index(out["required"]) :]
        if self.happens(self.wants.levels * 0.6):
            out["preferred"] = self.chance.choice(names)
        if not flat and self.happens(self.wants.spread):
            form = self.chance.choice(("maxPerDomain", "minDomains", "maxSkew"))
            most = {"maxPerDomain": 6, "minDomains": 3, "maxSkew": 4}[form]
            if "required" in out and form == "minDomains":
                names = names[1:]  # more than one domain of the required level is refused when it is read
            if names:
                out["spread"] = {"level": self.chance.choice((*names, names[-1])), form: self.chance.randint(1, most)}
        return out

    def leaf(self, entry: Document, inside: int) -> None:
        """``inside``: the number of the level that holds the group, which its slices are not wider than."""
        step = 1
        if self.happens(self.wants.slices):
            step, entry["slices"] = self.slices(self.levels.names[inside:])
        elif self.happens(self.wants.classes):
            classes = [
                {"name": f"c{i}", "count": self.chance.randint(1, 3), "template": self.template()}
                for i in range(self.chance.randint(2, 3))
            ]
            entry["podClasses"] = classes
            if self.happens(self.wants.elastic):
                entry["minCount"] = self.chance.randint(1, sum(c["count"] for c in classes))
        if "podClasses" not in entry:
            wholes = self.chance.randint(1, max(self.wants.pods // step, 1))
            entry["count"] = step * wholes
            if self.happens(self.wants.elastic):
                entry["minCount"] = step * self.chance.randint(1, wholes)
            entry["template"] = self.template()
        if self.happens(self.wants.ranks):
            entry["rank"] = self.rank()

    def slices(self, names: tuple[str, ...]) -> tuple[int, list[Document]]:
        levels = sorted(self.chance.sample(range(len(names)), min(2, len(names))))
        size = self.chance.choice((2, 2, 3, 4))
        if len(levels) == 2 and size == 4 and self.happens(0.7):
            return 4, [{"level": names[at], "size": n} for at, n in zip(levels, (4, 2), strict=True)]
        return size, [{"level": names[levels[0]], "size": size}]

    def rank(self) -> Document:
        order = self.chance.choice(("None", "Consecutive", "Stripe", "Balance"))
        rank: Document = {"order": order}
        if order in ("Stripe", "Balance"):
            rank["across"] = self.chance.choice(self.levels.names)
        return rank

    def linked(self, entries: list[Document]) -> list[Document]:
        """Some of the ranked groups sit with a sibling that has as many copies."""
        level = self.chance.choice(self.levels.names)
        for i, entry in enumerate(entries):
            partners = [
                other["name"] for other in entries[:i]
                if other.get("parent") == entry.get("parent") and _whole(other)
                and other.get("replicas") == entry.get("replicas")
            ]  # fmt: skip
            if "rank" in entry and _whole(entry) and partners and self.happens(self.wants.linked):
                entry["rank"] |= {"withSameRankOf": self.chance.choice(partners), "level": level}
        return entries

    # ---- pods ---------------------------------------------------------------------------------------

    def template(self) -> Document:
        app = self.chance.choice(APPS)
        requests = {"cpu": self.chance.choice(("1", "1", "2", "3")), GPU: self.chance.choice(("0", "0", "1", "1", "2"))}
        container: Document = {"name": "main", "resources": {"requests": requests, "limits": {GPU: requests[GPU]}}}
        if self.happens(self.wants.ports):
            port: Document = {"containerPort": 80, "hostPort": self.chance.choice((80, 90))}
            if self.happens(0.3):
                port["hostIP"] = self.chance.choice(("10.0.0.1", "10.0.0.2"))
            container["ports"] = [port]
        spec: Document = {"containers": [container]}
        affinity: Document = {}
        if self.happens(self.wants.nodes_chosen):
            self.choose_nodes(spec, affinity)
        if self.happens(self.wants.neighbours * 0.5):
            affinity["podAffinity"] = self.terms()
        if self.happens(self.wants.neighbours * 0.6):
            affinity["podAntiAffinity"] = self.terms()
        if affinity:
            spec["affinity"] = affinity
        if self.happens(self.wants.neighbours):
            spec["topologySpreadConstraints"] = [self.constraint() for _ in range(self.chance.choice((1, 1, 2)))]
        return {"metadata": {"labels": {"app": app}}, "spec": spec}

    def choose_nodes(self, spec: Document, affinity: Document) -> None:
        form = self.chance.randrange(4)
        need = {"key": DISK, "operator": self.chance.choice(("In", "NotIn")), "values": ["ssd"]}
        if form == 0:
            spec["nodeSelector"] = {DISK: "ssd"}
        elif form == 1:
            terms = [{"matchExpressions": [need]}]
            affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        elif form == 2:
            wish = {"weight": self.chance.randint(1, 9), "preference": {"matchExpressions": [need]}}
            affinity["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}
        else:
            spec["tolerations"] = [{"key": "team", "operator": "Exists"}]

    def terms(self) -> Document:
        term = {"topologyKey": self.key(), "labelSelector": selects(self.chance, (*APPS, "db"))}
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}

    def constraint(self) -> Document:
        rule: Document = {
            "maxSkew": self.chance.randint(1, 3), "topologyKey": self.key(), "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selects(self.chance, APPS),
        }  # fmt: skip
        if self.happens(0.25):
            rule["minDomains"] = self.chance.randint(1, 4)
        if self.happens(0.2):
            rule["nodeAffinityPolicy"] = "Ignore"
        if self.happens(0.3):
            rule["nodeTaintsPolicy"] = "Honor"
        return rule

    def key(self) -> str:
        return self.chance.choice((HOSTNAME, HOSTNAME, POWER, *self.levels.labels))


def _whole(entry: Document) -> bool:
    """Whether a group can share its ranks."""
    return ("template" in entry or "podClasses" in entry) and "minCount" not in entry and "slices" not in entry
