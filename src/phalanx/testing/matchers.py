"""Sentences about a decision, for tests of schedulers and of manifests.

    (decision,) = cluster.place(docs)
    assert not why_not_together(decision, "workers", depth=3)      # zone, block, rack

Each returns what is wrong as text, empty when all is well, so that a failing assert says why.
"""

from phalanx import arguments
from phalanx.cluster import Decision


def why_not_placed(decision: Decision) -> str:
    """Empty if it was placed; else the reason or the problems."""
    if not isinstance(decision, Decision):
        given = arguments.described(decision)
        raise TypeError(f"decision: expected one Decision, as in (decision,) = cluster.place(docs), not {given}")
    return "" if decision.status == "Placed" else decision.explain()


def why_not_together(decision: Decision, group: str, depth: int) -> str:
    """Empty if all pods of a group share one domain at ``depth`` (1: the widest level)."""
    arguments.number(depth, "depth", 0)
    if waits := why_not_placed(decision):
        return waits
    domain = decision.domains.get(group)
    if domain is None:
        return f"there is no group {group!r}; placed were {', '.join(sorted(decision.domains))}"
    if len(domain) < depth:
        return f"group {group!r} shares only {'/'.join(domain) or 'the cluster'}, not a domain at depth {depth}"
    return ""


def why_not_counted(decision: Decision, pod_set: str, count: int) -> str:
    """Empty if exactly ``count`` pods of a set were placed."""
    if waits := why_not_placed(decision):
        return waits
    if pod_set not in decision.pod_sets:
        return f"there is no pod set {pod_set!r}; placed were {', '.join(sorted(decision.pod_sets))}"
    found = sum(decision.pod_sets[pod_set].values())
    return "" if found == count else f"pod set {pod_set!r} has {found} pods, not {count}"
