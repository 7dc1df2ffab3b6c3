"""One decision, in a straight line."""

from phalanx.engine.board import Board
from phalanx.model.decision import Decision, Invalid, Placed, Waiting
from phalanx.model.mistakes import Mistake
from phalanx.model.placement import Placement
from phalanx.model.policy import Policy
from phalanx.model.reasons import Reason, Why
from phalanx.model.request import Request
from phalanx.place import evidence, solve, verdicts, verify


class BrokenRule(Mistake):
    """A placement that the search found, and that the judge refused: it is never used."""


def decide(board: Board, request: Request, policy: Policy = Policy()) -> Decision:
    """What happens with a request on the board as it stands. The board is not changed: ``commit`` is a step of its own.

    The numbers are those of the whole line in ARCHITECTURE.md; what comes before and after is not decided here.
    """
    # 3  whose turn it is: not that of a request its owner holds back, or whose pods are not all there
    if request.suspended:
        return Waiting(request, Reason(Why.SUSPENDED, request.root.name, "cluster", 0), proved=None)
    if request.missing:
        one = request.missing[0]
        reason = Reason(Why.PODS_MISSING, one.group, "cluster", one.needed, pods_seen=one.seen)
        return Waiting(request, reason, proved=None)
    # 5, 6, 8  where: counted, chosen and split on a draft, then judged
    answer = attempt(board, request, policy)
    if answer.problem is not None:
        return Invalid(request.kind, request.namespace, request.name, (answer.problem,))
    if answer.placement is not None:
        return Placed(request, answer.placement, work=answer.work)
    # nowhere: why
    reason = evidence.explain_refusal(board.draft(request.topology), request, answer)
    return Waiting(request, reason, proved=answer.status == verdicts.IMPOSSIBLE, work=answer.work)


def attempt(board: Board, request: Request, policy: Policy) -> solve.Answer:
    """The answer of the solver; a placement among them has passed the judge. Asks for no reasons, so it is cheap."""
    answer = solve.place(board.draft(request.topology), request, policy)
    if answer.placement is not None:
        _judge(board, request, answer.placement)
    return answer


def _judge(board: Board, request: Request, placement: Placement) -> None:
    """Stops here when a placement breaks a rule: we are wrong then, and the message holds what it takes to see how."""
    used = {node for counts in placement.pod_sets.values() for node, _ in counts}
    free = board.free(sorted(used))
    tree = board.draft(request.topology).tree
    paths = {name: tree.paths[tree.index[name]] for name in sorted(used) if tree.inside[tree.index[name]]}
    broken = verify.quick(free, paths, request, placement)
    if broken:
        details = f"{request!r}\n{placement!r}\nfree: {free!r}\npaths: {paths!r}"
        raise BrokenRule(f"{'; '.join(broken)}\n{details}")
