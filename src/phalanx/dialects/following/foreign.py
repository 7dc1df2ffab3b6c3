"""Pods that name a gang of ours, and that another scheduler binds without waiting for us: they are no part of it."""

from phalanx.dialects import clusterstate, links, readers
from phalanx.dialects.fields import Field
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem


class Foreigners:
    """By what they name. Those that Kueue has labelled are Kueue's own affair."""

    def __init__(self) -> None:
        self._by_target: dict[ObjectKey, dict[ObjectKey, Problem]] = {}
        self._targets: dict[ObjectKey, ObjectKey] = {}

    def see(self, key: ObjectKey, pod: Field) -> ObjectKey | None:
        """A pod that is none of ours, as it is now; what it names, if that is to be read again."""
        link = links.of(pod.aside())
        counts = link is not None and link.carrier not in _KUEUES and not clusterstate.has_ended(pod)
        target = readers.target(link, key.namespace) if link is not None and counts else None
        before = self._targets.get(key)
        if before == target:
            return None
        self.forget(key)
        if target is not None:
            self._targets[key] = target
            self._by_target.setdefault(target, {})[key] = _problem(key, pod.at("spec", "schedulerName"))
        return target or before

    def forget(self, key: ObjectKey) -> ObjectKey | None:
        """A pod is gone, or ours by now; what it named."""
        target = self._targets.pop(key, None)
        if target is not None:
            named = self._by_target[target]
            del named[key]
            if not named:
                del self._by_target[target]
        return target

    def of(self, target: ObjectKey) -> tuple[Problem, ...]:
        """What there is to say on a gang: the first of them stands for all."""
        named = self._by_target.get(target)
        return (named[min(named)],) if named else ()


_KUEUES = (links.KUEUE, links.KUEUE_PODS)


def _problem(pod: ObjectKey, at: Field) -> Problem:
    message = f"pod {pod.name} names this gang, and another scheduler binds it, waiting for nobody: it does not count"
    return Problem(at.path, at.value, (), message, pod)
