"""Under which name the board holds what is of no gang: single pods, those made for their node, and room for these.

The id of a gang has no space in it, so that nobody else is called like this.
"""

from phalanx.model.pods import Pod

_POD = "pod "
_DAEMON = "daemon "  # they come back when they end


def loose(pod: Pod) -> str:
    """A pod of no known gang, by its uid too: one of the same name may be there before the first is gone."""
    return f"{_DAEMON if pod.daemon else _POD}{pod.key}/{pod.key.uid}"


def coming(daemon_set: str, node: str) -> str:
    """Room for a pod that a DaemonSet has yet to make."""
    return f"{_DAEMON}{daemon_set} {node}"


def ends(name: str) -> bool:
    """Whether what is held under this name is free for good once it ends."""
    return not name.startswith(_DAEMON)


def known_as(name: str) -> str:
    """As people call it: ``namespace/name``."""
    return name.removeprefix(_POD).rpartition("/")[0] if name.startswith(_POD) else name
