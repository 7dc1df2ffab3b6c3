"""Where things are: the pinned modules in the repository, everything built or started under ``.testbed``."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = Path(__file__).resolve().parent / "modules"


def cache() -> Path:
    """The folder of binaries, downloads and running beds: ``.testbed``, or what ``PHALANX_TESTBED`` says."""
    return Path(os.environ.get("PHALANX_TESTBED") or ROOT / ".testbed")
