"""Random small worlds, one per seed: 8 to 40 nodes, 10 to 40 gangs of all sorts, and whatever may go wrong."""

from dataclasses import replace
from random import Random

from phalanx.model.daemons import DaemonSet
from phalanx.model.nodes import Node, NodeFilter, PodShape, RunningPod, Toleration
from phalanx.model.queues import Flavor, Queue, Queues, Quota
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice, Spread
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.rules import Rules
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology
from phalanx.sim.faults import Faults, stormy
from phalanx.sim.mischief import GPU, MAINTENANCE, unleash
from phalanx.sim.submission import Submission
from phalanx.sim.world import World

BLOCK, RACK, HOST = 1, 2, 3
SORT = "example.com/sort"  # the label that tells the two flavors of nodes apart
TOPOLOGY = Topology.of("main", ("example.com/block", "example.com/rack"))
STORM_SECONDS = 300.0
ARRIVALS_SECONDS = 200.0
CPUS = 17  # of a node: its GPUs used by pods that want two for each leave just enough for the agent
AGENT = DaemonSet("other", "agent", PodShape(Resources.of({"cpu": NANO, PODS: NANO}), NodeFilter(
    tolerations=(Toleration("", "Exists", "", ""),)), namespace="other"))  # fmt: skip


def drawn(seed: int, faults: Faults | None = None) -> World:
    """The world of a seed, with all kinds of faults in its first minutes unless told which."""
    chance = Random(f"{seed}/scenario")
    cluster = _cluster(chance)
    number = chance.randint(10, 40)
    submissions = [_submission(chance, i, cluster.queues) for i in range(number)]
    daemon_sets = (AGENT,) if chance.random() < 0.5 else ()
    world = World(cluster, submissions, stormy(STORM_SECONDS) if faults is None else faults, seed, daemon_sets)
    unleash(world)
    return world


