"""WHOM to move, when a request has no room or no quota left.

Lives here: victims, the search for the least harm, defragmentation.
May import: place, order, explain, record and model. May change: drafts.
Will never: evict anybody itself; what it returns is part of a decision, which others carry out.
Not built yet: for now nobody is moved.
"""
