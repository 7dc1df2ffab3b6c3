"""Any value of a type of the model, made from the types of its fields: a field that is new is tried at once."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from phalanx.model.policy import BUDGET_MAX, CANDIDATES, NODES, Policy
from phalanx.model.resources import NANO, Resources

TEXT = st.text(max_size=4) | st.sampled_from(("", "n1", "n2", "a/b/7", "a/b/8", "007", "\ud800", "\u2028", "status"))
NUMBER = st.integers(-3, 3) | st.integers() | st.sampled_from((10**27, -(10**30), 2**63))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
AMOUNT = st.integers(1, 10**30) | st.sampled_from((1, NANO, 2**34 * NANO, 1500 * 10**6, 10**90 + 1))

SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: NUMBER,
    float: FINITE,
    bool: st.booleans(),
    NoneType: st.none(),
    Any: st.none() | st.booleans() | NUMBER | FINITE | TEXT,
    Resources: st.dictionaries(TEXT, AMOUNT, max_size=2).map(Resources.of),
    Policy: st.builds(
        Policy, candidates=st.sampled_from(CANDIDATES), nodes=st.sampled_from(NODES), budget=st.integers(0, BUDGET_MAX)
    ),
}


@cache
def anything(kind: Any) -> st.SearchStrategy[Any]:
    """Values of this type, not only those that make sense."""
    if kind in SCALARS:
        return SCALARS[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple and inner[-1] is not ...:
        return st.tuples(*(anything(one) for one in inner))
    if origin is tuple:  # empty more often than not, so that trees end
        return st.just(()) | st.lists(st.deferred(lambda: anything(inner[0])), max_size=2).map(tuple)
    if origin is Mapping:
        return st.dictionaries(anything(inner[0]), anything(inner[1]), max_size=2)
    if inner:
        return st.one_of(*(st.deferred(lambda one=one: anything(one)) for one in inner))
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert is_dataclass(kind) or issubclass(kind, tuple)
    hints = get_type_hints(kind)
    return st.deferred(lambda: st.builds(kind, **{name: anything(hint) for name, hint in hints.items()}))
