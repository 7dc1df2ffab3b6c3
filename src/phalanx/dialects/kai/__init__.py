"""What KAI users write (``scheduling.run.ai``, ``kai.scheduler``). ``queue`` reads its Queue, with KAI's own units."""

from phalanx.dialects.kai.podgroup import read

__all__ = ["read"]
