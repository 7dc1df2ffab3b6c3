"""The keys of labels and annotations that are read, all of them, and which one a misspelt key was meant to be.

A key is told about when its prefix is right and its name nearly so, or its name is right (or nearly) and its prefix is
much like the one it should have: ``phalanx.io/queue``, ``phalanks.dev/queue``. Everybody may have keys of their own, so
what is like none of ours is passed over, and so are the keys that others know under the same prefix.
"""

from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import lru_cache

from phalanx.dialects.fields import Field

READ: Mapping[str, tuple[str, ...]] = {
    "phalanx.dev": (
        "gang", "group", "replica", "queue", "gang-mode", "topology-required", "topology-preferred", "topology-name",
        "default-topology",
    ),
    "kueue.x-k8s.io": (
        "queue-name", "priority-class", "job-min-parallelism", "elastic-job", "pod-group-name", "pod-group-total-count",
        "workload", "podset", "podset-required-topology", "podset-preferred-topology", "podset-unconstrained-topology",
        "podset-slice-required-topology", "podset-slice-size", "podset-slice-required-topology-constraints",
        "podset-group-name",
    ),
    "kai.scheduler": (
        "queue", "topology", "topology-required-placement", "topology-preferred-placement", "subgroup-name",
        "segment-size", "segment-topology-required-placement", "segment-topology-preferred-placement", "node-pool",
        "min-member", "batch-min-member", "preemptibility", "preemption-delay", "staleness-grace-period",
    ),
    "alpha.jobset.sigs.k8s.io": ("exclusive-topology",),
    "leaderworkerset.sigs.k8s.io": ("exclusive-topology", "subgroup-exclusive-topology"),
    "ray.io": ("priority-class-name",),
}  # fmt: skip
_OF_OTHERS = {  # known there, and no slip of the finger
    "kueue.x-k8s.io": (
        "managed", "pod-group-pod-index", "pod-group-pod-index-label", "pod-group-serving", "pod-group-fast-admission",
        "pod-suspending-parent", "role-hash", "max-exec-time-seconds", "is-group-workload", "safe-to-forcefully-delete",
        "prebuilt-workload-name", "priority-boost", "workload-slice-name", "job-uid", "tas",
    ),
    "alpha.jobset.sigs.k8s.io": ("node-selector", "no-schedule"),
    "leaderworkerset.sigs.k8s.io": (
        "size", "replicas", "leader-name", "name", "group-index", "worker-index", "group-key", "subgroup-index",
        "subgroup-size", "subgroup-key", "subgroup-policy-type", "leader-requests-tpus", "template-revision-hash",
    ),
    "ray.io": ("group", "cluster", "node-type", "is-ray-node", "identifier", "cluster-name"),
}  # fmt: skip
_OURS = "phalanx.dev"  # each reader says itself what is a label and what is not
_LABELS = frozenset({  # all others are annotations
    "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/podset", "kai.scheduler/queue",
    "kai.scheduler/subgroup-name", "kai.scheduler/node-pool", "kai.scheduler/preemptibility",
    "ray.io/priority-class-name",
})  # fmt: skip
_EITHER = frozenset({  # told of wherever they stand, or not ours to tell of
    "kueue.x-k8s.io/priority-class", "kueue.x-k8s.io/elastic-job", "kai.scheduler/preemption-delay",
    "kai.scheduler/staleness-grace-period",
})  # fmt: skip
_NAME, _PREFIX = 0.86, 0.8  # how much alike two names, or two prefixes, are that one of them was meant for the other
_SHARED = frozenset({"io", "dev", "com", "org", "net", "k8s", "x-k8s", "sigs", "alpha", "scheduler"})


def note_typos(metadata: Field, told: tuple[str, ...] = ()) -> None:
    """A warning for each label and annotation whose key is much like one that is read, and is not, and for each label
    that would be read as an annotation, or the other way round. ``told``: what keys begin with of which everything is
    said elsewhere."""
    for part, other in (("labels", "annotations"), ("annotations", "labels")):
        at = metadata.at(part)
        for key, value in at.entries() if isinstance(at.value, dict) else ():
            close = None if key.startswith(told) else meant(key)
            if close is not None:
                value.warn(f"is not read; did you mean {close}?", (close,))
            elif _belongs_to(other, key) and not metadata.at(other, key).present:
                value.warn(f"is not read as one of the {part}; it belongs in {metadata.at(other).path}")


def _belongs_to(part: str, key: str) -> bool:
    """Whether this is read, and in that part of the metadata alone."""
    prefix, _, name = key.rpartition("/")
    is_read = prefix != _OURS and name in READ.get(prefix, ()) and key not in _EITHER
    return is_read and (key in _LABELS) == (part == "labels")


@lru_cache(maxsize=8192)  # pods by the thousand have the same few
def meant(key: str) -> str | None:
    """The key that a person meant who wrote this one; None where it is right, or somebody else's."""
    prefix, slash, name = key[:120].rpartition("/")
    if not slash or name in READ.get(prefix, ()) or name in _OF_OTHERS.get(prefix, ()):
        return None
    if prefix in READ:
        return _nearest(prefix, name)
    able = [known for known in READ if _is_like(prefix, known) and name not in _OF_OTHERS.get(known, ())]
    found = [close for known in able if (close := _nearest(known, name)) is not None]
    return max(found, key=lambda close: _alike(key, close), default=None)


def _nearest(prefix: str, name: str) -> str | None:
    """The key of a prefix whose name is most like this one, where any is enough."""
    alike, close = max((_alike(name, known), known) for known in READ[prefix])
    return f"{prefix}/{close}" if alike >= _NAME else None


def _is_like(prefix: str, known: str) -> bool:
    """Whether one prefix is much like another, or has its telling part: ``phalanx`` in ``phalanx.io``."""
    telling = set(known.split(".")) - _SHARED
    return bool(telling & set(prefix.split("."))) or _alike(prefix, known) >= _PREFIX


def _alike(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()
