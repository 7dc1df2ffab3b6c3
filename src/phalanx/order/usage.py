"""What every queue uses, kept by whoever owns it."""

from collections.abc import Iterable, Iterator, Mapping

from phalanx.model.mistakes import Mistake
from phalanx.model.queues import Queues
from phalanx.order.quota import Used, line

Held = tuple[str, str | None, Mapping[str, int]]  # queue, flavor, amounts


class Usage(Mapping[str, Used]):
    """Amounts in use by queue, then by (flavor, resource); each queue with what is used below it.

    ``take`` when places are given, ``give`` when the pods have left, with the same amounts: a bound pod replaces its
    reservation and adds nothing (X-52). Nothing is ever below zero.
    """

    __slots__ = ("_own", "_queues", "_total")

    def __init__(self, queues: Queues = Queues()) -> None:
        self._queues = queues
        self._own: dict[str, dict[tuple[str | None, str], int]] = {}  # without what is below
        self._total: dict[str, dict[tuple[str | None, str], int]] = {}

    def __getitem__(self, queue: str) -> Used:
        return self._total[queue]

    def __iter__(self) -> Iterator[str]:
        return iter(self._total)

    def __len__(self) -> int:
        return len(self._total)

    def take(self, queue: str, flavor: str | None, amounts: Mapping[str, int]) -> None:
        self._add(queue, flavor, amounts, 1)

    def give(self, queue: str, flavor: str | None, amounts: Mapping[str, int]) -> tuple[str, ...]:
        """Returns the queues in which less is used now: those who wait for their quota may look again."""
        self._add(queue, flavor, amounts, -1)
        return line(queue, self._queues)

    def under(self, queues: Queues) -> None:
        """The queues changed: the same use, counted in those that stand above now."""
        own = self._own
        self._queues, self._own, self._total = queues, {}, {}
        for queue, used in own.items():
            for (flavor, resource), amount in used.items():
                self.take(queue, flavor, {resource: amount})

    def audit(self, held: Iterable[Held]) -> tuple[str, ...]:
        """Where the books differ from counting anew what is held; empty: nowhere."""
        anew = Usage(self._queues)
        for queue, flavor, amounts in held:
            anew.take(queue, flavor, amounts)
        return tuple(
            f"queue {queue}: {flavor or 'any node'} {resource} is {kept.get((flavor, resource), 0)} in the books, "
            f"{fresh.get((flavor, resource), 0)} counted anew"
            for queue in sorted({*self, *anew})
            for kept, fresh in [(self.get(queue, {}), anew.get(queue, {}))]
            for flavor, resource in sorted({*kept, *fresh}, key=lambda key: (key[0] or "", key[1]))
            if kept.get((flavor, resource), 0) != fresh.get((flavor, resource), 0)
        )

    def _add(self, queue: str, flavor: str | None, amounts: Mapping[str, int], sign: int) -> None:
        _book(self._own, queue, flavor, amounts, sign)
        for name in line(queue, self._queues):
            _book(self._total, name, flavor, amounts, sign)


def _book(
    books: dict[str, dict[tuple[str | None, str], int]],
    queue: str,
    flavor: str | None,
    amounts: Mapping[str, int],
    sign: int,
) -> None:
    """What comes to nothing is forgotten, so that equal use is an equal book."""
    page = books.setdefault(queue, {})
    for resource, amount in amounts.items():
        left = page.get((flavor, resource), 0) + sign * amount
        if left < 0:
            raise Mistake(f"queue {queue} gives back {-left} of {resource} more than it took")
        page[flavor, resource] = left
        if not left:
            del page[flavor, resource]
    if not page:
        del books[queue]
