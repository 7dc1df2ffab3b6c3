"""Ways out as changes of the user's own manifests: made in them, read again from the start, and decided again."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from phalanx.dialects.edits import Edits, Written
from phalanx.dialects.fields import joined
from phalanx.dialects.manifests import Manifests
from phalanx.engine.board import Board
from phalanx.engine.tries import Tries
from phalanx.model.decision import Waiting
from phalanx.model.policy import Policy
from phalanx.model.reasons import Remedy, WayOut

PER_READ = 1000  # budget units for each group and pod set of a manifest that is read again
FEWER = 8  # numbers of pods tried, where they cannot be written
OF_MANIFESTS = (Remedy.LEVEL, Remedy.PREFERENCE, Remedy.PODS)  # the others change nothing of the workload


def in_manifests(
    pile: Manifests,
    board: Board,
    waiting: Waiting,
    ways: Sequence[WayOut],
    policy: Policy = Policy(),
    lives: bool = False,
) -> tuple[WayOut, ...]:
    """The ways out, those that change the workload with the edits that make the change; of these only such as still
    start it when the manifests are read again. Where the manifests are not at hand they stay as they are. ``lives``: so
    do those of a workload on a cluster for which no edit was found: what its pods say counts there as well."""
    written = pile.written(waiting.request) if any(way.kind in OF_MANIFESTS for way in ways) else None
    if written is None:
        return tuple(ways)
    tries = Tries.after(waiting, policy)
    found: list[WayOut] = []
    for way in ways:
        if way.kind not in OF_MANIFESTS:
            found.append(way)
            continue
        way, edits = next(_working(tries, pile, board, waiting, written, way), (way, None))
        if edits is None and lives:
            found.append(way)
        elif edits is not None and edits not in [one.edits for one in found]:
            found.append(replace(way, change=_told(written, way, edits), edits=edits))
    return tuple(found)


def _working(
    tries: Tries, pile: Manifests, board: Board, waiting: Waiting, written: Written, way: WayOut
) -> Iterator[tuple[WayOut, Edits]]:
    """The proposals with which it starts; of fewer pods the most that a manifest can say."""
    topology = board.draft(waiting.request.topology).tree.topology
    members = sum(1 + len(group.members) for group in waiting.request.root.groups())
    for one in _as_sayable(way):
        for edits in written.proposals(one, topology):
            if tries.is_spent:
                return
            tries.spend(PER_READ * members)
            again = pile.read_again(edits, waiting.request)
            if again is not None and tries.places(board, again):
                yield one, edits


def _as_sayable(way: WayOut) -> Iterator[WayOut]:
    """The way out, and with fewer pods yet: where a field counts Jobs of several pods, not every number can be said."""
    yield way
    for count in range(int(way.value) - 1, max(0, int(way.value) - FEWER), -1) if way.kind is Remedy.PODS else ():
        yield replace(way, change=f"fewer pods: {way.subject} {count}", value=str(count))


def _told(written: Written, way: WayOut, edits: Edits) -> str:
    """The change as it is, where the user has called by that name what the level stands with; else by the field."""
    if way.kind is Remedy.PODS or written.is_own(way.subject, edits[0]):
        return way.change
    wished = [edit for edit in edits if edit.value is not None]
    if way.kind is Remedy.LEVEL or not wished:
        return str(edits[0])
    return f"{joined(wished[0].keys[:-1])}: {{{wished[0].keys[-1]}: {wished[0].value}}}"
