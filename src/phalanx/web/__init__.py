"""The dashboard: pictures of snapshots and records, and what-if questions.

Lives here: views and the pages that show them.
May import: the rooms below the worlds. May open: a port.
Will never: write to a cluster or produce an effect.
Not built yet: there is no page to look at so far.
"""
