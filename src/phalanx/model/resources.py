"""Amounts of resources, exact: every quantity is an integer number of nano-units."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from phalanx.model.problems import Problem, shown

NANO = 10**9  # Kubernetes' own finest unit; finer input is rounded up to it, as the API server does
PODS = "pods"

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 10**3), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9),
    "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
}  # fmt: skip
_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))((?:[eE][+-]?\d{1,3})|[A-Za-z]*)", re.ASCII)
_LENGTH_MAX = 64  # the longest legal quantity is far shorter; a hostile megabyte of digits is not parsed


def parse(text: object, path: str) -> int | Problem:
    """Nano-units of a Kubernetes quantity (``100m``, ``1Gi``, ``1e3``, ``1.5``), or the Problem with it."""
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        return _wrong(path, text, "is not a quantity; write a number with an optional suffix such as 500m or 2Gi")
    found = _read(str(shown(text)) if isinstance(text, int) else str(text))
    return found if isinstance(found, int) else _wrong(path, text, found)


@lru_cache(maxsize=4096)
def _read(spelled: str) -> int | str:
    """Nano-units, or what is wrong. Kept, because a cluster of thousands of nodes writes the same few amounts."""
    match = _FORM.fullmatch(spelled.strip()) if len(spelled) <= _LENGTH_MAX else None
    if match is None:
        return "is not a quantity; write a number with an optional suffix such as 500m or 2Gi"
    number, suffix = match.groups()
    factor = _factor(suffix)
    if factor is None:
        return f"has an unknown suffix {suffix!r}{_suggestion(number, suffix)}"
    nano = Fraction(number) * factor * NANO
    return -(-nano.numerator // nano.denominator) if nano >= 0 else "is negative; amounts start at 0"


def _factor(suffix: str) -> Fraction | None:
    if suffix in _BINARY:
        return Fraction(_BINARY[suffix])
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    if suffix[-1:].isdigit():  # the form lets digits into a suffix only as an exponent
        exponent = int(suffix[1:])
        return Fraction(10) ** exponent if abs(exponent) <= 30 else None
    return None


def _suggestion(number: str, suffix: str) -> str:
    """``100GB`` -> ``; did you mean 100G or 100Gi?``"""
    if suffix[-1:].isdigit():
        return "; exponents go from -30 to 30"
    head = suffix[:1].upper() if suffix[:1] in "kmgtpe" and len(suffix) > 1 else suffix[:1]
    head = "k" if head == "K" else head
    if head not in ("k", "M", "G", "T", "P", "E"):
        return "; allowed are n u m k M G T P E and Ki Mi Gi Ti Pi Ei"
    return f"; did you mean {number}{head} or {number}{head.upper()}i?"


def _wrong(path: str, value: object, message: str) -> Problem:
    allowed = ("a quantity such as 500m, 2, 1.5, 1e3, 100G or 16Gi",)
    return Problem(path, shown(value), allowed, f"{shown(value)!r} {message}")


def show(name: str, nano: int) -> str:
    """A short, exact spelling: ``cpu 1500000000 -> 1500m``, ``memory -> 16Gi``."""
    if nano % NANO == 0:
        whole = nano // NANO
        if whole and any(word in name for word in ("memory", "storage", "hugepages")):
            for suffix, factor in reversed(_BINARY.items()):
                if whole % factor == 0:
                    return f"{whole // factor}{suffix}"
        return str(whole)
    if nano % 10**6 == 0:
        return f"{nano // 10**6}m"
    if nano % 10**3 == 0:
        return f"{nano // 10**3}u"
    return f"{nano}n"


def plain(nano: int) -> Decimal:
    """The amount in plain units (cores, bytes, devices), exact whatever the context: ``1500000000`` -> ``1.5``."""
    whole, rest = divmod(abs(nano), NANO)
    sign = "-" if nano < 0 else ""
    return Decimal(f"{sign}{whole}.{rest:09}".rstrip("0").removesuffix("."))


@dataclass(frozen=True, slots=True)
class Resources:
    """Named amounts in nano-units, sorted by name, zeros left out. Adding and comparing is exact."""

    items: tuple[tuple[str, int], ...] = field(default=())

    @staticmethod
    def of(amounts: Mapping[str, int]) -> "Resources":
        return Resources(tuple(sorted((k, v) for k, v in amounts.items() if v)))

    def get(self, name: str) -> int:
        return dict(self.items).get(name, 0)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self.items)

    def __add__(self, other: "Resources") -> "Resources":
        return combine((self, other), sum)

    def times(self, count: int) -> "Resources":
        return Resources(tuple((k, v * count) for k, v in self.items if count))


def combine(parts: Iterable[Resources], how: Callable[[Iterable[int]], int]) -> Resources:
    """Name by name ``how`` (``sum`` or ``max``) over the parts; a missing name counts as zero."""
    columns: dict[str, list[int]] = {}
    for part in parts:
        for name, amount in part.items:
            columns.setdefault(name, []).append(amount)
    return Resources.of({name: how(values) for name, values in columns.items()})


@dataclass(frozen=True, slots=True)
class ContainerNeed:
    """What one container asks for. ``restartable``: an init container that keeps running (a sidecar)."""

    requests: Resources
    restartable: bool = False


def effective(
    containers: tuple[ContainerNeed, ...],
    init: tuple[ContainerNeed, ...] = (),
    overhead: Resources = Resources(),
    pod_level: Resources = Resources(),
) -> Resources:
    """What a pod takes from its node, the way the scheduler of Kubernetes counts it, plus one of ``pods``.

    Sidecars start in order and stay: an ordinary init container runs beside the sidecars before it, the
    main containers beside all of them. Pod-level requests replace the sum for the resources they name.
    """
    sidecars = Resources()
    peak = Resources()
    for need in init:
        if need.restartable:
            sidecars = sidecars + need.requests
            peak = combine((peak, sidecars), max)
        else:
            peak = combine((peak, sidecars + need.requests), max)
    running = combine((sidecars, *(c.requests for c in containers)), sum)
    total = dict(combine((running, peak), max).items)
    total.update(pod_level.items)
    counted = Resources.of(total) + overhead
    return counted + Resources.of({PODS: NANO})
