"""``podSetAssignments`` of an admitted Workload: where each pod set goes, and each of several equal Jobs by itself.

The design's back-up form for replicated jobs has an assignment per Job, told apart by ``replicatedJobKey`` (K-109)::

    - name: workers
      replicatedJobKey: "1"
      topologyAssignment: {groups: [...]}
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from phalanx.dialects.fields import Field
from phalanx.dialects.kueue import assignment
from phalanx.dialects.kueue.assignment import Assignment
from phalanx.model.placement import Placement
from phalanx.model.topology import Tree

Form = Callable[[Assignment], dict[str, Any]]
Place = tuple[str, str | None]  # a pod set, and the key of one Job of it

_COPY = re.compile(r"(?P<name>.+)\[(?P<key>[^\]]+)\]")


def written(tree: Tree, placement: Placement, depth: int, form: Form = assignment.groups) -> list[dict[str, Any]]:
    """The assignments of everything that was placed, in one of the forms that ``assignment`` writes."""
    found = []
    for pod_set, counts in placement.pod_sets.items():
        name, key = _parted(pod_set)
        entry: dict[str, Any] = {"name": name}
        if key is not None:
            entry["replicatedJobKey"] = key
        found.append({**entry, "topologyAssignment": form(assignment.of(tree, counts, depth))})
    return found


def _parted(pod_set: str) -> Place:
    """``workers[1]`` is the Job with key 1 of ``workers``."""
    match = _COPY.fullmatch(pod_set)
    return (pod_set, None) if match is None else (match["name"], match["key"])


def read(listed: Field, levels: tuple[str, ...]) -> Mapping[Place, Assignment]:
    """The assignments by pod set and key of a Job; what is wrong with one is noted, and it is left out."""
    found: dict[Place, Assignment] = {}
    for entry in listed.items():
        place = (entry.at("name").name("main"), entry.at("replicatedJobKey").text(None))
        one = assignment.read(entry.at("topologyAssignment"), levels)
        if place in found:
            entry.at("replicatedJobKey").wrong("two assignments of one pod set have the same key")
        elif one is not None:
            found[place] = one
    return found
