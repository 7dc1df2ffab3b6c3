"""Small manifests for the tests of the readers."""

from typing import Any

from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.reading import read_workloads
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.decision import Invalid
from phalanx.model.problems import Problem
from phalanx.model.request import Request
from phalanx.model.topology import HOSTNAME, Topology

Doc = dict[str, Any]

LEVELS = Topology.of("cluster-topology", ["topology/zone", "topology/block", "topology/rack", HOSTNAME])
AROUND = Surroundings(topologies=(LEVELS,))
ZONE, BLOCK, RACK, HOST = 1, 2, 3, 4


def field(value: object) -> Field:
    return Field.of(value, Notes())


def pod_spec(**more: Any) -> Doc:
    return {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}], **more}


def template(**more: Any) -> Doc:
    return {"spec": pod_spec(**more)}


def gang(*groups: Doc, name: str = "llm", **spec: Any) -> Doc:
    return {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": {"name": name, "namespace": "serving"},
        "spec": {**spec, "podGroups": list(groups)},
    }  # fmt: skip


def job(annotations: Doc | None = None, template_annotations: Doc | None = None, **spec: Any) -> Doc:
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "annotations": annotations or {}},
        "spec": {
            "parallelism": 4, "completions": 4, **spec,
            "template": {"metadata": {"annotations": template_annotations or {}}, "spec": pod_spec()},
        },
    }  # fmt: skip


def node(name: str = "n1", labels: Doc | None = None, spec: Doc | None = None, **status: Any) -> Doc:
    allocatable = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}},
        "spec": spec or {}, "status": {"allocatable": allocatable, **status},
    }  # fmt: skip


def topology(*levels: Any, api: str = "phalanx.dev/v1alpha1", name: str = "t") -> Doc:
    spelled = [{"nodeLabel": level} if isinstance(level, str) else level for level in levels]
    return {"apiVersion": api, "kind": "Topology", "metadata": {"name": name}, "spec": {"levels": spelled}}


def requests(doc: Doc, around: Surroundings = AROUND) -> tuple[Request, ...]:
    """The Requests of a manifest that must be good."""
    found = read_workloads([doc], around)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    assert not found.problems
    return found.requests


def request(doc: Doc, around: Surroundings = AROUND) -> Request:
    (one,) = requests(doc, around)
    return one


def problems(doc: Doc, around: Surroundings = AROUND) -> tuple[Problem, ...]:
    """The Problems of a manifest that must be wrong."""
    (one,) = read_workloads([doc], around).items
    assert isinstance(one, Invalid), one
    return one.problems


def paths(doc: Doc, around: Surroundings = AROUND) -> list[str]:
    return [problem.path for problem in problems(doc, around)]


def problem(doc: Doc, around: Surroundings = AROUND) -> Problem:
    """The one Problem of a manifest."""
    (one,) = problems(doc, around)
    return one


def warnings(doc: Doc, around: Surroundings = AROUND) -> list[str]:
    """Paths of the warnings about a manifest that must be good."""
    found = read_workloads([doc], around)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    return [note.path for notes in list(found.notes.values())[:1] for note in notes]
