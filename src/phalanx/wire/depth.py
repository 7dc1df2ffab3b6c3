"""JSON that is nested too deeply to be read, made readable.

An API server stores what is nested thousands of levels deep; decoders give up long before. One object of somebody's
must not keep us from all the others, so what lies too deep in it is replaced by a text that says so.
"""

import re

DEEPEST = 200  # levels; objects that mean something have a tenth of it
CUT = b'"(nested too deeply to be read)"'

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def shallow(text: bytes | memoryview, deepest: int = DEEPEST) -> bytes:
    """The same text, with every list or mapping below ``deepest`` levels replaced by ``CUT``."""
    whole = bytes(text)
    kept: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(whole):
        if token[0] in (b"[", b"{"):
            depth += 1
            if depth == deepest + 1:
                kept += [whole[start : token.start()], CUT]
        elif token[0] in (b"]", b"}"):
            if depth == deepest + 1:
                start = token.end()
            depth -= 1
    return b"".join([*kept, whole[start:]]) if depth <= deepest else whole