def _cluster(chance: Random) -> Snapshot:
    blocks, racks = chance.randint(1, 3), chance.randint(2, 4)
    each = chance.randint(-(-8 // (blocks * racks)), max(40 // (blocks * racks), 2))
    nodes = [
        _node(f"b{block}-r{rack}-{i}", f"b{block}", f"r{rack}", chance)
        for block in range(blocks)
        for rack in range(racks)
        for i in range(each)
    ]
    queues = _queues(chance, len(nodes)) if chance.random() < 0.6 else Queues()
    return Snapshot(tuple(nodes), (TOPOLOGY,), tuple(_strangers(chance, nodes)), queues=queues)


def _node(name: str, block: str, rack: str, chance: Random) -> Node:
    labels = {
        "example.com/block": block,
        "example.com/rack": rack,
        HOSTNAME: name,
        SORT: chance.choice(("a", "a", "b")),
    }
    whole = {GPU: chance.choice((4, 8, 8, 8)) * NANO, "cpu": CPUS * NANO, PODS: 20 * NANO}
    return Node(name, labels, Resources.of(whole))


def _strangers(chance: Random, nodes: list[Node]) -> list[RunningPod]:
    """Pods of nobody we know, which stay."""
    taken = [node for node in nodes if chance.random() < 0.15]
    amount = Resources.of({GPU: 2 * NANO, "cpu": NANO, PODS: NANO})
    return [RunningPod(f"stranger-{node.name}", "other", node.name, amount) for node in taken]


def _queues(chance: Random, nodes: int) -> Queues:
    """A limited queue, one in two flavors, one below a parent that is limited, and the unlimited default."""
    gpus = nodes * 7
    flavors = {sort: Flavor(sort, ((SORT, sort),)) for sort in ("a", "b")}
    split = tuple(Quota(sort, GPU, gpus * chance.randint(1, 5) // 10 * NANO) for sort in ("a", "b"))
    queues = (
        Queue("small", quotas=(Quota(None, GPU, gpus * chance.randint(2, 6) // 10 * NANO),), order="Fifo"),
        Queue("split", quotas=split),
        Queue("all", quotas=(Quota(None, GPU, gpus * chance.randint(3, 7) // 10 * NANO),)),
        Queue("team", parent="all", when_blocked=chance.choice(("Strict", "BestEffort"))),
    )
    return Queues({queue.name: queue for queue in queues}, flavors)


# ------------------------------------------------------------------------------------------------------- gangs


def _submission(chance: Random, number: int, queues: Queues) -> Submission:
    queue = chance.choice(("default", *sorted(queues.queues))) if queues.queues else "default"
    make = chance.choice(MAKERS)
    root = make(chance)
    rules = Rules(
        enforcement="Gate" if chance.random() < 0.2 else "Bind",
        schedule=chance.choice((20.0, 40.0)),
        ready=60.0,
        recovery=chance.choice((30.0, 60.0)),
        disruption=chance.choice(("Pod", "Group", "Gang")),
        on_failure=chance.choice(("ReplacePod", "ReplacePod", "RestartGang", "None")),
    )
    request = Request(
        "Job", "default", f"gang-{number:02}", root, TOPOLOGY.name, queue=queue, priority=chance.choice((0, 0, 5)),
        rules=rules,
    )  # fmt: skip
    staggered = chance.uniform(5, 40) if chance.random() < 0.3 else 0.0
    return Submission(chance.uniform(0, ARRIVALS_SECONDS), request, chance.uniform(10, 120), staggered)


def _shape(chance: Random) -> PodShape:
    gpus = chance.choice((1, 2, 2, 4, 4))
    wanted = NodeFilter(
        selector=((SORT, "a"),) if chance.random() < 0.1 else (),
        tolerations=(Toleration(MAINTENANCE.key, "Exists", "", ""),) if chance.random() < 0.2 else (),
    )
    return PodShape(Resources.of({GPU: gpus * NANO, "cpu": chance.choice((1, 2 * gpus)) * NANO, PODS: NANO}), wanted)


def _pods(chance: Random, name: str = "workers", most: int = 8) -> PodSet:
    count = chance.randint(1, most)
    return PodSet(name, count, count, _shape(chance))


def _plain(chance: Random) -> Group:
    return Group(
        "root", (_pods(chance),), required=chance.choice((None, BLOCK, RACK)), preferred=chance.choice((None, RACK))
    )


def _ranked(chance: Random) -> Group:
    return replace(_plain(chance), ranks=Ranks())


def _elastic(chance: Random) -> Group:
    pods = _pods(chance)
    return Group(
        "root", (replace(pods, min_count=chance.randint(1, pods.count)),), required=chance.choice((None, RACK))
    )


def _parts(chance: Random) -> Group:
    """A driver and workers, the workers near each other."""
    workers = Group("near", (_pods(chance),), required=chance.choice((BLOCK, RACK)))
    return Group("root", (_pods(chance, "driver", 1), workers), required=chance.choice((None, BLOCK)))


def _optional(chance: Random) -> Group:
    """Some of several equal groups are enough."""
    one = _pods(chance, most=3)
    members = tuple(Group(f"part-{i}", (replace(one, name=f"pods-{i}"),), required=RACK) for i in range(3))
    return Group("root", members, min_members=chance.randint(1, 3))


def _tied(chance: Random) -> Group:
    """Two groups in which equal ranks share a rack."""
    count = chance.randint(1, 4)
    first = Group("first", (PodSet("one", count, count, _shape(chance)),), ranks=Ranks())
    tie = Ranks("None", with_same_rank_of="first", level=RACK)
    second = Group("second", (PodSet("two", count, count, _shape(chance)),), ranks=tie)
    return Group("root", (first, second))


def _sliced(chance: Random) -> Group:
    """Every two or three pods share a rack, or a node, also in two layers; some slices may be missing."""
    slices = chance.choice(((Slice(RACK, 2),), (Slice(RACK, 3),), (Slice(HOST, 2),), (Slice(RACK, 4), Slice(HOST, 2))))
    many = chance.randint(1, 3)
    least = chance.randint(1, many) if chance.random() < 0.3 else many
    size = slices[0].size
    pods = PodSet("workers", many * size, least * size, _shape(chance), slices)
    return Group("root", (pods,), required=chance.choice((None, BLOCK)))


def _spread(chance: Random) -> Group:
    """Pods that are kept apart, in each of the three ways."""
    level, pods = chance.choice((RACK, HOST)), _pods(chance, most=6)
    rule = chance.choice((
        Spread(level, max_per_domain=chance.randint(1, 3)),
        Spread(level, min_domains=chance.randint(1, min(pods.count, 3))),
        Spread(level, max_skew=chance.randint(1, 2)),
    ))  # fmt: skip
    return Group("root", (pods,), spread=rule)


def _nested(chance: Random) -> Group:
    """Groups within groups: racks within a block, and beside them somebody who may be anywhere."""
    teams = tuple(Group(f"team-{i}", (_pods(chance, f"pods-{i}", 3),), required=RACK) for i in range(2))
    inner = Group("teams", (*teams, _pods(chance, "helpers", 2)), required=BLOCK, preferred=RACK)
    return Group("root", (inner, _pods(chance, "watcher", 1)))


MAKERS = (
    _plain, _plain, _ranked, _ranked, _elastic, _elastic, _parts, _optional, _tied, _sliced, _sliced, _spread, _spread,
    _nested,
)  # fmt: skip
