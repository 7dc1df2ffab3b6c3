"""LeaderWorkerSet: replicas of a leader with its workers, each a gang of its own.

Pod sets are ``main[i]/leader`` and ``main[i]/worker``, ranked together (the leader is 0), or ``main[i]`` without a
``leaderTemplate``. Decisions:

* By default, as with ``phalanx.dev/gang-mode: ReplicatedGang``, replicas start one by one (W-110, W-145, W-229); with
  ``Gang`` all at once; with ``Off`` every pod as it fits. Replicas of a roll-out's surge are more of the same: the
  StatefulSet of the leaders says how many there are, where it is there.
* ``startupPolicy: LeaderReady``: workers exist only once their leader is ready, so a gang of both would wait for ever.
  A replica is then content with its leader, which is still put where there is room for all if there is any. To
  ask for a gang is a Problem.
* ``spec.scheduling`` of the LeaderWorkerSet, or of its ``replica``, is read as the annotations that say the same.
* A level on the LeaderWorkerSet bounds each replica, and the whole set with ``Gang``. So does the annotation
  ``exclusive-topology``, always for a replica. Who is kept out of its domain, and that workers are then made only when
  their leader has a node, is added when it is a Request (``dialects.exclusive``).
* Templates that ask for the same share a group. Where they ask for different things, or for Kueue's levels without
  a common ``podset-group-name`` (Kueue then places leader and workers apart), the pod sets are ``leader[i]`` and
  ``worker[i]`` in a group ``main[i]``.
* Subgroups matter to placement only with ``subgroup-exclusive-topology`` or KAI's segments: slices where the pods are
  alike, else groups ``first`` (with the leader) and ``rest``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from phalanx.dialects import outline, owners, podsets, scheduled, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.jobspec import PODS_MAX
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.podsets import Part
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.dialects.wishes import Wish

_PREFIX = "leaderworkerset.sigs.k8s.io"
_RANK = {"rank": {"fieldPath": f"metadata.labels['{_PREFIX}/worker-index']"}}
_REPLICA = f"metadata.labels['{_PREFIX}/group-index']"
_SUBGROUP = f"metadata.labels['{_PREFIX}/subgroup-index']"
EXCLUSIVE = f"{_PREFIX}/exclusive-topology"
_SUBGROUP_EXCLUSIVE = f"{_PREFIX}/subgroup-exclusive-topology"
_AROUND = ("replica", "domain")  # names of groups around a replica's pods, outermost first

_SPEC = ("replicas", "leaderWorkerTemplate", "rolloutStrategy", "startupPolicy", "networkConfig", "scheduling")
_TEMPLATE = ("leaderTemplate", "workerTemplate", "size", "restartPolicy", "subGroupPolicy", "volumeClaimTemplates")
_RECREATED = ("RecreateGroupOnPodRestart", "RecreateGroupAfterStart")


@dataclass(frozen=True, slots=True)
class _Replica:
    """One replica: its templates with what they ask for. ``leader``: None without a template of its own."""

    size: int
    size_at: Field  # where it is written
    leader: Field | None
    worker: Field
    leader_wish: Wish
    wish: Wish  # of the workers
    labels: dict[str, str]
    loose: bool  # its pods do not wait for each other

    @property
    def templates(self) -> list[Field]:
        return [self.worker] if self.leader is None else [self.leader, self.worker]


@dataclass(frozen=True, slots=True)
class _Cut:
    """Subgroups that are each held in one domain. ``extra``: the leader comes on top of the first."""

    level: Field
    size: Field
    pods: int
    extra: bool
    leader_apart: bool


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a LeaderWorkerSet; None when it wants no pods."""
    namespace, name = identity(doc)
    doc = scheduled.of_replicas(doc, doc.at("spec", "replicas"), doc.at("spec", "leaderWorkerTemplate", "size"))
    metadata, spec = doc.at("metadata"), doc.at("spec")
    _check(doc)
    replica = _replica(doc, name, around)
    mode = _mode(doc, replica.size)
    _check_surge(spec.at("rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"), mode)
    if spec.at("replicas").integer(1) == 0:
        spec.at("replicas").remark("wants no pods now; nothing is placed")
        return None
    top = wishes.of_object(metadata, around.topologies)
    layers = [_exclusive(metadata)] if mode == "Gang" else [top, _exclusive(metadata)]
    copied = {"replicas": spec.at("replicas").meaning(_made(doc, mode, around)), "replicaKey": _REPLICA}
    pods = _pods(replica, _cut(doc, replica))
    if any(podsets.linked(one, namespace, around) for one in replica.templates):
        entries: list[Entry] = [{**one, **copied} for one in _plain(replica)]
    else:
        first, *others = _nested(pods, [layer for layer in layers if layer])
        entries = [{**first, **copied}, *others]
    on_pods = [one.at("metadata") for one in replica.templates]
    whole = {
        "queue": wishes.queue(metadata, on_pods),
        "priorityClassName": podsets.first(*podsets.priority_class(replica.templates)),
        "preemptible": wishes.preemptible(metadata, on_pods),
        "topologyName": wishes.topology_name(metadata, on_pods),
        **(top if mode == "Gang" else {}),
        "policy": "Gang" if mode == "Gang" else "Basic",
        "disruption": scheduled.disruption(doc) or _disruption(spec.at("leaderWorkerTemplate", "restartPolicy")),
        "podGroups": podsets.in_pool(entries, metadata),
    }
    return Outline("LeaderWorkerSet", namespace, name, whole)


