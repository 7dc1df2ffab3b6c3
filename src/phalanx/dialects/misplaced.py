"""Labels and annotations by which pods name what they belong to, on what makes the pods: there nobody reads them."""

from collections.abc import Iterator, Mapping

from phalanx.dialects import links
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline

_KEYS = {
    "labels": (links.OURS.place, links.GROUP, links.REPLICA, links.KAI_GROUP, links.KUEUE_PODS_GANG),
    "annotations": (links.OURS.place, links.KAI_GANG),
}


def note(doc: Field, outline: Outline) -> None:
    """A warning for each that stands on an object, or on a template of one inside it, and not on its pod template."""
    for template in _templates(outline):
        below = template.at("metadata")
        for holder in _around(template, doc):
            _note_missing(holder.at("metadata"), below)


def _note_missing(above: Field, below: Field) -> None:
    for part, keys in _KEYS.items():
        for key in keys:
            at = above.at(part, key)
            if at.present and not any(below.at(one, key).present for one in _KEYS):
                at.warn(f"counts on pods only, and is not read here; it belongs in {below.at(part).path}")


def _templates(outline: Outline) -> Iterator[Field]:
    """Pod templates as they are written."""
    for entry in outline.groups:
        classes = entry.get("podClasses")
        for one in classes if isinstance(classes, list) and classes else [entry]:
            template = one.get("template") if isinstance(one, Mapping) else None
            spec = template.get("spec") if isinstance(template, Mapping) else None
            if isinstance(spec, Field) and spec.parent is not None:
                yield spec.parent


def _around(template: Field, doc: Field) -> Iterator[Field]:
    """The object itself, and what in it holds the template."""
    yield doc
    here = template.parent
    while here is not None and here.parent is not None:
        yield here
        here = here.parent
