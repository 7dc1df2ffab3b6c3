"""Random worlds for as long as asked: ``python -m phalanx.sim.soak --seed 7 --duration 40s``.

Prints what was done and the seed of every failure, and ends with 1 if there was one. The clock on the wall only says
when to stop: what a seed does never depends on it.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable

from phalanx.engine.engine import Engine
from phalanx.sim import scenarios
from phalanx.sim.run import InvariantBroken, Result, run

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_FORM = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")


def seconds(text: str) -> float:
    """``40s``, ``5m``, ``1.5h`` or plain seconds."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 40s, 5m or 1h")
    return float(match[1]) * _UNITS[match[2]]


def soak(seed: int, duration: float, say: Callable[[str], None]) -> int:
    """Runs world after world, seeds counted up from ``seed``, until the time is over; how many failed."""
    end = time.monotonic() + duration
    worlds = steps = failed = 0
    while not worlds or time.monotonic() < end:
        outcome = _one(seed + worlds)
        worlds += 1
        if isinstance(outcome, Result):
            steps += outcome.steps
        else:
            failed += 1
            say(f"soak: FAILED {outcome}\n      again: make soak SEED={seed + worlds - 1} DURATION=1s")
    say(f"soak: {worlds} worlds from seed {seed}, {steps:,} steps, {failed} failed")
    return failed


def _one(seed: int) -> Result | str:
    try:
        return run(scenarios.drawn(seed), Engine)
    except InvariantBroken as broken:
        return str(broken)
    except Exception as error:  # whatever it is, its seed is worth knowing
        return f"seed {seed}: {type(error).__name__}: {error}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="soak", description="random worlds with faults, for as long as asked")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--duration", type=seconds, default=40.0)
    chosen = parser.parse_args(arguments)
    return 1 if soak(chosen.seed, chosen.duration, _print) else 0


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
