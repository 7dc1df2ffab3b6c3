"""The same input gives the same bytes, whatever the hash seed and the order of the cluster's documents."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

from phalanx.cli import files

EXAMPLES = Path(__file__).parents[2] / "examples"
SEEDS = range(5)

# every example in every way of printing, in one process: starting one costs more than all answers
PROGRAM = """
import pathlib, sys
from phalanx.cli.main import run
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    for output in ("json", "yaml", "table", "wide"):
        print(folder.name, output, flush=True)
        print(run(["place", "-f", str(folder), "-o", output]), flush=True)
    print(run(["tree", "-f", "."]), flush=True)
print(run(["demo"]), flush=True)
"""


def bytes_out(folder: Path, seed: int) -> bytes:
    env = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run([sys.executable, "-c", PROGRAM, "."], capture_output=True, env=env, check=True, cwd=folder)
    return done.stdout + done.stderr


def shuffled(target: Path, seed: int) -> Path:
    """The examples again with the documents of each cluster in another order."""
    for folder in sorted(path for path in EXAMPLES.iterdir() if path.is_dir()):
        docs = files.load([str(folder / "cluster.yaml")])
        random.Random(seed).shuffle(docs)
        (target / folder.name).mkdir(parents=True)
        text = "".join(f"---\n{json.dumps(doc)}\n" for doc in docs)
        (target / folder.name / "cluster.yaml").write_text(text)
        (target / folder.name / "workload.yaml").write_bytes((folder / "workload.yaml").read_bytes())
    return target


def test_hash_seeds_and_the_order_of_documents_do_not_show(tmp_path: Path) -> None:
    outputs = {bytes_out(shuffled(tmp_path / str(seed), seed), seed) for seed in SEEDS}
    assert len(outputs) == 1 and b"Placed" in outputs.pop()
