"""Objects that users made and workloads name: who may adopt them, and who shares what should not be shared."""

from phalanx.dialects.fields import Field
from phalanx.dialects.generation import made
from phalanx.dialects.generation.stacks import CRON_JOB, Pile, Top
from phalanx.dialects.generation.values import Adoption, Generation
from phalanx.dialects.owners import controller
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

_TTL = "ttlSecondsAfterFinished"
_HISTORY = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_CLEANING = ("All", "Running")
_SHOWN = 5  # owners that a warning names


def of(pile: Pile) -> Generation:
    """Adoptions of what workloads name, and a warning for each object that several of them, or several runs, name.

    Several workloads cannot adopt one object: it would go with the first of them that does. (W-119)
    """
    users = _users(pile)
    adoptions: list[Adoption] = []
    warnings: list[Problem] = []
    for key, tops in users.items():
        if len(tops) > 1:
            listed = ", ".join(top.doc.title for top in tops[:_SHOWN]) + (", ..." if len(tops) > _SHOWN else "")
            message = f"is shared by {listed}; each of them needs an object of its own"
            warnings.append(Problem("", key.name, (), message, key))
        elif tops[0].kind == CRON_JOB:
            shared = f"all its runs share {key.kind} {key.name}; without that link each run gets a Gang of its own"
            warnings.append(tops[0].note(shared))
        adoptions += [one for one in [_adoption(key, tops, pile)] if one is not None]
    return Generation(adoptions=tuple(adoptions), warnings=tuple(warnings))


def _users(pile: Pile) -> dict[ObjectKey, list[Top]]:
    """Workloads by the object that their templates name. A run names what its CronJob names, and does not count."""
    found: dict[ObjectKey, list[Top]] = {}
    for top in pile.tops:
        for link in top.links if top.cron is None else ():
            if not top.problems:
                found.setdefault(top.target(link), []).append(top)
    return found


def _adoption(key: ObjectKey, tops: list[Top], pile: Pile) -> Adoption | None:
    """The adoption of an object that is given and that nobody controls, by the one workload that names it."""
    existing, top = pile.neighbours.find(*key), tops[0]
    if existing is None or len(tops) > 1 or not deletes_itself(top.at):
        return None
    if controller(existing) is not None or existing.notes.problems or _owns(existing, top):
        return None
    return Adoption(key, made.owner(top.at, controls=False))


def _owns(existing: Field, top: Top) -> bool:
    """Whether the workload is an owner of the object already."""
    references = existing.at("metadata", "ownerReferences").items()
    wanted = made.owner(top.at, controls=False)
    return any(all(at.at(part).value == one for part, one in wanted.items()) for at in references)


def deletes_itself(doc: Field) -> bool:
    """Whether a workload, or its pods, go when it is done without anybody deleting it. (W-116)"""
    spec, policy = doc.at("spec"), doc.at("spec", "runPolicy")
    if doc.at("kind").value == CRON_JOB[1]:
        return any(spec.at(name).present for name in _HISTORY)
    timed = spec.at(_TTL).present or policy.at(_TTL).present
    return timed or policy.at("cleanPodPolicy").value in _CLEANING
