"""Small pieces of sentences: domains, counts, obstacles, changes."""

from collections.abc import Iterator

from phalanx.model.reasons import Closed, ClosedQueue, DomainEvidence, FullQuota, Obstacle, Remedy, WayOut
from phalanx.model.resources import show

OBSTACLES_MAX = 3  # named in one line; the rest is in the JSON
RULES_MAX = 2  # likewise
EDITS_MAX = 4  # likewise
QUEUES_MAX = 8  # likewise


def place(domain: tuple[str, ...]) -> str:
    """``b2/r1``; the cluster for the empty path."""
    return "/".join(domain) if domain else "the cluster"


def pods(count: int) -> str:
    return f"{count} pod" if count == 1 else f"{count} pods"


def nodes(count: int) -> str:
    return f"{count} node" if count == 1 else f"{count} nodes"


def short(resource: str) -> str:
    """A resource without the vendor in front: ``nvidia.com/gpu`` -> ``gpu``."""
    return resource.rsplit("/", 1)[-1]


def obstacle(one: Obstacle) -> str:
    """``gpu short on 3 nodes``"""
    where = f" on {nodes(one.nodes)}" if one.nodes else ""
    match one.kind:
        case "resource":
            return f"{short(one.name)} short{where}"
        case "taint":
            return f"taint {one.name}{where}"
        case "selector":
            return f"no label {one.name}{where}"
        case "affinity":
            return f"affinity {one.name} not met{where}"
        case "outside":
            return f"label {one.name} missing{where}"
        case "port":
            return f"host port {one.name} taken{where}"
        case "spread":
            return f"spread over {one.name} not kept{where}"
        case "exclusive":
            return f"{one.name} not kept{where}"
        case "slice":
            return f"slices not whole in one {one.name}"
        case "rank":
            return f"equal ranks not in one {one.name}"
    return f"{one.kind} {one.name}{where}"


def obstacles(seen: DomainEvidence) -> str:
    """The first few in a row; what ends the room on the other nodes when none is in the way."""
    if seen.obstacles:
        return ", ".join(obstacle(one) for one in seen.obstacles[:OBSTACLES_MAX])
    return f"{short(seen.limits[0])} runs out" if seen.limits else ""


def some(names: tuple[str, ...]) -> str:
    """``a; b; c and 2 more``"""
    more = f" and {len(names) - RULES_MAX} more" if len(names) > RULES_MAX else ""
    return f"{'; '.join(names[:RULES_MAX])}{more}"


def closed(queue: ClosedQueue) -> str:
    """``queue "x" is not there; there are: a, b``"""
    match queue.why:
        case Closed.MISSING:
            return f'queue "{queue.name}" is not there; there are: {_some(queue.known)}'
        case Closed.NAMESPACE:
            return f'queue "{queue.name}" is for other namespaces; open to this one: {_some(queue.known)}'
        case Closed.HELD:
            return f'queue "{queue.name}" is on hold'
        case Closed.NO_TOPOLOGY:
            return f'a level is asked for, and no flavor of queue "{queue.name}" has a topology'
        case Closed.NO_FLAVOR:
            return f'no flavor of queue "{queue.name}" is there; it names: {_some(queue.known)}'


def full(quota: FullQuota) -> str:
    """``queue "x" may not take more nvidia.com/gpu (flavor h100): 8 asked for, 60 of 64 in use, the most by team/a``"""
    what = f"{quota.resource}{in_brackets(f'flavor {quota.flavor}' if quota.flavor is not None else '')}"
    asked, used, limit = (show(quota.resource, amount) for amount in (quota.asked, quota.used, quota.limit))
    if quota.is_too_small:
        return f'queue "{quota.queue}" never takes so much {what}: {asked} asked for, {limit} is all it has'
    held = f", the most by {', '.join(quota.held_by)}" if quota.held_by else ""
    return f'queue "{quota.queue}" may not take more {what}: {asked} asked for, {used} of {limit} in use{held}'


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - QUEUES_MAX} more" if len(names) > QUEUES_MAX else ""
    return f"{', '.join(names[:QUEUES_MAX]) or 'none'}{more}"


def change(out: WayOut) -> str:
    """A change as people read it: ``add 1 node like n7``. Programs count on the one form with ``nodes``."""
    one = "add 1 nodes like "
    return f"add 1 node like {out.change.removeprefix(one)}" if out.change.startswith(one) else out.change


def edits(out: WayOut) -> Iterator[str]:
    """What to write where: ``Job train: spec.parallelism: 4``; of many changes the first few."""
    for one in out.edits[:EDITS_MAX]:
        what = f"without {one.path}" if one.value is None else f"{one.path}: {one.value}"
        yield f"{one.object.kind} {one.object.name}: {what}"
    if len(out.edits) > EDITS_MAX:
        yield f"... and {len(out.edits) - EDITS_MAX} more like these"


def in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def way(out: WayOut, level: str) -> str:
    """A change as a sentence that begins in the middle: ``requiring the block instead of the rack starts it now``.

    A change is written in one of four forms (public API, section 4); what is in none of them is quoted.
    """
    change = out.change
    if out.kind is Remedy.LEVEL:
        return f"requiring the {out.value} instead of the {level} starts it now"
    if out.kind is Remedy.PREFERENCE:
        return f"preferring instead of requiring the {level} starts it now"
    if change.startswith("wait for "):
        return f"it starts when {change.removeprefix('wait for ')} ends"
    if change.startswith("fewer pods: "):
        group, count = change.removeprefix("fewer pods: ").rsplit(" ", 1)
        return f'with {pods(int(count))} in group "{group}" it starts now'
    if change.startswith("add "):
        count, _, node = change.removeprefix("add ").partition(" nodes like ")
        return f"{count} more {'node' if count == '1' else 'nodes'} like {node} would hold it"
    field, _, value = change.partition(": ")
    if field.endswith(".topology.required"):
        return f"requiring the {value} instead of the {level} starts it now"
    if field.endswith(".topology"):
        return f"preferring instead of requiring the {level} starts it now"
    return f"it starts now with {change}"
