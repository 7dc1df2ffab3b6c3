"""Small requests for the tests of this room."""

from phalanx.model.nodes import NodeFilter, PodShape
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, PODS, Resources

GPU, CPU = "example.com/gpu", "cpu"


def shape(gpus: int = 1, selector: tuple[tuple[str, str], ...] = (), **more: int) -> PodShape:
    amounts = {GPU: gpus * NANO, PODS: NANO, **{name: amount * NANO for name, amount in more.items()}}
    return PodShape(Resources.of(amounts), NodeFilter(selector))


def pods(name: str, count: int, least: int | None = None, of: PodShape | None = None) -> PodSet:
    return PodSet(name, count, count if least is None else least, of or shape())


def gang(name: str, *members: Group | PodSet, queue: str = "default", **more: object) -> Request:
    """``more``: fields of its root."""
    root = Group(name, members, **more)  # type: ignore[arg-type]
    return Request("Gang", "default", name, root, topology="sketch", queue=queue)
