"""How slow or hasty controllers and kubelets are."""

from dataclasses import dataclass

from phalanx.minicluster.draws import Span


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds where nothing else is said; of two, something between them is drawn.

    ``reaction``: until a controller looks at what changed.
    ``at_once``: pods that it makes in one go (0: all), ``pause``: until it makes more.
    ``shuffled``: pods of one owner are made in a drawn order.
    ``start``: from being bound to running, ``ready``: from running to ready.
    ``runs_for``: from running until a pod ends by itself (None: never).
    ``ending``: how long a pod takes to end that was deleted, though no longer than its grace.
    ``stays``: how long it is still there when it ended. ``succeeds``: the share of those that end with Succeeded.
    ``garbage``: until what lost its owner is deleted.
    ``backoff``: what a Job waits after its first failure, twice as long after the next, up to ``backoff_most``.
    ``node_grace``: until pods of a node that is silent are not ready; ``node_timeout``: until they are deleted then.
    ``workload_with_job``: the gate of this name: Jobs get a Workload and a PodGroup.
    """

    reaction: Span = (0.0, 0.0)
    at_once: int = 0
    pause: float = 1.0
    shuffled: bool = False
    start: Span = (1.0, 1.0)
    ready: Span = (0.0, 0.0)
    runs_for: Span | None = None
    ending: Span = (1.0, 1.0)
    stays: Span = (0.0, 0.0)
    succeeds: float = 0.0
    garbage: Span = (0.0, 0.0)
    backoff: float = 10.0
    backoff_most: float = 600.0
    node_grace: float = 40.0
    node_timeout: float = 300.0
    workload_with_job: bool = False
