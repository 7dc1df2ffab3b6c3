"""``phalanx explain --apply N``: the manifests of a workload with a suggestion in them."""

from collections.abc import Mapping, Sequence
from typing import Any

from phalanx.cli import written
from phalanx.cli.errors import Exit, Failed
from phalanx.cli.telling import Told
from phalanx.dialects import owners
from phalanx.dialects.fields import Field
from phalanx.dialects.manifests import Manifests, applied
from phalanx.explain import words
from phalanx.model.decision import Waiting
from phalanx.model.objects import ObjectKey
from phalanx.model.reasons import WayOut
from phalanx.model.request import Request

_BY_THE_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")


def run(found: Sequence[Told], manifests: Manifests, number: int) -> int:
    """Prints all documents of the workload as YAML. ``number``: of the lines beside HELPS, counted from 1."""
    request, way = _suggestion(found, number)
    docs = [
        doc
        for doc in manifests.printed(request, way.edits)
        if not _is_made(doc.value, {edit.object for edit in way.edits})
    ]
    changed = applied([doc.value for doc in docs], way.edits)
    print("---\n".join(written.text(_as_manifest(doc), "yaml") for doc in changed), end="")
    return Exit.PLACED


def _suggestion(found: Sequence[Told], number: int) -> tuple[Request, WayOut]:
    """The suggestion of that number, and the workload it is for."""
    offered = [(one.decision, way) for one in found for way in one.ways_out]
    if not 1 <= number <= len(offered):
        there = f"there are {len(offered)}" if len(offered) > 1 else "there is one" if offered else "there is none"
        raise Failed(f"there is no suggestion {number}: {there}")
    decision, way = offered[number - 1]
    if not way.edits or not isinstance(decision, Waiting):
        raise Failed(f"suggestion {number} is no change of a manifest: {words.change(way)}")
    return decision.request, way


def _is_made(doc: Mapping[str, Any], edited: set[ObjectKey]) -> bool:
    """Whether nobody wrote a manifest of the object: a controller made it, or it is a pod that is there already."""
    at = Field.of(doc)
    kind, name = at.at("kind").value, at.at("metadata", "name").value
    there = kind == "Pod" and at.at("metadata", "uid").present
    return (there or owners.controller(at) is not None) and (kind, name) not in {(e.kind, e.name) for e in edited}


def _as_manifest(doc: Mapping[str, Any]) -> dict[str, Any]:
    """The object as one hands it to a server: without what that wrote into it."""
    if not Field.of(doc).at("metadata", "uid").present:
        return dict(doc)
    metadata = {key: one for key, one in doc["metadata"].items() if key not in _BY_THE_SERVER}
    return {**{key: one for key, one in doc.items() if key != "status"}, "metadata": metadata}
