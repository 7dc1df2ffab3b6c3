"""From PersistentVolumeClaims, PersistentVolumes and classes to what a pod's reader looks up."""

from collections.abc import Mapping
from dataclasses import replace

from phalanx.dialects import nodefilter, owners
from phalanx.dialects.fields import Field
from phalanx.dialects.kindtable import POD
from phalanx.dialects.surroundings import Claim, StorageClass, Volume, identity


def claim(doc: Field) -> tuple[tuple[str, str], Claim]:
    """A claim as written: the volume it names is not looked up yet."""
    doc.at("spec").mapping()
    modes = [mode.value for mode in doc.at("spec", "accessModes").items()]
    owner = owners.controller(doc.aside())
    return identity(doc), Claim(
        volume=doc.at("spec", "volumeName").text(""),
        one_pod="ReadWriteOncePod" in modes,
        storage_class=doc.at("spec", "storageClassName").text(""),
        owner=owner.uid if owner is not None and owner.of_kind == POD else "",
        leaving=doc.at("metadata", "deletionTimestamp").present,
    )


def volume(doc: Field) -> tuple[str, Volume]:
    """A volume by its name."""
    doc.at("spec").mapping()
    affinity = doc.at("spec", "nodeAffinity")
    affinity.mapping()
    required = affinity.at("required")
    reachable = nodefilter.terms(required) if required.present else None
    return identity(doc)[1], Volume(reachable, doc.at("spec", "csi", "driver").text(""))


def join(claims: Mapping[tuple[str, str], Claim], volumes: Mapping[str, Volume]) -> dict[tuple[str, str], Claim]:
    """Claims with what is known of their volumes."""
    return {key: _joined(one, volumes.get(one.volume)) for key, one in claims.items()}


def _joined(claim: Claim, found: Volume | None) -> Claim:
    if found is None:
        return claim
    return replace(claim, known=True, reachable=found.reachable, driver=found.driver)


def storage_class(doc: Field) -> tuple[str, StorageClass]:
    mode = doc.at("volumeBindingMode").choice("Immediate", "Immediate", "WaitForFirstConsumer")
    return identity(doc)[1], StorageClass(mode == "WaitForFirstConsumer", doc.at("provisioner").text(""))


def priority_class(doc: Field) -> tuple[str, int, bool]:
    """Name, value, and whether pods that name no class get this one."""
    value = doc.at("value").integer(0, low=-(2**31))
    if not doc.at("value").present:
        doc.at("value").wrong("a PriorityClass needs a value")
    return identity(doc)[1], value, doc.at("globalDefault").flag(False)
