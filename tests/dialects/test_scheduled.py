"""``spec.scheduling`` of a Job as the annotations that say the same."""

from typing import Any

import pytest

from phalanx.dialects import outline, scheduled
from phalanx.dialects.fields import Field
from tests.dialects.manifests import Doc, field, job

MODE, REQUIRED, LEAST = "phalanx.dev/gang-mode", "phalanx.dev/topology-required", "kai.scheduler/batch-min-member"


def asked(scheduling: Any, annotations: Doc | None = None) -> tuple[Doc, Field]:
    """The annotations of a Job of 4 pods, and the Job itself, whose notes tell what is wrong."""
    doc = scheduled.of_job(field(job(annotations, scheduling=scheduling)), 4)
    plain: Any = outline.plain(doc.at("metadata", "annotations"))
    return plain, doc


@pytest.mark.parametrize(
    ("scheduling", "annotations"),
    [
        (None, {}),
        ({}, {MODE: "Off"}),  # Kubernetes infers nothing
        ({"schedulingPolicy": {"basic": {}}}, {MODE: "Off"}),
        ({"schedulingPolicy": {"gang": {}}}, {MODE: "Gang"}),
        ({"schedulingPolicy": {"gang": {"minCount": 3}}}, {MODE: "Gang", LEAST: "3"}),
        (
            {"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [{"key": "topology/rack"}]}},
            {MODE: "Gang", REQUIRED: "topology/rack"},
        ),
    ],
)
def test_a_job_says_it_in_annotations(scheduling: Any, annotations: Doc) -> None:
    found, doc = asked(scheduling)
    assert found == annotations
    assert (doc.notes.problems, doc.notes.warnings) == ([], [])


def test_the_annotations_stand_where_the_fields_do() -> None:
    _, doc = asked({"schedulingPolicy": {"gang": {"minCount": 3}}})
    notes = doc.at("metadata", "annotations")
    assert notes.at(MODE).path == "spec.scheduling.schedulingPolicy"
    assert notes.at(LEAST).path == "spec.scheduling.schedulingPolicy.gang.minCount"
    assert doc.at("metadata", "name").path == "metadata.name"


@pytest.mark.parametrize(
    ("scheduling", "annotations", "path"),
    [
        ({"schedulingPolicy": {"gang": {"minCount": 5}}}, {}, "spec.scheduling.schedulingPolicy.gang.minCount"),
        ({"schedulingPolicy": {"gang": {}}}, {MODE: "Off"}, f"metadata.annotations['{MODE}']"),
        ({"schedulingPolicy": {}}, {}, "spec.scheduling.schedulingPolicy"),
        ({"disruptionMode": {"all": {}}}, {}, "spec.scheduling.disruptionMode"),
        ({"replica": {}}, {}, "spec.scheduling.replica"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(scheduling: Any, annotations: Doc, path: str) -> None:
    _, doc = asked(scheduling, annotations)
    assert [problem.path for problem in doc.notes.problems] == [path]


def test_who_goes_together_is_told_for_the_whole_job() -> None:
    def goes(mode: Doc) -> str | None:
        return scheduled.disruption(field({"spec": {"scheduling": {"disruptionMode": mode}}}))

    assert (goes({"all": {}}), goes({"single": {}}), goes({})) == ("Gang", "Pod", None)
