"""What may not change once it is written: links of pods, and almost everything about groups. (W-099, V9, V10, V11)

The one number that may is how many must start together: ``minCount`` of a PodGroup or of a template, and
``minGroupCount`` of a template. It starts no group anew; PodGroups made before keep their own.
"""

from collections.abc import Iterator

from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.workload.templates import COMPOSITES, PODGROUPS
from phalanx.model.problems import Problem

_LINKS = ("schedulingGroup", "workloadRef", "workload")
_DEPTH_MAX = 40  # Kubernetes objects nest some 20 deep; what is deeper counts as changed


def changed(old: Field, new: Field) -> tuple[Problem, ...]:
    """The Problems of an update from ``old`` to ``new``, at the places of ``new``. Other kinds have no rules here."""
    notes = Notes()
    given = Field.of(new.value, notes)
    kind, before, after = new.at("kind").value, old.at("spec"), given.at("spec")
    if kind == "Pod":
        _check_same(before, after, *_LINKS)
    elif kind == "PodGroup":
        _check_group(before, after, "minCount")
    elif kind == "CompositePodGroup":
        _check_same(before, after, *_names(before, after))
    elif kind == "Workload" and _is_of_templates(before):
        _check_same(before, after, "controllerRef")
        _check_lists(before, after)
    return tuple(notes.problems)


def _is_of_templates(spec: Field) -> bool:
    return spec.at(PODGROUPS).present or spec.at(COMPOSITES).present


def _check_lists(before: Field, after: Field) -> None:
    """Templates are neither added nor removed (V11); of each only how many must start together may change."""
    for name, number in ((PODGROUPS, "minCount"), (COMPOSITES, "minGroupCount")):
        old, new = (dict(_named(at.at(name))) for at in (before, after))
        if list(old) != list(new):
            after.at(name).wrong("templates cannot be added or removed", [str(one) for one in old])
        for key in old.keys() & new.keys():
            _check_group(old[key], new[key], number)
            if name == COMPOSITES:
                _check_lists(old[key], new[key])


def _named(at: Field) -> Iterator[tuple[str, Field]]:
    for one in at.items():
        yield str(one.at("name").aside().text("")), one


def _check_group(before: Field, after: Field, number: str) -> None:
    """Everything is fixed but the number of a gang; gang or not is fixed too. (V9, V10)"""
    names = [name for name in _names(before, after) if name not in ("schedulingPolicy", PODGROUPS, COMPOSITES)]
    _check_same(before, after, *names)
    old, new = before.at("schedulingPolicy"), after.at("schedulingPolicy")
    if set(_names(old, old)) != set(_names(new, new)):
        new.wrong("basic cannot become gang, nor gang basic")
        return
    for name in _names(old.at("gang"), new.at("gang")):
        if name != number:
            _check_same(old.at("gang"), new.at("gang"), name)


def _names(before: Field, after: Field) -> list[str]:
    """The fields that are written in one of two mappings, sorted."""
    both = {key for at in (before, after) for key, value in at.aside().entries() if value.present}
    return sorted(both)


def _check_same(before: Field, after: Field, *names: str) -> None:
    for name in names:
        if not _same(before.at(name).value, after.at(name).value, _DEPTH_MAX):
            after.at(name).wrong(f"{name[:100]} cannot be changed")


def _same(one: object, other: object, depth: int) -> bool:
    if not depth:
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key], depth - 1) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b, depth - 1) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and not isinstance(one, (dict, list)) and one == other
