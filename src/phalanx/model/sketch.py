"""Clusters drawn as text, for tests, demos and simulated worlds.

::

    b1: r1=4 r2=4,4 | b2: r1=2*3

draws block b1 with rack r1 (one node of 4 units) and rack r2 (two nodes of 4), and block b2 with rack r1 (three
nodes of 2). What is written behind ``=`` are units of one resource per node, GPUs unless told otherwise; of cpu,
memory and pods every node has more than enough, so that the drawn resource is what binds.

The grammar::

    drawing := domain { ["|"] domain }
    domain  := NAME "=" amount { "," amount }      a domain of the narrowest level and its nodes
             | NAME ":" domain { domain }          a domain and its parts, up to the next "|", ")" or the end
             | NAME "(" drawing ")"                the same, for deeper trees: z1( b1: r1=4 | b2: r1=4 )
    amount  := UNITS [ "*" NODES ]

All branches are equally deep, at most four levels: region, zone, block, rack, counted from the rack. Nodes are
named after their path: ``b1-r2-1``, ``b1-r2-2``. Text that is no drawing raises ValueError with the position:
drawings are written by ourselves, never by users.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from phalanx.model.nodes import Node
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology, Tree, grow

GPU = "nvidia.com/gpu"
LEVELS = ("region", "zone", "block", "rack")
LABEL_PREFIX = "topology/"

_PLENTY = {"cpu": 10_000 * NANO, "memory": 2**50 * NANO, PODS: 10_000 * NANO}
_TOKEN = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*|[():|=,*])")
_Leaf = tuple[tuple[str, ...], tuple[int, ...]]  # path of a narrowest domain, units of its nodes


def nodes(text: str, resource: str = GPU) -> tuple[tuple[Node, ...], Topology]:
    """The nodes of a drawing, in the order drawn, and the topology of its levels."""
    leaves = _Pen(text).drawing()
    depth = len(leaves[0][0])
    if depth > len(LEVELS) or any(len(path) != depth for path, _ in leaves):
        raise ValueError(f"all branches must be equally deep, at most {len(LEVELS)} levels: {text!r}")
    names = LEVELS[-depth:]
    labels = [LABEL_PREFIX + name for name in names]
    return tuple(_nodes(leaves, labels, resource)), Topology.of("sketch", labels, names)


def snapshot(text: str, resource: str = GPU) -> Snapshot:
    """The drawing as an empty cluster."""
    drawn, topology = nodes(text, resource)
    return Snapshot(drawn, (topology,))


def tree(text: str) -> Tree:
    """The tree of a drawing."""
    drawn, topology = nodes(text)
    return grow(topology, {node.name: node.labels for node in drawn})


def _nodes(leaves: list[_Leaf], labels: list[str], resource: str) -> Iterator[Node]:
    for path, units in leaves:
        for i, amount in enumerate(units, 1):
            name = "-".join((*path, str(i)))
            allocatable = Resources.of({**_PLENTY, resource: amount * NANO})
            yield Node(name, {**dict(zip(labels, path, strict=True)), HOSTNAME: name}, allocatable)


@dataclass(slots=True)
class _Pen:
    """Follows a drawing from left to right."""

    text: str
    at: int = 0

    def drawing(self) -> list[_Leaf]:
        leaves = self.domains(())
        if self.peek():
            raise self.error("nothing more")
        return leaves

    def domains(self, above: tuple[str, ...]) -> list[_Leaf]:
        """``domain { ["|"] domain }``, up to a closing bracket or the end."""
        leaves: list[_Leaf] = []
        names: set[str] = set()
        while True:
            leaves += self.domain(above, names)
            if self.peek() == "|":
                self.take()
            elif self.peek() in ("", ")"):
                return leaves

    def domain(self, above: tuple[str, ...], siblings: set[str]) -> list[_Leaf]:
        name = self.word("the name of a domain")
        if name in siblings:
            raise self.error(f"another name than {name!r}, which is drawn already")
        siblings.add(name)
        path = (*above, name)
        sign = self.take()
        if sign == "=":
            return [(path, tuple(self.amounts()))]
        if sign == "(":
            leaves = self.domains(path)
            self.expect(")")
            return leaves
        if sign == ":":
            return self.parts(path)
        raise self.error("'=', ':' or '('")

    def parts(self, path: tuple[str, ...]) -> list[_Leaf]:
        """``domain { domain }``, up to the next bar, closing bracket or the end."""
        leaves: list[_Leaf] = []
        names: set[str] = set()
        while not leaves or self.peek() not in ("", ")", "|"):
            leaves += self.domain(path, names)
        return leaves

    def amounts(self) -> Iterator[int]:
        while True:
            units, count = self.number(), 1
            if self.peek() == "*":
                self.take()
                count = self.number()
            yield from [units] * count
            if self.peek() != ",":
                return
            self.take()

    def number(self) -> int:
        word = self.word("a number")
        if not word.isdigit():
            raise self.error("a number")
        return int(word)

    def word(self, wanted: str) -> str:
        token = self.take()
        if not token[:1].isalnum():
            raise self.error(wanted)
        return token

    def expect(self, sign: str) -> None:
        if self.take() != sign:
            raise self.error(repr(sign))

    def peek(self) -> str:
        """The next token; empty at the end."""
        match = _TOKEN.match(self.text, self.at)
        if match is None and self.text[self.at :].strip():
            raise self.error("a name, a number or one of ( ) : | = , *")
        return match.group(1) if match is not None else ""

    def take(self) -> str:
        token = self.peek()
        match = _TOKEN.match(self.text, self.at)
        self.at = match.end() if match is not None else len(self.text)
        return token

    def error(self, wanted: str) -> ValueError:
        return ValueError(f"expected {wanted} before position {self.at} of {self.text!r}")
