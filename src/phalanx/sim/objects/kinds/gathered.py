"""Pods that people or other programs make one by one, and what gathers them in each dialect."""

from collections.abc import Callable
from random import Random

from phalanx.sim.objects import templates
from phalanx.sim.objects.drawn import Doc, Drawn, Made, Role
from phalanx.sim.objects.kinds.row import Fields, Row
from phalanx.sim.objects.places import LEVELS, TOPOLOGY

UPSTREAM, KAI, OURS = "scheduling.k8s.io/v1beta1", "scheduling.run.ai/v2alpha2", "phalanx.dev/v1alpha1"
COMPOSITE = "scheduling.k8s.io/v1alpha3"
Linked = Callable[[Drawn, Role], Doc]  # what a pod of a role carries: labels, annotations and fields of its spec


def roles(chance: Random) -> Fields:
    """One shape or two."""
    gpus = chance.sample((1, 2, 3, 4), 2)
    counts = [chance.randint(1, 3) for _ in gpus]
    several = chance.random() < 0.6
    found = [Role(name, count, amount) for name, count, amount in zip("ab", counts, gpus, strict=True)]
    return {"roles": tuple(found if several else found[:1]), "remade": chance.random() < 0.6}


def _any_of(chance: Random) -> Fields:
    """The group counts its pods, and knows no roles."""
    fields = roles(chance)
    size = sum(role.count for role in fields["roles"])
    return {**fields, "any_of": size if chance.random() < 0.7 else chance.randint(1, size)}


def _all_of(chance: Random) -> Fields:
    """The group counts its pods, and all of them are needed."""
    fields = roles(chance)
    return {**fields, "any_of": sum(role.count for role in fields["roles"]), "level_of_role": True}


def pods(drawn: Drawn, made: str, link: Linked, copies: int = 1) -> tuple[Doc, ...]:
    """All pods of a workload, by role and number."""
    found = []
    for role in drawn.roles:
        carries = link(drawn, role)
        template = templates.template(
            drawn, made, role, carries.get("annotations"), carries.get("labels"), **carries.get("spec", {})
        )
        for number in range(role.count * copies):
            found.append(templates.pod(drawn, made, role, f"{drawn.name}-{role.name}-{number}", template))
    return tuple(found)


# -- upstream ----------------------------------------------------------------------------------------------------


def _near(level: str | None) -> Doc:
    return {"schedulingConstraints": {"topology": [{"key": LEVELS[level]}]}} if level else {}


def _in_pod_group(name: str) -> Linked:
    return lambda drawn, role: {"spec": {"schedulingGroup": {"podGroupName": name}}}


def _pod_group(drawn: Drawn, made: str) -> Made:
    spec = {"schedulingPolicy": {"gang": {"minCount": drawn.any_of}}, **_near(drawn.level)}
    group = templates.grouping(drawn, UPSTREAM, "PodGroup", spec)
    return Made((group,), pods(drawn, made, _in_pod_group(drawn.name)))


def _basic_pod_group(drawn: Drawn, made: str) -> Made:
    group = templates.grouping(drawn, UPSTREAM, "PodGroup", {"schedulingPolicy": {"basic": {}}})
    return Made((group,), pods(drawn, made, _in_pod_group(drawn.name)))


def _composite(drawn: Drawn, made: str) -> Made:
    """A PodGroup for each role, and all of them together."""
    ref = {"workloadRef": {"workloadName": drawn.name, "templateName": "t"}}
    policy = {"schedulingPolicy": {"gang": {"minGroupCount": len(drawn.roles)}}}
    top = templates.grouping(drawn, COMPOSITE, "CompositePodGroup", {**policy, **_near(drawn.level), **ref})
    groups = [
        templates.grouping(
            drawn, COMPOSITE, "PodGroup",
            {"schedulingPolicy": {"gang": {"minCount": role.needed}}, "parentCompositePodGroupName": drawn.name, **ref},
            f"{drawn.name}-{role.name}",
        )
        for role in drawn.roles
    ]  # fmt: skip
    link: Linked = lambda drawn, role: _in_pod_group(f"{drawn.name}-{role.name}")(drawn, role)  # noqa: E731
    return Made((top, *groups), pods(drawn, made, link))


