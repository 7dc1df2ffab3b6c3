"""``phalanx convert``: workloads in, the same workloads in another dialect out."""

import json
from collections.abc import Sequence
from typing import Any

import yaml

from phalanx.cli import files, placing, screen
from phalanx.cli.errors import Exit, Failed
from phalanx.cli.places import Places
from phalanx.dialects import writing


class _Plain(yaml.SafeDumper):
    """Every value written out where it stands: a template that two groups share is two templates to a reader."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def run(sources: Sequence[str], to: str, output: str, namespace: str | None) -> int:
    docs = placing.in_namespace(files.load(sources), namespace)
    done, places = writing.convert(docs, to), Places(docs)
    if not (done.documents or done.problems or done.warnings or done.remarks):
        raise Failed(f"nothing to convert: no workload among the documents ({len(docs)})")
    for problem in done.problems:
        screen.say_error(str(places.problem(problem)))
    for warning in (*done.remarks, *done.warnings):
        screen.say_warning(str(places.problem(warning)))
    show(done.documents, output)
    return Exit.INVALID if done.problems else Exit.PLACED


def show(documents: Sequence[dict[str, Any]], output: str) -> None:
    if output == "json":
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}, indent=2))
    elif documents:
        print(yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, width=100), end="")
