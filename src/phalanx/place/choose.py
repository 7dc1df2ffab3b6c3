"""Which domain first: the order in which candidates are tried.

An order is one function: capacities of the candidates in, positions out, best first. Ties go by tree order.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
NEVER = np.iinfo(np.int64).max


class Order(Protocol):
    """Turns the capacities of candidates (all large enough, or NEVER) into a key: smallest is tried first."""

    def __call__(self, caps: Ints) -> Ints: ...


def pack(caps: Ints) -> Ints:
    """Tightest first: what stays free stays in one piece. (KA-052)"""
    return caps


def spread(caps: Ints) -> Ints:
    """Roomiest first. (KA-045)"""
    return -caps


ORDERS: dict[str, Order] = {"pack": pack, "spread": spread, "balance": pack}


def best(caps: Ints, needed: int, order: Order) -> int:
    """The first domain that holds ``needed``; -1 if none does."""
    if not len(caps):
        return -1
    keys = np.where(caps >= needed, order(caps), NEVER)
    at = int(keys.argmin())
    return at if keys[at] != NEVER else -1


def several(caps: Ints, allowed: npt.NDArray[np.bool_], needed: int, order: Order, most: int) -> list[int]:
    """At most ``most`` domains that hold ``needed`` and are allowed, best first."""
    keys = np.where(allowed & (caps >= needed), order(caps), NEVER)
    if len(keys) > 4 * most:
        # ties at the cut must go by tree order, so the cut is by value and then stable
        cut = np.partition(keys, most)[most]
        pool = np.flatnonzero(keys <= cut)
    else:
        pool = np.arange(len(keys))
    ranked = pool[np.argsort(keys[pool], kind="stable")][:most]
    return [int(i) for i in ranked if keys[i] != NEVER]
