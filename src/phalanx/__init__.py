"""Phalanx: pods that only make sense together start shoulder to shoulder, or not at all, and you are told why.

``phalanx.Cluster`` is the door for Python. It is opened on first use, so that importing a part of the package
(``phalanx.model.resources``, say) stays cheap.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phalanx.cluster import Cluster, Decision, Decisions, Note
    from phalanx.model.policy import Policy

__version__ = "0.1.0"
__all__ = ["Cluster", "Decision", "Decisions", "Note", "Policy", "__version__"]

_DOOR = ("Cluster", "Decision", "Decisions", "Note", "Policy")

if not TYPE_CHECKING:  # a type checker would take any misspelt name for something behind this door

    def __getattr__(name: str) -> object:
        if name not in _DOOR:
            raise AttributeError(f"module 'phalanx' has no attribute {name!r}")
        import phalanx.cluster

        return getattr(phalanx.cluster, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_DOOR})
