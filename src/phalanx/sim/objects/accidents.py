"""What happens to pods and nodes."""

from functools import partial
from random import Random

from phalanx.minicluster.documents import NODE, POD, annotation, changed, key_of
from phalanx.model.objects import ObjectKey
from phalanx.sim.objects import acting
from phalanx.sim.objects.acting import AWAY
from phalanx.sim.objects.drawn import Doc
from phalanx.sim.objects.templates import GPU
from phalanx.sim.objects.world import World


def fail(world: World, chance: Random) -> None:
    """The work of a pod ends with an error."""
    running = [pod for pod in acting.pods(world, bound=True) if pod["status"].get("phase") == "Running"]
    found = [pod for pod in running if annotation(pod, "fails") is None]
    if found:
        pod = chance.choice(found)
        acting.note(world, f"{pod['metadata']['name']} fails")
        acting.annotate(world, pod, {"runs-for": "0", "fails": "1"})
        world.agenda.after(2.0, lambda: _heal(world, pod))


def _heal(world: World, pod: Doc) -> None:
    """Where its container is started again, it goes on as it was."""
    found = world.store.get(key_of(pod))
    before = pod["metadata"].get("annotations")
    if found is not None:
        acting.write(world, pod, lambda held: changed(held, "metadata", "annotations", to=before))


def kill(world: World, chance: Random) -> None:
    """Somebody deletes a pod, with a node or without."""
    found = acting.pods(world)
    if found:
        _evict(world, chance.choice(found))


def drain(world: World, chance: Random) -> None:
    """A node is cordoned, its pods are evicted, and it takes pods again later."""
    node = acting.node(world, chance)
    if node is None:
        return
    name = node["metadata"]["name"]
    acting.note(world, f"{name} is drained")
    _cordon(world, name, True)
    for pod in acting.pods(world, bound=True):
        if pod["spec"]["nodeName"] == name:
            _evict(world, pod)
    world.agenda.after(chance.uniform(1.0, AWAY), lambda: _cordon(world, name, False))


def _evict(world: World, pod: Doc) -> None:
    """As the eviction API does it."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    listed = [*(pod["status"].get("conditions") or ()), condition]
    acting.write(world, pod, lambda held: changed(held, "status", "conditions", to=listed))
    acting.delete(world, pod)


# -- nodes ---------------------------------------------------------------------------------------------------------


def cordon(world: World, chance: Random) -> None:
    node = acting.node(world, chance)
    if node is not None:
        name = node["metadata"]["name"]
        acting.note(world, f"{name} is cordoned")
        _cordon(world, name, True)
        world.agenda.after(chance.uniform(1.0, AWAY), lambda: _cordon(world, name, False))


def _cordon(world: World, name: str, yes: bool) -> None:
    for node in world.store.of_kind(*NODE):
        if node["metadata"]["name"] == name:
            acting.write(world, node, lambda held: changed(held, "spec", "unschedulable", to=yes or None))


def touch(world: World, chance: Random) -> None:
    """Nodes change in ways that mean nothing: a timestamp in a label, a taint that only asks to stay away."""
    acting.note(world, "all nodes are touched, again and again")
    for number in range(6):
        world.agenda.after(number * 0.7, partial(_touch, world, number))


def _touch(world: World, number: int) -> None:
    soft = {"key": "DeletionCandidateOfClusterAutoscaler", "effect": "PreferNoSchedule", "value": "1"}
    for node in world.store.of_kind(*NODE):
        labels = {**node["metadata"]["labels"], "nvidia.com/gfd.timestamp": str(int(world.now))}
        touched = changed(node, "metadata", "labels", to=labels)
        touched = changed(touched, "spec", "taints", to=[soft] if number % 2 else None)
        acting.write(world, node, partial(_as, touched))


def _as(wanted: Doc, held: Doc) -> Doc:
    """An object with the labels and the spec of another."""
    return changed({**held, "spec": wanted["spec"]}, "metadata", "labels", to=wanted["metadata"]["labels"])


def lose_node(world: World, chance: Random) -> None:
    """A node is gone; its pods go a little later, and it comes back empty."""
    node = acting.node(world, chance)
    if node is None or annotation(node, "silent"):
        return
    name = node["metadata"]["name"]
    acting.note(world, f"{name} is lost")
    acting.delete(world, node)
    collected = chance.uniform(0.1, 10.0)
    world.agenda.after(collected, lambda: _collect(world, name))
    head = {key: node["metadata"][key] for key in ("name", "labels")}
    back = {**node, "metadata": head}
    world.agenda.after(collected + chance.uniform(0.1, AWAY), partial(acting.create_once, world, back))


def _collect(world: World, name: str) -> None:
    """The collector of pods without a node."""
    for pod in world.store.of_kind(*POD):
        if pod["spec"].get("nodeName") == name:
            acting.delete(world, pod, grace=0)


def relabel(world: World, chance: Random) -> None:
    """A node is moved beside another one."""
    node, other = acting.node(world, chance), acting.node(world, chance)
    if node is None or other is None:
        return
    keys = [key for key in node["metadata"]["labels"] if key.startswith("topology/")]
    new = {**node["metadata"]["labels"], **{key: other["metadata"]["labels"][key] for key in keys}}
    if new != node["metadata"]["labels"]:
        acting.note(world, f"{node['metadata']['name']} is moved to {[new[key] for key in keys]}")
        world.moved.add(node["metadata"]["name"])
        acting.write(world, node, lambda held: changed(held, "metadata", "labels", to=new))


def silence(world: World, chance: Random) -> None:
    """A kubelet tells nothing for a while, and lets no pod go. Its node is not ready then."""
    node = acting.node(world, chance)
    if node is None or annotation(node, "silent"):
        return
    acting.note(world, f"{node['metadata']['name']} is silent")
    acting.annotate(world, node, {"silent": "1"})
    world.agenda.after(chance.uniform(1.0, 2 * AWAY), lambda: _unsilence(world, key_of(node)))


def _unsilence(world: World, key: ObjectKey) -> None:
    node = world.store.get(key)
    if node is not None:
        notes = {name: one for name, one in node["metadata"].get("annotations", {}).items() if "silent" not in name}
        acting.write(world, node, lambda held: changed(held, "metadata", "annotations", to=notes or None))


def stranger(world: World, chance: Random) -> None:
    """Another scheduler binds a pod of somebody else where it sees room."""
    node = acting.node(world, chance)
    if node is None:
        return
    world.strangers += 1
    own = {"containers": [{"name": "main", "resources": {"requests": {GPU: str(chance.choice((1, 2)))}}}]}
    name = f"stranger-{world.strangers}"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": own}
    world.store.create(pod, world.now)
    key = ObjectKey(*POD, "default", name)
    world.agenda.after(chance.uniform(10.0, 60.0), lambda: _leave(world, key))


def _leave(world: World, key: ObjectKey) -> None:
    found = world.store.get(key)
    if found is not None:
        acting.delete(world, found)
