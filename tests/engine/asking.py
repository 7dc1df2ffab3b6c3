"""Requests for drawn clusters, short enough to be read beside the drawing."""

from typing import Any

from phalanx.engine.board import Board
from phalanx.model import sketch
from phalanx.model.nodes import PodShape
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, PODS, Resources

BLOCK, RACK, HOST = 1, 2, 3  # levels of a drawing such as "b1: r1=4 r2=4"


def shape(gpu: int = 1, **more: Any) -> PodShape:
    return PodShape(Resources.of({sketch.GPU: gpu * NANO, PODS: NANO}), **more)


def pods(name: str, count: int, gpu: int = 1, least: int | None = None, **more: Any) -> PodSet:
    return PodSet(name, count, count if least is None else least, shape(gpu, **more))


def group(name: str, *members: Group | PodSet, **more: Any) -> Group:
    return Group(name, members, **more)


def workers(count: int, required: int | None = None, **more: Any) -> Group:
    """A group called workers with one pod set of that name."""
    return group("workers", pods("workers", count, **more), required=required)


def gang(root: Group, name: str = "train", **more: Any) -> Request:
    return Request("Gang", "default", name, root, topology="sketch", **more)


def board(drawing: str) -> Board:
    return Board.of(sketch.snapshot(drawing))
