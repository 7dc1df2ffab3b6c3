"""Pods that wait for a place while their gang starts or runs: they were left out when it was placed, or came late, or
came back, and there is no room for them."""

from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import Cause, State
from phalanx.explain import text, words
from phalanx.model.reasons import WayOut

AHEAD = (Cause.PLACED, Cause.PLACED_AHEAD)  # it has just been given its places


def count(gang: Gang) -> int:
    """How many there are, gated ones among them. Of a gang that waits as a whole nobody is late."""
    if gang.state is State.QUEUED or (gang.lack is None and gang.cause not in AHEAD):
        return 0
    seated = {slot.pod for slot in gang.every_slot()}
    return sum(not pod.node and pod.key not in seated for pod in gang.living())


def line(gang: Gang, ways_out: tuple[WayOut, ...] = ()) -> str:
    """``4 pods: group "main" needs ...``, and what would help first; empty where none is late."""
    late = count(gang)
    if late and gang.lack is None:  # nobody has looked again since
        return f"{words.pods(late)}, left out when it was placed"
    if not late or gang.lack is None:
        return ""
    return f"{words.pods(late)}: {text.held_back(gang.lack, ways_out)}".removesuffix(".")
