"""From declared groups to the tree of a Request: replicas copied, names made unique, links between ranks checked.

A copy adds ``[i]`` to the name of its group and of everything below it::

    server (replicas 2)            server[0]( leader[0] worker[0] )
      leader                  ->   server[1]( leader[1] worker[1] )
      worker

Where keys tell how many copies there are it is ``[key]``.
"""

from dataclasses import replace

from phalanx.dialects.fields import Field
from phalanx.dialects.gang.declared import GROUPS_MAX, Declared, Forest
from phalanx.dialects.gang.leaf import PODS_MAX, Pods
from phalanx.model.request import Group, PodSet, Ranks


def check(forest: Forest, podgroups: Field, policy: str) -> None:
    """Note every Problem that shows only between groups: sizes, replica keys, ranks that go together."""
    groups = sum(_size(forest, name)[0] for name in forest.roots)
    pods = sum(_size(forest, name)[1] for name in forest.roots)
    if groups > GROUPS_MAX:
        podgroups.wrong(f"replicas make {groups} groups of it; at most {GROUPS_MAX} are placed")
    if pods > PODS_MAX:
        podgroups.wrong(f"the gang has {pods} pods; at most {PODS_MAX} are placed at once")
    _check_keys(forest, policy)
    _check_links(forest)


def _size(forest: Forest, name: str) -> tuple[int, int]:
    """Groups and pods that an entry becomes, itself and its copies included."""
    entry = forest.groups[name]
    below = [_size(forest, child) for child in entry.children]
    copies = 1 if entry.copies is None else len(entry.copies)
    pods = entry.pods.count if entry.pods is not None else sum(p for _, p in below)
    return copies * (1 + sum(g for g, _ in below)), copies * pods


def _check_keys(forest: Forest, policy: str) -> None:
    """Copies that appear as their keys do need a parent that waits for nobody."""
    parents = {child: entry.policy for entry in forest.groups.values() for child in entry.children}
    for name, entry in forest.groups.items():
        if not entry.keyed:
            continue
        if parents.get(name, policy) == "Gang":
            entry.at.at("replicaKey").wrong("replicaKey without replicas needs a parent with policy Basic")
        elif not entry.keys:
            entry.at.at("replicaKey").warn("no pods are known, so how many copies there are is not known either")


# -- ranks that go together --------------------------------------------------------------------------------------


def _check_links(forest: Forest) -> None:
    links = [entry for entry in forest.groups.values() if _partner(entry) is not None]
    siblings = {name: family for family in _families(forest) for name in family}
    sound = [entry for entry in links if _check_link(entry, forest, siblings[entry.name])]
    _check_levels(sound)


def _families(forest: Forest) -> list[tuple[str, ...]]:
    return [forest.roots, *(entry.children for entry in forest.groups.values())]


def _partner(entry: Declared) -> str | None:
    ranks = entry.pods.ranks if entry.pods is not None else None
    return ranks.with_same_rank_of if ranks is not None else None


def _check_link(entry: Declared, forest: Forest, siblings: tuple[str, ...]) -> bool:
    """Whether a link is one we can keep: to another whole, unsliced sibling with as many copies."""
    at, name = entry.at.at("rank", "withSameRankOf"), _partner(entry)
    others = [other for other in siblings if other != entry.name]
    if name not in others:
        at.mistaken("is not another group with the same parent", others[:50])
        return False
    partner = forest.groups[name]
    if partner.pods is None or entry.pods is None:
        at.mistaken("has no pods of its own", [o for o in others if forest.groups[o].pods is not None][:50])
        return False
    if entry.replicas != partner.replicas or entry.keyed or partner.keyed:
        at.wrong("both groups need the same replicas: copy i sits with copy i")
    for one in (entry, partner):
        if one.pods is not None and not one.pods.whole:
            at.wrong(f"not supported while group {one.name!r} has a minCount below its count")
        if one.pods is not None and one.pods.sliced:
            at.wrong(f"not supported while group {one.name!r} has slices")
    return True


def _check_levels(links: list[Declared]) -> None:
    """All groups that are linked, directly or through others, sit together at one level."""
    team: dict[str, str] = {}  # name -> a name further along its chain; itself at the end

    def head(name: str) -> str:
        while team.setdefault(name, name) != name:
            name = team[name]
        return name

    for entry in links:
        team[head(entry.name)] = head(_partner(entry) or entry.name)
    levels: dict[str, int | None] = {}
    for entry in links:
        ranks = entry.pods.ranks if entry.pods is not None else None
        level = ranks.level if ranks is not None else None
        if levels.setdefault(head(entry.name), level) != level:
            entry.at.at("rank", "level").mistaken("differs from the level of a group it is linked with")


# -- the tree ----------------------------------------------------------------------------------------------------


def grow(forest: Forest, name: str, mark: str = "") -> tuple[Group, ...]:
    """The copies of an entry (one if it has no replicas), each with everything below it.

    ``mark``: the ``[1]`` of the copies above. An entry of which nothing is known to place gives no group.
    """
    entry = forest.groups[name]
    marks = [mark] if entry.copies is None else [f"{mark}[{copy}]" for copy in entry.copies]
    copies = (_leaf(entry, entry.pods, m) if entry.pods is not None else _inner(entry, forest, m) for m in marks)
    return tuple(copy for copy in copies if copy.members)


def _leaf(entry: Declared, pods: Pods, mark: str) -> Group:
    sets = tuple(replace(one, name=_marked(one, entry.name, mark)) for one in pods.sets)
    near = entry.near
    return Group(
        entry.name + mark, sets, near.required, near.preferred, None, near.spread, _marked_ranks(pods.ranks, mark)
    )


def _marked(pods: PodSet, group: str, mark: str) -> str:
    """``decode/leader`` in copy 1 of ``decode`` is ``decode[1]/leader``."""
    return f"{group}{mark}{pods.name.removeprefix(group)}"


def _marked_ranks(ranks: Ranks | None, mark: str) -> Ranks | None:
    if ranks is None or ranks.with_same_rank_of is None:
        return ranks
    return replace(ranks, with_same_rank_of=ranks.with_same_rank_of + mark)


def _inner(entry: Declared, forest: Forest, mark: str) -> Group:
    """An inner group. Under policy Basic none of its members is waited for: each is placed if it fits."""
    members = tuple(copy for child in entry.children for copy in grow(forest, child, mark))
    near = entry.near
    least = least_members(entry.at.at("minGroups"), entry.policy, len(members))
    return Group(entry.name + mark, members, near.required, near.preferred, least, near.spread)


def least_members(at: Field, policy: str, members: int) -> int | None:
    """How many members must be placed (None: all), from ``minGroups`` and the policy."""
    if policy == "Basic":
        if at.present:
            at.wrong("with policy Basic no group waits for another, so minGroups means nothing here")
        return 0
    least = at.integer(members, low=1)
    if least > members:
        at.wrong(f"minGroups {least} is more than the {members} groups there are, copies counted")
    return least if least < members else None
