"""A page that a program writes: printed, or compared with the file that it was written to."""

import sys
from collections.abc import Sequence
from pathlib import Path


def main(program: str, page: str, arguments: Sequence[str]) -> int:
    """Prints the page; with ``--check FILE`` says whether the file still is that page."""
    if list(arguments[:1]) != ["--check"]:
        print(page, end="")
        return 0
    path = Path(arguments[1])
    if path.is_file() and path.read_text(encoding="utf-8") == page:
        return 0
    print(f"{path} is out of date: python -m {program} > {path}", file=sys.stderr)
    return 1
