"""Plain values as JSON or YAML text."""

import json
from typing import Any

import yaml


class _Plain(yaml.CSafeDumper):
    """Every value written out where it stands: what two objects share is two values to a reader."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def text(value: Any, form: str) -> str:
    """``form``: json or yaml. Ends with a newline."""
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return str(yaml.dump(value, Dumper=_Plain, sort_keys=False, width=100, allow_unicode=True))


def show(value: Any, form: str) -> None:
    print(text(value, form), end="")
