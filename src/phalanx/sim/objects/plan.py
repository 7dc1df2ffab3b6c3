"""A world drawn from its seed. Most worlds have few kinds of trouble, so that what each of them does is seen alone."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from phalanx.minicluster.pace import Pace
from phalanx.model.rules import Rules
from phalanx.sim.chances import Chances
from phalanx.sim.objects import places
from phalanx.sim.objects.drawn import Drawn
from phalanx.sim.objects.hands import Grip
from phalanx.sim.objects.kinds.table import ROWS
from phalanx.sim.objects.mishaps import MISHAPS
from phalanx.sim.objects.watches import Lateness
from phalanx.sim.objects.world import Plan

_SPAN = 60.0  # seconds in which workloads come


def drawn(seed: int, kinds: Sequence[str] = tuple(ROWS), mishaps: Sequence[str] | None = None) -> Plan:
    """``kinds``: ways of writing workloads that are drawn. ``mishaps``: those that come; None: drawn too."""
    chances = Chances(seed)
    chance = chances.of("plan")
    things = [places.namespace(), places.topology(), *places.drawn_nodes(chance)]
    pace = _pace(chance)
    until = _SPAN + chance.uniform(10.0, 60.0)
    priorities = ["high"] if chance.random() < 0.2 else []
    things += [places.priority_class(name, 100) for name in priorities]
    coming = tuple(
        (
            0.0 if number == 0 else chance.uniform(0.0, _SPAN),
            _workload(chances.of(f"workload {number}"), f"w{number}", priorities, pace, kinds),
        )
        for number in range(chance.randint(2, 6))
    )
    return Plan(
        seed, tuple(things), coming, tuple(_occasions(chance, until, mishaps)), pace, _lateness(chance),
        _grip(chance, until), Rules(schedule=30.0, ready=60.0, recovery=40.0), until=until,
    )  # fmt: skip


def _workload(chance: Random, name: str, priorities: list[str], pace: Pace, kinds: Sequence[str]) -> Drawn:
    kind = chance.choice(kinds)
    level = chance.choice((None, None, "block", "rack", "rack", "hostname"))
    row = ROWS[kind]
    fields = {"level": level, **row.drawn(chance)}
    gated = chance.random() < 0.2
    held = gated and row.held and chance.random() < 0.7
    queue = "default" if held else ""
    priority = chance.choice(["", *priorities])
    made = Drawn(name, kind, gated=gated, held=held, queue=queue, priority=priority, pods=_pods(chance), **fields)
    if kind == "Job" and pace.workload_with_job:  # Kubernetes makes a group for it that asks for no gang
        made = replace(made, together=False)
    if made.restart == "Always":  # what ends would begin again for ever
        made = replace(made, pods={key: value for key, value in made.pods.items() if "runs-for" not in key})
    return made if made.together else replace(made, level=None)


def _pods(chance: Random) -> dict[str, str]:
    """What the pods of a workload do."""
    said = {}
    if chance.random() < 0.4:
        said["runs-for"] = str(chance.choice((2, 15, 60)))
    if chance.random() < 0.25:
        said["ends-slowly"] = str(chance.choice((5, 20, 29)))
    if chance.random() < 0.3:
        said["drained-exit-code"] = chance.choice(("0", "1"))
    return {f"minicluster.phalanx.dev/{key}": value for key, value in said.items()}


def _occasions(chance: Random, until: float, mishaps: Sequence[str] | None) -> list[tuple[float, str]]:
    names = chance.sample(list(MISHAPS), chance.choice((0, 1, 1, 2, 3, 5, 7)))
    come = names if mishaps is None else mishaps
    return sorted((chance.uniform(1.0, until), name) for name in come for _ in range(chance.randint(1, 6)))


def _pace(chance: Random) -> Pace:
    return Pace(
        reaction=(0.0, chance.choice((0.0, 0.1, 1.0))),
        at_once=chance.choice((0, 0, 1, 2)),
        pause=chance.choice((0.05, 0.5)),
        shuffled=chance.random() < 0.5,
        start=(0.1, chance.choice((0.2, 3.0))),
        ready=(0.0, chance.choice((0.0, 2.0))),
        ending=(0.1, chance.choice((0.2, 5.0))),
        stays=(0.0, chance.choice((0.0, 0.0, 1.0))),
        succeeds=chance.choice((0.0, 0.0, 0.5, 1.0)),
        garbage=(0.0, chance.choice((0.0, 1.0, 8.0))),
        backoff=1.0,
        backoff_most=8.0,
        node_grace=10.0,
        node_timeout=20.0,
        workload_with_job=chance.random() < 0.15,
    )


def _lateness(chance: Random) -> Lateness:
    most = chance.choice((0.0, 0.1, 0.5, 3.0))
    return Lateness(most, chance.choice((0.1, 0.5)), twice=chance.choice((0.0, 0.1)))


def _grip(chance: Random, until: float) -> Grip:
    rough = chance.random() < 0.25
    share = 0.1 if rough else 0.0
    return Grip(chance.choice((0.05, 0.3, 1.0)), share, share, share, until=1000.0 + until)
