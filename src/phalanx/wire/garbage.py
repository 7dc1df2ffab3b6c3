"""What to tell Python's garbage collector when tens of thousands of objects are held for good.

With 50,000 pods in memory one full collection stops the process for 0.4 s, and during the first sync, when everything
only grows, collections find nothing. So: none before the picture is whole, then what is there is set aside for good.
"""

import gc

# Collections of the youngest objects every 200,000 allocations; of all objects practically never (50 * 1000 of those).
THRESHOLDS = (200_000, 50, 1000)


def before_sync() -> None:
    """No collection from here on. Call once, before the first mirror starts."""
    gc.disable()


def after_sync() -> None:
    """Clean once, set aside everything that is left, and collect again from here on, rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
