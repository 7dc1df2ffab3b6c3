"""Amounts of resources for people: in plain units, where manifests write ``232500m``. Never more than there is."""

from phalanx.model.resources import NANO

_BYTES = ("memory", "storage", "hugepages")
_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DIGITS = 3  # after the point: thousandths of a CPU


def plain(resource: str, nano: int) -> str:
    """``232.5`` CPUs, ``1007.4Gi`` of memory, ``8`` GPUs; what is cut off is rounded down."""
    if any(word in resource for word in _BYTES):
        return _bytes(nano)
    return _decimal(nano, NANO, _DIGITS)


def _bytes(nano: int) -> str:
    power = max(min((abs(nano) // NANO).bit_length() - 1, 10 * (len(_SUFFIXES) - 1)) // 10, 0)
    return _decimal(nano, NANO << (10 * power), 1 if power else 0) + _SUFFIXES[power]


def _decimal(nano: int, unit: int, digits: int) -> str:
    """Exact down to the last digit. Something is never told as nothing."""
    shifted = abs(nano) * 10**digits // unit
    if nano and not shifted:
        return f"<{1 / 10**digits:g}" if nano > 0 else f"-{1 / 10**digits:g}"
    whole, rest = divmod(shifted, 10**digits)
    fraction = f"{rest:0{digits}}".rstrip("0") if digits else ""
    return f"{'-' if nano < 0 else ''}{whole}{'.' if fraction else ''}{fraction}"
