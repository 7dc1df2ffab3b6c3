"""New places for a gang that runs: which can be found at all, which are had together, and who comes first."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from phalanx.engine import pools
from phalanx.engine.gangs import enough
from phalanx.engine.repair import Place, Survivors, in_order, is_new, slice_of
from phalanx.engine.slots import Slot
from phalanx.model.request import Group, PodSet, Request


def joinable(request: Request, new: Sequence[Slot], survivors: Survivors) -> list[Slot]:
    """Those of new places that have a domain to be in: where nodes have moved, a group or slice may be in several."""
    torn: set[str] = set()
    for group in request.root.groups():
        names = [pods.name for pods in group.pod_sets()]
        held = [node for name in names for node in survivors.nodes.get(name, {}).values()]
        if group.required is not None and survivors.are_torn(held, group.required):
            torn |= set(names)
    sets = {pods.name: pods for pods in request.root.pod_sets() if pods.name not in torn}
    return [slot for slot in new if slot.pod_set in sets and not _is_torn(sets[slot.pod_set], slot, survivors)]


def _is_torn(pods: PodSet, slot: Slot, survivors: Survivors) -> bool:
    held = survivors.nodes.get(pods.name, {}) if pods.slices else {}
    return any(
        survivors.are_torn([held[n] for n in held if n // layer.size == slot.number // layer.size], layer.level)
        for layer in pods.slices
    )


def whole(root: Group, new: Sequence[Slot], places: Mapping[str, int]) -> list[Slot]:
    """Those of new places with which no group or set begins with fewer pods than it needs. (W-133)

    ``places``: how many each set has. What has some grows pod by pod; what has none begins with its minimum at once, or
    with all that are made before others have nodes."""
    kept = _beginning(root, Counter(slot.pod_set for slot in new), pools.begun(root, places))
    return [slot for slot in new if slot.pod_set in kept]


def _beginning(member: Group | PodSet, new: Mapping[str, int], places: Mapping[str, int]) -> dict[str, int]:
    """New places by set, without those of a member that has not begun and would not have enough."""
    if isinstance(member, PodSet):
        sets, kept = [member], {member.name: new.get(member.name, 0)}
    else:
        sets, kept = list(member.pod_sets()), dict[str, int]()
        for below in member.members:
            kept |= _beginning(below, new, places)
    made = {pods.name: pods.min_count if pods.first is None else pods.first for pods in sets}
    return kept if any(places.get(pods.name) for pods in sets) or enough(member, kept, made) else {}


def fragments(request: Request, wanted: Sequence[Slot], survivors: Survivors) -> set[Place]:
    """Places of slices that would be begun with fewer pods than they have, in sets that have others to find first."""
    found: set[Place] = set()
    for pods in (one for one in request.root.pod_sets() if one.slices):
        mine = [slot for slot in wanted if slot.pod_set == pods.name]
        unbegun, _ = _sorted_out(pods, mine, survivors)
        pieces = [slot for cut in unbegun if len(cut) < pods.slices[-1].size for slot in cut]
        if len(pieces) < len(mine):
            found |= {(slot.pod_set, slot.number) for slot in pieces}
    return found


def _sorted_out(
    pods: PodSet, places: Iterable[Slot], survivors: Survivors
) -> tuple[list[list[Slot]], list[list[Slot]]]:
    """Places of slices that are yet to begin, each with all of them; and the others one by one."""
    begun = survivors.begun(pods)
    cuts: dict[int, list[Slot]] = {}
    single: list[list[Slot]] = []
    for slot in in_order(places):
        if pods.slices and is_new(slot) and slice_of(pods, slot.number) not in begun:
            cuts.setdefault(slice_of(pods, slot.number), []).append(slot)
        else:
            single.append([slot])
    return list(cuts.values()), single


def bundles(request: Request, lost: Mapping[str, Sequence[Slot]], survivors: Survivors) -> list[list[Slot]]:
    """New places in the order they are given out, those together that are had together or not at all: first what the
    minimum lacks, of every member that a group can do without by itself; then single places, then slices."""
    apart = _optional(request.root, "") if survivors.whole else {}
    lacking: dict[str, list[Slot]] = {}
    rest: list[list[Slot]] = []
    for pods in request.root.pod_sets():
        new = [slot for slot in lost.get(pods.name, ()) if is_new(slot)]
        missing = survivors.must(pods, new)
        unbegun, single = _sorted_out(pods, new, survivors)
        for cut in (*single, *unbegun):
            if missing > 0:
                lacking.setdefault(apart.get(pods.name, ""), []).extend(cut)
            else:
                rest.append(cut)
            missing -= len(cut)
    return [*lacking.values(), *rest]


def _optional(group: Group, around: str) -> dict[str, str]:
    """For every pod set the innermost member around it that its group can do without; empty where there is none."""
    found: dict[str, str] = {}
    for member in group.members:
        name = around if group.min_members is None else member.name
        found |= {member.name: name} if isinstance(member, PodSet) else _optional(member, name)
    return found