def _made(doc: Field, mode: str, around: Surroundings) -> int:
    """How many replicas there are to be for now: a roll-out adds some, which only the set of leaders counts. (W-231)"""
    wanted, (namespace, name) = doc.at("spec", "replicas").integer(1), identity(doc)
    leaders = around.neighbours.find("apps", "StatefulSet", namespace, name)
    owner = None if leaders is None else owners.controller(leaders)
    if mode == "Gang" or leaders is None or owner is None or (owner.kind, owner.name) != ("LeaderWorkerSet", name):
        return wanted
    return max(wanted, leaders.at("spec", "replicas").integer(0))


# -- checks ------------------------------------------------------------------------------------------------------


def _check(doc: Field) -> None:
    spec, at = doc.at("spec"), doc.at("spec", "leaderWorkerTemplate")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.mapping()
    spec.typos(*_SPEC)
    if spec.at("groupPlacementPolicy").present:
        said = f"no release has this field; annotation {EXCLUSIVE} holds each replica in one domain of a level"
        spec.at("groupPlacementPolicy").wrong(said, (EXCLUSIVE,))
    if spec.at("scheduling").present and (exclusive := doc.at("metadata", "annotations", EXCLUSIVE)).present:
        exclusive.wrong(f"excludes {spec.at('scheduling').path}, which names levels itself")
    at.mapping()
    at.typos(*_TEMPLATE)
    wishes.check_our_keys(doc.at("metadata"), *wishes.on_object())
    podsets.check_template(at.at("workerTemplate"), "a LeaderWorkerSet")
    if at.at("leaderTemplate").present:
        podsets.check_template(at.at("leaderTemplate"), "a LeaderWorkerSet")
    else:
        wishes.refuse_group_name(at.at("workerTemplate", "metadata"))


def _replica(doc: Field, name: str, around: Surroundings) -> _Replica:
    at = doc.at("spec", "leaderWorkerTemplate")
    size = at.at("size").integer(1, low=1, high=PODS_MAX)
    leader = at.at("leaderTemplate") if at.at("leaderTemplate").present else None
    worker = at.at("workerTemplate")
    wish = wishes.of_template(worker.at("metadata"), around.topologies)
    asked = wish if leader is None else wishes.of_template(leader.at("metadata"), around.topologies)
    loose = _waits(doc, size) or doc.at("metadata", "annotations", wishes.GANG_MODE).value == "Off"
    found = _Replica(size, at.at("size"), leader, worker, asked, wish, {f"{_PREFIX}/name": name}, loose)
    podsets.check_kueue(found.templates)
    return found


def _waits(doc: Field, size: int) -> bool:
    """Whether workers are made only when their leader is ready."""
    at = doc.at("spec", "startupPolicy")
    return at.choice("LeaderCreated", "LeaderCreated", "LeaderReady") == "LeaderReady" and size > 1


def _mode(doc: Field, size: int) -> str:
    """``Gang``, ``ReplicatedGang`` or ``Off``."""
    metadata = doc.at("metadata")
    mode = wishes.mode(metadata)
    if not _waits(doc, size):
        return mode or "ReplicatedGang"
    if mode in ("Gang", "ReplicatedGang"):
        metadata.at("annotations", wishes.GANG_MODE).wrong(
            "with startupPolicy LeaderReady the workers are made when their leader is ready, so a gang of both would "
            "wait for ever; use LeaderCreated",
            ("Off",),
        )
    elif mode is None:
        doc.at("spec", "startupPolicy").warn(
            "workers are made when their leader is ready: a replica starts with its leader, workers follow as they fit"
        )
    return "Off"


