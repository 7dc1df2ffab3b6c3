"""A mirror that only has the figures of one."""

from dataclasses import dataclass, field

from phalanx.wire.mirror import Counts
from phalanx.wire.resources import Resource


@dataclass
class Flag:
    up: bool = True

    def is_set(self) -> bool:
        return self.up


@dataclass
class Mirror:
    resource: Resource
    store: dict[tuple[str, str], object] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    synced: Flag = field(default_factory=Flag)
    last_heard: float = 0.0
    problem: str = ""
    unread: dict[tuple[str, str], str] = field(default_factory=dict)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now
