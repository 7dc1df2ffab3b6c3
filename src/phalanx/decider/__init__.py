"""What `phalanx run` decides with, and every other world that speaks of Kubernetes objects.

Lives here: ``decider`` (objects in, effects out: follower and engine, one step after the other), ``advice`` (what would
help those who wait), ``holding`` and ``pinning`` (what an effect changes in an object, as a patch).
May import: dialects, engine and what is below them; never wire or a world.
Will never: talk to an API server, or read a clock of its own (it is handed one).
"""

from phalanx.decider.decider import Change, Decider, Outcome

__all__ = ["Change", "Decider", "Outcome"]
