"""Workloads that ask for domains of their own, with what their controllers then do to the pods they make.

::

    JobSet, exclusive-topology            index 0 of each Job; its webhook refuses the others until that has a node
    LeaderWorkerSet, exclusive-topology   the leader of each replica; its workers are made when that has a node

Both hold the others in the domain of the first, by the level that the annotation names. It is a required level, so the
places of the others, found with that of the first, are in the same one. Both write rules into the first that keep pods
of other Jobs (of other replicas) out of it. kube-scheduler follows these rules, so places are found by them too; they
are said in labels that the pods are known to have, for what the webhooks say is made of a hash. They tell domains by
the value of the level's label, and so do we: racks of one name in two blocks are one to these rules (decision 16).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phalanx.dialects import jobspec, recognised
from phalanx.dialects.fields import Field
from phalanx.dialects.jobset import gangconfig
from phalanx.dialects.kinds import lws
from phalanx.dialects.outline import Entry, Outline
from phalanx.model.nodes import LabelSelector, PodTerm, Requirement
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.topology import HOSTNAME, Topology

_JOB_SET, _JOB = f"{recognised.JOBSET}jobset-name", next(iter(jobspec.labels("")))
_TEXT_MAX = 400  # no label key is longer
_GROUP = f"{recognised.JOBSET}replicatedjob-name"
_SET, _REPLICA = f"{recognised.LWS}name", f"{recognised.LWS}group-index"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class _Alone:
    """A pod set in a domain of its own. ``first``: pods of it that are made at once. ``labels``: those that tell its
    pods from others; ``terms``: whom they are kept apart from."""

    first: int
    labels: Mapping[str, str]
    terms: tuple[PodTerm, ...]

    def applied(self, pods: PodSet) -> PodSet:
        labels = tuple(sorted({**dict(pods.shape.labels), **self.labels}.items()))
        shape = replace(pods.shape, labels=labels, anti_affinity=(*pods.shape.anti_affinity, *self.terms))
        return replace(pods, first=self.first, shape=shape)


def as_made(request: Request, doc: Field, topologies: Sequence[Topology]) -> Request:
    """The request, its pods as their controller makes them. ``doc``: the object it was read from."""
    names = [pods.name for pods in request.root.pod_sets()]
    topology = next((one for one in topologies if one.name == request.topology), None)
    if request.kind == "JobSet" and (levels := gangconfig.exclusive(doc)):
        labels = {name: _label(level, topology) for name, level in levels.items()}
        found = {name: _of_job(request, name, labels[_group(name)]) for name in names if _group(name) in labels}
        key = gangconfig.EXCLUSIVE
    elif request.kind == "LeaderWorkerSet" and (level := lws.exclusive(doc)):
        leaders = {_copy(name): name for name in reversed(names)}  # the set that each replica begins with
        label = _label(level, topology)
        found = {name: _of_replica(request, name, label, name == leaders[_copy(name)]) for name in names}
        key = lws.EXCLUSIVE
    else:
        return request
    return replace(request, root=_applied(request.root, found), exclusive=key)


def _label(level: str, topology: Topology | None) -> str:
    """The node label of a level, by whatever name it is called."""
    if topology is None:
        return HOSTNAME if level == "host" else level
    number = topology.level_number(level[:_TEXT_MAX], "")
    return topology.levels[number - 1].label if isinstance(number, int) else level


def as_written(outline: Outline, doc: Field) -> Outline:
    """The workload in plain values, for dialects whose pods no controller changes: templates have the rules themselves,
    as far as labels that are the same on all pods of a template can say them. Jobs of one replicated job are kept apart
    by the spread around them."""
    levels = gangconfig.exclusive(doc) if outline.kind == "JobSet" else {}
    one = lws.exclusive(doc) if outline.kind == "LeaderWorkerSet" else None
    groups = [_kept_apart(entry, outline, levels.get(str(entry.get("name")), one)) for entry in outline.groups]
    return replace(outline, spec={**outline.spec, "podGroups": groups}) if levels or one else outline


def says_alone(outline: Outline, doc: Field) -> bool:
    """Whether a workload asks for domains of its own."""
    is_lws = outline.kind == "LeaderWorkerSet"
    return bool(lws.exclusive(doc) if is_lws else outline.kind == "JobSet" and gangconfig.exclusive(doc))


def _kept_apart(entry: Entry, outline: Outline, level: str | None) -> Entry:
    template = entry.get("template")
    if level is None or not isinstance(template, Mapping):
        return entry
    if outline.kind == "JobSet":
        other = _expressions((_JOB_SET, "Exists", ()), (_JOB_SET, "NotIn", (outline.name,)))
        own = _expressions((_JOB_SET, "In", (outline.name,)), (_GROUP, "NotIn", (str(entry.get("name")),)))
        terms = [{**_term(level, one), "namespaceSelector": {}} for one in (other, own)]
    else:
        terms = [_term(level, _expressions((_SET, "Exists", ()), (_SET, "NotIn", (outline.name,))))]
    return {**entry, "template": _with_terms(template, terms)}


def _expressions(*requirements: tuple[str, str, tuple[str, ...]]) -> list[dict[str, Any]]:
    return [
        {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
        for key, operator, values in requirements
    ]


def _term(level: str, expressions: list[dict[str, Any]]) -> dict[str, Any]:
    return {"topologyKey": level, "labelSelector": {"matchExpressions": expressions}}


def _with_terms(template: Mapping[str, Any], terms: list[dict[str, Any]]) -> dict[str, Any]:
    """A pod template, kept apart from some more pods."""
    spec = template.get("spec") or {}
    affinity = spec.get("affinity") or {}
    apart = affinity.get("podAntiAffinity") or {}
    rules = [*(apart.get(_REQUIRED) or ()), *terms]
    whole = {**affinity, "podAntiAffinity": {**apart, _REQUIRED: rules}}
    return {**template, "spec": {**spec, "affinity": whole}}


def _of_job(request: Request, name: str, level: str) -> _Alone:
    """In every namespace, as JobSet has it."""
    job = f"{request.name}-{_group(name)}-{_copy(name)}"
    others = _selected((_JOB_SET, "Exists", ()), (_JOB, "NotIn", (job,)))
    return _Alone(1, {_JOB: job}, (PodTerm(level, others, None),))


def _of_replica(request: Request, name: str, level: str, leads: bool) -> _Alone:
    """In its own namespace, as LeaderWorkerSet has it."""
    replica, space = _copy(name), (request.namespace,)
    sets = _selected((_SET, "Exists", ()), (_SET, "NotIn", (request.name,)))
    replicas = _selected((_SET, "In", (request.name,)), (_REPLICA, "NotIn", (replica,)))
    return _Alone(int(leads), {_REPLICA: replica}, (PodTerm(level, sets, space), PodTerm(level, replicas, space)))


def _group(name: str) -> str:
    """The group of a pod set: ``workers`` of ``workers[1]``."""
    return name.partition("[")[0]


def _copy(name: str) -> str:
    """The outermost copy that a pod set is in: ``1`` of ``main[1]/leader``."""
    return name.partition("[")[2].partition("]")[0]


def _selected(*requirements: tuple[str, str, tuple[str, ...]]) -> LabelSelector:
    return LabelSelector(requirements=tuple(Requirement(*one) for one in requirements))


def _applied(group: Group, found: Mapping[str, _Alone]) -> Group:
    return replace(group, members=tuple(_member(one, found) for one in group.members))


def _member(one: Group | PodSet, found: Mapping[str, _Alone]) -> Group | PodSet:
    if isinstance(one, Group):
        return _applied(one, found)
    return found[one.name].applied(one) if one.name in found else one
