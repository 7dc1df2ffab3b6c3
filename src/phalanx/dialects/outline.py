"""The normal form: every workload, whatever its dialect, as the spec of a Gang.

A reader turns its object into an Outline and decides nothing more; ``gang`` turns every Outline into Requests by
the same rules. Values of the spec may be Fields of the object it was read from, so that complaints name what the
user wrote::

    Job                                        Outline("Job", "default", "train", spec)
      annotations:                               topology: {required: <the annotation>}
        phalanx.dev/topology-required: rack      podGroups:
      spec:                                      - name: main
        parallelism: 8                             count: <spec.parallelism>
        template: ...                              template: <spec.template>
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.dialects.fields import Field

Entry = Mapping[str, object]  # one of podGroups


@dataclass(frozen=True, slots=True)
class Told:
    """A group whose pods are known only from those who name it: it needs so many, and so many are seen.

    ``groups``: groups are counted, not pods. ``pool``: whatever their shapes, its pods are counted together with those
    of all groups of the same pool; empty where what makes the pods tells how many there are of each shape.
    """

    group: str
    needed: int
    seen: int
    groups: bool = False
    pool: str = ""

    @property
    def is_short(self) -> bool:
        return self.seen < self.needed


@dataclass(frozen=True, slots=True)
class Outline:
    """One workload in normal form. ``spec``: as in a Gang, values may be Fields.

    ``priority``: the number, where Kubernetes has written it already. ``told``: what is known of groups from those who
    name them. ``copies``: of groups whose copies appear as their keys do, the keys that have appeared.
    """

    kind: str
    namespace: str
    name: str
    spec: Mapping[str, object]
    priority: int | None = None
    told: tuple[Told, ...] = ()
    copies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def groups(self) -> list[Entry]:
        """The entries of ``podGroups``, where the reader made them itself."""
        listed = self.spec.get("podGroups")
        return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def template(at: Field, labels: Mapping[str, str] | None = None) -> dict[str, object]:
    """A pod template (or a pod) as a group holds it, with the labels that its controller adds."""
    metadata = at.at("metadata")
    if not labels or not isinstance(metadata.at("labels").value, (dict, type(None))):
        return {"metadata": metadata, "spec": at.at("spec")}
    written = dict(metadata.at("labels").entries())
    known = {"labels": {**labels, **written}, "annotations": metadata.at("annotations")}
    return {"metadata": known, "spec": at.at("spec")}


def plain(value: object) -> object:
    """A value without Fields and without entries that hold nothing, as JSON would have it."""
    if isinstance(value, Field):
        return plain(value.value)
    if isinstance(value, Mapping):
        kept = {str(key): plain(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def least_alone(wish: Mapping[str, object]) -> object:
    """``minCount`` of pods that start as they fit: one of them, or one slice."""
    slices = wish.get("slices")
    first = slices[0] if isinstance(slices, list) and slices else None
    size = first.get("size") if isinstance(first, Mapping) else None
    return size.meaning(size.value) if isinstance(size, Field) and size.present else 1
