"""``make bench``: prints every figure and exits 1 if a threshold is broken."""

import resource
import sys
from pathlib import Path

import numpy as np
import yaml

from bench import advice, manifests, measure, philly, steps, stream, tight, world
from phalanx.place.draft import Draft


def main() -> int:
    plan = yaml.safe_load((Path(__file__).parent / "rows.yaml").read_text())
    broken = [*read(plan["reading"]), *rows(plan), *streams(plan["stream"]), *tightly(plan["tight"])]
    broken += [*grown(plan["engine"]["growth"]), *woken(plan["engine"]["waiting"])]
    broken += [*advised(plan["advice"]), *traced(plan["philly"])]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory {peak:,.0f} MiB")
    for line in broken:
        print(f"BROKEN  {line}")
    print("all thresholds hold" if not broken else f"{len(broken)} thresholds broken")
    return 1 if broken else 0


def read(plan: dict) -> list[str]:  # type: ignore[type-arg]
    """Manifests into Requests: cost per manifest, alone and among many, and of one that is large."""
    few, many = manifests.cost(plan["few"]), manifests.cost(plan["many"])
    growth = many.each / few.each
    small, large = (manifests.in_size(groups) for groups in plan["groups"])
    size = (large / small) / (plan["groups"][1] / plan["groups"][0])
    print(
        f"reading {many.manifests} mixed manifests of {many.kinds} kinds: {many.each:.0f} us each, "
        f"{growth:.2f} x the cost among {few.manifests} (most {plan['most']}); a Gang of {plan['groups'][1]} groups "
        f"{large / 1e3:.1f} ms, {size:.2f} x per group that of {plan['groups'][0]} (most {plan['most']})\n"
    )
    return [
        f"reading grows {name}: {ratio:.2f} times, most {plan['most']}"
        for name, ratio in (("with the number of manifests", growth), ("with the size of a manifest", size))
        if ratio > plan["most"]
    ]


def rows(plan: dict) -> list[str]:  # type: ignore[type-arg]
    """Decisions at the small and the large sizes, in microseconds and in full capacity builds."""
    nodes, levels = plan["clusters"]["small"]
    snapshot = world.cluster(nodes, levels, seed=0, full=0.3)
    draft = Draft.of(snapshot, "bench")
    small = {kind: measure.decisions(draft, snapshot, kind) for kind in plan["rows"]}
    print(f"decisions with commit, CPU us: median (p99); {nodes} nodes, {levels} levels")
    for kind, timing in small.items():
        print(f"  {kind}  {timing.median:6.0f} ({timing.p99:.0f})  placed {timing.placed}, refused {timing.refused}")
    broken = []
    for nodes, levels in plan["clusters"]["large"]:
        broken += _large(plan, small, nodes, levels)
    return broken


def _large(plan: dict, small: dict[str, measure.Timing], nodes: int, levels: int) -> list[str]:  # type: ignore[type-arg]
    snapshot = world.cluster(nodes, levels, seed=0)
    yardstick = measure.Yardstick(snapshot)
    draft = Draft.of(snapshot, "bench")
    broken = []
    print(f"\n{nodes} nodes, {levels} levels; one full capacity build {yardstick.build():.0f} us")
    for kind, row in plan["rows"].items():
        timing, builds = measure.against(yardstick, draft, snapshot, kind)
        growth = timing.median / small[kind].median
        print(
            f"  {kind}  {timing.median:6.0f} ({timing.p99:.0f})  {builds:5.2f} builds (most {row['builds']})  "
            f"{growth:4.1f} x small  design {row['design']}  {row['what']}"
        )
        if not builds <= row["builds"]:
            broken.append(f"{kind} at {nodes}/{levels}: {builds:.2f} builds, most {row['builds']}")
        if kind in plan["growth"]["rows"] and not growth <= plan["growth"]["most"]:
            broken.append(
                f"{kind} at {nodes}/{levels}: {growth:.1f} times the small cluster, most {plan['growth']['most']}"
            )
    return broken


def streams(plan: dict) -> list[str]:  # type: ignore[type-arg]
    """A long mixed stream."""
    done = stream.run(plan["nodes"], plan["levels"], plan["decisions"], plan["occupancy"], plan["mix"], seed=1)
    p50, p99 = done.percentile(50), done.percentile(99)
    print(
        f"\n{plan['decisions']} mixed decisions, {plan['nodes']} nodes, {plan['occupancy']:.0%} busy: "
        f"{done.gangs / done.seconds:,.0f} gangs/s, {done.pods / done.seconds:,.0f} pods/s, "
        f"p50 {p50:.0f} us, p99 {p99:.0f} us ({p99 / p50:.1f} x, most {plan['p99_to_p50']}), "
        f"longest {max(done.times) * 1e3:.1f} ms\n"
        f"  {dict(sorted(done.statuses.items()))}, by tier {dict(sorted(done.tiers.items()))}, "
        f"{done.audited} kept capacities equal a rebuild"
    )
    return [] if p99 <= plan["p99_to_p50"] * p50 else [f"p99 is {p99 / p50:.1f} times p50, most {plan['p99_to_p50']}"]


