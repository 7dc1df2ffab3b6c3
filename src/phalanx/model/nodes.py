"""Nodes, running pods, and what a pod may ask of the node it lands on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.model.resources import Resources

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str  # NoSchedule | PreferNoSchedule | NoExecute


@dataclass(frozen=True, slots=True)
class Toleration:
    key: str  # empty with Exists: every key
    operator: str  # Equal | Exists
    value: str
    effect: str  # empty: every effect

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.operator == "Exists" or (bool(self.key) and self.value == taint.value)


@dataclass(frozen=True, slots=True)
class Node:
    """A node as placement sees it. ``taints`` include those of unschedulable, not-ready and pressure conditions."""

    name: str
    labels: Mapping[str, str]
    allocatable: Resources
    taints: tuple[Taint, ...] = ()


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression: In, NotIn, Exists, DoesNotExist, Gt, Lt over a label, or over the node's name."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    on_name: bool = False  # matchFields metadata.name


@dataclass(frozen=True, slots=True)
class Term:
    """Requirements that must all hold. A term with none matches nothing (as in Kubernetes)."""

    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Which nodes a pod may use, and which it would like better."""

    selector: Pairs = ()
    required: tuple[tuple[Term, ...], ...] = ()  # each entry an OR of terms; all entries must hold
    tolerations: tuple[Toleration, ...] = ()
    preferred: tuple[tuple[int, Term], ...] = ()  # weight, term


@dataclass(frozen=True, slots=True)
class HostPort:
    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Which pods a rule speaks of. An empty selector matches every pod, ``matches_nothing`` none."""

    labels: Pairs = ()
    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A required pod (anti-)affinity term. ``namespaces`` None: all of them."""

    key: str
    selector: LabelSelector
    namespaces: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """A topologySpreadConstraint with DoNotSchedule."""

    key: str
    max_skew: int
    selector: LabelSelector
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


@dataclass(frozen=True, slots=True)
class PodShape:
    """Everything about a pod that decides where it may go. Pods of equal shape are interchangeable."""

    requests: Resources
    filter: NodeFilter = NodeFilter()
    ports: tuple[HostPort, ...] = ()
    namespace: str = "default"
    labels: Pairs = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[SpreadRule, ...] = ()


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod that holds a place. ``gang`` is the id of the request it belongs to, if we know one."""

    name: str
    namespace: str
    node: str
    requests: Resources
    labels: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[HostPort, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    gang: str | None = None
