"""Documents out of files, folders and standard input. What cannot be read is said in one line, with file and line."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from phalanx.cli import yamltext
from phalanx.cli.errors import Failed
from phalanx.model.problems import Place

STDIN = "-"
BYTES_MAX = 1 << 30  # larger than the listing of any cluster that exists; ends the reading of an endless device
SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where a document was written: in which file, the how manyth, and the part of the whole text that is it.
    ``line``: in which that part begins, from 1."""

    file: str
    number: int
    whole: str
    piece: yamltext.Piece

    @property
    def text(self) -> str:
        return self.whole[self.piece.start : self.piece.end]

    @property
    def line(self) -> int:
        return self.piece.line


class Documents(list[Any]):
    """Documents in order. ``origins``: where each of them was written."""

    def __init__(self, found: Iterable[tuple[Any, Origin]] = ()) -> None:
        pairs = list(found)
        super().__init__(doc for doc, _ in pairs)
        self.origins = tuple(origin for _, origin in pairs)


def load(sources: Sequence[str]) -> Documents:
    """All documents of the given files in order. ``-`` is standard input; a folder stands for its YAML and JSON
    files by name, without those in folders below and without answers of ours that are kept there."""
    found: list[tuple[Any, Origin]] = []
    for source in sources:
        for path in _opened(source):
            found += [(doc, origin) for doc, origin in _documents(path) if path == source or not _is_answer(doc)]
    return Documents(found)


def text(source: str) -> str:
    """The whole text of one file, or of standard input."""
    title = "standard input" if source == STDIN else source
    return _text(_bytes(source, title), title)


def _is_answer(doc: dict[str, Any]) -> bool:
    """Whether a document is what ``place -o json`` printed: kept beside manifests it is not one of them."""
    return str(doc.get("schema", "")).startswith("phalanx.dev/decisions/") and "kind" not in doc


def _opened(source: str) -> list[str]:
    """The files that a source stands for."""
    path = Path(source)
    if source == STDIN or not path.is_dir():
        return [source]
    try:
        found = sorted(str(one) for one in path.iterdir() if one.suffix in SUFFIXES and not one.is_dir())
    except OSError as error:
        raise Failed(f"{source}: {_said(error)}") from None
    if not found:
        raise Failed(f"{source}: the folder holds no file that ends in {', '.join(SUFFIXES)}")
    return found


def _documents(source: str) -> list[tuple[Any, Origin]]:
    title = "standard input" if source == STDIN else source
    found = text(source)
    pieces = _as_json(found, title)
    if pieces is None:
        pieces = _as_yaml(found, title)
    if not pieces:
        raise Failed(f"{title}: nothing in it; expected Kubernetes manifests as YAML or JSON")
    for number, one in enumerate(pieces, 1):
        if not isinstance(one.value, dict):
            raise Failed(f"{Place(title, number, one.line)}: not an object with kind and apiVersion")
    return [(one.value, Origin(title, number, found, one)) for number, one in enumerate(pieces, 1)]


def _bytes(source: str, title: str) -> bytes:
    try:
        if source == STDIN:
            data = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with open(source, "rb") as file:
                data = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise Failed(f"{title}: {_said(error)}") from None
    if len(data) > BYTES_MAX:
        raise Failed(f"{title}: larger than {BYTES_MAX >> 20} MiB")
    return data


def _said(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return str(error)


def _text(data: bytes, title: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failed(f"{title}: not text; byte {error.start} is not UTF-8") from None
    if "\0" in text:
        raise Failed(f"{title}: not text; it holds a zero byte")
    return text


def _as_json(text: str, title: str) -> list[yamltext.Piece] | None:
    """The one document of a JSON text, much faster than through YAML; None when it is something else."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return [yamltext.Piece(msgspec.json.decode(text), 0, len(text), 1)]
    except RecursionError:
        raise Failed(f"{title}: nested too deep") from None
    except msgspec.DecodeError:
        return None


def _as_yaml(text: str, title: str) -> list[yamltext.Piece]:
    found: list[yamltext.Piece] = []
    try:
        found.extend(yamltext.pieces(text))
    except yamltext.BadText as error:
        raise Failed(f"{Place(title, len(found) + 1, error.line)}: {error.message}") from None
    return found
