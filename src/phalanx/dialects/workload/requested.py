"""How close together, or apart: ``topologyRequest`` and ``topologySpread`` of the designs.

The designs leave the inside of a request by level open (``<details TBD>``) and show one by resource claims, which is
not built (X-41). Four spellings are read::

    {required: rack}    {preferred: rack}    {level: rack, policy: Preferred}    {key: topology/rack}
"""

from phalanx.dialects.fields import Field

Wish = Field  # the request's place, with required and preferred of the normal form in it

_FORMS = ("required", "preferred", "level", "policy", "key", "nodeLabel")
_SPREADS = ("maxPerDomain", "minDomains", "maxSkew")


def topology(at: Field) -> Wish | None:
    """``topology`` of the normal form; None when nothing is asked."""
    if at.present and not isinstance(at.value, dict):
        at.mistaken("is not a request; write a level, as in {required: rack}", _FORMS)
    if not isinstance(at.value, dict):
        return None
    at.typos(*_FORMS, "resourceClaims")
    if at.at("resourceClaims").present:
        at.at("resourceClaims").wrong("topology by resource claims is not built yet; ask for a level", _FORMS)
        return None
    single = [at.at(name) for name in ("level", "key", "nodeLabel") if at.at(name).present]
    pair = [at.at(name) for name in ("required", "preferred") if at.at(name).present]
    if len(single) > 1 or (single and pair):
        at.wrong("names a level in two ways; give one of them", _FORMS)
    if not single and not pair:
        at.wrong("names no level", _FORMS)
    if not single:
        return at.meaning({"required": at.at("required"), "preferred": at.at("preferred")}) if pair else None
    soft = at.at("policy").choice("Required", "Required", "Preferred") == "Preferred"
    return at.meaning({"preferred" if soft else "required": single[0]})


def spread(at: Field) -> dict[str, object]:
    """``topology.spread`` of the normal form, in our spelling or with Kubernetes' ``topologyKey``. (W-208)"""
    if not at.mapping():
        return {}
    at.typos("level", "topologyKey", "whenUnsatisfiable", *_SPREADS)
    when = at.at("whenUnsatisfiable").choice("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")
    if when == "ScheduleAnyway":
        at.warn("a spread that is only preferred is not kept")
        return {}
    level = at.at("level") if at.at("level").present else at.at("topologyKey")
    return {"spread": at.meaning({"level": level, **{name: at.at(name) for name in _SPREADS}})}