def tightly(plan: dict) -> list[str]:  # type: ignore[type-arg]
    """Tight instances of 256 nodes against CP-SAT."""
    print(
        "\n256 nodes, next to no slack, against CP-SAT: agreed / undecided / CP-SAT could not tell, ms median and max"
    )
    broken = []
    for row in tight.run(plan["instances"], plan["seconds"]):
        print(
            f"  {row.family:38} {row.agreed:3} / {row.undecided} / {row.unknown}   ours {np.median(row.ours):.1f} "
            f"{max(row.ours):.0f}   CP-SAT {np.median(row.theirs):.0f} {max(row.theirs):.0f}"
        )
        broken += [f"disagreement: {line}" for line in row.wrong]
        if row.undecided:
            broken.append(f"{row.family}: {row.undecided} undecided")
    return broken


def advised(plan: dict) -> list[str]:  # type: ignore[type-arg]
    """Ways out of a refusal cost at most as much as the decision before them."""
    print(
        f"\nwhat would help, {plan['nodes']} nodes: ms, against the first decision about such a cluster (most "
        f"{plan['most']} x) and the next"
    )
    broken = []
    for row in advice.run(plan["nodes"], plan["levels"], plan["full"], plan["kinds"]):
        ratio = row.ways / row.first
        print(
            f"  {row.full:6.1%} full  {row.kind:6}  {row.found} ways {row.ways:5.1f}   "
            f"decision {row.first:5.1f}, again {row.again:4.1f}   {ratio:4.2f} x"
        )
        if ratio > plan["most"]:
            broken.append(f"ways out of {row.kind} cost {ratio:.2f} times the decision, most {plan['most']}")
    return broken


def grown(plan: dict) -> list[str]:  # type: ignore[type-arg]
    """What a deciding step of the engine costs on a small and on a large cluster."""
    sizes = plan["nodes"]
    small, large = (steps.decisions(nodes, plan["gangs"], plan["mix"], plan["repetitions"]) for nodes in sizes)
    print(f"\nsteps of the engine that decide, CPU us; {sizes[0]} and {sizes[1]} nodes, most {plan['most']} x")
    broken = []
    for kind in plan["mix"]:
        growth = large[kind] / small[kind]
        print(f"  {kind:6}  {small[kind]:6.0f}  {large[kind]:6.0f}  {growth:4.2f} x")
        if not growth <= plan["most"]:
            broken.append(
                f"step with {kind}: {growth:.2f} times from {sizes[0]} to {sizes[1]} nodes, most {plan['most']}"
            )
    return broken


def woken(plan: dict) -> list[str]:  # type: ignore[type-arg]
    """How many of those who wait are looked at after one event."""
    useless, helping = steps.looks(plan["nodes"], plan["gangs"], plan["events"])
    print(f"\nsteps with one event, {plan['gangs']} gangs waiting, {plan['nodes']} nodes: the most of {plan['events']}")
    for name, those in (("one that helps nobody", useless), ("one with room for one gang", helping)):
        able, looked, decided = (max(getattr(one, key) for one in those) for key in ("able", "looked", "decided"))
        print(
            f"  {name:26}  could help {able}, looked at {looked}, decided about {decided}, "
            f"started {sum(one.started for one in those)} in all, median {np.median([one.us for one in those]):.0f} us"
        )
    broken = [
        f"one event could help {one.able}, {one.looked} looked at" for one in useless + helping if one.looked > one.able
    ]
    if [one.started for one in useless + helping] != [0] * len(useless) + [1] * len(helping):
        broken.append("not exactly one gang started after each event that made room for one")
    return broken


def traced(plan: dict) -> list[str]:  # type: ignore[type-arg]
    """The Philly trace on the hosts of Lingjun."""
    if not philly.is_here():
        print("\nPhilly on Lingjun: skipped, ../shared/traces is not here")
        return []
    done = philly.run(plan["jobs"])
    print(
        f"\nPhilly on Lingjun: {done.done:,} of {done.gangs:,} jobs done on {done.hosts} hosts, "
        f"{done.gangs / done.seconds:,.0f} gangs/s ({done.seconds:.0f} s CPU, {done.engine:.0f} of them in "
        f"{done.steps:,} steps), decision p50 {done.p50:.0f} us, p99 {done.p99:.0f} us, "
        f"peak memory {done.memory:,.0f} MiB"
    )
    return [] if done.done == done.gangs else [f"Philly: {done.gangs - done.done} jobs never finished"]


if __name__ == "__main__":
    sys.exit(main())
