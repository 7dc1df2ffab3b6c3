"""``spec.replicatedJobs`` of a JobSet: each a Job template and how many Jobs are made from it."""

from collections.abc import Collection
from dataclasses import dataclass

from phalanx.dialects import jobspec
from phalanx.dialects.fields import Field

JOBS_MAX = 10_000  # Jobs of one JobSet

_READ = ("name", "groupName", "template", "replicas", "dependsOn", "gangConfig")


@dataclass(frozen=True, slots=True)
class Replicated:
    """One replicated job: ``replicas`` Jobs of ``pods`` pods each. Either may be 0."""

    at: Field
    name: str
    replicas: int
    pods: int

    @property
    def count(self) -> int:
        """Pods of all its Jobs; min(parallelism, completions) of each run at once (X-20, X-21)."""
        return self.replicas * self.pods

    @property
    def job_metadata(self) -> Field:
        return self.at.at("template", "metadata")

    @property
    def job(self) -> Field:
        """The spec of its Jobs."""
        return self.at.at("template", "spec")

    @property
    def template(self) -> Field:
        """The pod template of its Jobs."""
        return self.job.at("template")

    @property
    def pod_metadata(self) -> Field:
        return self.template.at("metadata")

    @property
    def indexed(self) -> bool:
        """Whether pods know their index in the Job. A JobSet's Jobs are Indexed unless they say otherwise."""
        return self.job.at("completionMode").choice("Indexed", "NonIndexed", "Indexed") == "Indexed"


def read(listed: Field) -> list[Replicated]:
    """The replicated jobs that have a name of their own; what is wrong with any of them is noted."""
    found: dict[str, Replicated] = {}
    for at in listed.items():
        if not at.mapping():
            at.wrong("a replicated job is a mapping of fields")
            continue
        one = _read(at)
        _check_order(at, found)
        if one.name in found:
            at.at("name").mistaken("names two replicated jobs; names are unique within a JobSet")
        elif one.name:
            found[one.name] = one
    return list(found.values())


def _read(at: Field) -> Replicated:
    at.typos(*_READ)
    at.at("template").typos("metadata", "spec")
    name = at.at("name").name("")
    if not at.at("name").present:
        at.at("name").wrong("a replicated job needs a name")
    if not at.at("template").mapping():
        at.at("template").wrong("a replicated job needs a Job template")
    job = at.at("template", "spec")
    if job.mapping():
        jobspec.check(job)
    elif at.at("template").present:
        job.wrong("a Job template needs a spec")
    return Replicated(at, name, at.at("replicas").integer(1, high=JOBS_MAX), jobspec.pods(job))


def _check_order(at: Field, before: Collection[str]) -> None:
    """A replicated job waits for one that stands before it, or it would wait forever."""
    for dependency in at.at("dependsOn").items():
        dependency.mapping()
        dependency.at("status").choice("", "Ready", "Complete")
        if dependency.at("name").text("") not in before:
            dependency.at("name").mistaken("is not a replicated job that stands before this one", list(before)[:50])
