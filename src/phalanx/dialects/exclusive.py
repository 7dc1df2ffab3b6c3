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

from phalanx.dialects import jobspec, recognised
from phalanx.dialects.fields import Field
from phalanx.dialects.jobset import gangconfig
from phalanx.dialects.kinds import lws
from phalanx.model.nodes import LabelSelector, PodTerm, Requirement
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.topology import HOSTNAME, Topology

_JOB_SET, _JOB = f"{recognised.JOBSET}jobset-name", next(iter(jobspec.labels("")))
_TEXT_MAX = 400  # no label key is longer
_SET, _REPLICA = f"{recognised.LWS}name", f"{recognised.LWS}group-index"


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
