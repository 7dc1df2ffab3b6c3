"""What keeps new pods from a node as it is: cordoned, not ready, short of something. Taints of people do not count."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from phalanx.model.nodes import Node

_OURS = "node.kubernetes.io/"  # keys of taints that tell the state of a node
_BLOCKS = ("NoSchedule", "NoExecute")
_AND = " and "
_WORDS = {"unschedulable": "cordoned", "unreachable": "not ready"}


def states(nodes: Iterable[Node]) -> dict[str, str]:
    """A word or some for each node that takes no new pods: ``cordoned``, ``not ready and cordoned``."""
    return {node.name: found for node in nodes if (found := _state(node))}


def _state(node: Node) -> str:
    keys = (one.key.removeprefix(_OURS) for one in node.taints if one.key.startswith(_OURS) and one.effect in _BLOCKS)
    return _AND.join(sorted({_WORDS.get(key, key.replace("-", " ")) for key in keys}, reverse=True))


def counted(found: Mapping[str, str], nodes: Iterable[str]) -> str:
    """How many of these nodes: ``2 cordoned, 1 not ready``; one that is both counts for both."""
    return ", ".join(f"{number} {word}" for word, number in sorted(Counter(_words(found, nodes)).items()))


def _words(found: Mapping[str, str], nodes: Iterable[str]) -> Iterator[str]:
    return (word for node in nodes if node in found for word in found[node].split(_AND))


def listed(found: Mapping[str, str], most: int) -> list[str]:
    """A line for each state, with the first of its nodes: ``cordoned: n1, n2 and 14 more``."""
    nodes: dict[str, list[str]] = {}
    for node, word in found.items():
        nodes.setdefault(word, []).append(node)
    return [f"{word}: {_some(names, most)}" for word, names in sorted(nodes.items())]


def _some(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
