"""What may go wrong in a simulated world, how often and for how long. Values only; ``mischief`` makes them happen."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Delays:
    """The longest that things take when nothing is wrong, in seconds. Each is drawn evenly from 0 to this."""

    tick: float = 0.5  # the engine is told in batches, at most this long after an event reached it
    watch: float = 0.4  # from a change to the watcher that is to see it
    effect: float = 0.6  # from an effect to its being carried out
    answer: float = 0.3  # from there to the answer
    make: float = 3.0  # a controller makes a pod, or its replacement
    start: float = 4.0  # a bound pod comes up
    schedule: float = 1.0  # the other scheduler binds a pod that was ungated
    grace: float = 8.0  # an evicted pod leaves
    vanish: float = 20.0  # the pods of a lost node are taken away


@dataclass(frozen=True, slots=True)
class Faults:
    """Chances per occasion (``lost``, ``refused`` ...) and means between two occasions in seconds (``..._every``; 0:
    never). After ``until`` nothing goes wrong any more, so that what was broken can be seen to heal."""

    until: float = 0.0
    lost: float = 0.0  # a watch event does not come, nor those behind it, until a relist within ``relist`` seconds
    duplicated: float = 0.0  # it comes twice
    delayed: float = 0.0  # it, and all of its kind behind it, come up to ``delay`` seconds late
    delay: float = 5.0
    relist: float = 10.0
    broken_every: float = 0.0  # a watch breaks for up to ``relist`` seconds: nothing of its kind comes, then a relist
    refused: float = 0.0  # a bind is refused (409, 403): not done
    unknown: float = 0.0  # a bind has no answer (5xx, time-out): done in half of the cases
    slow: float = 0.0  # an effect other than a bind fails (5xx) and is tried again, up to ``delay`` seconds later
    node_lost_every: float = 0.0  # and is back after up to ``node_away`` seconds more than its pods need to vanish
    node_away: float = 60.0
    relabelled_every: float = 0.0  # a node is moved to a place where another node stands
    pod_failed: float = 0.0  # a pod that came up fails some time later
    kept: float = 0.0  # a pod that failed stays as long as its gang, as those of a Job do; others go after their grace
    stuck: float = 0.0  # a bound pod never comes up
    deleted: float = 0.0  # a gang is deleted by its user
    suspended: float = 0.0  # a gang is held back by its user, and let go again
    tainted_every: float = 0.0  # a node takes no new pods, up to ``tainted_for`` seconds
    tainted_for: float = 60.0
    stranger_every: float = 0.0  # another scheduler binds a pod where it sees room; it stays up to ``stranger_for``
    stranger_for: float = 90.0
    requota_every: float = 0.0  # the quotas of a queue become larger or smaller
    unflavored_every: float = 0.0  # a flavor is deleted, and made again within ``unflavored_for`` seconds
    unflavored_for: float = 60.0
    promoted: float = 0.0  # a gang gets another priority from its user
    resized: float = 0.0  # a gang that can do with fewer pods is made larger or smaller by its user
    leader_every: float = 0.0  # the engine is lost with all it knew, and a new one starts
    clock_every: float = 0.0  # the engine's clock jumps ahead or back by up to ``jump`` seconds
    jump: float = 90.0
    delays: Delays = field(default_factory=Delays)

    @property
    def told_within(self) -> float:
        """How long after a change the engine knows of it at the latest: it was lost or its watch broke, the relist
        came at last, and it waited for the batch."""
        return self.delays.watch + max(self.delay, self.relist) + self.delays.tick

    @property
    def done_within(self) -> float:
        """How long after an effect it is carried out and answered at the latest."""
        return self.delays.effect + self.delay + self.delays.answer + self.delays.schedule + self.delays.tick


CALM = Faults()


def stormy(until: float) -> Faults:
    """All kinds of faults at once, each often enough to be met in a run of some minutes."""
    return Faults(
        until=until, lost=0.02, duplicated=0.05, delayed=0.03, broken_every=90, refused=0.03, unknown=0.04, slow=0.05,
        node_lost_every=60, relabelled_every=90, pod_failed=0.02, kept=0.5, stuck=0.005, deleted=0.03, suspended=0.05,
        promoted=0.1, resized=0.1, tainted_every=60, stranger_every=15, requota_every=60, unflavored_every=90,
        leader_every=120, clock_every=150,
    )  # fmt: skip
