"""Free ports on loopback, none given twice."""

import random
import socket

# Below the range from which Linux takes ports for outgoing connections: a program that restarts on the same port
# must not find it taken by one of its own clients.
FIRST, LAST = 20000, 29999
ATTEMPTS = 200
_given: set[int] = set()


def free() -> int:
    """A port that nobody listens on and that this process has not been given before."""
    for _ in range(ATTEMPTS):
        port = random.SystemRandom().randint(FIRST, LAST)
        if port not in _given and _unused(port):
            _given.add(port)
            return port
    raise OSError(f"no free port between {FIRST} and {LAST} on 127.0.0.1 in {ATTEMPTS} attempts")


def listening(port: int) -> bool:
    """Whether somebody accepts connections on ``port``."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False


def _unused(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
