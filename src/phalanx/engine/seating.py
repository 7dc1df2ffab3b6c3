"""Who takes which place of a gang: by rank where ranks are counted, else in order."""

from collections.abc import Mapping
from itertools import count

from phalanx.engine import slots
from phalanx.engine.gangs import Gang
from phalanx.engine.slots import Slot
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import Slice
from phalanx.model.topology import Tree


def assign(gang: Gang) -> bool:
    """Gives every pod without a place one that is free, if there is one for it. Whether any was given."""
    given = False
    offsets = slots.offsets(gang.request)
    taken = {slot.pod for slot in gang.every_slot() if slot.pod is not None}
    for pod in gang.living():
        if pod.key in taken or pod.pod_set not in gang.slots:
            continue
        slot = _free(gang.slots[pod.pod_set], pod, offsets.get(pod.pod_set))
        if slot is not None:
            slot.take(pod)
            given = True
    return given


def _free(listed: list[Slot], pod: Pod, offset: int | None) -> Slot | None:
    """The place a pod takes: that of its rank where ranks are counted, else the first without a pod."""
    free = [slot for slot in listed if slot.pod is None and not slot.done]
    if pod.rank is not None and offset is not None:
        return next((slot for slot in free if slot.number == pod.rank - offset), None)
    return free[0] if free else None


def found(gang: Gang, there: list[Pod], tree: Tree) -> dict[str, list[Slot]]:
    """Places for pods that are on nodes already or can go to one only, numbered by their ranks where these are counted,
    else so that those of one slice are beside each other.

    Those on nodes count as moved: nobody knows what the node was like when it was chosen, so whoever follows a pod that
    leaves its place is given one anew. Those that we have sent keep the place they were sent to."""
    before = {slot.pod: slot for slot in gang.every_slot()}
    homes = {pod.key: pod.node or pod.pinned or before[pod.key].node for pod in there}
    moved = {pod.key for pod in there if pod.node or (pod.key in before and before[pod.key].moved)}
    offsets = slots.offsets(gang.request)
    made: dict[str, list[Slot]] = {}
    for pods in gang.request.root.pod_sets():
        mine = [pod for pod in there if pod.pod_set == pods.name]
        if pods.name in offsets and all(pod.rank is not None for pod in mine):
            numbers = [((pod.rank or 0) - offsets[pods.name], pod) for pod in mine]
        else:
            numbers = _by_slice(mine, homes, pods.slices, tree, 0)
        made[pods.name] = [
            Slot(pods.name, number, homes[pod.key], pod.key, moved=pod.key in moved) for number, pod in numbers
        ]
    return {name: listed for name, listed in made.items() if listed}


def _by_slice(
    pods: list[Pod], homes: Mapping[PodKey, str], layers: tuple[Slice, ...], tree: Tree, first: int
) -> list[tuple[int, Pod]]:
    """Pods numbered from ``first`` on: those of one domain together and from the start of a slice, whole ones first."""
    if not layers:
        return list(enumerate(pods, first))
    size, found = layers[0].size, list[tuple[int, Pod]]()
    domains: dict[tuple[str, ...], list[Pod]] = {}
    for pod in pods:
        path = tree.paths[tree.index[homes[pod.key]]] if homes[pod.key] in tree.index else ()
        domains.setdefault(path[: layers[0].level], []).append(pod)
    for domain in sorted(domains, key=lambda one: (len(domains[one]) % size, one)):
        found += _by_slice(domains[domain], homes, layers[1:], tree, first)
        first = (found[-1][0] // size + 1) * size
    return found


def number(gang: Gang, pod: Pod, more: list[Slot]) -> int:
    """The number of a new place: that of the pod's rank where ranks are counted, else the first that nobody has: so
    a slice that was begun is filled before another one is."""
    offsets = slots.offsets(gang.request)
    if pod.rank is not None and pod.pod_set in offsets:
        return pod.rank - offsets[pod.pod_set]
    taken = {slot.number for slot in (*gang.slots.get(pod.pod_set or "", ()), *more) if slot.pod_set == pod.pod_set}
    return next(number for number in count() if number not in taken)


def is_due(gang: Gang, pod: Pod, now: float, again: float) -> bool:
    """Whether a pod is to be asked for: never before, or so long ago that the answer may be lost."""
    last = gang.asked.get(pod.key)
    return last is None or now >= last + again
