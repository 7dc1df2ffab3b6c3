"""Which object of a cluster is meant: by its name, and as one life of that name."""

from typing import NamedTuple


class ObjectKey(NamedTuple):
    """What an object is called: its API ``group`` (empty for those of the core), ``kind``, ``namespace`` and ``name``.
    A name is used again; its uid tells which of those that had it is meant."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def of_kind(self) -> tuple[str, str]:
        """API group and kind."""
        return self.group, self.kind

    @property
    def address(self) -> tuple[str, str, str]:
        """Kind, namespace and name, as Requests and decisions tell whom they are about."""
        return self.kind, self.namespace, self.name

    @property
    def title(self) -> str:
        """Kind and name, as people read it where the namespace is clear."""
        return f"{self.kind}/{self.name}"

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


class Incarnation(NamedTuple):
    """One object for as long as it lives: another uid is another object. Without a uid it is any of that name."""

    key: ObjectKey
    uid: str = ""

    def is_another(self, uid: str) -> bool:
        """Whether the object of this name that has this uid is another one."""
        return bool(self.uid and uid) and self.uid != uid

    def __str__(self) -> str:
        return str(self.key)
