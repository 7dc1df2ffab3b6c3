"""The life of a gang as a table: every transition has a cause, and there are no others.

Rules at the top of the file, as in a protocol: a cause that stands in no row of the present state is a mistake of
ours, and stops the step. ``docs/lifecycle.md`` is drawn from it.
"""

from enum import StrEnum

from phalanx.model.mistakes import Mistake


class State(StrEnum):
    QUEUED = "Queued"  # waits for its turn, its pods or its room
    RESERVED = "Reserved"  # has its places; the pods for them are not all there yet
    BINDING = "Binding"  # its pods are being released
    STARTING = "Starting"  # its minimum is bound, and not ready yet
    RUNNING = "Running"
    DEGRADED = "Degraded"  # below its minimum after a loss
    EVICTING = "Evicting"  # its pods are leaving
    FINISHED = "Finished"
    INVALID = "Invalid"


class Cause(StrEnum):
    PLACED = "places were found"
    PLACED_AHEAD = "places were found before its pods exist"
    PODS_CAME = "its pods are there"
    BOUND = "its minimum is bound"
    READY = "its minimum is ready"
    LOST = "it fell below its minimum"
    RECOVERED = "it has its minimum again"
    SCHEDULE_TIMEOUT = "its minimum was not bound in time"
    READY_TIMEOUT = "its minimum was not ready in time"
    RECOVERY_TIMEOUT = "it did not recover in time"
    BIND_FAILED = "a pod could not be bound"
    POD_FAILED = "a pod failed, and the gang restarts whole"
    NODE_LOST = "its places are gone before it started"
    SUSPENDED = "its owner holds it back"
    DRAINED = "its queue is drained"
    PODS_GONE = "its pods have left"
    PODS_VANISHED = "none of its pods is left"
    COMPLETED = "its pods have succeeded"
    FAILED = "what makes its pods has failed for good"
    DELETED = "it was deleted"
    CHANGED = "it was made anew"
    MORE_WORK = "pods came that have yet to run"
    FOUND_RUNNING = "its pods run already"
    FOUND_BROKEN = "some of its pods run already, and the others are missing"
    FOUND_HALF = "some of its pods are bound already, or on their way"
    WRONG = "its manifest is wrong"
    CORRECTED = "its manifest is right again"


_Q, _R, _B, _S, _U, _D, _E, _F, _I = State
TABLE: dict[State, dict[Cause, State]] = {
    _Q: {
        Cause.PLACED: _B,
        Cause.PLACED_AHEAD: _R,
        Cause.FOUND_RUNNING: _S,
        Cause.FOUND_BROKEN: _D,
        Cause.FOUND_HALF: _B,
        Cause.COMPLETED: _F,
        Cause.FAILED: _F,
        Cause.DELETED: _F,
        Cause.WRONG: _I,
    },
    _R: {
        Cause.PODS_CAME: _B,
        Cause.SCHEDULE_TIMEOUT: _E,
        Cause.NODE_LOST: _E,
        Cause.POD_FAILED: _E,
        Cause.SUSPENDED: _E,
        Cause.DRAINED: _E,
        Cause.COMPLETED: _F,
        Cause.FAILED: _F,
        Cause.DELETED: _F,
    },
    _B: {
        Cause.BOUND: _S,
        Cause.BIND_FAILED: _E,
        Cause.NODE_LOST: _E,
        Cause.SCHEDULE_TIMEOUT: _E,
        Cause.POD_FAILED: _E,
        Cause.SUSPENDED: _E,
        Cause.DRAINED: _E,
        Cause.PODS_VANISHED: _Q,
        Cause.COMPLETED: _F,
        Cause.FAILED: _F,
        Cause.DELETED: _F,
    },
    _S: {
        Cause.READY: _U,
        Cause.READY_TIMEOUT: _E,
        Cause.LOST: _D,
        Cause.POD_FAILED: _E,
        Cause.SUSPENDED: _E,
        Cause.DRAINED: _E,
        Cause.PODS_VANISHED: _Q,
        Cause.COMPLETED: _F,
        Cause.FAILED: _F,
        Cause.DELETED: _F,
    },
    _U: {
        Cause.LOST: _D,
        Cause.POD_FAILED: _E,
        Cause.SUSPENDED: _E,
        Cause.DRAINED: _E,
        Cause.PODS_VANISHED: _Q,
        Cause.COMPLETED: _F,
        Cause.FAILED: _F,
        Cause.DELETED: _F,
    },
    _D: {
        Cause.RECOVERED: _S,
        Cause.RECOVERY_TIMEOUT: _E,
        Cause.POD_FAILED: _E,
        Cause.SUSPENDED: _E,
        Cause.DRAINED: _E,
        Cause.PODS_VANISHED: _Q,
        Cause.COMPLETED: _F,
        Cause.FAILED: _F,
        Cause.DELETED: _F,
    },
    _E: {Cause.PODS_GONE: _Q, Cause.COMPLETED: _F, Cause.FAILED: _F, Cause.DELETED: _F},
    _F: {Cause.CHANGED: _Q, Cause.MORE_WORK: _Q, Cause.DELETED: _F},
    _I: {Cause.CORRECTED: _Q, Cause.COMPLETED: _F, Cause.FAILED: _F, Cause.DELETED: _F},
}


def after(state: State, cause: Cause) -> State:
    """The state that follows. A cause that the state does not know is a mistake of ours."""
    if cause not in TABLE[state]:
        raise Mistake(f"{state} knows no {cause.name}")
    return TABLE[state][cause]
