"""Ray: RayCluster, and RayJob and RayService, which make one each.

Pod sets are ``head`` and one per worker group, by its name; all are one gang. Decisions:

* The fewest workers a group needs are its ``minReplicas``. None written, or 0 (which is what the API server writes
  where nobody did): all of them, unless Ray's autoscaler runs. With it the group may come later, and is placed with
  the others if it fits.
* ``numOfHosts`` above 1: the hosts of one worker start together. Copies ``GROUP[i]`` stand in a group ``all-GROUP``
  that waits for ``minReplicas`` of them. With slices, which say how pods stand together, the group is one pod set.
* KAI's annotations are read from the templates too, as KAI does for Ray.
* The autoscaler is a container of the head pod and is counted. The pod that submits a RayJob is not, and a warning
  says so: it exists only when the cluster runs.
* A RayJob that uses a cluster by ``clusterSelector`` has nothing to place.
"""

from dataclasses import dataclass

from phalanx.dialects import outline, podsets, wishes
from phalanx.dialects.fields import INT_MAX, Field
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.podsets import Part
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.dialects.wishes import Wish

_HEAD = "head"
_REPLICA = "metadata.labels['ray.io/worker-group-replica-index']"
_PRIORITY = "ray.io/priority-class-name"
_AUTOSCALER = {"cpu": "500m", "memory": "512Mi"}  # what the operator gives it

_CLUSTER = ("headGroupSpec", "workerGroupSpecs", "enableInTreeAutoscaling", "autoscalerOptions", "suspend")
_GROUP = ("groupName", "replicas", "minReplicas", "maxReplicas", "numOfHosts", "template", "suspend")
_JOB = ("rayClusterSpec", "clusterSelector", "submissionMode", "suspend", "submitterPodTemplate")
_SUBMISSIONS = ("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode")


@dataclass(frozen=True, slots=True)
class _How:
    """What holds for all pod sets of a cluster. ``name``: None where the operator makes one up."""

    around: Surroundings
    name: str | None
    scaled: bool  # by Ray's autoscaler
    loose: bool  # pods do not wait for each other

    def labels(self, kind: str, group: str) -> dict[str, str]:
        """What the operator puts on pods."""
        known = {"ray.io/is-ray-node": "yes", "ray.io/node-type": kind, "ray.io/group": group}
        return known if self.name is None else {**known, "ray.io/cluster": self.name}


@dataclass(frozen=True, slots=True)
class _Workers:
    """Workers of one group, each of ``hosts`` pods. ``least``: 0 when the gang starts without them."""

    at: Field
    name: str
    count: int
    least: int
    most: int
    hosts: int


# -- the three kinds ---------------------------------------------------------------------------------------------


