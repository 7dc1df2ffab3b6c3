"""The page about the life of a gang, docs/lifecycle.md, drawn from the table that the engine follows.

python -m phalanx.engine.diagram                              prints the page
python -m phalanx.engine.diagram --check docs/lifecycle.md    exit code 1 when the file says something else
"""

import sys
from collections.abc import Sequence

from phalanx.engine.lifecycle import TABLE, Cause, State
from phalanx.explain import generated

_MEANS = {
    State.QUEUED: "It waits: for its turn, its pods, its quota or room. The reason says for what.",
    State.RESERVED: "It has its places, and its owner was resumed; the pods for them are not all there yet.",
    State.BINDING: "All its pods are being released at once. The schedule clock runs.",
    State.STARTING: "Its minimum is bound, and not ready yet. The ready clock runs.",
    State.RUNNING: "Its minimum is ready.",
    State.DEGRADED: "It fell below its minimum. Its places are kept, and the recovery clock runs.",
    State.EVICTING: "All its pods are leaving; none of them comes back before the others are gone.",
    State.FINISHED: "Its pods have succeeded, its owner has failed for good, or it was deleted.",
    State.INVALID: "Its manifest is wrong. It is looked at again when that changes.",
}


def page() -> str:
    """Markdown: what the states mean, a drawing, and every transition with its cause."""
    states = "\n".join(f"| {state} | {_MEANS[state]} |" for state in State)
    return _PAGE.format(states=states, drawing=_drawing(), rows="\n".join(_rows()))


def _drawing() -> str:
    arrows: dict[tuple[State, State], list[Cause]] = {}
    for state, causes in TABLE.items():
        for cause, then in causes.items():
            arrows.setdefault((state, then), []).append(cause)
    return "\n".join(
        f"    {state} --> {then}: {', '.join(_word(cause) for cause in causes)}"
        for (state, then), causes in arrows.items()
    )


def _rows() -> list[str]:
    return [
        f"| {state} | {_word(cause)} | {cause.value} | {then} |"
        for state, causes in TABLE.items()
        for cause, then in causes.items()
    ]


def _word(cause: Cause) -> str:
    return cause.name.replace("_", " ").lower()


_PAGE = """# The life of a gang

Drawn from `src/phalanx/engine/lifecycle.py` by `make docs`; there are no other transitions.

| state | means |
|---|---|
{states}

```mermaid
stateDiagram-v2
    [*] --> Queued
{drawing}
    Finished --> [*]
```

| in | cause | that is | goes to |
|---|---|---|---|
{rows}
"""


def main(arguments: Sequence[str]) -> int:
    """Prints the page; with ``--check FILE`` compares it instead."""
    return generated.main("phalanx.engine.diagram", page(), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
