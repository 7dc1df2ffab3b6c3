"""Pod templates and the labels by which the pods made from them name their Gang.

Where the templates of a workload stand is read off its normal form, whose templates are places in its document. A
template from which pods of several groups are made cannot say which of them a pod is in, and one that other workloads
use cannot name the gang of one; such pods are known by their owner.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phalanx.dialects import links
from phalanx.dialects.fields import Field
from phalanx.dialects.generation.values import Document, Linked
from phalanx.dialects.links import GROUP, LABEL_MAX, Link
from phalanx.dialects.members import value
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.wishes import GANG
from phalanx.model.objects import ObjectKey

_HASH = 8  # characters
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_KEYS = ("labels", "annotations")
_OURS = (GANG, GROUP, links.REPLICA)


# -- where templates are -----------------------------------------------------------------------------------------


def _templates(outline: Outline) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Every template of a workload with the name of the group that its pods are in."""
    for entry in outline.groups:
        for holder in _holders(entry):
            template = holder.get("template")
            if isinstance(template, Mapping):
                yield str(value(entry.get("name"))), template


def _holders(entry: Entry) -> Iterable[Mapping[str, object]]:
    classes = entry.get("podClasses")
    listed = classes if isinstance(classes, list) else [entry]
    return [one for one in listed if isinstance(one, Mapping)]


def named(outline: Outline) -> list[Link]:
    """What the templates of a workload say that their pods belong to."""
    found = [links.of(Field.of(template).aside()) for _, template in _templates(outline)]
    return [link for link in found if link is not None]


def unnamed(outline: Outline) -> list[str]:
    """Paths of templates that name nothing."""
    return [_path(template) for _, template in _templates(outline) if links.of(Field.of(template).aside()) is None]


def _path(template: Mapping[str, object]) -> str:
    """Where a template of a normal form was written."""
    metadata = template.get("metadata")
    if isinstance(metadata, Field):
        return metadata.path.removesuffix(".metadata")
    notes = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return notes.path.removesuffix(".metadata.annotations") if isinstance(notes, Field) else ""


def places(outline: Outline, document: object) -> dict[str, str] | None:
    """The group of each template by the path of the template.

    None when one template makes pods of several groups, or stands in another document, as those of a TrainJob do.
    """
    found: dict[str, str] = {}
    for group, template in _templates(outline):
        path = _path(template)
        if not path or found.setdefault(path, group) != group or not isinstance(_below(document, path), dict):
            return None
    return found


def _steps(path: str) -> list[str | int]:
    return [int(number) if number else word for number, word in _STEP.findall(path)]


def _below(document: object, path: str) -> object:
    here = document
    for step in _steps(path):
        if isinstance(step, int):
            here = here[step] if isinstance(here, (list, tuple)) and step < len(here) else None
        else:
            here = here.get(step) if isinstance(here, dict) else None
    return here


# -- labels ------------------------------------------------------------------------------------------------------


def label(name: str) -> str:
    """A name as a label holds it: cut and told apart by a hash where it is too long."""
    if len(name) <= LABEL_MAX:
        return name
    return f"{name[: LABEL_MAX - _HASH - 1]}-{hashlib.sha256(name.encode()).hexdigest()[:_HASH]}"


def missing(owner: ObjectKey, document: object, gang: str, at: Mapping[str, str]) -> tuple[Linked, ...]:
    """What the templates at these places lack to name the gang and their group."""
    made: list[Linked] = []
    for path, group in at.items():
        metadata = {"labels": {GANG: label(gang), GROUP: group}}
        if len(gang) > LABEL_MAX:
            metadata["annotations"] = {GANG: gang}
        if not _has(_below(document, path), metadata):
            made.append(Linked(owner, path, metadata))
    return tuple(made)


def _has(template: object, metadata: Mapping[str, Mapping[str, str]]) -> bool:
    at = Field.of(template).at("metadata")
    return all(at.at(part, name).value == text for part, texts in metadata.items() for name, text in texts.items())


def bare(template: Mapping[str, Any]) -> Document:
    """A template without the labels that name a gang of ours: what it was before it was linked."""
    metadata = dict(template.get("metadata") or {})
    for part in _KEYS:
        texts = {name: text for name, text in (metadata.pop(part, None) or {}).items() if name not in _OURS}
        metadata |= {part: texts} if texts else {}
    return {**({"metadata": metadata} if metadata else {}), **{k: v for k, v in template.items() if k != "metadata"}}


def linked(document: Mapping[str, Any], templates: Iterable[Linked]) -> Document:
    """A workload's document with the labels of these templates in place."""
    made: Any = dict(document)
    for one in templates:
        made = _patched(made, _steps(one.path), one.metadata)
    return dict(made)


def _patched(here: Any, steps: list[str | int], metadata: Mapping[str, Mapping[str, str]]) -> Any:
    """A copy of what is here, changed where the steps lead."""
    if not steps:
        old = here.get("metadata") or {}
        parts = {part: {**(old.get(part) or {}), **texts} for part, texts in metadata.items()}
        return {**here, "metadata": {**old, **parts}}
    step, below = steps[0], steps[1:]
    if isinstance(step, int):
        return [_patched(one, below, metadata) if i == step else one for i, one in enumerate(here)]
    return {**here, step: _patched(here[step], below, metadata)}
