"""``phalanx demo``: a tour over samples that come with the package. Nothing is needed, nothing is left behind."""

from importlib.resources import files
from typing import Any

from phalanx.cli import drawing, screen, simulating, tree, yamltext
from phalanx.cli.errors import Exit
from phalanx.cluster import Cluster, Decision
from phalanx.model.mistakes import Mistake
from phalanx.sim import generate, worlds
from phalanx.sim.simulate import simulate
from phalanx.sim.traces.asking import Asking

GPU = "nvidia.com/gpu"
_CLUSTER = "A cluster: two zones, two blocks each, two racks each. Some of it is in use."
_RACK = """\
1. A Job of five pods with 4 GPUs each, all in one rack. It goes where the least
   room is left over, so that large free racks stay whole."""
_NESTED = """\
2. Groups inside groups: a service in one zone, its workers in one block of it,
   prefill and decode each in one rack of that block."""
_REFUSED = """\
3. Five more pods for one rack. There is room enough, but in pieces: nothing is
   started, and you are told why. Every way out below was tried first."""
_SIMULATED = """\
4. Sixty gangs on a simulated cluster, twice: the tightest place first, then the
   roomiest. The same engine decides. One seed proves nothing; try your trace."""
_LAST = """\
Ask about your own cluster and workloads:

  kubectl get nodes,pods -A -o json > cluster.json
  phalanx place -f cluster.json -f topology.yaml -f my-job.yaml
  phalanx tree  -f cluster.json -f topology.yaml --free nvidia.com/gpu
  phalanx simulate --cluster 2x4x16 --policy pack --policy spread -o r.html"""


def run() -> int:
    cluster = Cluster.from_manifests(_sample("cluster.yaml"))
    _say(_CLUSTER)
    _bars(cluster)
    _say(_RACK)
    _placed(cluster, "1-train.yaml")
    _say(_NESTED)
    _placed(cluster, "2-llm.yaml")
    _say(_REFUSED)
    _refused(cluster, "3-big.yaml")
    _say(_SIMULATED)
    _simulated()
    screen.out().print(screen.styled("\n" + _LAST))
    return Exit.PLACED


def _sample(name: str) -> list[Any]:
    text = files("phalanx.cli").joinpath("demo_samples", name).read_text(encoding="utf-8")
    return list(yamltext.documents(text))


def _say(text: str) -> None:
    screen.out().print(screen.styled(f"\n{text}\n", "bold"))


def _bars(cluster: Cluster) -> None:
    grown = tree.tree_of(cluster, cluster.snapshot.topologies[0].name)
    for line in tree.bars(cluster, grown, GPU, grown.host - 1):
        screen.out().print(line)


def _placed(cluster: Cluster, sample: str) -> None:
    """Asks, draws the answer, and lets the gang have its place."""
    decisions = cluster.place(_sample(sample))
    for decision in decisions:
        _expect(decision, "Placed")
        drawing.draw_placed(cluster, decision, GPU)
    cluster.commit(decisions)


def _refused(cluster: Cluster, sample: str) -> None:
    for decision in cluster.place(_sample(sample)):
        _expect(decision, "Waiting")
        screen.out().print(screen.styled(decision.explain()))


def _simulated() -> None:
    site = worlds.drawn("2x4x4")
    mix = generate.Mix(load=1.0, together=2, sizes={4: 2, 8: 2, 16: 3, 32: 1})
    given = generate.submissions(60, 1, Asking(site), mix)
    simulating.show(simulate(site, given, ["pack", "spread"]))


def _expect(decision: Decision, status: str) -> None:
    if decision.status != status:
        raise Mistake(f"the demo expects {decision.id} to be {status}: {decision.message}")
