"""Until when it is known what happened to pods and nodes, and how much time did not count for nobody could know it.

::

    hears    all that happened until a few seconds ago is known; clocks of gangs go on
    deaf     not for DEAF_SECONDS: nothing is decided, what else is heard waits
    is back  all is known again; clocks stand for GRACE_SECONDS more, in which kubelets and controllers tell what they
             could not tell before

A server that hangs, one that is away, a picture that is read anew, a process that was stopped and a machine that slept
all look alike here: there is a time of which nothing is known. (decision 12)
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

DEAF_SECONDS = 15.0  # a watch of pods or nodes ends after 5 s and is asked for again; two were missed, and some
GRACE_SECONDS = 20.0  # kubelets tell of their pods, and of themselves, every 10 s; controllers elect a leader in 15 s
SLEPT_SECONDS = 1.0  # by so much the clock of the wall may run ahead of that of the machine


class Source(Protocol):
    """What is needed of a mirror."""

    @property
    def heard_until(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Heard:
    """``until``: all that happened before is known. ``unheard``: seconds since this was last asked that do not count.
    ``is_deaf``: nothing is to be decided now."""

    until: float
    unheard: float = 0.0
    is_deaf: bool = False


class _State(Enum):
    HEARS = "hears"
    DEAF = "deaf"
    IS_BACK = "is back"


class Hearing:
    """``sources``: of pods and of nodes, with times of ``machine``: seconds that only grow. ``say``: a line for people,
    when it begins and when it ends that nothing is heard."""

    def __init__(
        self, sources: Callable[[], Iterable[Source]], machine: Callable[[], float], say: Callable[[str], None]
    ) -> None:
        self._sources, self._machine, self._say = sources, machine, say
        self._state = _State.HEARS
        self._since = 0.0  # when the state began; seconds of the machine, and those that it slept
        self._slept = 0.0
        self._asked: tuple[float, float] | None = None  # when this was last asked: on the wall, by the machine

    def at(self, now: float) -> Heard:
        """What is heard at this time of the wall. To be asked before every step, and told to it."""
        slept = self._asleep(now)
        self._slept += slept
        time, age = self._machine() + self._slept, self._age()
        if age > DEAF_SECONDS:
            return self._deaf(now, time, age + slept)
        if self._state is _State.DEAF or (slept and self._state is _State.IS_BACK):
            return self._back(now, time, time - self._since)
        if slept:
            return self._back(now, time, slept)
        if self._state is _State.IS_BACK and time - self._since < GRACE_SECONDS:
            return Heard(now - (time - self._since))
        return self._hears(now, time, age)

    def lacks(self) -> list[str]:
        """Why nothing is decided, if so."""
        return [_silent(self._age())] if self._state is _State.DEAF else []

    def _age(self) -> float:
        """How old the last moment is of which all is known."""
        known = min((one.heard_until for one in self._sources()), default=float("-inf"))
        return max(self._machine() - known, 0.0)

    def _asleep(self, now: float) -> float:
        """How long the machine slept since this was last asked, or how far its clock was set on."""
        machine = self._machine()
        before, self._asked = self._asked, (now, machine)
        ahead = 0.0 if before is None else (now - before[0]) - (machine - before[1])
        return ahead if ahead > SLEPT_SECONDS else 0.0

    def _deaf(self, now: float, time: float, age: float) -> Heard:
        if self._state is not _State.DEAF:
            began = time - age
            self._since = max(began, self._since) if self._state is _State.IS_BACK else began
            self._state = _State.DEAF
            self._say(_silent(age))
        return Heard(now - age, is_deaf=True)

    def _back(self, now: float, time: float, unheard: float) -> Heard:
        self._say(f"pods and nodes are heard again: {unheard:.0f} s do not count for any gang")
        self._state, self._since = _State.IS_BACK, time
        return Heard(now, unheard)

    def _hears(self, now: float, time: float, age: float) -> Heard:
        """Clocks go on; that they stood until now is told once."""
        stood = time - self._since if self._state is _State.IS_BACK else 0.0
        self._state = _State.HEARS
        return Heard(now - age, stood)


def _silent(seconds: float) -> str:
    return f"pods or nodes have not been heard for {seconds:.0f} s: nothing is decided, and clocks of gangs stand"
