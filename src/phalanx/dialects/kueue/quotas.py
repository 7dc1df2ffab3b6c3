"""``resourceGroups`` of a ClusterQueue or Cohort: which resources, in which flavors, how much.

Each resource and each flavor stands in one group only, so the groups can be told again from the quotas themselves:
resources that share a flavor are taken from the same one.
"""

from phalanx.dialects import amounts
from phalanx.dialects.fields import Field
from phalanx.model.queues import Quota

amount = amounts.quantity  # weights are quantities too


def read(groups: Field, in_cohort: bool, lends_more: bool = False) -> tuple[Quota, ...]:
    """The quotas, flavors in the order they are tried.

    ``in_cohort``: whether there is anybody to lend to. ``lends_more``: a cohort passes on what its members lend, so
    its own quota does not bound it.
    """
    found: list[Quota] = []
    resources_seen: set[str] = set()
    flavors_seen: set[str] = set()
    for group in groups.items():
        group.mapping()
        group.typos("coveredResources", "flavors")
        covered = _covered(group.at("coveredResources"), resources_seen)
        listed = group.at("flavors").items()
        if not listed:
            group.at("flavors").wrong("a resource group needs at least one flavor")
        for entry in listed:
            found.extend(_flavor(entry, covered, flavors_seen))
            for resource in entry.at("resources").items():
                _check_limits(resource, in_cohort, lends_more)
    return tuple(found)


def _covered(at: Field, seen: set[str]) -> list[str]:
    names = [(one, one.text("")) for one in at.items()]
    if not names:
        at.wrong("a resource group names at least one resource it covers")
    for one, name in names:
        if name in seen:
            one.mistaken("is covered already; each resource is covered once")
        seen.add(name)
    return [name for _, name in names]


def _flavor(entry: Field, covered: list[str], seen: set[str]) -> list[Quota]:
    entry.mapping()
    entry.typos("name", "resources")
    flavor = entry.at("name").name("")
    if not entry.at("name").present:
        entry.at("name").wrong("a flavor needs its name")
    elif flavor in seen:
        entry.at("name").mistaken("is listed already; each flavor is listed once")
    seen.add(flavor)
    quotas = [_quota(one, flavor) for one in entry.at("resources").items()]
    named = [one.at("name").value for one in entry.at("resources").items()]
    if named != covered:
        entry.at("resources").wrong(f"lists other resources than coveredResources: {', '.join(covered)}"[:300])
    return [quota for quota in quotas if quota is not None]


def _quota(at: Field, flavor: str) -> Quota | None:
    at.mapping()
    at.typos("name", "nominalQuota", "borrowingLimit", "lendingLimit")
    name = at.at("name").text("")
    nominal, borrow, lend = (amount(at.at(part)) for part in ("nominalQuota", "borrowingLimit", "lendingLimit"))
    if not at.at("nominalQuota").present:
        at.at("nominalQuota").wrong("a quota needs nominalQuota, the amount the queue may always use")
    return Quota(flavor, name, nominal, borrow, lend) if nominal is not None and name else None


def _check_limits(at: Field, in_cohort: bool, lends_more: bool) -> None:
    for part in ("borrowingLimit", "lendingLimit"):
        if at.at(part).present and not in_cohort:
            at.at(part).wrong(f"{part} needs a cohort: there is nobody to lend to or borrow from")
    nominal, lend = amount(at.at("nominalQuota")), amount(at.at("lendingLimit"))
    if nominal is not None and lend is not None and lend > nominal and not lends_more:
        at.at("lendingLimit").mistaken("is more than nominalQuota; a queue lends its own only")
