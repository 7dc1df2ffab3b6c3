"""What several tests of the command line need."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes documents into one file and gives its name."""

    def written(*documents: Any, name: str = "all.yaml") -> str:
        path = tmp_path / name
        path.write_text("---\n".join(yaml.safe_dump(doc) for doc in documents))
        return str(path)

    return written
