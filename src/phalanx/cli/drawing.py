"""``phalanx tree``: the topology with bars, or one gang on it."""

from collections.abc import Sequence
from dataclasses import dataclass

from phalanx.cli import files, placing, screen, tree
from phalanx.cli.errors import Exit, Failed
from phalanx.cluster import Cluster, Decision, Decisions
from phalanx.model import resources
from phalanx.model.problems import Problem
from phalanx.model.topology import Tree


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be drawn; None: what is usual."""

    resource: str | None = None
    topology: str | None = None
    level: str | None = None


def run(sources: Sequence[str], gang: str | None, wish: Wish, namespace: str | None) -> int:
    docs = placing.in_namespace(files.load(sources), namespace)
    cluster = Cluster.from_manifests(docs)
    for note in cluster.problems:
        screen.say_error(str(note))
    for note in cluster.warnings:
        screen.say_warning(str(note))
    if not cluster.snapshot.nodes:
        raise Failed("nothing to draw: no Node among the documents")
    if gang is None:
        draw_bars(cluster, wish)
        return Exit.INVALID if cluster.problems else Exit.PLACED
    return _draw_gang(cluster, cluster.place(docs), gang, wish)


# -- bars --------------------------------------------------------------------------------------------------------


def draw_bars(cluster: Cluster, wish: Wish) -> None:
    resource = wish.resource or tree.usual_resource(cluster)
    if not any(total for _, total in cluster.free(resource).values()):
        names = sorted({name for node in cluster.snapshot.nodes for name, _ in node.allocatable})
        raise Failed(f"no node has any {resource}", f"There are: {', '.join(names)}")
    console = screen.out()
    for number, grown in enumerate(_trees(cluster, wish.topology)):
        if number:
            console.print()
        for line in (*tree.bars(cluster, grown, resource, _level(grown, wish.level)), *tree.outside(grown)):
            console.print(line)


def _trees(cluster: Cluster, name: str | None) -> list[Tree]:
    names = [one.name for one in cluster.snapshot.topologies]
    if name is not None and name not in names:
        raise Failed(f"there is no Topology {name!r}", f"There are: {', '.join(names) or 'none'}")
    chosen = [name] if name is not None else sorted(names) or [None]
    return [tree.tree_of(cluster, one) for one in chosen]


def _level(grown: Tree, name: str | None) -> int | None:
    if name is None:
        return None
    number = grown.topology.level_number(name, "--level")
    if isinstance(number, Problem):
        raise Failed(number.message, code=Exit.USAGE)
    return number


# -- one gang ----------------------------------------------------------------------------------------------------


def _draw_gang(cluster: Cluster, decisions: Decisions, gang: str, wish: Wish) -> int:
    chosen = Decisions(one for one in decisions if gang in _spellings(one))
    if not chosen:
        names = ", ".join(sorted({one.id for one in decisions})) or "none"
        raise Failed(f"there is no workload {gang!r} among the documents", f"There are: {names}")
    console = screen.out()
    for number, decision in enumerate(chosen):
        if number:
            console.print()
        if decision.status == "Placed":
            draw_placed(cluster, decision, wish.resource)
        else:
            console.print(screen.styled(decision.explain()))
    return placing.exit_code(chosen)


def _spellings(decision: Decision) -> set[str]:
    names = {decision.name, f"{decision.namespace}/{decision.name}", decision.id}
    return names | {f"{decision.kind.lower()}/{decision.name}", f"{decision.kind}/{decision.name}"}


def draw_placed(cluster: Cluster, decision: Decision, resource: str | None = None) -> None:
    """A placed workload on its topology, and what the letters mean."""
    request = decision.request
    assert request is not None
    console = screen.out()
    width = min(console.width, 100)
    chosen = resource or tree.resource_of(decision, cluster)
    drawn = tree.marks(decision, chosen)
    one_sign = f"{resources.show(chosen, tree.step(cluster, chosen))} {chosen}"
    for line in tree.picture(cluster, tree.tree_of(cluster, request.topology), chosen, drawn, width):
        console.print(line)
    for line in tree.legend(decision, drawn, one_sign, width):
        console.print(line)
