"""How Kubernetes asks for gangs in fields: policy, topology, disruption and claims of groups, and ``spec.scheduling``.

The same four fields stand on a PodGroup and its templates, and, from Kubernetes 1.37 on, in ``spec.scheduling`` of the
workloads that PodGroups are made for::

    scheduling:
      schedulingPolicy: {gang: {minCount: 4}}                    or {basic: {}}
      schedulingConstraints: {topology: [{key: topology/rack}]}  at most one, and it is required
      disruptionMode: {all: {}}                                  or {single: {}}
"""

from dataclasses import dataclass

from phalanx.dialects.clusterstate import is_label_key
from phalanx.dialects.fields import Field
from phalanx.dialects.wishes import Wish

FIELDS = ("schedulingPolicy", "schedulingConstraints", "disruptionMode", "resourceClaims")

_EARLY = {"schedulingPolicy": "policy", "schedulingConstraints": "constraints", "disruptionMode": "disruption"}
_CLAIMS_MAX = 4
_CLAIM = ("resourceClaimName", "resourceClaimTemplateName")


@dataclass(frozen=True, slots=True)
class Policy:
    """Whether the members start together, and how many must. ``least`` holds nothing if nobody says."""

    gang: bool
    least: Field


@dataclass(frozen=True, slots=True)
class Scheduling:
    """One ``scheduling``, checked.

    ``mode``: the gang mode that says the same as its policy; None when there is no ``scheduling``. ``at``: where the
    policy is or would be written. ``least``: pods that must start together, where it says so. ``near``: ``topology`` of
    the normal form, or nothing. ``disruption``: Pod, or Group: all go together.
    """

    at: Field
    mode: str | None
    least: Field
    near: Wish
    disruption: str | None


def read(at: Field, usual: str | None, *levels: str) -> Scheduling:
    """What is asked for in a ``scheduling``. ``usual``: the mode without a policy, which each kind has its own of.

    Fields other than these and ``levels``, which are read elsewhere, are refused: they would ask in vain.
    """
    at.known(*FIELDS, *_EARLY.values(), *levels)
    chosen, limits, goes = (_spelt(at, name) for name in FIELDS[:3])
    check_claims(at.at("resourceClaims"))
    said = policy(chosen, "minCount") if chosen.present else None
    mode = usual if said is None else "Gang" if said.gang else "Off"
    key, together = near(limits), disruption(goes)
    if together == "Group" and mode == "Off":
        goes.wrong("pods that do not start together do not go together either", ("single",))
    least = chosen.at("gang", "minCount") if said is None else said.least
    return Scheduling(chosen, mode if at.present else None, least, {} if key is None else {"topology": key}, together)


def _spelt(at: Field, name: str) -> Field:
    """The field of that name, or of the name that it had in the design."""
    early = at.at(_EARLY[name])
    if at.at(name).present or not early.present:
        return at.at(name)
    early.warn(f"is called {name} where it was released, and read as such", (name,))
    return early


def least(said: Scheduling, count: int) -> Field | None:
    """How few of ``count`` pods will do for the gang, where less than all is said."""
    if isinstance(said.least.value, int) and said.least.value > count:
        said.least.mistaken(f"is more than the {count} pods there are")
        return None
    return said.least if said.least.present else None


# -- each field --------------------------------------------------------------------------------------------------


def policy(at: Field, number: str) -> Policy:
    """``basic`` or ``gang``, exactly one. ``number``: minCount of pods, or minGroupCount of groups. (V5, V6)"""
    if at.mapping():
        at.typos("basic", "gang")
    given = [name for name in ("basic", "gang") if at.at(name).present]
    if len(given) != 1:
        at.wrong(f"is exactly one of basic, gang; {' and '.join(given) or 'neither'} is given", ("basic", "gang"))
    for name in given:
        at.at(name).mapping()
    least = at.at("gang", number)
    return Policy("gang" in given, least.meaning(least.integer(None, low=1)))


def near(constraints: Field) -> dict[str, object] | None:
    """``topology`` of the normal form: at most one key, and it is required. (V7)"""
    constraints.mapping()
    constraints.typos("topology")
    listed = constraints.at("topology").items(limit=1000)
    if len(listed) > 1:
        constraints.at("topology").wrong(f"has {len(listed)} entries; a group has at most one")
    keys = [_key(one) for one in listed]
    return {"required": keys[0]} if keys and keys[0].present else None


def _key(entry: Field) -> Field:
    entry.mapping()
    at = entry.at("key")
    if not at.present:
        at.wrong("a topology constraint needs the key of a node label")
    elif isinstance(at.value, str) and not is_label_key(at.value):
        at.mistaken("is not the key of a label")
        return at.meaning(None)
    return at


def disruption(at: Field) -> str | None:
    """``Pod``, or ``Group``: all pods of the group go together; None when nothing is said."""
    if not at.mapping():
        return None
    given = [name for name in ("single", "all") if at.at(name).present]
    if len(given) != 1:
        at.wrong("is exactly one of single, all", ("single", "all"))
        return None
    return "Pod" if given == ["single"] else "Group"


def check_claims(at: Field) -> None:
    """Shared claims are not built; what is wrong with them is told all the same. (V8)"""
    listed = at.items(limit=1000)
    if listed:
        at.wrong("resource claims of a group (DRA) are not supported yet")
    if len(listed) > _CLAIMS_MAX:
        at.wrong(f"has {len(listed)} claims; a group has at most {_CLAIMS_MAX}")
    for one in listed:
        one.mapping()
        if sum(one.at(name).present for name in _CLAIM) != 1:
            one.wrong("a claim has exactly one of " + " and ".join(_CLAIM), _CLAIM)