def read_cluster(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a RayCluster."""
    _, name = identity(doc)
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    return _read(doc, doc.at("spec"), doc.at("spec", "suspend"), name, around)


def read_job(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a RayJob: its cluster's; None when it runs on one that is there already."""
    spec = doc.at("spec")
    identity(doc)
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.typos(*_JOB)
    if spec.at("clusterSelector").entries():
        spec.at("clusterSelector").warn("it runs on a RayCluster that is there already; nothing is placed")
        return None
    _warn_of_submitter(spec.at("submissionMode"))
    cluster = spec.at("rayClusterSpec")
    suspend = spec.at("suspend") if spec.at("suspend").flag(False) else cluster.at("suspend")
    return _read(doc, cluster, suspend, None, around)


def read_service(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a RayService: its cluster's."""
    cluster = doc.at("spec", "rayClusterConfig")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    doc.at("spec").typos("rayClusterConfig", "serveConfigV2")
    return _read(doc, cluster, cluster.at("suspend"), None, around)


def _warn_of_submitter(at: Field) -> None:
    mode = at.choice(_SUBMISSIONS[0], *_SUBMISSIONS)
    if mode == "K8sJobMode":
        at.warn("the pod that submits the job is made when the cluster runs, and is not counted")
    elif mode == "SidecarMode":
        at.warn("the container that submits the job runs in the head pod, and is not counted")


# -- the cluster -------------------------------------------------------------------------------------------------


def _read(doc: Field, cluster: Field, suspend: Field, name: str | None, around: Surroundings) -> Outline | None:
    namespace, own_name = identity(doc)
    metadata = doc.at("metadata")
    wishes.check_our_keys(metadata, *wishes.on_object())
    if not cluster.mapping():
        cluster.wrong("there is no Ray cluster to place")
        return None
    cluster.typos(*_CLUSTER)
    how = _How(around, name, cluster.at("enableInTreeAutoscaling").flag(False), _loose(metadata))
    groups = [_workers(at, how) for at in cluster.at("workerGroupSpecs").items()]
    parts = [_head(cluster, how), *(_part(one, how) for one in groups if one is not None)]
    templates = [template for part in parts for template in part.templates]
    on_pods = [one.at("metadata") for one in templates]
    podsets.check_kueue(templates)
    whole = {
        "queue": wishes.queue(metadata, on_pods),
        "priorityClassName": podsets.first(metadata.at("labels", _PRIORITY), *podsets.priority_class(templates)),
        "preemptible": wishes.preemptible(metadata, on_pods),
        "suspend": podsets.suspended(metadata, suspend),
        "topologyName": wishes.topology_name(metadata, on_pods),
        **wishes.of_object(metadata, around.topologies),
        "policy": "Basic" if how.loose else "Gang",
        "podGroups": podsets.in_pool(podsets.together(parts), metadata),
    }
    return Outline(str(doc.at("kind").value), namespace, own_name, whole)


def _loose(metadata: Field) -> bool:
    at = metadata.at("annotations", wishes.GANG_MODE)
    if at.value == "ReplicatedGang":
        at.wrong("a Ray cluster has no replicas to start one by one", ("Gang", "Off"))
        return False
    return wishes.mode(metadata, "Gang", "Off") == "Off"


# -- the head ----------------------------------------------------------------------------------------------------


def _head(cluster: Field, how: _How) -> Part:
    at = cluster.at("headGroupSpec")
    if not at.present:
        at.wrong("a Ray cluster needs a head")
    at.mapping()
    at.typos("template", "rayStartParams")
    template = at.at("template")
    if at.present:
        podsets.check_template(template, "the head")
    made = outline.template(template, how.labels(_HEAD, "headgroup"))
    if how.scaled:
        made = {**made, "spec": _with_autoscaler(template.at("spec"), cluster.at("autoscalerOptions", "resources"))}
    entry: Entry = {"name": _HEAD, "count": 1, **_wish(template, how), "template": made}
    return Part(_HEAD, (template,), (entry,))


def _with_autoscaler(spec: Field, resources: Field) -> dict[str, object]:
    """A head's pod spec with the container that the operator adds."""
    known = {"requests": _AUTOSCALER, "limits": _AUTOSCALER}
    sidecar = {"name": "autoscaler", "resources": resources if resources.present else known}
    return {**dict(spec.entries()), "containers": [*spec.at("containers").items(), sidecar]}


def _wish(template: Field, how: _How) -> Wish:
    return wishes.of_pod(template.at("metadata"), how.around.topologies)


# -- worker groups -----------------------------------------------------------------------------------------------


def _workers(at: Field, how: _How) -> _Workers | None:
    """A worker group; None, with a warning, when it wants no pods."""
    at.mapping()
    at.typos(*_GROUP)
    name = _name(at.at("groupName"))
    podsets.check_template(at.at("template"), "a worker group")
    if at.at("suspend").flag(False):
        at.at("suspend").warn("the worker group is suspended; none of its pods are placed")
    if name is None or at.at("suspend").value is True:
        return None
    low, high = at.at("minReplicas").integer(0), at.at("maxReplicas").integer(INT_MAX)
    if low > high:
        at.at("minReplicas").mistaken(f"is more than maxReplicas {high}")
    count = _count(at.at("replicas"), low, high)
    if count == 0:
        at.at("replicas").remark("the worker group wants no pods now")
        return None
    least = min(low, count) or (0 if how.scaled else count)
    return _Workers(at, name, count, least, max(count, high), at.at("numOfHosts").integer(1, low=1))


def _name(at: Field) -> str | None:
    if not at.present:
        at.wrong("a worker group needs a name")
    return at.name(None)


def _count(at: Field, low: int, high: int) -> int:
    """Workers wanted, as the operator bounds them."""
    wanted = at.integer(low)
    count = max(low, min(wanted, high))
    if count != wanted:
        at.warn(f"is kept between minReplicas {low} and maxReplicas {high}: {count} are placed")
    return count


def _part(workers: _Workers, how: _How) -> Part:
    template = workers.at.at("template")
    wish = _wish(template, how)
    made = outline.template(template, how.labels("worker", workers.name))
    whole = workers.hosts == 1 or "slices" in wish
    entries = _pods(workers, how, wish, made) if whole else _copies(workers, how, wish, made)
    return Part(workers.name, (template,), entries)


def _pods(workers: _Workers, how: _How, wish: Wish, template: dict[str, object]) -> tuple[Entry, ...]:
    """A group as one pod set; inside a group that waits for none where the gang starts without it."""
    hosts, alone = workers.hosts, how.loose or workers.least == 0
    pods = {
        "name": workers.at.at("groupName"),
        "count": workers.at.at("replicas").meaning(workers.count * hosts),
        "minCount": outline.least_alone(wish) if alone else workers.at.at("minReplicas").meaning(workers.least * hosts),
        "maxCount": None if workers.most * hosts >= INT_MAX else workers.most * hosts,
        "template": template,
    }
    if how.loose or workers.least:
        return ({**pods, **wish},)
    inside = {key: value for key, value in wish.items() if key != "topology"}
    outer = {"name": f"later-{workers.name}", "policy": "Basic", "topology": wish.get("topology")}
    return outer, {**pods, **inside, "parent": outer["name"]}


def _copies(workers: _Workers, how: _How, wish: Wish, template: dict[str, object]) -> tuple[Entry, ...]:
    """A group of workers with several hosts each: a copy per worker, in a group that waits for the fewest."""
    outer: dict[str, object] = {"name": f"all-{workers.name}", **wish}
    if how.loose or not workers.least:
        outer["policy"] = "Basic"
    else:
        outer["minGroups"] = workers.at.at("minReplicas").meaning(workers.least)
    copy = {
        "name": workers.at.at("groupName"),
        "parent": outer["name"],
        "replicas": workers.at.at("replicas").meaning(workers.count),
        "replicaKey": _REPLICA,
        "count": workers.at.at("numOfHosts"),
        "template": template,
    }
    return outer, copy
