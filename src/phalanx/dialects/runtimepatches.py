"""What a TrainJob changes in the pods of its runtime, in the spelling of any release of the trainer::

    podSpecOverrides:     [{targetJobs: [{name: node}], nodeSelector: ...}]
    podTemplateOverrides: [{targetJobs: [{name: node}], metadata: ..., spec: {nodeSelector: ...}}]
    runtimePatches:       [{trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: ...}]}}}}]

Labels, annotations, node selectors and affinities are merged, tolerations, gates and volumes added. Other changes mean
nothing to placement.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from phalanx.dialects.fields import Field

Made = dict[str, object]  # part of a document that is made of others, with Fields as values


@dataclass(frozen=True, slots=True)
class Patch:
    """A change to the pods of some replicated jobs. ``jobs``: where they are named; none for all of them."""

    jobs: tuple[Field, ...]
    metadata: Field
    spec: Field

    def is_for(self, job: str) -> bool:
        return not self.jobs or any(name.value == job for name in self.jobs)


def check_place(doc: Field) -> None:
    """A word about changes that stand below ``trainer``, where nobody looks for them."""
    for name in ("podTemplateOverrides", "podSpecOverrides", "runtimePatches"):
        at = doc.at("spec", "trainer", name)
        if at.present:
            at.warn(f"is not read here; it belongs to {doc.at('spec', name).path}", (f"spec.{name}",))


def of_pods(doc: Field, jobs: Sequence[str]) -> list[Patch]:
    """All changes to pods that a TrainJob asks for; a Problem for each of a job that the runtime has not."""
    spec = doc.at("spec")
    found = [Patch(_targets(at), at.at("metadata"), at.at("spec")) for at in spec.at("podTemplateOverrides").items()]
    found += [Patch(_targets(at), at.at("metadata"), at) for at in spec.at("podSpecOverrides").items()]
    for at in (at for template in _templates(doc) for at in template.at("spec", "replicatedJobs").items()):
        pods = at.at("template", "spec", "template")
        found.append(Patch((at.at("name"),), pods.at("metadata"), pods.at("spec")))
    for target in (target for one in found for target in one.jobs):
        if target.value not in jobs:
            target.mistaken("is not a replicated job of the runtime", jobs)
    return found


def of_jobset(doc: Field) -> list[Field]:
    """Changes to the metadata of the JobSet itself."""
    return [template.at("metadata") for template in _templates(doc)]


def _templates(doc: Field) -> list[Field]:
    return [at.at("trainingRuntimeSpec", "template") for at in doc.at("spec", "runtimePatches").items()]


def _targets(at: Field) -> tuple[Field, ...]:
    return tuple(one.at("name") for one in at.at("targetJobs").items())


def applied(template: Made, patches: Sequence[Patch], job: str) -> Made:
    """The pod template of a replicated job with the changes that are for it."""
    mine = [one for one in patches if one.is_for(job)]
    if not mine:
        return template
    before = Field.of(template, mine[0].spec.notes)
    metadata = [before.at("metadata"), *(one.metadata for one in mine)]
    specs = [before.at("spec"), *(one.spec for one in mine)]
    known = {part: merged([one.at(part) for one in metadata]) for part in ("labels", "annotations")}
    maps = {part: merged([one.at(part) for one in specs]) for part in ("nodeSelector", "affinity")}
    lists = {part: [at for one in specs for at in one.at(part).items()] for part in ("tolerations", "schedulingGates")}
    volumes = {at.at("name").value: at for one in specs for at in one.at("volumes").items() if _has_name(at)}
    return {
        "metadata": {**dict(metadata[0].entries()), **known},
        "spec": {**dict(specs[0].entries()), **maps, **lists, "volumes": list(volumes.values())},
    }


def merged(maps: Sequence[Field]) -> Made:
    """Maps one over the other, the last on top."""
    return {key: at for one in maps for key, at in one.entries()}


def _has_name(volume: Field) -> bool:
    return volume.mapping() and isinstance(volume.at("name").value, str)
