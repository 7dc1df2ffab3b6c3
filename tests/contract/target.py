"""The server under test and what may be asked of it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contract.scope import Scope

SERVER = "PHALANX_CONTRACT_SERVER"
WITHOUT = "PHALANX_CONTRACT_WITHOUT"
ABILITIES = ("controllers", "rbac", "kubectl")


@dataclass(frozen=True, slots=True)
class Target:
    """A server, what it says it does not have, its own kubectl, and how it is made to forget (if there is a way)."""

    kubeconfig: Path
    lacks: frozenset[str] = frozenset()
    kubectl: Path | None = None
    forget: Callable[[], None] | None = None
    thrown_away: bool = False

    def clear(self, cluster: Scope, namespace: str) -> None:
        """Deletes the namespace, unless the whole server goes: emptying one costs controllers a request per kind."""
        if not self.thrown_away:
            cluster.delete("namespaces", namespace)

    def needs(self, ability: str) -> None:
        if ability in self.lacks:
            pytest.skip(f"{WITHOUT} says that the server has no {ability}")


def lacking() -> frozenset[str]:
    """What `PHALANX_CONTRACT_WITHOUT` excuses the server from; nothing is excused by being absent."""
    said = frozenset(filter(None, os.environ.get(WITHOUT, "").split(",")))
    if unknown := sorted(said - set(ABILITIES)):
        raise pytest.UsageError(f"{WITHOUT}: {', '.join(unknown)}: must be among {', '.join(ABILITIES)}")
    return said
