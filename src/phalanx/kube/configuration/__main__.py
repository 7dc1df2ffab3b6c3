"""``python -m phalanx.kube.configuration FILE`` writes the generated parts of a page; ``--check FILE`` compares."""

import sys
from collections.abc import Sequence
from pathlib import Path

from phalanx.kube.configuration import page


def main(arguments: Sequence[str]) -> int:
    path = Path(arguments[-1])
    old = path.read_text(encoding="utf-8")
    new = page.refreshed(old)
    if list(arguments[:1]) != ["--check"]:
        path.write_text(new, encoding="utf-8")
        return 0
    if new != old:
        sys.stderr.write(f"{path} is out of date: python -m phalanx.kube.configuration {path}\n")
    return int(new != old)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
