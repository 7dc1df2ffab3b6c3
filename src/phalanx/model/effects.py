"""What the engine wants done. Each is safe to repeat: carried out twice it is as if it were once.

The world carries them out in the order given, as far as they concern the same gang, and tells the engine what it sees.
Once pods of a gang are to leave, what was to let others of it go and was not begun yet may be left out: the engine asks
again for what it still wants.
"""

from dataclasses import dataclass
from enum import StrEnum

from phalanx.model.nodes import Pairs, Toleration
from phalanx.model.objects import Incarnation, ObjectKey
from phalanx.model.pods import PodKey
from phalanx.model.reasons import Reason


@dataclass(frozen=True, slots=True)
class Bind:
    """Give a pod its node. ``domain`` and ``rank`` are told to the pod in the same breath (KA-004, KA-056).

    ``tolerations``: of the flavor it goes to; the pod must have them before it is there. ``least``: with how many pods
    of its set the gang is whole, so that whoever follows us knows.
    """

    gang: str
    key: PodKey
    node: str
    domain: str = ""  # zone-1/block-2/rack-5
    rank: int | None = None
    tolerations: tuple[Toleration, ...] = ()
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Ungate:
    """Take the gate off a pod and pin it: the values of all configured levels and the hostname (K-046, K-062).

    ``selector`` matches ``node``. What a bind tells a pod is told to it in the same write.
    """

    gang: str
    key: PodKey
    node: str
    selector: Pairs
    domain: str = ""
    rank: int | None = None
    tolerations: tuple[Toleration, ...] = ()
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Prepare:
    """Put gate and marks into the templates of a suspended owner, before it is resumed (K-048, K-061)."""

    gang: str
    owner: Incarnation


@dataclass(frozen=True, slots=True)
class Resume:
    """Let an owner go. ``gated``: with our gate in its templates; without, only where our note is on it that we
    suspended it, and nothing but the note is taken off where somebody else let it go."""

    gang: str
    owner: Incarnation
    gated: bool = True


@dataclass(frozen=True, slots=True)
class Suspend:
    """Hold the owner back, note on it why, and take gate and marks out of its templates again (K-068)."""

    gang: str
    owner: Incarnation
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Evict:
    """Delete a pod with its grace period, after a DisruptionTarget condition that says why."""

    gang: str
    key: PodKey
    cause: str


@dataclass(frozen=True, slots=True)
class Report:
    """The state of a gang changed, or why it waits did: conditions and one event, never one per pod (W-014).

    ``said``: what its object says of that itself, in a word.
    """

    gang: str
    state: str
    cause: str
    reason: Reason | None = None
    at: float = 0.0
    said: str = ""


class Topic(StrEnum):
    """What a notice is about."""

    FOREIGN_PODS = "ForeignPods"  # pods of nobody we know, on a node of a topology that gangs use (K-069)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the people of the cluster should know, told once: an event on an object. ``names``: who it is about."""

    about: ObjectKey
    topic: Topic
    names: tuple[str, ...] = ()


Act = Bind | Ungate | Prepare | Resume | Suspend | Evict  # to be carried out for a gang
Effect = Act | Report | Notice
