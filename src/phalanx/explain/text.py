"""A decision as one line, and as a page of at most 80 columns.

A line says who needs what, what is there, what is missing, what would help::

    waiting: group "workers" needs 10 pods in one rack; best is b2/r1 with 7 (gpu short on 3 nodes). Block b2 ...
"""

from collections.abc import Iterator, Mapping
from textwrap import wrap

from phalanx.explain import tally, words
from phalanx.model.decision import Decided, Internal, Invalid, Placed, Waiting
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason, Remedy, WayOut, Why
from phalanx.model.request import Group, PodSet, Request

WIDTH = 80
LABEL = 10  # the column of words like REASON; everything else is indented as far
ELSEWHERE = {  # reasons that are not about room: said without figures
    Why.OVER_QUOTA: "its queue may not take more",
    Why.BEHIND_OTHERS: "it would fit, but someone ahead of it goes first",
    Why.EVICTING: "room is being made for it",
    Why.BACKING_OFF: "it was released and is tried again later",
    Why.UNDECIDED: "not shown to fit within the work budget, asked again when the cluster changes",
    Why.SUSPENDED: "suspended by its owner or its spec",
}
LEVELS = (Remedy.LEVEL, Remedy.PREFERENCE)
GROUPS_MAX = 12  # lines of a page given to single groups; the JSON has them all


def line(decision: Decided, ways_out: tuple[WayOut, ...] = ()) -> str:
    """One line."""
    if isinstance(decision, Placed):
        return f"placed: {_whereabouts(decision)}"
    if isinstance(decision, Invalid):
        more = f" (and {len(decision.problems) - 1} more)" if len(decision.problems) > 1 else ""
        return f"invalid: {decision.problems[0]}{more}"
    if isinstance(decision, Internal):
        return f"internal: {_mistake(decision)}."
    return waiting(decision.reason, ways_out)


def waiting(reason: Reason, ways_out: tuple[WayOut, ...] = ()) -> str:
    """One line about why, and about the first of what would help."""
    return f"waiting: {cause(reason)}{_help(reason, ways_out)}"


def held_back(reason: Reason, ways_out: tuple[WayOut, ...] = ()) -> str:
    """Why pods have no place though their gang runs, and the first of what would help."""
    return f"{cause(reason)}{_help(reason, ways_out)}"


def full(decision: Decided, ways_out: tuple[WayOut, ...] = ()) -> str:
    """Everything worth reading, wrapped; ends without a newline."""
    if isinstance(decision, Placed):
        parts = [_placed_head(decision), *_placed(decision), *_left_out(decision)]
    elif isinstance(decision, Invalid):
        parts = [f"{_called(decision)}: Invalid", *_problems(decision.problems)]
    elif isinstance(decision, Internal):
        parts = [f"{decision.kind} {_id(decision)}: Internal", *_internal(decision)]
    else:
        parts = [_head(decision.request, "Waiting"), *_waiting(decision, ways_out)]
    return "\n".join([*parts, *_remarks(decision.warnings)])


def _called(wrong: Invalid) -> str:
    """What a wrong manifest is called; of some not even the kind is known."""
    return f"{wrong.kind} {wrong.namespace}/{wrong.name}" if wrong.kind else wrong.name


# ---- placed -----------------------------------------------------------------------------------------------------


def _whereabouts(placed: Placed) -> str:
    root, counts = placed.request.root, tally.of(placed)
    used = {node for counts in placed.placement.pod_sets.values() for node, _ in counts}
    level = placed.placement.level_reached.get(root.name, "cluster")
    domain = placed.placement.domains.get(root.name, ())
    where = f" in {level} {words.place(domain)}" if domain else ""
    missed = [group.name for group in root.groups() if _missed(placed, group)]
    note = f"; the preferred level was missed by {_quoted(missed)}" if missed else ""
    count = f"{counts.placed} of {words.pods(counts.wanted or 0)}" if counts.left_out else words.pods(counts.placed)
    rest = f"; left out: {_named(counts.left_out)}" if counts.left_out else ""
    return f"{count} on {words.nodes(len(used))}{where}{note}{rest}"


def _named(left_out: Mapping[str, int]) -> str:
    """``3 of "workers" and 1 of "b"``; of many the first."""
    shown = [f'{pods} of "{name}"' for name, pods in left_out.items()]
    return " and ".join(shown) if len(shown) < 3 else f"{', '.join(shown[:2])} and of {len(shown) - 2} more"


def _placed_head(placed: Placed) -> str:
    counts = tally.of(placed)
    if not counts.is_partial:
        return _head(placed.request, "Placed")
    title = f"{placed.request.kind} {placed.request.id}"
    return f"{title}: Placed in part, {counts.placed} of {words.pods(counts.wanted or 0)}"


