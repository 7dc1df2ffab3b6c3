"""Whether a node has room for a pod, as its kubelet counts it."""

from collections.abc import Iterable

from phalanx.minicluster.documents import Document, labels_of, selected
from phalanx.model import resources
from phalanx.model.problems import Problem

Amounts = dict[str, int]


def refused(pod: Document, node: Document, others: Iterable[Document]) -> str:
    """The reason why its kubelet refuses it; empty where it does not."""
    if not selected(labels_of(node), pod["spec"].get("nodeSelector") or {}):
        return "NodeAffinity"
    taken = total(asked(each) for each in (*others, pod))
    there = amounts((node.get("status") or {}).get("allocatable") or {})
    wanted = asked(pod)
    return next((f"OutOf{name}" for name in sorted(wanted) if taken[name] > there.get(name, 0)), "")


def asked(pod: Document) -> Amounts:
    """What it takes: its containers together, or its largest init container, and one place for a pod."""
    spec = pod["spec"]
    most = total(_of_container(each) for each in spec.get("containers") or ())
    for each in spec.get("initContainers") or ():
        need = _of_container(each)
        most = total((most, need)) if each.get("restartPolicy") == "Always" else _larger(most, need)
    found = total((most, amounts(spec.get("overhead") or {}), {"pods": resources.NANO}))
    return {name: amount for name, amount in found.items() if amount}


def _of_container(container: Document) -> Amounts:
    said = container.get("resources") or {}
    return {**amounts(said.get("limits") or {}), **amounts(said.get("requests") or {})}


def amounts(written: Document) -> Amounts:
    """In nano-units; what is not a quantity counts as nothing."""
    parsed = {name: resources.parse(value, name) for name, value in written.items()}
    return {name: 0 if isinstance(value, Problem) else value for name, value in parsed.items()}


def total(given: Iterable[Amounts]) -> Amounts:
    found: Amounts = {}
    for each in given:
        for name, amount in each.items():
            found[name] = found.get(name, 0) + amount
    return found


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
