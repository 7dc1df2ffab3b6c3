"""The rules of a Gang, as far as the object alone can tell.

Whether a level exists, or lies above another, needs the Topology; a circle of three parents or more beside groups
without one costs more than the API server grants. Both are told by the reader, in the condition Valid.

One mistake is told once: a rule passes over what breaks another one.
"""

from phalanx.kube.crds.rules import Rule

_CHILD = "has(c.parent) && c.parent == g.name"  # c is a child of g
_COPIES = "(has(c.replicas) ? c.replicas : 1)"
_PODS = ("count", "minCount", "maxCount", "template", "podClasses", "slices", "rank")


def _any(holder: str, names: tuple[str, ...]) -> str:
    return " || ".join(f"has({holder}.{name})" for name in names)


def _told(message: str, culprits: str) -> str:
    """A message with the names of the groups that break a rule behind it."""
    return f"'{message}: %s'.format([self.filter(g, {culprits}).map(g, g.name)])"


# -- one group ---------------------------------------------------------------------------------------------------

ONE_LIMIT = Rule(
    "(has(self.maxPerDomain) ? 1 : 0) + (has(self.minDomains) ? 1 : 0) + (has(self.maxSkew) ? 1 : 0) == 1",
    "a spread has exactly one of maxPerDomain, minDomains, maxSkew",
)

RANK = (
    Rule(
        "has(self.withSameRankOf) == has(self.level)",
        "withSameRankOf and level are given together: whose ranks to sit with, and how close",
        ".level",
    ),
    Rule(
        "!has(self.order) || !(self.order in ['Stripe', 'Balance']) || has(self.across)",
        "orders Stripe and Balance need the level they go over",
        ".across",
    ),
)

DIVIDING = Rule(
    "self.map(s, -s.size).isSorted() && self.all(a, self.all(b, a.size % b.size == 0 || b.size % a.size == 0))",
    "slices run coarse to fine, and each size divides the one before",
)

SAME_CLASSES = Rule(
    "self.size() == oldSelf.size() && self.all(c, oldSelf.exists(o, o.name == c.name))",
    "classes cannot be added or taken away after the gang is made; their count can change",
    reason="FieldValueForbidden",
)

_CLASSES = "self.podClasses.map(c, has(c.count) ? c.count : 1).sum()"
_SLICED = "!has(self.slices) || self.slices.size() == 0"

GROUP = (
    Rule("!has(self.parent) || self.parent != self.name", "a group is not its own parent", ".parent"),
    Rule(
        "!has(self.minCount) || !has(self.count) || self.minCount <= self.count",
        "minCount is at most count",
        ".minCount",
    ),
    Rule(
        "!has(self.count) || !has(self.maxCount) || self.count <= self.maxCount",
        "count is at most maxCount",
        ".maxCount",
    ),
    Rule(
        "has(self.count) || !has(self.minCount) || !has(self.maxCount) || self.minCount <= self.maxCount",
        "minCount is at most maxCount",
        ".maxCount",
    ),
    Rule(
        f"!has(self.podClasses) || self.podClasses.size() == 0 || !has(self.count) || self.count == {_CLASSES}",
        "count differs from the pods of the classes together; leave it out",
        ".count",
    ),
    Rule(
        f"!has(self.podClasses) || self.podClasses.size() == 0 || ((!has(self.minCount) || self.minCount <= {_CLASSES})"
        f" && (!has(self.maxCount) || self.maxCount >= {_CLASSES}))",
        "minCount is at most, and maxCount at least, the pods of the classes together",
        ".podClasses",
    ),
    Rule(
        f"{_SLICED} || !has(self.count) || self.count % self.slices[0].size == 0",
        "count is a multiple of the size of the first slice",
        ".count",
    ),
    Rule(
        f"{_SLICED} || !has(self.minCount) || (has(self.count) && self.minCount == self.count)"
        " || self.minCount % self.slices[0].size == 0",
        "minCount is a multiple of the size of the first slice",
        ".minCount",
    ),
    Rule(
        "!has(self.minGroups) || !has(self.policy) || self.policy == 'Gang'",
        "with policy Basic no group waits for another, so minGroups means nothing here",
        ".minGroups",
    ),
)

