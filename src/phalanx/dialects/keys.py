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
_NAME, _PREFIX = 0.86, 0.8  # how much alike two names, or two prefixes, are that one of them was meant for the other
_SHARED = frozenset({"io", "dev", "com", "org", "net", "k8s", "x-k8s", "sigs", "alpha", "scheduler"})


def note_typos(metadata: Field, told: tuple[str, ...] = ()) -> None:
    """A warning for each label and annotation whose key is much like one that is read, and is not. ``told``: what keys
    begin with of which everything is said elsewhere."""
    for at in (metadata.at("labels"), metadata.at("annotations")):
        for key, value in at.entries() if isinstance(at.value, dict) else ():
            close = None if key.startswith(told) else meant(key)
            if close is not None:
                value.warn(f"is not read; did you mean {close}?", (close,))


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
