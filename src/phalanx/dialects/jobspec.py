"""The spec of a Job as a group of pods; also for kinds that make Jobs."""

from phalanx.dialects.fields import INT_MAX, Field

PODS_MAX = 1_000_000  # pods of one request
INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"

_READ = ("parallelism", "completions", "completionMode", "template", "suspend", "backoffLimit", "selector")


def check(spec: Field) -> None:
    """Notes misspelt fields and a template without containers."""
    template = spec.at("template")
    spec.typos(*_READ)
    template.typos("metadata", "spec")
    if template.mapping() and not template.at("spec", "containers").items():
        template.at("spec", "containers").wrong("a pod has at least one container")
    if not template.present:
        template.wrong("a Job needs a pod template")


def pods(spec: Field) -> int:
    """Pods that run at once: parallelism, but no more than completions (X-21)."""
    parallelism = spec.at("parallelism").integer(1, high=PODS_MAX)
    completions = spec.at("completions").integer(parallelism, high=INT_MAX)
    return min(parallelism, completions)


def in_turns(spec: Field) -> bool:
    """Whether its pods never all run at once: a bag of tasks. (W-139)"""
    parallelism, completions = spec.at("parallelism").aside(), spec.at("completions").aside()
    return completions.present and 0 < parallelism.integer(1) < completions.integer(0)


def warn_of_turns(spec: Field, pods: int) -> None:
    """Where such a Job is a gang all the same: only those that run at once can be."""
    if in_turns(spec):
        spec.at("parallelism").warn(
            f"{pods} of {spec.at('completions').value} pods run at once: the first are placed together, "
            "the rest one by one"
        )


def indexed(spec: Field) -> bool:
    return spec.at("completionMode").choice("NonIndexed", "NonIndexed", "Indexed") == "Indexed"


def rank(spec: Field) -> dict[str, object]:
    """``rank`` of the normal form: indexed Jobs number their pods, and neighbours talk to each other."""
    return {"rank": {"fieldPath": INDEX}} if indexed(spec) else {}


def labels(name: str) -> dict[str, str]:
    """What the Job controller puts on the pods of a Job."""
    return {"batch.kubernetes.io/job-name": name, "job-name": name}
