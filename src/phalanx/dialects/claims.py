"""Which PersistentVolumeClaims a pod has, and what they wait for.

::

    volumes:
    - persistentVolumeClaim: {claimName: data}      claim data, which may be made before the pod or after it
    - name: scratch
      ephemeral: {volumeClaimTemplate: ...}         claim <pod>-scratch, made for this pod once it is there
"""

from collections.abc import Iterator
from dataclasses import dataclass

from phalanx.dialects.fields import Field
from phalanx.dialects.kindtable import CLAIM, VOLUME
from phalanx.dialects.surroundings import Claim, Surroundings


@dataclass(frozen=True, slots=True)
class Wanted:
    """A claim that a pod names. ``at``: where it does. ``made_for``: uid of the pod, where the claim is made for it."""

    at: Field
    name: str
    made_for: str = ""

    def find(self, namespace: str, around: Surroundings) -> Claim | None:
        """The claim, if it is there and this pod's."""
        found = around.claims.get((namespace, self.name))
        return None if found is None or (self.made_for and found.owner != self.made_for) else found


def wanted(pod: Field) -> Iterator[Wanted]:
    """The claims of a pod, or of the pods that a template makes. Those of ephemeral volumes are named after the pod, so
    that a template has none."""
    metadata = pod.at("metadata")
    name, uid = metadata.at("name").value, metadata.at("uid").value
    for volume in pod.at("spec", "volumes").items():
        at, named = volume.at("persistentVolumeClaim", "claimName"), volume.at("name").value
        if isinstance(at.value, str) and at.value:
            yield Wanted(at, at.value)
        elif volume.at("ephemeral").present and isinstance(uid, str) and uid:
            yield Wanted(volume.at("ephemeral"), f"{name}-{named}", uid)


def alone(pod: Field) -> Field | None:
    """As much of a pod as tells its claims; None where it has none."""
    if not any(True for _ in wanted(pod)):
        return None
    metadata = {part: pod.at("metadata", part).value for part in ("name", "uid")}
    volumes = [one.value for one in pod.at("spec", "volumes").items() if _has_claim(one)]
    return Field.of({"metadata": metadata, "spec": {"volumes": volumes}})


def _has_claim(volume: Field) -> bool:
    return volume.at("persistentVolumeClaim").present or volume.at("ephemeral").present


def waits_for(one: Wanted, namespace: str, around: Surroundings, gated: bool) -> str:
    """What has to happen before a pod with this claim gets a node; empty: nothing. ``gated``: kube-scheduler does the
    last step, and has a volume made where the pod goes."""
    found = one.find(namespace, around)
    if found is None:
        return _why_not_there(one, namespace, around)
    if found.leaving:
        return f"claim {one.name}, which is being deleted"
    if found.volume:
        is_known = found.known or VOLUME in around.unread
        return "" if is_known else f"volume {found.volume} of claim {one.name}, which does not exist yet"
    known = around.classes.get(found.storage_class)
    if gated and (known is None or known.waits):
        return ""
    return f"claim {one.name}; it has no volume yet"


def _why_not_there(one: Wanted, namespace: str, around: Surroundings) -> str:
    if CLAIM in around.unread:
        return ""
    if (namespace, one.name) in around.claims:
        return f"claim {one.name}; the one of that name was not made for it"
    return f"claim {one.name}, which does not exist yet"
