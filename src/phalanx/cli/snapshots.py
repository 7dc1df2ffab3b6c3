"""``phalanx snapshot``: all objects that decide where pods go, in one file that every other command reads.

What a container is told (environment, command, arguments, probes) decides nothing and may be secret: it is left out
unless it is asked for. Secrets themselves are never read.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phalanx.cli import clusters, explaining, files, screen, written
from phalanx.cli.clusters import SAVED_AT, Document, Look, Source
from phalanx.cli.errors import Exit, Failed
from phalanx.cli.places import Places
from phalanx.kube import status

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # the whole manifest once more
TOLD = frozenset({"env", "envFrom", "args", "command", "entrypoint", "runtimeEnvYAML"})  # wherever they stand
CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})
KEPT = frozenset({"name", "image", "resources", "ports", "restartPolicy"})  # of a container
STATUS = {"Pod": ("phase", "conditions"), "Node": ("capacity", "allocatable", "conditions")}  # others: all of it
_DROPPED = "environment, command, arguments and probes of containers were left out; --whole keeps them"


def save(source: Source, file: str, whole: bool) -> int:
    """Writes the objects of a source; the file is there whole or not at all."""
    look = clusters.whole(clusters.look(source))
    kept = [kept_of(one, whole) for one in sorted([*look.objects, *look.events], key=clusters.order)]
    saved = {"metadata": {"annotations": {SAVED_AT: status.stamp(look.now)}}}
    document = {"apiVersion": "v1", "kind": "List", **saved, "items": kept}
    content = written.text(document, "json" if file.endswith(".json") else "yaml")
    if file == files.STDIN:
        print(content, end="")
    else:
        _write(Path(file), content)
    note = "" if whole else f"; {_DROPPED}"
    screen.err().print(screen.styled(f"saved {_counted(look)}{note}"))
    return Exit.PLACED


def load(file: str, source: Source) -> int:
    """Says what is in a file, and what of it cannot be used."""
    docs = files.load([file])
    moments = [at for at in map(clusters.saved_at, docs) if at is not None]
    places = Places(docs)
    look = Look(clusters.opened(docs, places), max(moments, default=0.0), places=places)
    console = screen.out()
    console.print(screen.styled(f"{file}: {_counted(look)}"))
    console.print(screen.styled(f"saved at {status.stamp(look.now)}" if moments else "does not say when it was saved"))
    for kind, count in sorted(Counter(_kind(one) for one in look.objects).items()):
        console.print(screen.styled(f"{count:>8}  {kind}"))
    seen = explaining.glanced(look, source)
    console.print(screen.styled(f"{len(seen.gangs()):>8}  gangs of phalanx"))
    for _, wrong in seen.told.refused:
        where = f"{wrong.kind} {wrong.namespace}/{wrong.name}"
        screen.say_error(f"{where}: {'; '.join(str(one) for one in wrong.problems)}")
    return Exit.INVALID if seen.told.refused or seen.told.problems else Exit.PLACED


def _counted(look: Look) -> str:
    count = len(look.objects)
    kinds = len({_kind(one) for one in look.objects})
    return f"{count} object{'s' if count != 1 else ''} of {kinds} kind{'s' if kinds != 1 else ''}"


def _kind(doc: Document) -> str:
    group = str(doc.get("apiVersion", "")).rpartition("/")[0]
    return f"{doc.get('kind')}.{group}" if group else str(doc.get("kind"))


# -- what is kept ------------------------------------------------------------------------------------------------


def kept_of(doc: Document, whole: bool = False) -> Document:
    """An object as it is saved."""
    metadata = doc.get("metadata") or {}
    annotations = {key: one for key, one in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    about = {key: one for key, one in metadata.items() if key not in ("managedFields", "annotations")}
    kept = {**doc, "metadata": {**about, **({"annotations": annotations} if annotations else {})}}
    if whole:
        return kept
    return {key: _status(doc, one) if key == "status" else _without_told(one) for key, one in kept.items()}


def _status(doc: Document, value: Any) -> Any:
    read = STATUS.get(str(doc.get("kind"))) if doc.get("apiVersion") == "v1" else None
    return value if read is None or not isinstance(value, dict) else {key: value[key] for key in read if key in value}


def _without_told(value: Any, inside: str = "") -> Any:
    """A value without what containers are told, however deep they are; annotations and labels stay as they are."""
    if isinstance(value, list):
        return [_without_told(one, inside) for one in value]
    if not isinstance(value, Mapping):
        return value
    if inside in CONTAINERS:
        return {key: one for key, one in value.items() if key in KEPT}
    free = inside in ("labels", "annotations")
    return {key: _without_told(one, key) for key, one in value.items() if free or key not in TOLD}


# -- writing -----------------------------------------------------------------------------------------------------


def _write(path: Path, content: str) -> None:
    """Beside the file first, for its owner's eyes only, then in its place. A pipe or a device is written to."""
    if path.exists() and not path.is_file():
        return _write_to(path, content)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise Failed(f"{path}: {error.strerror or error}") from None


def _write_to(path: Path, content: str) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.write(content)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or error}") from None