# -- groups among each other -------------------------------------------------------------------------------------

_NO_PARENT = "has(g.parent) && !self.exists(p, p.name == g.parent)"
_PODS_AND_CHILDREN = f"({_any('g', _PODS)}) && self.exists(c, {_CHILD} && c.name != g.name)"
_POLICY_OVER_NOBODY = f"({_any('g', ('policy', 'minGroups'))}) && !self.exists(c, {_CHILD})"
_NO_PARTNER = (
    "has(g.rank) && has(g.rank.withSameRankOf) && !self.exists(o, o.name == g.rank.withSameRankOf && o.name != g.name"
    " && has(o.parent) == has(g.parent) && (!has(o.parent) || o.parent == g.parent))"
)
_TOO_MANY = (
    f"has(g.minGroups) && self.exists(c, {_CHILD}) && g.minGroups > self.filter(c, {_CHILD}).map(c, {_COPIES}).sum()"
)
_IN_LONG_CIRCLE = (  # or below one: its parent is there, another group, and no child of it
    "has(g.parent) && g.parent != g.name && self.exists(p, p.name == g.parent && has(p.parent) && p.parent != g.name)"
)


def _none(culprits: str, message: str) -> Rule:
    return Rule(f"!self.exists(g, {culprits})", message, tells=_told(message, culprits))


GROUPS = (
    Rule(
        "self.size() == oldSelf.size() && self.all(g, oldSelf.exists(o, o.name == g.name))",
        "groups cannot be added or taken away after the gang is made; their count can change",
        reason="FieldValueForbidden",
    ),
    _none(_NO_PARENT, "the parent is not a group of this gang"),
    Rule(
        f"self.size() == 0 || !self.all(g, {_IN_LONG_CIRCLE})",
        "the parents run in a circle: no group is without one",
    ),
    _none(
        "has(g.parent) && g.parent != g.name"
        " && self.exists(p, p.name == g.parent && has(p.parent) && p.parent == g.name)",
        "the parents run in a circle",
    ),
    _none(
        _PODS_AND_CHILDREN,
        "a group with children has no pods of its own, so count, template, slices and rank mean nothing here",
    ),
    _none(_POLICY_OVER_NOBODY, "a group without children has nobody whom policy and minGroups could mean"),
    _none(_NO_PARTNER, "withSameRankOf does not name another group with the same parent"),
    _none(_TOO_MANY, "minGroups is more than the children there are, copies counted"),
)

# -- the whole ---------------------------------------------------------------------------------------------------

_TOP = f"self.podGroups.filter(c, !has(c.parent)).map(c, {_COPIES}).sum()"

SPEC = (
    Rule(
        "!has(self.minGroups) || self.policy == 'Gang'",
        "with policy Basic no group waits for another, so minGroups means nothing here",
        ".minGroups",
    ),
    Rule(
        f"!has(self.minGroups) || {_TOP} == 0 || self.minGroups <= {_TOP}",
        "minGroups is more than the top groups there are, copies counted",
        ".minGroups",
    ),
    Rule(
        "self.podGroups.all(g, !has(g.replicaKey) || has(g.replicas) || (has(g.parent) ? self.podGroups.all(p, "
        "p.name != g.parent || (has(p.policy) && p.policy == 'Basic')) : self.policy == 'Basic'))",
        "replicaKey without replicas needs policy Basic around the group",
        ".podGroups",
    ),
)

QUEUE_WHILE_WAITING = Rule(
    "self.spec.queue == oldSelf.spec.queue || !has(oldSelf.status) || !has(oldSelf.status.conditions)"
    " || !oldSelf.status.conditions.exists(c, c.type in ['QuotaReserved', 'Scheduled'] && c.status == 'True')",
    "queue can change only while the gang waits; suspend it first",
    ".spec.queue",
    reason="FieldValueForbidden",
)