def _left_out(placed: Placed) -> Iterator[str]:
    """One line for each part that has pods without a place."""
    left_out = tally.of(placed).left_out
    for i, (name, count) in enumerate([*left_out.items()][:GROUPS_MAX]):
        yield from _lines("LEFT OUT" if not i else "", f"{name}: {words.pods(count)}")
    if len(left_out) > GROUPS_MAX:
        yield from _lines("", f"... and of {len(left_out) - GROUPS_MAX} more groups")


def _missed(placed: Placed, group: Group) -> bool:
    """Whether a group wished for a level below the one it reached; levels are counted by the length of the path."""
    domain = placed.placement.domains.get(group.name)
    return domain is not None and group.preferred is not None and len(domain) < group.preferred


def _placed(placed: Placed) -> Iterator[str]:
    """One line per group: pods placed of those wanted, the level reached, the domain."""
    groups = list(placed.request.root.groups())
    depth = _depths(placed.request.root)
    for group in groups[:GROUPS_MAX]:
        yield from _lines("WHERE" if group is groups[0] else "", "  " * depth[group.name] + _home(placed, group))
    if len(groups) > GROUPS_MAX:
        yield from _lines("", f"... and {len(groups) - GROUPS_MAX} more groups")


def _home(placed: Placed, group: Group) -> str:
    got = {name: sum(pods for _, pods in counts) for name, counts in placed.placement.pod_sets.items()}
    have = sum(got.get(pod_set.name, 0) for pod_set in group.pod_sets())
    want = sum(pod_set.count for pod_set in group.pod_sets())
    if not have:
        return f"{group.name}: left out"
    count = words.pods(have) if have == want else f"{have} of {words.pods(want)}"
    level = placed.placement.level_reached.get(group.name, "cluster")
    domain = placed.placement.domains.get(group.name, ())
    wish = ", preferred level missed" if _missed(placed, group) else ""
    return f"{group.name}: {count} in {_domain(level, domain)}{wish}"


def _domain(level: str, domain: tuple[str, ...]) -> str:
    return f"{level} {words.place(domain)}" if domain else "the cluster"


def _depths(root: Group) -> dict[str, int]:
    found = {root.name: 0}
    for group in root.groups():
        found.update({kid.name: found[group.name] + 1 for kid in group.members if isinstance(kid, Group)})
    return found


# ---- waiting ----------------------------------------------------------------------------------------------------


def cause(reason: Reason) -> str:
    """Who needs what, what is there and what is missing, as one sentence without its full stop."""
    if reason.queue is not None:
        return f"{_needs(reason)}; {words.closed(reason.queue)}"
    if reason.quotas:
        return f"{_needs(reason)}; {words.full(reason.quotas[0])}"
    if reason.ahead is not None:
        return f"{_needs(reason)}; when it was last looked at, {reason.ahead} was ahead of it in its queue"
    match reason.type:
        case Why.NO_MATCHING_NODES:
            there = " there" if reason.beside else ""
            return f"{_needs(reason)}; none of {words.nodes(reason.nodes_seen)}{there} admits them{_why(reason)}"
        case Why.TOO_LARGE:
            return f"{_needs(reason)}; {_best(reason)}, even with nothing running"
        case Why.FRAGMENTED | Why.NO_ROOM:
            return f"{_needs(reason)}; {_best(reason)}"
        case Why.PODS_MISSING:
            waiting = "".join(f"; {one}" for one in reason.waiting)
            if reason.waiting:
                return f"{_needs(reason)}; {reason.pods_seen or 'none'} of them can be placed yet{waiting}"
            return f"{_needs(reason)}; {reason.pods_seen or 'none'} of them {_exist(reason.pods_seen)} yet"
        case Why.SUSPENDED:
            return ELSEWHERE[reason.type]
        case Why.UNDECIDED if reason.rules:
            return f"{_needs(reason)}; {ELSEWHERE[reason.type]}; these rules meet: {words.some(reason.rules)}"
    return f"{_needs(reason)}; {ELSEWHERE[reason.type]}"


def _exist(count: int) -> str:
    return "exist" if count > 1 else "exists"


def _needs(reason: Reason) -> str:
    where = "" if reason.level == "cluster" else f" in one {reason.level}"
    if reason.beside:
        where = f" in {reason.level} {words.place(reason.beside)}, where the rest of it runs"
    parts = f" for {_quoted([part.group for part in reason.parts])} together" if reason.together else ""
    return f'group "{reason.group}" needs {words.pods(reason.needed)}{where}{parts}'


def _best(reason: Reason) -> str:
    best = reason.best
    if best is None:
        return "there is no such domain"
    if best.fits >= best.needed:
        return f"{words.place(best.domain)} has the room, the rules between the pods do not allow it{_why(reason)}"
    if reason.together:
        return f"each part fits alone, together {words.place(best.domain)} holds {best.fits} at best{_why(reason)}"
    if reason.beside:
        return f"there is room for {best.fits}{_why(reason)}"
    if not best.domain:
        return f"the cluster has room for {best.fits}{_why(reason)}"
    return f"best is {words.place(best.domain)} with {best.fits}{_why(reason)}"


