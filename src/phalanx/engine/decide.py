"""One decision, in a straight line."""

from phalanx.engine.board import Board
from phalanx.model.decision import Decision, Invalid, Placed, Waiting
from phalanx.model.placement import Placement
from phalanx.model.policy import Policy
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason, Why
from phalanx.model.request import Request
from phalanx.place import evidence, solve, verify
from phalanx.place.draft import Draft


def decide(board: Board, request: Request, policy: Policy = Policy()) -> Decision:
    """What happens with a request on the board as it stands. The board is not changed: ``commit`` is a step of its own.

    The numbers are those of the whole line (ARCHITECTURE.md); what comes before and after is not decided here.
    """
    # 3  whose turn it is: not that of a request its owner holds back
    if request.suspended:
        return Waiting(request, Reason(Why.SUSPENDED, request.root.name, "", 0), proved=None)
    # 5, 6  where: counted, chosen and split on a draft
    draft = board.draft(request.topology)
    answer = solve.place(draft, request, policy)
    if answer.problem is not None:
        return _invalid(request, answer.problem)
    # 7  nowhere: why
    if answer.placement is None:
        reason = evidence.explain_refusal(draft, request, answer)
        return Waiting(request, reason, proved=answer.status == solve.IMPOSSIBLE, work=answer.work)
    # 8  judged by somebody who had no part in it
    _judge(board, draft, request, answer.placement)
    return Placed(request, answer.placement, work=answer.work)


def _invalid(request: Request, problem: Problem) -> Invalid:
    return Invalid(request.kind, request.namespace, request.name, (problem,))


def _judge(board: Board, draft: Draft, request: Request, placement: Placement) -> None:
    """Stops here when a placement breaks a rule: we are wrong then, and the message holds what it takes to see how."""
    used = {node for counts in placement.pod_sets.values() for node, _ in counts}
    free = board.free(used)
    tree = draft.tree
    paths = {name: tree.paths[i] for name in used if tree.inside[i := tree.index[name]]}
    broken = verify.quick(free, paths, request, placement)
    assert not broken, f"{'; '.join(broken)}\n{request!r}\n{placement!r}\nfree: {free!r}\npaths: {paths!r}"
