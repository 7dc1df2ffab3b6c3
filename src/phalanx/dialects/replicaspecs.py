"""Kubeflow's replica specs: a map from role (Master, Worker, Launcher ...) to a number of pods of one template.

MPIJob, PyTorchJob, TFJob and their like differ in the names of roles and little else. All pods of a job are one gang
(W-138); each role is a pod set with the role's name in lower case::

    pytorchReplicaSpecs:                         podGroups:
      Master: {template: ...}              ->    - {name: master, count: 1}
      Worker: {replicas: 7, template: ...}       - {name: worker, count: 7}

Decisions: ``schedulingPolicy.minAvailable`` counts all pods, and only workers may be fewer: the rest of a job is no
use without its master. Ranks are those of the role (label ``replica-index``), since that is what the pods carry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phalanx.dialects import outline, podsets, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.jobspec import PODS_MAX
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.podsets import Part
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.dialects.wishes import Wish

WORKER = "worker"
INDEX = "metadata.labels['training.kubeflow.org/replica-index']"

_SPEC = ("replicas", "template", "restartPolicy")
_POLICY = ("minAvailable", "queue", "minResources", "priorityClass", "scheduleTimeoutSeconds")


@dataclass(frozen=True, slots=True)
class Role:
    """One replica spec that wants pods. ``name``: in lower case."""

    name: str
    at: Field
    count: int

    @property
    def template(self) -> Field:
        return self.at.at("template")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Fewest workers that must start together, and most there may be; None: as many as are wanted."""

    least: Field | None = None
    most: Field | None = None


# -- reading roles -----------------------------------------------------------------------------------------------


def roles(specs: Field, types: Sequence[str], unset: Mapping[str, int] | None = None) -> list[Role]:
    """The roles that want pods, in the order of ``types``. ``unset``: pods of a role that says no number, if not 1."""
    if not specs.entries():
        specs.wrong("a job needs replica specs", types)
    known = {one.lower(): number for number, one in enumerate(types)}
    found: dict[int, Role] = {}
    for key, at in specs.entries():
        number = known.get(key.lower())
        if number is None:
            at.wrong(f"there is no role {key[:80]!r} in this kind of job", types)
        elif number in found:
            at.wrong(f"{types[number]} is given twice")
        elif at.mapping():
            found[number] = _role(at, types[number], (unset or {}).get(types[number], 1))
        else:
            at.wrong("a replica spec is a mapping of fields")
    return [found[number] for number in sorted(found) if found[number].count]


def _role(at: Field, kind: str, default: int) -> Role:
    at.typos(*_SPEC)
    podsets.check_template(at.at("template"), f"role {kind}")
    count = at.at("replicas").integer(default, high=PODS_MAX)
    if count == 0:
        at.at("replicas").remark(f"{kind} wants no pods")
    return Role(kind.lower(), at, count)


# -- how few -----------------------------------------------------------------------------------------------------


def policy(doc: Field) -> Field:
    """``runPolicy.schedulingPolicy``, checked."""
    at = doc.at("spec", "runPolicy", "schedulingPolicy")
    at.mapping()
    at.typos(*_POLICY)
    if at.at("minResources").present:
        at.at("minResources").warn("is not read; the pods themselves say what they need")
    return at


def least_workers(at: Field, found: Sequence[Role]) -> Field | None:
    """The workers that ``minAvailable``, at this field, leaves to be waited for; None: all."""
    least = at.integer(None, low=1)
    total = sum(role.count for role in found)
    workers = sum(role.count for role in found if role.name == WORKER)
    if least is None or least == total:
        return None
    if least > total:
        at.mistaken(f"is more than the {total} pods of the job")
        return None
    if not workers:
        at.warn("only workers may be fewer than wanted, and this job has none: all its pods are waited for")
        return None
    if least <= total - workers:
        at.warn(f"the {total - workers} pods beside the workers and one worker are waited for in any case")
    return at.meaning(max(1, least - (total - workers)))


# -- the normal form ---------------------------------------------------------------------------------------------


def loose(doc: Field) -> bool:
    """Whether ``phalanx.dev/gang-mode: Off`` lets the pods start as they fit."""
    metadata = doc.at("metadata")
    at = metadata.at("annotations", wishes.GANG_MODE)
    if at.value == "ReplicatedGang":
        at.wrong("this kind of job has no replicas to start one by one", ("Gang", "Off"))
        return False
    off = wishes.mode(metadata, "Gang", "Off") == "Off"
    if off and policy(doc).at("minAvailable").present:
        policy(doc).at("minAvailable").warn(f"is not read: {wishes.GANG_MODE} says Off")
    return off


def wish(role: Role, around: Surroundings) -> Wish:
    """What the role's pod template asks for."""
    metadata = role.template.at("metadata")
    own = wishes.of_template(metadata, around.topologies)
    return {**own, **podsets.segments(metadata, own)} if role.name == WORKER else own


def part(role: Role, job: str, around: Surroundings, bounds: Bounds, off: bool, ranked: bool = True) -> Part:
    """A role as a pod set of the job. ``off``: its pods do not wait for each other."""
    own = wish(role, around)
    workers = role.name == WORKER
    entry: Entry = {
        "name": role.name,
        "count": role.at.at("replicas").meaning(role.count),
        "minCount": outline.least_alone(own) if off else bounds.least if workers else None,
        "maxCount": bounds.most if workers else None,
        **own,
        **({"rank": {"fieldPath": INDEX}} if ranked else {}),
        "template": outline.template(role.template, labels(job, role.name)),
    }
    return Part(role.name, (role.template,), (entry,))


def labels(job: str, role: str) -> dict[str, str]:
    """What the operator puts on the pods of a role."""
    return {"training.kubeflow.org/job-name": job, "training.kubeflow.org/replica-type": role}


def workload(doc: Field, around: Surroundings, parts: Sequence[Part], together: bool) -> Outline | None:
    """The whole job; None when it wants no pods. ``together``: its roles start as one gang."""
    namespace, name = identity(doc)
    metadata, scheduling = doc.at("metadata"), policy(doc)
    wishes.check_our_keys(metadata, *wishes.on_object())
    if not parts:
        doc.at("spec").remark("wants no pods now; nothing is placed")
        return None
    templates = [template for one in parts for template in one.templates]
    on_pods = [one.at("metadata") for one in templates]
    podsets.check_kueue(templates)
    whole = {
        "queue": podsets.first(wishes.queue(metadata), scheduling.at("queue"), wishes.queue(metadata, on_pods)),
        "priorityClassName": podsets.first(scheduling.at("priorityClass"), *podsets.priority_class(templates)),
        "preemptible": wishes.preemptible(metadata, on_pods),
        "suspend": podsets.suspended(metadata, doc.at("spec", "runPolicy", "suspend")),
        "scheduleTimeoutSeconds": scheduling.at("scheduleTimeoutSeconds"),
        "topologyName": wishes.topology_name(metadata, on_pods),
        **wishes.of_object(metadata, around.topologies),
        "policy": "Gang" if together else "Basic",
        "podGroups": podsets.in_pool(podsets.together(parts), metadata),
    }
    return Outline(str(doc.at("kind").value), namespace, name, whole)
