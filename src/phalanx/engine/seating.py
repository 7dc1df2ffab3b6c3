"""Who takes which place of a gang: by rank where ranks are counted, else in order."""

from phalanx.engine import slots
from phalanx.engine.gangs import Gang
from phalanx.engine.slots import Slot
from phalanx.model.pods import Pod


def assign(gang: Gang) -> None:
    """Gives every pod without a place one that is free, if there is one for it."""
    offsets = slots.offsets(gang.request)
    taken = {slot.pod for slot in gang.every_slot() if slot.pod is not None}
    for pod in gang.living():
        if pod.key in taken or pod.pod_set not in gang.slots:
            continue
        slot = _free(gang.slots[pod.pod_set], pod, offsets.get(pod.pod_set))
        if slot is not None:
            slot.pod = pod.key
            if pod.node:
                slot.node = pod.node


def _free(listed: list[Slot], pod: Pod, offset: int | None) -> Slot | None:
    """The place a pod takes: that of its rank where ranks are counted, else the first without a pod."""
    free = [slot for slot in listed if slot.pod is None and not slot.done]
    if pod.rank is not None and offset is not None:
        return next((slot for slot in free if slot.number == pod.rank - offset), None)
    return free[0] if free else None


def found(gang: Gang, bound: list[Pod]) -> dict[str, list[Slot]]:
    """Places for pods that are on nodes already, numbered by their ranks where these are counted."""
    offsets = slots.offsets(gang.request)
    made: dict[str, list[Slot]] = {}
    for pod in bound:
        if pod.pod_set is not None:
            listed = made.setdefault(pod.pod_set, [])
            ranked = pod.rank is not None and pod.pod_set in offsets
            number = (pod.rank or 0) - offsets[pod.pod_set] if ranked else len(listed)
            listed.append(Slot(pod.pod_set, number, pod.node, pod.key))
    return made


def number(gang: Gang, pod: Pod, more: list[Slot]) -> int:
    """The number of a new place: that of the pod's rank where ranks are counted, else the next one."""
    offsets = slots.offsets(gang.request)
    if pod.rank is not None and pod.pod_set in offsets:
        return pod.rank - offsets[pod.pod_set]
    numbers = [slot.number for slot in (*gang.slots.get(pod.pod_set or "", ()), *more) if slot.pod_set == pod.pod_set]
    return max(numbers, default=-1) + 1


def is_due(gang: Gang, pod: Pod, now: float, again: float) -> bool:
    """Whether a pod is to be asked for: never before, or so long ago that the answer may be lost."""
    last = gang.asked.get(pod.key)
    return last is None or now >= last + again
