"""From the normal form of any workload to its Requests."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.gang import build, declared, flavored, near, nesting, speaking
from phalanx.dialects.gang.declared import Forest
from phalanx.dialects.gang.near import Near
from phalanx.dialects.levels import choose
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings, local_queue, priority, queue, usual_topology
from phalanx.model.request import Group, Missing, PodSet, Ranks, Request
from phalanx.model.rules import Rules

_TIMES = ("scheduleTimeoutSeconds", "readyTimeoutSeconds", "recoveryTimeoutSeconds", "expectedDurationSeconds")


def requests(outline: Outline, notes: Notes, around: Surroundings) -> tuple[Request, ...]:
    """The Requests of a workload. They count only if no Problem was noted on the way.

    Policy Gang: one Request whose root holds all groups. Policy Basic: one Request per top-level group (each
    copy by itself), told apart by ``unit``. An inner Basic group is a group that waits for none of its members
    (``min_members`` 0): each is placed if it fits, inside whatever encloses it, and the gang around it starts
    without them. At the top of its own Request at least one member must be placed, or nothing would be.
    """
    spec = Field.of({"spec": outline.spec}, notes, made=outline.kind != "Gang").at("spec")
    _check_carried(spec)
    usual = usual_topology(spec.at("queue"), outline.namespace, around)
    used = partial(speaking.levels, spec)
    levels = choose(spec.at("topologyName"), around.topologies, usual, used, around.refused_topologies)
    around_all = near.read(spec.at("topology"), levels)
    policy = spec.at("policy").choice("Gang", *declared.POLICIES)
    forest = declared.read(spec.at("podGroups"), levels, outline.namespace, around, outline.copies)
    if forest is None:
        return ()
    build.check(forest, spec.at("podGroups"), policy)
    forest = nesting.narrowed(forest, around_all, levels)
    if notes.problems:
        return ()
    blank = Request(
        kind=outline.kind,
        namespace=outline.namespace,
        name=outline.name,
        root=Group(outline.name, ()),
        topology=levels.name,
        queue=queue(spec.at("queue"), outline.namespace, around),
        local_queue=local_queue(spec.at("queue"), outline.namespace, around),
        priority=priority(spec.at("priorityClassName"), around) if outline.priority is None else outline.priority,
        suspended=spec.at("suspend").flag(False),
        rules=_rules(spec, around.rules),
        around=_written(spec.at("topology", "required"), spec),
    )
    flavor = flavored.of(blank.queue, spec.at("queue"), around)
    if around_all != Near() or any(one.near != Near() for one in forest.groups.values()):
        flavored.warn_of_no_topology(blank.queue, spec.at("queue"), around)
    roots = _roots(spec, forest, around_all, policy, outline.name)
    if flavor is not None:
        roots = [(unit, flavored.inside(root, flavor)) for unit, root in roots]
    whole = (replace(blank, root=_completed(root), unit=unit) for unit, root in roots)
    return tuple(_with_told(one, outline) for one in whole)


def _written(at: Field, spec: Field) -> str | None:
    """Where somebody wrote the level around all groups; None where nobody did, or a reader made it up."""
    return at.path if at.present and at.document is not spec.document else None


def _check_carried(spec: Field) -> None:
    """Fields that placement does not look at are checked all the same: a typo is told now, not when it matters."""
    reference = spec.at("controllerRef")
    if reference.known("apiGroup", "kind", "name"):
        for part in ("apiGroup", "kind", "name"):
            reference.at(part).text("")
    spec.at("queue").name("default")
    spec.at("preemptible").flag(True)
    spec.at("suspend").flag(False)
    spec.at("enforcement").choice("", "Bind", "Gate")
    spec.at("onFailure").choice("", "None", "ReplacePod", "RestartGang")
    spec.at("disruption").choice("", "Pod", "Group", "Gang")
    for name in _TIMES:
        spec.at(name).integer(0, low=1)


def _rules(spec: Field, usual: Rules) -> Rules:
    """How the gang wants to be treated over time; what it does not say is as usual."""
    return Rules(
        enforcement=spec.at("enforcement").choice(usual.enforcement, "Bind", "Gate"),
        schedule=float(spec.at("scheduleTimeoutSeconds").integer(int(usual.schedule))),
        ready=float(spec.at("readyTimeoutSeconds").integer(int(usual.ready))),
        recovery=float(spec.at("recoveryTimeoutSeconds").integer(int(usual.recovery))),
        on_failure=spec.at("onFailure").choice(usual.on_failure, "None", "ReplacePod", "RestartGang"),
        disruption=spec.at("disruption").choice(usual.disruption, "Pod", "Group", "Gang"),
        preemptible=spec.at("preemptible").flag(usual.preemptible),
        expected_duration=_seconds(spec.at("expectedDurationSeconds")),
    )


def _seconds(at: Field) -> float | None:
    found = at.integer(None)
    return None if found is None else float(found)


def _with_told(request: Request, outline: Outline) -> Request:
    """The request with the groups of it whose pods are not all there, and with the pods that are counted together."""
    if not outline.told:
        return request
    own = {group.name for group in request.root.groups()}
    copied = {_stem(name) for name in own}
    short = [one for one in outline.told if one.is_short and one.group in own | copied]
    missing = tuple(Missing(one.group, one.needed, one.seen, one.groups) for one in short)
    pools = {one.group: one.pool for one in outline.told if one.pool}
    return replace(request, root=_pooled(request.root, pools), missing=missing)


def _pooled(group: Group, pools: Mapping[str, str]) -> Group:
    """The group with the pool of each pod set. Every copy of a group has one of its own; a set that is all of its pool
    has its name, and needs none."""
    pool = pools.get(group.name, group.name if _stem(group.name) in pools else "")
    members = (_pooled(one, pools) if isinstance(one, Group) else _in_pool(one, pool) for one in group.members)
    return replace(group, members=tuple(members))


def _in_pool(pods: PodSet, pool: str) -> PodSet:
    return pods if pods.name == pool else replace(pods, pool=pool)


def _stem(name: str) -> str:
    return name.partition("[")[0]


# -- roots -------------------------------------------------------------------------------------------------------


def _roots(spec: Field, forest: Forest, around_all: Near, policy: str, name: str) -> list[tuple[str | None, Group]]:
    """The root group of each Request, with its unit."""
    groups = tuple(group for root in forest.roots for group in build.grow(forest, root))
    if not groups:
        spec.at("podGroups").warn("nothing is known to place")
        return []
    least = build.least_members(spec.at("minGroups"), policy, len(groups))
    if policy == "Gang":
        return [(None, _whole(groups, around_all, least, name))]
    several = len(groups) > 1 or any(forest.groups[root].keyed for root in forest.roots)
    return _units(spec, groups, around_all, name, several)


def _whole(groups: tuple[Group, ...], around_all: Near, least: int | None, name: str) -> Group:
    """All groups under one root; a single group needs none around it unless both ask for levels."""
    only = _alone(groups[0]) if len(groups) == 1 else None
    if only is not None and around_all == Near():
        return only
    if only is not None and (only.required, only.preferred, only.spread) == (None, None, None):
        return replace(only, required=around_all.required, preferred=around_all.preferred, spread=around_all.spread)
    members = groups if only is None else (only,)
    root = Group(_free_name(name, groups), members, around_all.required, around_all.preferred, least)
    return replace(root, spread=around_all.spread)


def _alone(group: Group) -> Group:
    """A group with nobody beside it: at least one of its members is placed, or nothing would be."""
    return replace(group, min_members=1) if group.min_members == 0 else group


def _units(
    spec: Field, groups: tuple[Group, ...], around_all: Near, name: str, several: bool
) -> list[tuple[str | None, Group]]:
    """Independent parts, each with the gang's own wishes around it. ``several``: there are, or may be any time.

    Parts that start at different times cannot be promised a common domain, so a required level or a spread
    around several of them is refused rather than kept by chance.
    """
    if several and (around_all.required is not None or around_all.spread is not None):
        spec.at("topology").wrong(
            "with policy Basic the groups start on their own, and holding them in one domain or spread is not "
            "supported yet; set topology on each group"
        )
    units: list[tuple[str | None, Group]] = []
    for group in groups:
        alone = _alone(group)
        if around_all != Near():
            outer = Group(_free_name(name, (alone,)), (alone,), around_all.required, around_all.preferred)
            alone = replace(outer, spread=around_all.spread)
        units.append((group.name, alone))
    return units


def _free_name(name: str, groups: tuple[Group, ...]) -> str:
    """The gang's name for its root, or ``gang`` where a group is called the same."""
    taken = {below.name for group in groups for below in group.groups()}
    return next(free for free in (name, "gang", "gang.", "gang..") if free not in taken)


# -- ranks -------------------------------------------------------------------------------------------------------


def _completed(root: Group) -> Group:
    """The tree with ranks on every group that another one sits with: they are compared by rank, so they have some."""
    linked = {group.ranks.with_same_rank_of for group in root.groups() if group.ranks is not None} - {None}
    return _ranked(root, linked) if linked else root


def _ranked(group: Group, linked: set[str | None]) -> Group:
    members = tuple(_ranked(m, linked) if isinstance(m, Group) else m for m in group.members)
    ranks = group.ranks or (Ranks(order="None") if group.name in linked else None)
    return replace(group, members=members, ranks=ranks)
