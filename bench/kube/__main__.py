"""``make bench-kube``: prints every figure and exits 1 if a threshold is broken."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from bench.kube import drive, objects
from bench.kube.contestants import Bare, Contestant, InTree, Phalanx
from bench.kube.drive import Result
from phalanx.wire import kubeconfig
from phalanx.wire.client import Client
from phalanx.wire.resources import PODS
from testbed.bed import Bed

ROOT = Path(__file__).parents[2]
Plan = dict[str, Any]


def main() -> int:
    plan = yaml.safe_load((Path(__file__).parent / "plan.yaml").read_text())
    broken: list[str] = []
    costs: dict[tuple[int, str], float] = {}
    for count in plan["nodes"]:
        broken += asyncio.run(_cluster(plan, count, costs))
    broken += _grown(plan, costs)
    asyncio.run(_sync(plan["sync"], plan["racks"]))
    for line in broken:
        print(f"BROKEN  {line}")
    print("all thresholds hold" if not broken else f"{len(broken)} thresholds broken")
    return 1 if broken else 0


async def _cluster(plan: Plan, count: int, costs: dict[tuple[int, str], float]) -> list[str]:
    """All rows on a cluster of so many nodes."""
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as folder, Bed.start({"scheduler"}, Path(folder) / "bed") as bed:
        prepare(bed)
        in_tree, ours, bare = InTree(bed), Phalanx(bed, Path(folder)), Bare(bed, Path(folder))
        async with Client(kubeconfig.load(str(bed.admin_kubeconfig)), connections=32) as client:
            began = time.monotonic()
            await drive.nodes(client, count, plan["racks"])
            await client.create(objects.TOPOLOGIES, objects.TOPOLOGY)
            print(
                f"\n{count} nodes, created in {time.monotonic() - began:.0f} s; {plan['gangs']} gangs of {plan['pods']}"
            )
            for row in plan["rows"]:
                rates = await _through(client, plan, row, (in_tree, ours, bare))
                live = {one.name: await _arriving(client, one, plan, row) for one in (in_tree, ours)}
                costs[count, row["name"]] = live["phalanx"].used.cpu_seconds
                where = f"{row['name']} at {count} nodes"
                broken += _slow(where, row, rates) + _late(where, live)
            broken += await _large(client, plan["large"], plan["rounds"], (ours, bare))
    return broken


async def _large(client: Client, large: Plan, rounds: int, contestants: tuple[Contestant, Contestant]) -> list[str]:
    """How long the pods of one large gang wait for each other: from its first bind to its last."""
    spans: dict[str, list[float]] = {one.name: [] for one in contestants}
    for _ in range(rounds):
        for one in contestants:
            found = await drive.waiting(client, one, 1, large["pods"], False)
            spans[one.name].append((large["pods"] - 1) / found.rate)
    ours, bare = (median(listed) for listed in spans.values())
    told = f"one gang of {large['pods']}: {ours:.2f} s from the first bind to the last, {bare:.2f} s without thinking"
    print(f"  {told} (at most {large['slower']} times)")
    return [f"{told}: more than {large['slower']} times"] if ours > large["slower"] * bare else []


async def _through(client: Client, plan: Plan, row: Plan, contestants: tuple[Contestant, ...]) -> dict[str, float]:
    """How fast each works through gangs that wait: the median of rounds in which they take turns."""
    rates: dict[str, list[float]] = {one.name: [] for one in contestants}
    for turn in range(plan["rounds"]):
        for one in contestants:
            if turn == 0 or one.name != "in-tree":  # its one round is as long as many of the others
                found = await drive.waiting(client, one, plan["gangs"], plan["pods"], row["rack"])
                rates[one.name].append(found.rate)
    for name, listed in rates.items():
        rounds = ", ".join(f"{rate:.0f}" for rate in listed)
        print(f"  {row['name']:5} {name:8} {median(listed):7.0f} pods/s from the first bind to the last ({rounds})")
    return {name: median(listed) for name, listed in rates.items()}


async def _arriving(client: Client, one: Contestant, plan: Plan, row: Plan) -> Result:
    """What gangs see that arrive at a running scheduler."""
    live = await drive.arriving(client, one, plan["gangs"], plan["pods"], row["rack"])
    half, most = (part(live.latencies, at) for at in (0.5, 0.99))
    print(
        f"  {row['name']:5} {one.name:8} {live.rate:7.0f} pods/s arriving: gang p50 {half:7.3f} s, p99 {most:7.3f} s, "
        f"{live.used.cpu_seconds:6.2f} CPU s, {live.used.memory_mib:5.0f} MiB",
        flush=True,
    )
    return live


def _slow(where: str, row: Plan, rates: dict[str, float]) -> list[str]:
    """As many times the in-tree scheduler as asked; near the limit where the limit itself is less than that."""
    ratio, most = (rates[name] / rates["in-tree"] for name in ("phalanx", "bare"))
    near = ratio / most
    told = f"{ratio:.1f} times the in-tree scheduler (the limit of this machine: {most:.1f}; {near:.2f} of it)"
    wanted = f"{row['faster']} times" if most >= row["faster"] else f"{row['limit']} of the limit"
    print(f"        {told}, asked for: {wanted}")
    is_slow = ratio < row["faster"] and (most >= row["faster"] or near < row["limit"])
    return [f"{where}: {told}, asked for: {wanted}"] if is_slow else []


def _late(where: str, live: dict[str, Result]) -> list[str]:
    broken = []
    for name, at in (("p50", 0.5), ("p99", 0.99)):
        mine, other = (part(live[one].latencies, at) for one in ("phalanx", "in-tree"))
        if mine > other:
            broken.append(f"{where}: gang {name} {mine:.3f} s, in-tree {other:.3f} s")
    return broken


def part(values: tuple[float, ...], at: float) -> float:
    """The value below which this part of the values lies."""
    listed = sorted(values)
    return listed[min(int(at * len(listed)), len(listed) - 1)]


def _grown(plan: Plan, costs: dict[tuple[int, str], float]) -> list[str]:
    small, large = plan["nodes"][0], plan["nodes"][-1]
    broken = []
    for row in plan["rows"]:
        ratio = costs[large, row["name"]] / costs[small, row["name"]]
        print(f"{row['name']}: {large} nodes cost {ratio:.2f} times what {small} cost (at most {plan['growth']})")
        if ratio > plan["growth"]:
            broken.append(f"{row['name']}: {large} nodes cost {ratio:.2f} times what {small} cost")
    return broken


async def _sync(plan: Plan, rack: int) -> None:
    """From the start of the process until it follows a large cluster."""
    with tempfile.TemporaryDirectory() as folder, Bed.start({"apiserver"}, Path(folder) / "bed") as bed:
        prepare(bed)
        async with Client(kubeconfig.load(str(bed.admin_kubeconfig)), connections=32) as client:
            await drive.nodes(client, plan["nodes"], rack)
            names = [f"node-{i % plan['nodes']:05}" for i in range(plan["pods"])]
            await drive.fill(client, PODS, (objects.pod("load", i, "other", node) for i, node in enumerate(names)))
        ours = Phalanx(bed, Path(folder))
        began = time.monotonic()
        ours.start()
        took, used = time.monotonic() - began, ours.used()
        ours.stop()
    print(
        f"\nstart to synced with {plan['nodes']} nodes and {plan['pods']} pods: {took:.1f} s, "
        f"{used.cpu_seconds:.1f} CPU s, {used.memory_mib:.0f} MiB"
    )


def prepare(bed: Bed) -> None:
    """Our kinds and our role on a server."""
    for folder in ("crds", "rbac"):
        for path in sorted((ROOT / "deploy" / folder).glob("*.yaml")):
            bed.apply(path.read_text())


if __name__ == "__main__":
    sys.exit(main())
