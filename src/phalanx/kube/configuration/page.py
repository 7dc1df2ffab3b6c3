"""The generated parts of ``docs/configuration.md``: the table, and the whole configuration with its defaults.

They stand between two marks each; what people wrote around them stays.
"""

from phalanx.kube.configuration.writing import default_text, rows

_HEAD = "| field | default | allowed | |\n|---|---|---|---|"


def table() -> str:
    """A row for each field."""
    lines = [f"| `{one.path}` | `{one.default}` | {one.allowed} | {one.says} |" for one in rows()]
    return "\n".join([_HEAD, *lines])


def generated() -> dict[str, str]:
    """What belongs between the marks of each name."""
    return {"table": table(), "defaults": f"```yaml\n{default_text()}```"}


def refreshed(page: str) -> str:
    """The page with its generated parts made anew. A page without the marks is a mistake of ours."""
    for name, text in generated().items():
        first, last = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before, rest = page.split(first)
        page = f"{before}{first}{text}{last}{rest.split(last)[1]}"
    return page