def _check_surge(at: Field, mode: str) -> None:
    """Replicas of a roll-out beyond those wanted: a number or a part of a hundred."""
    text = at.value
    percent = isinstance(text, str) and text.endswith("%") and text[:-1].isascii() and text[:-1].isdigit()
    surge = percent and text != "0%" if isinstance(text, str) else bool(at.integer(0))
    if isinstance(text, str) and not percent:
        at.mistaken("is neither a whole number nor a percentage like 30%")
    elif surge and mode == "Gang":
        at.warn("replicas of a roll-out beyond those wanted are not part of the one gang")


def _disruption(at: Field) -> str | None:
    """Who goes together: the replica, where its controller makes it anew as a whole. (W-059)"""
    return "Group" if at.choice(_RECREATED[0], *_RECREATED, "None", "Default") in _RECREATED else None


def _exclusive(metadata: Field) -> Wish:
    """The level that each replica is to have a domain of for itself."""
    at = metadata.at("annotations", EXCLUSIVE)
    if not at.present:
        return {}
    at.warn(
        "each replica is held in one domain of this level; pods of other replicas are kept out of it, those of other "
        "workloads are not"
    )
    return {"topology": {"required": at}}


def exclusive(doc: Field) -> str | None:
    """The level of which each replica is to have a domain for itself, where LeaderWorkerSet is asked for it."""
    level = doc.at("metadata", "annotations", EXCLUSIVE).value
    return level if isinstance(level, str) else None


# -- subgroups ---------------------------------------------------------------------------------------------------


def _cut(doc: Field, replica: _Replica) -> _Cut | None:
    """Subgroups that have a level; None where there are none, or where they mean nothing to placement."""
    policy = doc.at("spec", "leaderWorkerTemplate", "subGroupPolicy")
    policy.mapping()
    policy.typos("subGroupPolicyType", "subGroupSize")
    kind = policy.at("subGroupPolicyType").choice("LeaderWorker", "LeaderWorker", "LeaderExcluded")
    size = policy.at("subGroupSize")
    size.integer(None, low=1)
    level, size = _level(doc, replica, size)
    pods = size.value if isinstance(size.value, int) and not isinstance(size.value, bool) else 0
    if pods < 1 or replica.size == 1 or not _divides(size, pods, replica.size, kind) or not level.present:
        return None
    if replica.wish.get("slices"):
        level.wrong("says how a replica is cut, and so do Kueue's slices on the pod template; leave one out")
        return None
    apart = kind == "LeaderExcluded"
    return _Cut(level, size, pods, not apart and (replica.size - 1) % pods == 0, apart)


def _level(doc: Field, replica: _Replica, size: Field) -> tuple[Field, Field]:
    """The level of subgroups and their size: from the annotation, else from KAI's segments."""
    at = doc.at("metadata", "annotations", _SUBGROUP_EXCLUSIVE)
    if not at.present:
        found = podsets.segments(replica.worker.at("metadata"), {}, size if size.present else None).get("slices")
        cut = found[0] if isinstance(found, list) else {}
        return cut.get("level", at), cut.get("size", size)
    if not size.present:
        at.wrong("needs spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize")
    else:
        at.warn("each subgroup is held in one domain of this level, not alone: other subgroups may be there too")
    return at, size


def _divides(at: Field, pods: int, size: int, kind: str) -> bool:
    """Whether subgroups of that many pods make up a replica, the leader inside, on top or apart."""
    workers_only = (size - 1) % pods == 0
    good = pods <= size and (workers_only or (kind == "LeaderWorker" and size % pods == 0))
    if not good:
        allowed = f"{size - 1}" if kind == "LeaderExcluded" else f"{size} or {size - 1}"
        at.mistaken(f"does not divide {allowed}, the pods of a replica")
    return good


# -- the pods of one replica -------------------------------------------------------------------------------------


def _pods(replica: _Replica, cut: _Cut | None) -> list[Entry]:
    """The entries of one replica, the outermost first and called ``main``."""
    if cut is None:
        return [_one(replica, replica.wish)] if _alike(replica) else _apart(replica, replica.wish)
    if cut.leader_apart:
        return _apart(replica, {**replica.wish, "slices": [{"level": cut.level, "size": cut.size}]})
    if not _alike(replica):
        cut.level.wrong("subgroups of a leader and workers that ask for different levels are not supported yet")
    if replica.leader is None and not cut.extra:
        return [_one(replica, {**replica.wish, "slices": [{"level": cut.level, "size": cut.size}]})]
    return _grouped(replica, cut)


