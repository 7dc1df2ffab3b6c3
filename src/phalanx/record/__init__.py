"""One decision as one line of JSON, and back.

Lives here: writing and reading records, and what differs between a recorded decision and another one.
May import: model. May change: nothing.
Will never: open a file; lines come in and go out as values, the worlds keep them. Nor decide: that is ``engine``.
"""
