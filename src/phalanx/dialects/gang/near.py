"""How close together a group's pods must be: its ``topology`` field."""

from dataclasses import dataclass

from phalanx.dialects.fields import Field
from phalanx.dialects.levels import Levels, bounds
from phalanx.model.request import Spread

_KINDS = ("maxPerDomain", "minDomains", "maxSkew")


@dataclass(frozen=True, slots=True)
class Near:
    required: int | None = None
    preferred: int | None = None
    spread: Spread | None = None


def read(at: Field, levels: Levels) -> Near:
    if not at.known("required", "preferred", "spread"):
        return Near()
    required, preferred = bounds(at.at("required"), at.at("preferred"), levels)
    return Near(required, preferred, _spread(at.at("spread"), required, levels))


def _spread(at: Field, required: int | None, levels: Levels) -> Spread | None:
    if not at.known("level", *_KINDS):
        return None
    level = levels.number(at.at("level"))
    if not at.at("level").present:
        at.at("level").wrong("a spread needs a level")
    given = [kind for kind in _KINDS if at.at(kind).present]
    if len(given) != 1:
        at.wrong(f"a spread has exactly one of {', '.join(_KINDS)}; this one has {len(given)}", _KINDS)
    per_domain, domains, skew = (at.at(kind).integer(None, low=1) for kind in _KINDS)
    if level is None or len(given) != 1:
        return None
    if domains is not None and domains > 1 and required is not None and level <= required:
        at.at("minDomains").wrong(
            f"the group is held in one domain of level {levels.label(required)!r}, "
            f"so it cannot reach {domains} of level {levels.label(level)!r}"
        )
    return Spread(level, per_domain, domains, skew)
