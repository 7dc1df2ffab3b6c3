"""Random worlds for as long as asked: ``python -m phalanx.sim.soak --seed 7 --duration 40s``.

Worlds of numbers and worlds of objects in turn, or one kind of them (``--numbers``, ``--objects``). ``--only`` runs the
seed alone. Prints what was done and the seed of every failure, and ends with 1 if there was one. The clock on the wall
only says when to stop: what a seed does never depends on it.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable
from itertools import count

from phalanx.engine.engine import Engine
from phalanx.sim import scenarios
from phalanx.sim.objects import run as objects
from phalanx.sim.run import InvariantBroken, run

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_FORM = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")

Runs = Callable[[int], int]  # a seed -> steps; raises what is wrong


def seconds(text: str) -> float:
    """``40s``, ``5m``, ``1.5h`` or plain seconds."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 40s, 5m or 1h")
    return float(match[1]) * _UNITS[match[2]]


def of_numbers(seed: int) -> int:
    return run(scenarios.drawn(seed), Engine).steps


def of_objects(seed: int) -> int:
    return objects.one(seed).steps


KINDS: dict[str, Runs] = {"numbers": of_numbers, "objects": of_objects}


def soak(seed: int, duration: float, say: Callable[[str], None], kinds: tuple[str, ...] = tuple(KINDS)) -> int:
    """Runs world after world, each seed in every kind, until the time is over; how many failed."""
    end = time.monotonic() + duration
    worlds = steps = failed = 0
    for number in count(seed):
        for kind in kinds:
            outcome = _one(kind, number)
            worlds += 1
            if isinstance(outcome, int):
                steps += outcome
            else:
                failed += 1
                say(f"soak: FAILED {outcome}\n      again: python -m phalanx.sim.soak --{kind} --only --seed {number}")
        if time.monotonic() >= end:
            break
    say(f"soak: {worlds} worlds from seed {seed}, {steps:,} steps, {failed} failed")
    return failed


def _one(kind: str, seed: int) -> int | str:
    try:
        return KINDS[kind](seed)
    except (InvariantBroken, objects.Broken) as broken:
        return str(broken)
    except Exception as error:  # whatever it is, its seed is worth knowing
        return f"seed {seed} of {kind}: {type(error).__name__}: {error}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="soak", description="random worlds with faults, for as long as asked")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--duration", type=seconds, default=40.0)
    parser.add_argument("--only", action="store_true", help="this seed, and no other")
    one_of = parser.add_mutually_exclusive_group()
    for kind in KINDS:
        one_of.add_argument(f"--{kind}", dest="kinds", action="store_const", const=(kind,))
    chosen = parser.parse_args(arguments)
    return 1 if soak(chosen.seed, 0.0 if chosen.only else chosen.duration, _print, chosen.kinds or tuple(KINDS)) else 0


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
