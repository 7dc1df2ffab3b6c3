"""Objects that are nested too deeply: read as far as they can be, and told apart from garbage."""

import asyncio
import json
import random

import pytest

from phalanx.wire.depth import CUT, shallow
from phalanx.wire.mirror import Mirror
from phalanx.wire.resources import PODS
from phalanx.wire.shapes import decode_whole
from tests.wire.loopback import Script, bookmark, event, never, pod, run, stream, talking, until

START = bookmark(5, end=True)
TEXT = json.loads(CUT)


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def test_what_lies_deep_enough_is_left_as_it_is() -> None:
    text = b'{"a": [1, {"b": "]]}{"}, "\\"[["], "c": {}}'
    assert shallow(text, 3) == text


def test_what_lies_too_deep_becomes_a_text_that_says_so() -> None:
    text = b'{"a": [1, {"b": "]]}{"}, "\\"[[", {"c": []}], "d": {"e": [[]]}}'
    assert json.loads(shallow(text, 2)) == {"a": [1, TEXT, '"[[', TEXT], "d": {"e": TEXT}}


@pytest.mark.parametrize("levels", [900, 5_000])
def test_a_deep_object_costs_nobody_else_their_place_in_a_mirror(levels: int) -> None:
    deep = f'{{"metadata":{{"name":"deep","namespace":"default","resourceVersion":"6"}},"spec":{nested(levels)}}}'
    first = f'{{"type":"ADDED","object":{deep}}}\n'.encode()

    async def work() -> list[str]:
        script = Script(stream(START, first, event("ADDED", pod("flat", 7)), then=never))
        async with talking(script) as client:
            mirror = Mirror(client, PODS, decode_whole, lambda old, new: None, chance=random.Random(1))
            task = asyncio.create_task(mirror.run())
            await until(lambda: ("default", "flat") in mirror.store)
            task.cancel()
            return sorted(name for _, name in mirror.store)

    assert run(work()) == ["deep", "flat"]
