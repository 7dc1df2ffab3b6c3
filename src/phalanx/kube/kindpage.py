"""Writes ``docs/kinds.md`` from the table of kinds: ``python -m phalanx.kube.kindpage``."""

import sys
from collections.abc import Iterable

from phalanx.dialects import kindtable
from phalanx.dialects.kindtable import Followed, KindRow, Purpose
from phalanx.explain import generated

PROGRAM = "phalanx.kube.kindpage"

_HEAD = f"""<!-- Written by `python -m {PROGRAM}`; `make docs` writes it again. -->

# Kinds

Every kind of object that Phalanx knows. What each workload becomes stands in [grouping.md](grouping.md). A workload of
any other kind needs a Gang that its pods name; pods of such a kind that name our scheduler and no Gang are a gang of
one each.

*Followed* is what `phalanx run` watches and the commands list, where the server has it and the role allows it; each
such kind has a rule in `deploy/rbac/scheduler.yaml`. *Needed*: nothing is scheduled without it. *Restricts*: without it
more would be allowed than is. Pods are also bound, given their gates, labels and node selectors, and deleted.
"""
_FOLLOWED = {Followed.NEEDED: "needed", Followed.RESTRICTS: "yes; restricts", Followed.SERVED: "yes"}
_SECTIONS = (
    ("Workloads that make pods", (Purpose.MAKES_PODS,)),
    ("Workloads that pods name", (Purpose.GATHERS_PODS,)),
    ("What workloads are read with", (Purpose.LOOKED_UP,)),
    ("The cluster", (Purpose.CLUSTER,)),
    ("Other owners of pods", (Purpose.OWNS_PODS,)),
)


def page() -> str:
    sections = [_section(title, purposes) for title, purposes in _SECTIONS]
    return "\n".join((_HEAD, *sections))


def _section(title: str, purposes: Iterable[Purpose]) -> str:
    rows = [row for purpose in purposes for row in kindtable.of_purpose(purpose)]
    lines = [f"| {' | '.join(_cells(row))} |" for row in rows]
    head = ("kind", "API group", "versions that are read", "followed", "we write", "how its pods are told", "short")
    return "\n".join((f"## {title}\n", f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines, ""))


def _cells(row: KindRow) -> tuple[str, ...]:
    gates = ", gates in its template" * row.suspended
    written = [f"suspend{gates}"] * bool(row.suspend) + ["status"] * row.status
    return (
        row.kind,
        row.group or "core",
        ", ".join(row.versions) or "none",
        _FOLLOWED.get(row.followed) or f"no: {row.why_not}",
        ", ".join(written),
        row.pods.value if row.pods is not None else "",
        ", ".join(row.short),
    )


if __name__ == "__main__":
    sys.exit(generated.main(PROGRAM, page(), sys.argv[1:]))
