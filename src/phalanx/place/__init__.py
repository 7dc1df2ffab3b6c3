"""WHERE: which nodes hold the pods of a request, and whether any can.

Lives here: pure functions over a Draft: node filters, counting, choosing domains, splitting pods over nodes, the
group tree, the exact search, scores, and ``verify``, which judges a placement and shares no code with the rest.
May import: model. May change: its own Draft, nothing else.
Will never: ask who is next or whose turn it is (order), write a sentence (explain), or call a search that ran out
of budget a proof.
"""
