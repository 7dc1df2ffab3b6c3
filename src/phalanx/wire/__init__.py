"""Speaking Kubernetes: trimmed wire types, an HTTP client, and the mirror (list and watch).

Lives here: everything that knows what an API server says and how it says it.
May import: the rooms below, and a socket.
Will never: know an annotation key (dialects), or anything about scheduling.
"""
