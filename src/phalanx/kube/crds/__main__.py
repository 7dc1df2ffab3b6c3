"""``python -m phalanx.kube.crds DIR`` writes the definitions; ``--check DIR`` says which differ, and fails."""

import sys
from collections.abc import Sequence
from pathlib import Path

from phalanx.kube.crds import manifests

USAGE = "usage: python -m phalanx.kube.crds [--check] DIR"


def main(arguments: Sequence[str]) -> int:
    checking = list(arguments[:1]) == ["--check"]
    folders = arguments[1:] if checking else arguments
    if len(folders) != 1 or folders[0].startswith("-"):
        sys.stderr.write(USAGE + "\n")
        return 2
    folder = Path(folders[0])
    return _check(folder) if checking else _write(folder)


def _write(folder: Path) -> int:
    """The files of this version; one that is left of another version is taken away."""
    folder.mkdir(parents=True, exist_ok=True)
    made = manifests.files()
    for path in _left_over(folder, made):
        path.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


def _check(folder: Path) -> int:
    made = manifests.files()
    stale = [folder / name for name, text in made.items() if _text(folder / name) != text] + _left_over(folder, made)
    for path in stale:
        sys.stderr.write(f"{path} is out of date: python -m phalanx.kube.crds {folder}\n")
    return 1 if stale else 0


def _left_over(folder: Path, made: dict[str, str]) -> list[Path]:
    return sorted(path for path in folder.glob("phalanx.dev_*.yaml") if path.name not in made)


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