# -- KAI ---------------------------------------------------------------------------------------------------------


def _kai_near(level: str | None) -> Doc:
    wanted = {"requiredTopologyLevel": LEVELS[level], "topology": TOPOLOGY} if level else None
    return {"topologyConstraint": wanted} if wanted else {}


def _kai(drawn: Drawn, made: str) -> Made:
    group = templates.grouping(drawn, KAI, "PodGroup", {"minMember": drawn.any_of, **_kai_near(drawn.level)})
    link: Linked = lambda drawn, role: {"annotations": {"pod-group-name": drawn.name}}  # noqa: E731
    return Made((group,), pods(drawn, made, link))


def _kai_sub_groups(drawn: Drawn, made: str) -> Made:
    listed = [{"name": role.name, "minMember": role.needed} for role in drawn.roles]
    group = templates.grouping(drawn, KAI, "PodGroup", {
        "minMember": sum(role.needed for role in drawn.roles), "subGroups": listed, **_kai_near(drawn.level),
    })  # fmt: skip

    def link(drawn: Drawn, role: Role) -> Doc:
        return {
            "annotations": {"pod-group-name": drawn.name}, "labels": {"kai.scheduler/subgroup-name": role.name},
        }  # fmt: skip

    return Made((group,), pods(drawn, made, link))


# -- ours --------------------------------------------------------------------------------------------------------


def _in_gang(drawn: Drawn, role: Role) -> Doc:
    return {"labels": {"phalanx.dev/gang": drawn.name, "phalanx.dev/group": role.name}}


def _gang(drawn: Drawn, made: str) -> Made:
    listed = []
    for role in drawn.roles:
        entry: Doc = {"name": role.name, "count": role.count, "minCount": role.needed}
        if "templates" in drawn.says:
            entry["template"] = {"spec": templates.template(drawn, made, role)["spec"]}
        listed.append(entry)
    near = {"topology": {"required": drawn.level}} if drawn.level else {}
    own: Doc = {"podGroups": listed, **near}
    return Made((templates.grouping(drawn, OURS, "Gang", own),), pods(drawn, made, _in_gang))


def _drawn_gang(chance: Random) -> Fields:
    return {**_leasts(chance), "says": chance.choice((("templates",), ()))}


def _leasts(chance: Random) -> Fields:
    """Roles some of which can do with fewer pods."""
    fields = roles(chance)
    found = [
        Role(one.name, one.count, one.gpus, chance.randint(1, one.count) if chance.random() < 0.3 else None)
        for one in fields["roles"]
    ]
    return {**fields, "roles": tuple(found)}


# -- Kueue -------------------------------------------------------------------------------------------------------


def _kueue(drawn: Drawn, made: str) -> Made:
    """A group of plain pods, which has no object."""
    notes = {"kueue.x-k8s.io/pod-group-total-count": str(drawn.size)}
    notes |= {"kueue.x-k8s.io/podset-required-topology": LEVELS[drawn.level]} if drawn.level else {}
    labels = {"kueue.x-k8s.io/pod-group-name": drawn.name}
    labels |= {templates.QUEUE: drawn.queue} if drawn.queue else {}
    return Made((), pods(drawn, made, lambda drawn, role: {"annotations": notes, "labels": labels}))


ROWS = {
    "PodGroup": Row(_pod_group, _any_of, by_hand=True, resized=True),
    "PodGroup, basic": Row(
        _basic_pod_group, lambda chance: {**roles(chance), "together": False, "level": None}, by_hand=True
    ),
    "CompositePodGroup": Row(_composite, _leasts, by_hand=True),
    "PodGroup of KAI": Row(_kai, _any_of, by_hand=True, resized=True),
    "PodGroup of KAI with subgroups": Row(_kai_sub_groups, _leasts, by_hand=True),
    "Gang": Row(_gang, _drawn_gang, by_hand=True, resized=True),
    "pods of Kueue": Row(_kueue, _all_of, by_hand=True),
}
