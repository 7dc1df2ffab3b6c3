"""Pods that wait for a place while their gang runs: they came late, or came back, and there is no room for them."""

from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import State
from phalanx.explain import text, words


def count(gang: Gang) -> int:
    """How many there are, gated ones among them. Of a gang that waits as a whole nobody is late."""
    if gang.state is State.QUEUED or gang.lack is None:
        return 0
    seated = {slot.pod for slot in gang.every_slot()}
    return sum(not pod.node and pod.key not in seated for pod in gang.living())


def line(gang: Gang) -> str:
    """``4 pods: group "main" needs ...``; empty where none is late."""
    late = count(gang)
    return f"{words.pods(late)}: {text.cause(gang.lack)}" if late and gang.lack is not None else ""
