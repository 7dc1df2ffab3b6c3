"""The rules of a request that meet on its pods, named as they are written: where no answer was found, they are why."""

from collections.abc import Iterator

from phalanx.model.request import Group, PodSet, Request, as_declared
from phalanx.model.topology import Topology


def rules(request: Request, topology: Topology) -> tuple[str, ...]:
    """``workers.slices: {level: rack, size: 2}``, each once; levels and numbers of pods alone are none."""
    return tuple(dict.fromkeys(_of_group(request.root, topology)))


def _of_group(group: Group, topology: Topology) -> Iterator[str]:
    spread, ranks = group.spread, group.ranks
    if spread is not None:
        forms = {
            "maxPerDomain": spread.max_per_domain, "minDomains": spread.min_domains, "maxSkew": spread.max_skew,
        }  # fmt: skip
        form = ", ".join(f"{name}: {number}" for name, number in forms.items() if number is not None)
        level = topology.level_name(spread.level)
        yield f"{as_declared(group.name)}.topology.spread: {{level: {level}, {form}}}"
    if ranks is not None and ranks.with_same_rank_of is not None:
        yield f"{as_declared(group.name)}.rank.withSameRankOf: {ranks.with_same_rank_of}"
    if group.min_members is not None and group.min_members < len(group.members):
        yield f"{as_declared(group.name)}.minGroups: {group.min_members}"
    for member in group.members:
        yield from _of_group(member, topology) if isinstance(member, Group) else _of_set(member, topology)


def _of_set(pods: PodSet, topology: Topology) -> Iterator[str]:
    for part in pods.slices:
        yield f"{as_declared(pods.name)}.slices: {{level: {topology.level_name(part.level)}, size: {part.size}}}"
    for term in pods.shape.affinity:
        yield f"{as_declared(pods.name)}: podAffinity by {term.key}"
    for term in pods.shape.anti_affinity:
        yield f"{as_declared(pods.name)}: podAntiAffinity by {term.key}"
    for rule in pods.shape.spread:
        yield f"{as_declared(pods.name)}: topologySpreadConstraints by {rule.key}, maxSkew {rule.max_skew}"
