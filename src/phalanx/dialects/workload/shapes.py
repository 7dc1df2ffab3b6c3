"""The five shapes of workloads that the designs name, and a Workload written out in full.

``classify`` tells the shape of a document of any kind. ``expand`` writes every level of a designs' Workload that its
author left out, so that all spellings of one thing come out the same (W-187)::

    podGroups:                                     replicaMode: Unreplicated
    - name: pg                                     gangGroups:
      policy: {kind: Gang, gang: {minCount: 8}}    - name: pg
                                                     gangMode: Gang
                                                     minCount: 8
                                                     rankedGroups:
                                                     - {name: pg, rankMode: "Off", eqGroups: [{name: pg}]}
"""

from enum import Enum

from phalanx.dialects import kindtable
from phalanx.dialects.fields import Field
from phalanx.dialects.kindtable import PodIdentity
from phalanx.dialects.members import amount
from phalanx.dialects.workload import nested
from phalanx.dialects.workload.nested import Counts, EqGroup, GangGroup, RankedGroup

_GANG_MODE = "phalanx.dev/gang-mode"


class Shape(Enum):
    """What a workload is made of. (W-182..W-186)"""

    REPLICATED_PODS = "equal pods, each on its own"
    ORDERED_PODS = "pods that start one after the other"
    SINGLE_GANG = "one gang, of one or several numberings"
    REPLICATED_GANGS = "several gangs that are alike"
    UNSPECIFIED = "not known in advance"


_BY_PODS = {
    PodIdentity.ALIKE: Shape.REPLICATED_PODS,
    PodIdentity.JOB_OF_JOBSET: Shape.SINGLE_GANG,
    PodIdentity.LEADER_AND_WORKERS: Shape.REPLICATED_GANGS,
    PodIdentity.ROLE: Shape.SINGLE_GANG,
    PodIdentity.TORCH_ROLE: Shape.SINGLE_GANG,
    PodIdentity.RAY_GROUP: Shape.SINGLE_GANG,
}
_BY_KIND = {
    "PodGroup": Shape.SINGLE_GANG,
    **{row.kind: _BY_PODS[row.pods] for row in kindtable.ROWS if row.pods in _BY_PODS and row.key != kindtable.POD},
}


def classify(doc: Field) -> Shape:
    """The shape of a document; kinds that say nothing of their pods in advance are unspecified."""
    kind, spec = doc.at("kind").value, doc.aside().at("spec")
    if kind == "StatefulSet":
        parallel = spec.at("podManagementPolicy").value == "Parallel"
        return Shape.SINGLE_GANG if parallel else Shape.ORDERED_PODS
    if kind == "Job":
        return _of_job(spec)
    if kind == "CronJob":
        return _of_job(spec.at("jobTemplate", "spec"))
    if kind == "JobSet":
        return _of_jobset(spec)
    if kind == "Workload":
        return _of_workload(spec)
    return _BY_KIND.get(str(kind), Shape.UNSPECIFIED)


def _of_job(spec: Field) -> Shape:
    """A Job whose pods are numbered and all run at once is a gang; else its pods are tasks of their own."""
    at_once = amount(spec.at("completions"), 1) == amount(spec.at("parallelism"), 1)
    indexed = spec.at("completionMode").value == "Indexed"
    return Shape.SINGLE_GANG if indexed and at_once else Shape.REPLICATED_PODS


def _of_jobset(spec: Field) -> Shape:
    for one in spec.at("replicatedJobs").items():
        said = (one.at("gangConfig", "gangMode"), one.at("template", "metadata", "annotations", _GANG_MODE))
        if any(at.value == "ReplicatedGang" for at in said):
            return Shape.REPLICATED_GANGS
    return Shape.SINGLE_GANG


def _of_workload(spec: Field) -> Shape:
    groups, mode = nested.read(spec), nested.mode(spec)
    if not groups:
        return Shape.UNSPECIFIED
    if mode == "ReplicatedGangs" or any(amount(one.replicas, 1) > 1 for one in groups):
        return Shape.REPLICATED_GANGS
    return Shape.SINGLE_GANG if any(one.gang for one in groups) else Shape.REPLICATED_PODS


# -- written out -------------------------------------------------------------------------------------------------


def expand(doc: Field) -> dict[str, object]:
    """The spec of a designs' Workload with all four levels, in one spelling. What is wrong with it is noted."""
    spec = doc.at("spec")
    groups = nested.read(spec)
    copied = any(amount(one.replicas, 1) > 1 for one in groups)
    said = ("controllerRef", "topologyRequest", "topologySpread", "replicaDisruptionPolicy")
    return {
        **_kept({name: spec.at(name) for name in said}),
        "replicaMode": nested.mode(spec) or ("ReplicatedGangs" if copied else "Unreplicated"),
        "gangGroups": [_gang_group(one) for one in groups],
    }


def _gang_group(one: GangGroup) -> dict[str, object]:
    own: dict[str, object] = {
        "topologyRequest": one.at.at("topologyRequest"),
        "replicas": one.replicas if amount(one.replicas, 1) > 1 else None,
        "scheduleTimeoutSeconds": one.timeout,
        "reschedulingPolicy": one.on_failure,
        **_counts(one.counts),
    }
    below = [_ranked_group(ranked) for ranked in one.ranked]
    mode = "Gang" if one.gang else "Off"
    return {"name": one.name, "gangMode": mode, **_kept(own), "rankedGroups": below}


def _ranked_group(one: RankedGroup) -> dict[str, object]:
    ranked = one.rank is not None
    own: dict[str, object] = {
        "podRank": one.at.at("podRank") if ranked else None,
        "rankPlacement": one.at.at("rankPlacement") if ranked else None,
        "topologyRequest": one.at.at("topologyRequest") if one.near is not None else None,
        **_counts(one.counts),
    }
    below = [_eq_group(equal) for equal in one.equals] or [{"name": one.name}]
    return {"name": one.name, "rankMode": "Ranked" if ranked else "Off", **_kept(own), "eqGroups": below}


def _eq_group(one: EqGroup) -> dict[str, object]:
    said = {name: one.at.at(name) for name in ("topologyRequest", "template", "maxTemplate")}
    return {"name": one.name, **_kept({**_counts(one.counts), **said})}


def _counts(counts: Counts) -> dict[str, object]:
    """A count is both bounds of its range (X-42)."""
    least = counts.least if counts.least.present else counts.count
    most = counts.most if counts.most.present else counts.count
    return {"minCount": least, "maxCount": most}


def _kept(made: dict[str, object]) -> dict[str, object]:
    """The entries that hold something, as values."""
    plain = {key: one.value if isinstance(one, Field) else one for key, one in made.items()}
    return {key: one for key, one in plain.items() if one is not None}
