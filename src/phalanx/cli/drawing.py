"""``phalanx tree``: the topology with bars, or one gang on it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from phalanx.cli import (
    amounts,
    clusters,
    explaining,
    getting,
    missing,
    naming,
    nodestate,
    placing,
    screen,
    telling,
    tree,
)
from phalanx.cli.clusters import Look, Source
from phalanx.cli.errors import Exit, Failed, worst
from phalanx.cli.standing import Standings
from phalanx.cluster import Cluster, Decision, Decisions
from phalanx.engine.gangs import Gang
from phalanx.kube.glance import Glance, is_manifest
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import RunningPod
from phalanx.model.problems import Problem
from phalanx.model.topology import Tree


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be drawn; None: what is usual."""

    resource: str | None = None
    topology: str | None = None
    level: str | None = None


def run(source: Source, gang: str | None, wish: Wish) -> int:
    look = clusters.whole(clusters.look(source))
    docs = look.objects
    cluster = Cluster.from_manifests(docs)
    for note in look.places.notes(cluster.problems):
        screen.say_error(str(note))
    for note in look.places.notes(cluster.warnings):
        screen.say_warning(str(note))
    if not cluster.snapshot.nodes:
        raise Failed("nothing to draw: there is no Node")
    if gang is None:
        draw_bars(cluster, wish)
        return Exit.INVALID if cluster.problems else Exit.PLACED
    seen = explaining.glanced(look, source)
    code = _draw_named(look, seen, cluster, gang, wish)
    if code is None:
        others = {pod.gang for pod in cluster.snapshot.pods if pod.gang is not None}
        raise missing.failed(look, seen, gang, clusters.configuration(source.config).marks(), others)
    return code


# -- bars --------------------------------------------------------------------------------------------------------


def draw_bars(cluster: Cluster, wish: Wish) -> None:
    resource = wish.resource or tree.usual_resource(cluster)
    if not any(total for _, total in tree.room_of(cluster, resource).values()):
        names = sorted({name for node in cluster.snapshot.nodes for name, _ in node.allocatable})
        raise Failed(f"no node has any {resource}", f"There are: {', '.join(names)}")
    console = screen.out()
    for number, grown in enumerate(_trees(cluster, wish.topology)):
        if number:
            console.print()
        for line in (*tree.bars(cluster, grown, resource, _level(grown, wish.level), _width()), *tree.outside(grown)):
            console.print(line)


def _trees(cluster: Cluster, name: str | None) -> list[Tree]:
    names = [one.name for one in cluster.snapshot.topologies]
    if name is not None and name not in names:
        raise Failed(f"there is no Topology {name!r}", f"There are: {', '.join(names) or 'none'}")
    chosen: list[str | None] = [name] if name is not None else [*sorted(names)] or [None]
    return [tree.tree_of(cluster, one) for one in chosen]


def _level(grown: Tree, name: str | None) -> int | None:
    if name is None:
        return None
    number = grown.topology.level_number(name, "--level")
    if isinstance(number, Problem):
        raise Failed(number.message, code=Exit.USAGE)
    return number


# -- a gang ------------------------------------------------------------------------------------------------------


def _draw_named(look: Look, seen: Glance, cluster: Cluster, name: str, wish: Wish) -> int | None:
    """What ``explain`` understands by a name: a gang that lives, a manifest as ``place`` has it, the gang of an object
    that is none itself, or what is wrong and can only be explained; else pods that run without anything that describes
    them. None: nobody goes by it."""
    if living := _living(look, seen, name):
        return _draw_living(look, seen, living, wish)
    if given := _given(look, cluster, name):
        return _draw_given(cluster, given, wish)
    told = telling.told(look, seen, name)
    if kin := [(seen.engine.book.gangs[one.view.id], one) for one in told if one.via and one.view is not None]:
        screen.out().print(screen.styled(f"{kin[0][1].via}."))
        return _draw_living(look, seen, [(gang, Decision(one.decision, one.ways_out)) for gang, one in kin], wish)
    if told:
        return explaining.show(told)
    if running := _running(look, cluster, name):
        return _draw_running(cluster, running, wish)
    return None


def _living(look: Look, seen: Glance, name: str) -> list[tuple[Gang, Decision]]:
    """The gangs of that name that are in a cluster, or in a snapshot of one."""
    found = [gang for gang in naming.named(seen, name, look.namespace) if not is_manifest(seen.told, gang.id)]
    return [(gang, Decision(*seen.answer(gang))) for gang in found]


