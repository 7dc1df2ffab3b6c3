"""Queues, their quotas, and the flavors of nodes these are counted in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.model.nodes import LabelSelector, Pairs, Taint, Toleration
from phalanx.model.resources import NANO

DEFAULT = "default"  # the queue of those who name none; unlimited unless an object says otherwise

ORDERS = ("Priority", "Fifo")
WHEN_BLOCKED = ("Strict", "BestEffort", "Reserve")
PREEMPTION = ("Never", "LowerPriority", "Any")
STOPS = ("None", "Hold", "HoldAndDrain")
EVERY_NAMESPACE = LabelSelector()


@dataclass(frozen=True, slots=True)
class Flavor:
    """Nodes of one sort: those with all of ``node_labels``."""

    name: str
    node_labels: Pairs = ()
    tolerations: tuple[Toleration, ...] = ()  # given to every pod that goes there
    topology: str | None = None
    taints: tuple[Taint, ...] = ()  # of its nodes; a pod that does not tolerate them cannot use the flavor


@dataclass(frozen=True, slots=True)
class Quota:
    """How much of a resource a queue may use, in nano-units.

    A queue may always use ``nominal``, and up to ``borrow`` more of what its siblings leave. Of what it leaves
    itself they may use up to ``lend``.
    """

    flavor: str | None  # None: on any node
    resource: str
    nominal: int
    borrow: int | None = None  # None: as much as there is
    lend: int | None = None  # None: all of it


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whose pods may have to go: those of the queue itself, and those of siblings that borrow its quota."""

    within: str = "Never"  # Never | LowerPriority | Any
    reclaim: str = "Never"


@dataclass(frozen=True, slots=True)
class Queue:
    """Who may start what, and in which order.

    Queues under one parent lend and borrow; one without a parent is on its own. A parent that no object describes
    joins its children and adds nothing of its own.
    """

    name: str
    parent: str | None = None
    namespace_selector: LabelSelector = EVERY_NAMESPACE  # which namespaces may use it
    order: str = "Priority"  # Priority (then age) | Fifo
    when_blocked: str = "BestEffort"  # Strict: wait behind the head | BestEffort | Reserve: never delay the head
    weight: int = NANO  # nano-units; share of what siblings leave unused. 0: what nobody else wants
    quotas: tuple[Quota, ...] = ()  # the flavors of a resource in the order they are tried
    preemption: Preemption = Preemption()
    only_listed: bool = False  # True: a resource without a quota is refused; False: it is unlimited
    stop: str = "None"  # Hold: nothing new starts | HoldAndDrain: and what runs is evicted
    priority: int = 0  # siblings with a higher one are served first

    @property
    def flavors(self) -> tuple[str, ...]:
        """The flavors it has quotas in, each once, in their order."""
        return tuple(dict.fromkeys(quota.flavor for quota in self.quotas if quota.flavor is not None))


@dataclass(frozen=True, slots=True)
class LocalName:
    """What the people of one namespace call a queue (Kueue's LocalQueue)."""

    namespace: str
    name: str
    queue: str
    stop: str = "None"


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues and flavors there are, and the local names of queues by (namespace, name).

    ``namespaces``: the labels of each. A namespace that is not among them may use only queues that are open to all.
    """

    queues: Mapping[str, Queue] = field(default_factory=dict)
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    local_names: Mapping[tuple[str, str], LocalName] = field(default_factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def named(self, name: str) -> Queue | None:
        """The queue of this name. ``default`` is there even if nobody made it, without limits (X-02)."""
        return self.queues.get(name) or (Queue(DEFAULT) if name == DEFAULT else None)

    def local(self, namespace: str, name: str) -> Queue | None:
        """The queue that a namespace knows by this name; None when it knows none, or its queue is not there."""
        found = self.local_names.get((namespace, name))
        return self.queues.get(found.queue) if found is not None else None
