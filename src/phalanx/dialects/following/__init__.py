"""Following a living cluster: one object after the other in, events for the engine out.

``Follower`` is the door. What is seen of one workload (its object, what that owns, its pods, whatever gathers them)
is a *family*; a family that something happened to is read again as a whole, by the same readers as a pile of files.
A pod that only went on living is not: its node, phase and conditions are all that is read of it.
"""

from phalanx.dialects.following.follower import Follower
from phalanx.dialects.following.ours import Marks
from phalanx.dialects.following.told import Subject, Told

__all__ = ["Follower", "Marks", "Subject", "Told"]