def _given(look: Look, cluster: Cluster, name: str) -> Decisions:
    """What ``place`` says of manifests of that name. Objects of a cluster are not planned anew."""
    given = [*look.objects, *look.twice]
    made = cluster.place([doc for doc in given if not (doc.get("metadata") or {}).get("uid")])
    chosen = (one for one in made if name == one.id or naming.is_meant(one.kind, one.namespace, one.name, name, look))
    return look.places.decisions(Decisions(chosen))


def _running(look: Look, cluster: Cluster, name: str) -> list[RunningPod]:
    """The pods that say they are of a gang of that name."""
    here = [pod for pod in cluster.snapshot.pods if look.shows(pod.namespace) and pod.gang == f"{pod.namespace}/{name}"]
    return here or [pod for pod in cluster.snapshot.pods if pod.gang == name]


def _draw_living(look: Look, seen: Glance, living: Sequence[tuple[Gang, Decision]], wish: Wish) -> int:
    """Each where it is, or would be, in the cluster as it would be without it. That it is not there, as the scheduler
    says, is said."""
    stands = Standings(seen, look)
    standing = [stands.of(seen.view(gang)) for gang, _ in living]
    for number, (gang, decision) in enumerate(living):
        if number:
            screen.out().print()
        if decision.status == "Placed" and decision.pod_sets:
            own = {(key.namespace, key.name) for key in gang.pods}
            others = [doc for doc in look.objects if doc.get("kind") != "Pod" or _named(doc) not in own]
            draw_placed(Cluster.from_manifests(others), decision, wish.resource)
        else:
            screen.out().print(screen.styled(decision.explain()))
    getting.tell_differences(standing)
    found = placing.exit_code(Decisions(decision for _, decision in living))
    return worst([found, getting.differing_code(standing)])


def _named(doc: dict[str, Any]) -> tuple[str, str]:
    metadata = doc.get("metadata") or {}
    return metadata.get("namespace", "default"), metadata.get("name", "")


# -- one gang ----------------------------------------------------------------------------------------------------


def _draw_given(cluster: Cluster, chosen: Decisions, wish: Wish) -> int:
    for number, decision in enumerate(chosen):
        if number:
            screen.out().print()
        if decision.status == "Placed":
            draw_placed(cluster, decision, wish.resource)
        else:
            screen.out().print(screen.styled(decision.explain()))
    return placing.exit_code(chosen)


def draw_placed(cluster: Cluster, decision: Decision, resource: str | None = None) -> None:
    """A placed workload on its topology, and what the letters mean."""
    request = decision.request
    if request is None:
        raise Mistake("a decision that placed nothing is not drawn")
    chosen = resource or tree.resource_of(decision, cluster)
    drawn = tree.marks(decision, chosen)
    grown = tree.tree_of(cluster, request.topology)
    _draw(cluster, grown, chosen, tree.room_of(cluster, chosen), drawn)
    _print(tree.legend(decision, drawn, _one_sign(cluster, chosen), _width()))


def _draw_running(cluster: Cluster, pods: Sequence[RunningPod], wish: Wish) -> int:
    """A gang that is no document of its own, but runs."""
    resource = wish.resource or tree.usual_resource(cluster)
    drawn = tree.running_marks(pods, resource)
    room = dict(tree.room_of(cluster, resource))
    for pod in pods:
        free, total = room[pod.node]
        room[pod.node] = (free + pod.requests.get(resource), total)
    for grown in _trees(cluster, wish.topology):
        _draw(cluster, grown, resource, room, drawn)
    _print(tree.running_legend(pods, drawn, _one_sign(cluster, resource), _width()))
    return Exit.PLACED


def _draw(cluster: Cluster, grown: Tree, resource: str, room: tree.Room, drawn: list[tree.Mark]) -> None:
    states = nodestate.states(node for node in cluster.snapshot.nodes if node.name in grown.index)
    _print(tree.picture(room, grown, drawn, tree.step(cluster, resource), _width(), states))
    _print(tree.closed_nodes(states, _width()))


def _one_sign(cluster: Cluster, resource: str) -> str:
    return f"{amounts.plain(resource, tree.step(cluster, resource))} {resource}"


def _width() -> int:
    return min(screen.out().width, 100)


def _print(lines: Iterable[Text]) -> None:
    console = screen.out()
    for line in lines:
        console.print(line)
