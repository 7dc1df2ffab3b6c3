"""What the scheduler itself last wrote about a gang, on its object or on its pods."""

from collections.abc import Iterator, Mapping
from typing import Any

from phalanx.cli.clusters import Look
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.kube import status
from phalanx.kube.glance import Glance


def of_gang(seen: Glance, view: View, look: Look) -> str:
    """The first line that it wrote on its object, or on a pod of it; nothing where that says the same as is seen."""
    subject = seen.told.subjects.get(view.id)
    own = [one for one in look.objects if subject is not None and subject.uid and uid(one) == subject.uid]
    lines = [line for one in own for line in lines_of(one)] or list(_lines_of_pods(seen, view, look))
    line = next(iter(lines), "")
    return "" if _is_same(line, view) else line


def _is_same(line: str, view: View) -> bool:
    """Whether a line says what is seen now. What would help, which may stand behind it, is told in another place; and a
    line on a pod may be cut short."""
    now = status.sentence(view)
    unit = f"{view.unit}: " if view.unit is not None else ""
    if not line.startswith(unit):
        return True  # it is about another unit, and says nothing of this one
    if view.state is not State.QUEUED:
        return line.removeprefix(unit).partition(":")[0] in ("", now.removeprefix(unit).partition(":")[0])
    cut = line.endswith("...") and now.startswith(line.removesuffix("..."))
    return line in ("", now) or cut or line.startswith(f"{now} ")


def lines_of(doc: Mapping[str, Any]) -> Iterator[str]:
    kinds = ("phalanx.dev/Scheduled", f"{doc.get('kind')}InitiallyScheduled")
    wanted = ("Scheduled", *kinds) if str(doc.get("apiVersion")).startswith("phalanx.dev/") else kinds
    for condition in status.conditions(doc.get("status")):
        if condition.get("type") in wanted and condition.get("message"):
            yield str(condition["message"])


def _lines_of_pods(seen: Glance, view: View, look: Look) -> Iterator[str]:
    """What stands on its pods: kinds of others are not written to, and their pods are."""
    keys = {(key.namespace, key.name) for key in seen.engine.book.gangs[view.id].pods}
    before = f"{view.kind} {view.name}: "
    for doc in look.objects:
        metadata = doc.get("metadata") or {}
        if doc.get("kind") != "Pod" or (metadata.get("namespace", "default"), metadata.get("name")) not in keys:
            continue
        for condition in status.conditions(doc.get("status")):
            message = str(condition.get("message"))
            if condition.get("type") == "PodScheduled" and message.startswith(before):
                yield message.removeprefix(before)


def uid(value: Mapping[Any, Any]) -> object:
    metadata = value.get("metadata")
    return metadata.get("uid") if isinstance(metadata, Mapping) else None
