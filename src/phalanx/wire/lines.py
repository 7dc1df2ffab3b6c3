"""Whole lines out of a stream that is cut anywhere."""


class Lines:
    """Feed it chunks, get the lines that are complete. A line may be as long as it likes and is copied once."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        head, *rest = chunk.split(b"\n")
        self._pending.append(head)
        if not rest:
            return []
        complete = [b"".join(self._pending), *rest[:-1]]
        self._pending = [rest[-1]]
        return [line for line in complete if line.strip()]
