"""Why a gang waits, as numbers and ids. ``explain`` turns them into sentences."""

from dataclasses import dataclass
from enum import StrEnum

from phalanx.model.objects import ObjectKey


class Why(StrEnum):
    """The catalogue. One word per cause; used in conditions, events, metrics and the JSON."""

    PODS_MISSING = "PodsMissing"
    NO_MATCHING_NODES = "NoMatchingNodes"
    TOO_LARGE = "TooLarge"
    NO_ROOM = "NoRoom"
    FRAGMENTED = "Fragmented"
    OVER_QUOTA = "OverQuota"
    BEHIND_OTHERS = "BehindOthers"
    EVICTING = "Evicting"
    BACKING_OFF = "BackingOff"
    UNDECIDED = "Undecided"
    SUSPENDED = "Suspended"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing in the way on some nodes.

    ``kind``: ``resource`` short, ``taint``, ``selector``, ``affinity``, ``outside`` the topology, ``port``, ``spread``,
    ``rank``, ``slice``, ``exclusive`` domains. ``name`` is the resource, taint key, label, level ... ``nodes`` is 0 for
    a rule between pods that closes no single node.
    """

    kind: str
    name: str
    nodes: int


@dataclass(frozen=True, slots=True)
class DomainEvidence:
    """How far one domain gets: ``fits`` of ``needed`` pods, and what stands in the way.

    ``obstacles`` count nodes on which not one pod fits. ``limits``: the resources that run out on the nodes on which
    some do, the most frequent first. ``domain`` is the whole path, empty for the cluster.
    """

    domain: tuple[str, ...]
    fits: int
    needed: int
    obstacles: tuple[Obstacle, ...] = ()
    limits: tuple[str, ...] = ()


class Closed(StrEnum):
    """What keeps a request out of a queue, whatever is free and whatever is used."""

    MISSING = "missing"  # no queue has this name
    HELD = "held"  # it is on hold, or is being drained
    NAMESPACE = "namespace"  # it is for other namespaces
    NO_TOPOLOGY = "noTopology"  # a level is asked for, and none of its flavors has a topology
    NO_FLAVOR = "noFlavor"  # it has flavors for what is asked for, and none of them is there


@dataclass(frozen=True, slots=True)
class ClosedQueue:
    """A queue that lets a request in at no price: its ``name``, and ``why``.

    ``known``: the queues that would do instead, or none; of NO_FLAVOR the flavors of which one would do if it were
    there.
    """

    name: str
    why: Closed
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FullQuota:
    """A quota that does not hold what is asked for beside what is used of it. Amounts are nano-units.

    ``queue``: the queue of the request, or one above it. ``flavor`` None: on any node. ``asked``: the least of the
    ``resource`` that is needed to start. ``used`` of the ``limit`` is taken. ``held_by``: ids of the gangs that use
    most, the first the most; not all of them.
    """

    queue: str
    flavor: str | None
    resource: str
    asked: int
    used: int
    limit: int
    held_by: tuple[str, ...] = ()

    @property
    def is_too_small(self) -> bool:
        """Whether all of it would not do, be it used by nobody."""
        return self.asked > self.limit


PODS_GONE = "PodsGone"  # of what may help: others leave


@dataclass(frozen=True, slots=True)
class Reason:
    """One dominant reason with its evidence.

    ``type``: the word for it, one of docs/reasons.md. ``level``: what must hold it, ``cluster`` where none was asked.
    ``needed``: so many pods. ``nearest``: the domains that come closest; ``best`` is the first of them.
    ``group``: the group that finds no home (the root's name when it is all of them together).
    ``together``: each part fits by itself and they do not fit at once; ``parts`` says where each would.
    ``wider``: the best domain of the narrowest wider level that counts enough room; ``wider_level`` is its level.
    ``helped_by``: which kinds of event could change the answer.
    ``queue``: the queue that is closed to it, where that is the reason (OverQuota, Suspended).
    ``quotas``: those that do not hold it (OverQuota), the one to be told first.
    ``ahead``: the id of the gang that had to start first when this one was looked at (BehindOthers).
    ``beside``: the domain it must be in because the rest of its gang runs there; ``nearest`` is that one alone then,
    and ``nodes_seen`` counts its nodes.
    ``pods_seen``: pods of the group that exist, where too few do. ``waiting``: what others that exist wait for first, a
    sentence each; the first few of them. ``free_elsewhere``: pods that would fit in the whole cluster, level ignored.
    ``rules``: those of the request that meet on its pods (Undecided), as they are written.
    """

    type: Why
    group: str
    level: str
    needed: int
    nearest: tuple[DomainEvidence, ...] = ()
    together: bool = False
    nodes_seen: int = 0
    pods_seen: int = 0
    waiting: tuple[str, ...] = ()
    free_elsewhere: int = 0
    parts: tuple["Reason", ...] = ()
    wider: DomainEvidence | None = None
    wider_level: str = ""
    helped_by: tuple[str, ...] = ()
    queue: ClosedQueue | None = None
    quotas: tuple[FullQuota, ...] = ()
    ahead: str | None = None
    beside: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def ends_with_others(self) -> bool:
        """Whether it may end because others leave. If not, waiting alone never helps."""
        return PODS_GONE in self.helped_by

    @property
    def best(self) -> DomainEvidence | None:
        """The domain that comes closest; None where none was looked at."""
        return self.nearest[0] if self.nearest else None


class Remedy(StrEnum):
    """What a way out changes."""

    LEVEL = "level"  # a wider one is required
    PREFERENCE = "preference"  # a level is preferred and no longer required
    PODS = "pods"  # fewer are wanted
    END = "end"  # nothing of the workload: another gang ends
    NODES = "nodes"  # nothing of the workload: there are more nodes


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a manifest: the field of an ``object`` at the end of these ``keys`` gets a ``value``, or goes where
    that is None. ``path``: the keys as people read them."""

    object: ObjectKey
    keys: tuple[str | int, ...]
    path: str
    value: str | int | None

    def __str__(self) -> str:
        return f"{self.path}: {'null' if self.value is None else self.value}"


@dataclass(frozen=True, slots=True)
class WayOut:
    """A ``change`` that was decided again and starts the gang now; only such that are ``verified`` are offered.

    ``kind``: what it changes; None where nobody said so. ``subject``: of which group, pod set, gang or node. ``value``:
    the level or the number. ``edits``: the same as changes of the manifests that were given, with which these were read
    again; empty where it is no change of a manifest, or where no manifests are at hand.
    """

    change: str
    verified: bool = True
    kind: Remedy | None = None
    subject: str = ""
    value: str = ""
    edits: tuple[Edit, ...] = ()
