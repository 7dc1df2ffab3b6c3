"""The reason reference, docs/reasons.md, made from one catalogue.

python -m phalanx.explain.reference                            prints the page
python -m phalanx.explain.reference --check docs/reasons.md    exit code 1 when the file says something else
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from phalanx.explain import generated, text
from phalanx.model.decision import Waiting
from phalanx.model.reasons import DomainEvidence, FullQuota, Obstacle, Reason, WayOut, Why
from phalanx.model.request import Group, Request
from phalanx.model.resources import NANO

WIDTH = 110
HEAD = """# Why a gang waits

Every gang that does not start has one dominant reason. The same word stands in `reason.type` of the JSON, in
conditions, events and metrics, and is the anchor of its section here. This page is made from the catalogue in
`src/phalanx/explain/reference.py`; change it there.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What there is to say about one reason; the example is a reason that is rendered like any other."""

    why: Why
    means: str
    see: str
    do: str
    example: Reason
    ways_out: tuple[WayOut, ...] = ()


_GPU = (Obstacle("resource", "nvidia.com/gpu", 3),)
_BEST = DomainEvidence(("b2", "r1"), 7, 10, _GPU)
_WIDER = DomainEvidence(("b2",), 12, 10)
_FIGURES = (80 * NANO, 448 * NANO, 512 * NANO)  # asked for, used, all of it
_BLOCK = WayOut("workers.topology: {preferred: rack}")

CATALOGUE = (
    Entry(
        Why.PODS_MISSING,
        "Fewer pods than the minimum exist yet, or some that exist wait for their volumes. Nothing was tried.",
        "How many pods the group needs, how many there are, and what pods that exist wait for first.",
        "Look at the owner of the pods: its controller may be slow, suspended, or over a ResourceQuota.",
        Reason(Why.PODS_MISSING, "workers", "rack", 10, pods_seen=8),
    ),
    Entry(
        Why.NO_MATCHING_NODES,
        "No node passes the filters of a pod set, whatever is free. Waiting does not help: only a new or changed "
        "node, or a changed request, does.",
        "For all nodes what keeps the pods off them: taints, the selector, node affinity, a missing topology label. "
        "A node counts for its first obstacle.",
        "Tolerate the taint, correct the selector, or label the nodes.",
        Reason(
            Why.NO_MATCHING_NODES,
            "workers",
            "cluster",
            4,
            (DomainEvidence((), 0, 4, (Obstacle("selector", "gpu=h100", 9), Obstacle("taint", "maintenance", 3))),),
            nodes_seen=12,
        ),
    ),
    Entry(
        Why.TOO_LARGE,
        "It would not fit even on the empty cluster: no domain of the required level is large enough, or the cluster "
        "is not.",
        "How many pods the largest domains would hold with nothing running.",
        "Require a wider level, ask for fewer pods, or add nodes.",
        Reason(Why.TOO_LARGE, "workers", "rack", 10, (_BEST,), wider=_WIDER, wider_level="block"),
        (WayOut("workers.topology.required: block"),),
    ),
    Entry(
        Why.NO_ROOM,
        "Not enough is free, wherever the pods would go.",
        "How many pods fit in the nearest domains, and which resource is short on how many nodes.",
        "Wait for a gang to end, ask for fewer pods, or add nodes.",
        Reason(Why.NO_ROOM, "workers", "rack", 10, (_BEST,)),
        (WayOut("wait for team-b/eval-9"),),
    ),
    Entry(
        Why.FRAGMENTED,
        "Enough is free, but no domain of the required level holds it; or each part fits and together they do not.",
        "How many pods fit in the nearest domains, how many in the whole cluster, and which wider domain has the "
        "room. Where parts do not fit together, the parts and where each would go alone.",
        "Prefer the level instead of requiring it, require a wider one, or wait for the gang that is named.",
        Reason(Why.FRAGMENTED, "workers", "rack", 10, (_BEST,), wider=_WIDER, wider_level="block"),
        (_BLOCK,),
    ),
    Entry(
        Why.OVER_QUOTA,
        "The queue may not take more; or it may not take this gang at all, because no queue has that name, because "
        "it is for other namespaces, because none of its flavors is there or, in Kueue, because a level is asked for "
        "and none of its flavors has a topology. Room was not looked for.",
        "Which queue, it or one above it, in which flavor has too little of what; how much is asked for, how much is "
        "in use and how much there is, and who uses most of it. Where more is asked for than there is, that it never "
        "fits. Where the queue is closed, its name and those of the queues there are, or of its flavors.",
        "Wait until others in the queue end, use another queue, or ask for a larger quota. A gang whose queue or "
        "flavor is made later starts then.",
        Reason(
            Why.OVER_QUOTA,
            "workers",
            "cluster",
            10,
            quotas=(FullQuota("research", "h100", "nvidia.com/gpu", *_FIGURES, ("team-a/train", "team-b/eval-9")),),
        ),
    ),
    Entry(
        Why.BEHIND_OTHERS,
        "It would fit, but someone ahead holds a reservation, or the order of the queue is strict.",
        "Who was ahead when it was last looked at. It is not looked at again before its turn may have come, so that "
        "another one may be ahead by now; `phalanx queue` has them all in line.",
        "Wait. A queue with `whenBlocked: BestEffort` lets it pass.",
        Reason(Why.BEHIND_OTHERS, "workers", "cluster", 10, ahead="team-b/eval-9"),
    ),
    Entry(
        Why.EVICTING,
        "Room is being made: gangs of lower priority, named in the decision, are leaving.",
        "Who leaves.",
        "Wait until their grace periods are over.",
        Reason(Why.EVICTING, "workers", "cluster", 10),
    ),
    Entry(
        Why.BACKING_OFF,
        "It was released after a time-out or a failed bind and is tried again at a stated time.",
        "What failed.",
        "Look at the message of the failure; nothing has to be done for the next try.",
        Reason(Why.BACKING_OFF, "workers", "cluster", 10),
    ),
    Entry(
        Why.UNDECIDED,
        "Not shown to fit, and not shown to be impossible, within the work budget of one decision. It is asked again "
        "when the cluster changes.",
        "How far the nearest domains get by counting, and the rules of the request that meet on its pods (`rules`): "
        "they are what makes it hard, on many nodes at once. `proved` is false.",
        "Raise the budget: every rule is part of the search, so more of it may decide. Or simplify the request: fewer "
        "different shapes, fewer of the rules that are named, a required level around them.",
        Reason(
            Why.UNDECIDED,
            "workers",
            "rack",
            10,
            (_BEST,),
            rules=(
                "workers.topology.spread: {level: host, maxSkew: 1}",
                "workers.slices: {level: rack, size: 2}",
            ),
        ),
    ),
    Entry(
        Why.SUSPENDED,
        "Its owner or its spec says: not now. Or its queue does: it is on hold, or drained.",
        "The queue, if it is that; nothing else: it was not looked at.",
        "Resume it, or the queue.",
        Reason(Why.SUSPENDED, "workers", "cluster", 0),
    ),
)


def page() -> str:
    """The whole page, ending in a newline."""
    index = "\n".join(f"* [{entry.why}](#{entry.why.lower()})" for entry in CATALOGUE)
    return "\n".join([HEAD, index, "", *(_section(entry) for entry in CATALOGUE)])


def _section(entry: Entry) -> str:
    request = Request("Gang", "default", "example", Group("example", ()))
    example = text.line(Waiting(request, entry.example, proved=None), entry.ways_out)
    parts = [entry.means, f"**You see** {_lower(entry.see)}", f"**To do** {_lower(entry.do)}"]
    body = "\n\n".join(fill(part, WIDTH, break_on_hyphens=False, break_long_words=False) for part in parts)
    return f"## {entry.why}\n\n{body}\n\n```\n{example}\n```\n"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def main(arguments: Sequence[str]) -> int:
    """Prints the page; with ``--check FILE`` compares it instead."""
    return generated.main("phalanx.explain.reference", page(), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
