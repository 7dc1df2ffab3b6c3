"""One decision as one line of JSON, and back.

Lives here: writing and reading records, and replay, which decides a recorded snapshot again and compares.
May import: model. May change: nothing.
Will never: open a file; lines come in and go out as values, the worlds keep them.
Not built yet: no decision is recorded so far.
"""