def _alike(replica: _Replica) -> bool:
    """Whether leader and workers can be one group."""
    if replica.leader is None:
        return True
    names = [wishes.group_name(template.at("metadata")).value for template in replica.templates]
    joined = names[0] == names[1] and (names[0] is not None or not _of_kueue(replica))
    return joined and outline.plain(replica.leader_wish) == outline.plain(replica.wish) and "slices" not in replica.wish


def _of_kueue(replica: _Replica) -> bool:
    keys = (wishes.KUEUE.required, wishes.KUEUE.preferred)
    return any(one.at("metadata", "annotations", key).present for one in replica.templates for key in keys)


def _one(replica: _Replica, wish: Wish) -> Entry:
    least = {"minCount": outline.least_alone(wish)} if replica.loose else {}
    return {"name": "main", **_members(replica, replica.size), **least, **wish, **_RANK}


def _members(replica: _Replica, pods: int) -> dict[str, object]:
    """The leader and all workers but it, of that many pods."""
    worker = outline.template(replica.worker, replica.labels)
    if replica.leader is None:
        return {"count": replica.size_at.meaning(pods), "template": worker}
    leader = outline.template(replica.leader, replica.labels)
    classes = [{"name": "leader", "count": 1, "template": leader}]
    return {
        "podClasses": [
            *classes,
            *([{"name": "worker", "count": replica.size_at.meaning(pods - 1), "template": worker}] if pods > 1 else []),
        ]
    }


def _plain(replica: _Replica) -> list[Entry]:
    """The pods alone, where they name an object that says everything else of them."""
    if replica.leader is None:
        return [_leaf(replica, "main", replica.worker, replica.size, {})]
    leader = _leaf(replica, "leader", replica.leader, 1, {})
    workers = [_leaf(replica, "worker", replica.worker, replica.size - 1, {})] if replica.size > 1 else []
    return [leader, *workers]


def _apart(replica: _Replica, wish: Wish) -> list[Entry]:
    """Leader and workers as groups of their own."""
    leader = replica.leader if replica.leader is not None else replica.worker
    parts = [Part("leader", (leader,), (_leaf(replica, "leader", leader, 1, replica.leader_wish),))]
    if replica.size > 1:
        entry: Entry = {**_leaf(replica, "worker", replica.worker, replica.size - 1, wish), **_RANK}
        parts.append(Part("worker", (replica.worker,), (entry,)))
    below = podsets.together(parts) if replica.leader is not None else [one.entries[0] for one in parts]
    return [_inner(replica), *(one if "parent" in one else {**one, "parent": "main"} for one in below)]


def _leaf(replica: _Replica, name: str, template: Field, pods: int, wish: Wish) -> Entry:
    least = {"minCount": outline.least_alone(wish)} if replica.loose else {}
    made = outline.template(template, replica.labels)
    count = pods if name == "leader" else replica.size_at.meaning(pods)
    return {"name": name, "count": count, **least, **wish, "template": made}


def _inner(replica: _Replica) -> Entry:
    return {"name": "main", **({"minGroups": 1} if replica.loose else {})}


def _grouped(replica: _Replica, cut: _Cut) -> list[Entry]:
    """Subgroups as groups: one with the leader, and copies of one without."""
    held = {"topology": {"required": cut.level}, **_RANK}
    least = {"minCount": 1} if replica.loose else {}
    first = cut.pods + cut.extra
    entries: list[Entry] = [
        {**_inner(replica), **replica.wish},
        {"name": "first", "parent": "main", **_members(replica, first), **least, **held},
    ]
    if first == replica.size:
        return entries
    template = outline.template(replica.worker, replica.labels)
    copies = {"replicas": (replica.size - first) // cut.pods, "replicaKey": _SUBGROUP}
    rest = {"name": "rest", "parent": "main", **copies, "count": cut.pods, "template": template, **least, **held}
    return [*entries, rest]


def _nested(entries: list[Entry], layers: Sequence[Wish]) -> list[Entry]:
    """The entries inside a group for each further level; the last level goes onto ``main`` where that has none."""
    main, around = entries[0], list(layers)
    if around and not main.get("topology"):
        main = {**main, **around.pop()}
    outer: list[Entry] = []
    for name, layer in zip(_AROUND, around, strict=False):
        outer.append({"name": name, **layer, **({"parent": outer[-1]["name"]} if outer else {})})
    parent = {"parent": outer[-1]["name"]} if outer else {}
    return [*outer, {**main, **parent}, *entries[1:]]
