"""apps/v1 Deployment: pods that start as they fit, pod set ``main``, one group through every rollout (W-026)."""

import re

from phalanx.dialects import replicated
from phalanx.dialects.fields import Field
from phalanx.dialects.jobspec import PODS_MAX
from phalanx.dialects.outline import Outline
from phalanx.dialects.replicated import Replicas
from phalanx.dialects.surroundings import Surroundings

_KIND = "Deployment"
_PERCENT = re.compile(r"([0-9]{1,4})%", re.ASCII)
_DEFAULT_SURGE = "25%"


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a Deployment; None when it wants no pods.

    Its ReplicaSets come and go with rollouts and are no groups of their own. While one runs there are more pods than
    wanted; without an autoscaler that is what the group may grow to.
    """
    replicated.check(doc, _KIND, "strategy", "paused", "progressDeadlineSeconds")
    wanted = replicated.replicas(doc, _KIND, around)
    surge = _surge(doc.at("spec", "strategy"), wanted.count if wanted is not None else 0)
    if wanted is None:
        return None
    if wanted.most is None:
        wanted = Replicas(wanted.count, wanted.count + surge)
    return replicated.free(doc, _KIND, around, wanted)


def _surge(strategy: Field, count: int) -> int:
    """Pods beyond those wanted that a rollout makes."""
    strategy.mapping()
    strategy.typos("type", "rollingUpdate")
    kind = strategy.at("type").choice("RollingUpdate", "RollingUpdate", "Recreate")
    rolling = strategy.at("rollingUpdate")
    rolling.mapping()
    rolling.typos("maxSurge", "maxUnavailable")
    surge = _share(rolling.at("maxSurge"), count)
    return surge if kind == "RollingUpdate" else 0


def _share(at: Field, count: int) -> int:
    """A number of pods, or a percentage of those wanted, rounded up."""
    if isinstance(at.value, int):
        return at.integer(0, high=PODS_MAX)
    text = at.text(_DEFAULT_SURGE)
    percent = _PERCENT.fullmatch(text)
    if percent is None:
        at.mistaken("is neither a whole number nor a percentage", ("1", _DEFAULT_SURGE))
        return 0
    return -(-count * int(percent.group(1)) // 100)
