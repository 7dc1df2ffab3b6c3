"""What an admitted Workload says about where its pods go."""

import pytest

from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.kueue import admission, assignment
from phalanx.dialects.kueue.admission import Form
from phalanx.model.placement import Placement
from phalanx.model.sketch import snapshot
from phalanx.model.topology import grow

PICTURE = snapshot("b1: r1=2,2 r2=2,2")
TREE = grow(PICTURE.topologies[0], {node.name: node.labels for node in PICTURE.nodes})
LEVELS = tuple(level.label for level in PICTURE.topologies[0].levels)
PLACED = Placement(
    {
        "leader": (("b1-r1-1", 1),),
        "workers[0]": (("b1-r1-1", 1), ("b1-r1-2", 2)),
        "workers[1]": (("b1-r2-1", 2), ("b1-r2-2", 1)),
    }
)


def test_each_job_of_a_pod_set_has_an_assignment_of_its_own() -> None:  # K-044, K-109
    found = admission.written(TREE, PLACED, 2)
    assert [(one["name"], one.get("replicatedJobKey")) for one in found] == [
        ("leader", None), ("workers", "0"), ("workers", "1"),
    ]  # fmt: skip
    racks = [{tuple(group["nodeLabels"].values()) for group in one["topologyAssignment"]["groups"]} for one in found]
    assert racks == [{("b1", "r1")}, {("b1", "r1")}, {("b1", "r2")}]


@pytest.mark.parametrize("form", [assignment.groups, assignment.domains, assignment.slices])
def test_what_is_written_is_read_back(form: Form) -> None:  # K-045, K-109
    entries = admission.written(TREE, PLACED, 3, form)
    notes = Notes()
    found = admission.read(Field.of(entries, notes), LEVELS)
    assert notes.problems == []
    assert {place: one.pods for place, one in found.items()} == {
        ("leader", None): 1, ("workers", "0"): 3, ("workers", "1"): 3,
    }  # fmt: skip


def test_two_assignments_with_one_key_are_told() -> None:
    entries = admission.written(TREE, PLACED, 3)
    notes = Notes()
    admission.read(Field.of([*entries, entries[-1]], notes), LEVELS)
    assert [problem.path for problem in notes.problems] == ["[3].replicatedJobKey"]
