"""What a name on the command line stands for: a gang, one of its pods, or an object by kind, namespace and name."""

from phalanx.cli.clusters import Look
from phalanx.dialects import kindtable
from phalanx.engine.gangs import Gang
from phalanx.kube.glance import Glance

_WORDS = {word: row.kind.lower() for row in kindtable.ROWS for word in (row.plural, *row.short)}


def named(seen: Glance, name: str, namespace: str | None) -> list[Gang]:
    """The gangs that a name stands for: NAME, KIND/NAME, NAMESPACE/NAME, or pod/NAME of one of its pods."""
    look = Look([], seen.now, namespace)
    return [gang for gang in seen.gangs() if _goes_by(gang, name, look)]


def _goes_by(gang: Gang, name: str, look: Look) -> bool:
    request = gang.request
    if name == gang.id or is_meant(request.kind, request.namespace, request.name, name, look):
        return True
    pod = of_pod(name)
    return pod is not None and look.shows(request.namespace) and any(key.name == pod for key in gang.pods)


def of_pod(asked: str) -> str | None:
    """The name of the pod that was asked for; None where it is not about a pod."""
    kind, _, rest = asked.rpartition("/")
    return rest if _kind(kind) == "pod" else None


def is_meant(kind: str, namespace: str, name: str, asked: str, look: Look) -> bool:
    """Whether an object is the one that was asked for. A namespace that is named counts, whatever is usual."""
    *before, last = asked.split("/")
    last, _, unit = last.partition("#")
    if last != name or len(before) > 2 or unit:
        return False
    here = look.shows(namespace)
    if len(before) == 2:
        return _kind(before[0]) == kind.lower() and before[1] == namespace
    return here if not before else before[0] == namespace or (here and _kind(before[0]) == kind.lower())


def _kind(said: str) -> str:
    """``jobs.batch`` -> ``job``, ``deploy`` -> ``deployment``"""
    plain = said.lower().partition(".")[0]
    return _WORDS.get(plain, plain)
