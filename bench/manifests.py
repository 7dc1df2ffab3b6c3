"""What reading costs: manifests of every dialect and kind that the examples hold, many times over."""

import copy
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phalanx.cli import files
from phalanx.dialects import reading

EXAMPLES = Path(__file__).parents[1] / "examples"
REPETITIONS = 5


@dataclass(frozen=True)
class Cost:
    """Microseconds per manifest, the best of some repetitions."""

    manifests: int
    each: float
    kinds: int


def cost(count: int) -> Cost:
    """The cost of reading ``count`` mixed manifests at once."""
    docs = _pile(count)
    best = min(_timed(docs) for _ in range(REPETITIONS))
    return Cost(len(docs), best / len(docs) * 1e6, len({doc["kind"] for doc in docs}))


def _timed(docs: list[dict[str, Any]]) -> float:
    start = time.thread_time()
    reading.read(docs)
    return time.thread_time() - start


def _pile(count: int) -> list[dict[str, Any]]:
    """Workloads of the examples in turn, each round in a namespace of its own so that names stay unique."""
    rounds = [_documents(number) for number in range(1 + count // max(1, len(_documents(0))))]
    return [doc for one in rounds for doc in one][:count]


def _documents(number: int) -> list[dict[str, Any]]:
    found = []
    for folder in sorted(path for path in EXAMPLES.iterdir() if (path / "workload.yaml").exists()):
        for doc in copy.deepcopy(files.load([str(folder / "workload.yaml")])):
            doc["metadata"]["namespace"] = f"{folder.name}-{number}"
            found.append(doc)
    return found


def in_size(pods: int) -> float:
    """Microseconds to read one Gang of so many groups: the cost of one large manifest."""
    container = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": 1, "cpu": "4"}}}
    groups = [{"name": f"g{i}", "count": 8, "template": {"spec": {"containers": [container]}}} for i in range(pods)]
    doc = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": {"name": "big"}}
    docs = [{**doc, "spec": {"podGroups": groups}}]
    return min(_timed(docs) for _ in range(REPETITIONS)) * 1e6