def _why(reason: Reason) -> str:
    return words.in_brackets(words.obstacles(reason.best)) if reason.best is not None else ""


def _help(reason: Reason, ways_out: tuple[WayOut, ...]) -> str:
    """The first way out, after the wider domain that makes it plausible."""
    if not ways_out:
        return "."
    sentence = words.way(ways_out[0], reason.level)
    wider = reason.wider
    if wider is None or (".topology" not in ways_out[0].change and ways_out[0].kind not in LEVELS):
        return f". {sentence[0].upper()}{sentence[1:]}."
    subject = f"{reason.wider_level.capitalize()} {words.place(wider.domain)}" if wider.domain else "The cluster"
    return f". {subject} would hold {wider.fits}: {sentence}."


def _waiting(waiting: Waiting, ways_out: tuple[WayOut, ...]) -> Iterator[str]:
    reason = waiting.reason
    yield from _lines("REASON", f"{reason.type}: {cause(reason)}.")
    if waiting.proved is not None:
        yield from _lines("", "Shown to be impossible now." if waiting.proved else "Not shown to be impossible.")
    for i, seen in enumerate(reason.nearest):
        missing = words.in_brackets(", ".join(words.obstacle(one) for one in seen.obstacles))
        yield from _lines(
            "TRIED" if not i else "", f"{words.place(seen.domain)}: {seen.fits} of {seen.needed}{missing}"
        )
    for i, rule in enumerate(reason.rules):
        yield from _lines("RULES" if not i else "", rule)
    for i, quota in enumerate(reason.quotas[1:]):
        yield from _lines("ALSO" if not i else "", words.full(quota))
    for i, part in enumerate(reason.parts):
        yield from _lines("PARTS" if not i else "", _part(part))
    if reason.free_elsewhere and reason.level != "cluster":
        where = "in the whole cluster, were it empty" if reason.type is Why.TOO_LARGE else "in the whole cluster"
        yield from _lines("FREE", f"{where}, levels aside, {words.pods(reason.free_elsewhere)} would fit")
    for i, out in enumerate(ways_out):
        yield from _lines("HELPS" if not i else "", words.change(out))
        yield from _lines("", f"  {words.way(out, reason.level)}")
        for edit in words.edits(out):
            yield from _lines("", f"  {edit}")
    yield from _lines("SEE", f"docs/reasons.md#{reason.type.lower()}")


def _part(part: Reason) -> str:
    where = f" in one {part.level}" if part.level != "cluster" else ""
    alone = f", alone {words.place(part.best.domain)} holds {part.best.fits}" if part.best is not None else ""
    return f"{part.group}: {words.pods(part.needed)}{where}{alone}"


# ---- a mistake of ours -------------------------------------------------------------------------------------------


def _mistake(internal: Internal) -> str:
    done = "decided" if internal.request is not None else "read"
    return f"{internal.mishap.line.rstrip('.')}; this is a mistake of Phalanx, not of the manifest: it was not {done}"


def _id(internal: Internal) -> str:
    return f"{internal.namespace}/{internal.name}" if internal.request is None else internal.request.id


def _internal(internal: Internal) -> Iterator[str]:
    """What was raised, and what to send us: it takes a record to see how it came."""
    yield from _lines("MISTAKE", f"{_mistake(internal)}. All others are answered.")
    if internal.request is not None:
        yield from _lines("SEND US", "its record: one line that holds all we need to see how it came. This writes it:")
        yield from _lines("", "  phalanx place -f FILE --record mistake.jsonl")
        yield from _lines("", "FILE: the manifests, or a snapshot. Read it first: it names nodes, pods and labels.")
    else:
        yield from _lines("SEND US", "its manifest, and the traceback: -o json has it (mistake.traceback).")


# ---- the rest ---------------------------------------------------------------------------------------------------


def _head(request: Request, status: str) -> str:
    sets: list[PodSet] = list(request.root.pod_sets())
    return f"{request.kind} {request.id}: {status}, {words.pods(sum(one.count for one in sets))} wanted"


def _problems(problems: tuple[Problem, ...]) -> Iterator[str]:
    for i, problem in enumerate(problems):
        yield from _lines("PROBLEM" if not i else "", str(problem))
        if problem.allowed:
            yield from _lines("", f"  allowed: {', '.join(problem.allowed)}")


def _remarks(warnings: tuple[Problem, ...]) -> Iterator[str]:
    for i, warning in enumerate(warnings):
        yield from _lines("NOTE" if not i else "", str(warning))


def _lines(label: str, text: str) -> list[str]:
    """The text in its column, with the label before its first line; lines that go on are indented further."""
    indent = " " * (LABEL + len(text) - len(text.lstrip()))
    found = wrap(text.lstrip(), WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    first = label.ljust(LABEL) + found[0][LABEL:] if found else label
    return [first, *found[1:]]


def _quoted(names: list[str]) -> str:
    """``"a", "b" and 3 more``"""
    shown = ", ".join(f'"{name}"' for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
