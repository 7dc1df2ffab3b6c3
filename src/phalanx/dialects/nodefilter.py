"""Which nodes a pod may use: selector, node name, node affinity, tolerations."""

from phalanx.dialects.fields import Field
from phalanx.model.nodes import NodeFilter, Requirement, Taint, Term, Toleration

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_NAME_FIELD = "metadata.name"


def read(spec: Field, volumes: tuple[tuple[Term, ...], ...] = ()) -> NodeFilter:
    """The filter of a pod spec. ``volumes``: the places its bound volumes can be reached from."""
    affinity = spec.at("affinity", "nodeAffinity")
    affinity.mapping()
    affinity.typos("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")
    required = affinity.at("requiredDuringSchedulingIgnoredDuringExecution")
    wanted = [] if not required.present else [terms(required)]
    return NodeFilter(
        selector=spec.at("nodeSelector").pairs(),
        required=(*_named(spec.at("nodeName")), *wanted, *volumes),
        tolerations=tuple(t for t in map(toleration, spec.at("tolerations").items()) if t is not None),
        preferred=_preferred(affinity.at("preferredDuringSchedulingIgnoredDuringExecution")),
    )


def _named(at: Field) -> tuple[tuple[Term, ...], ...]:
    """A pod that names its node may go nowhere else."""
    name = at.text("")
    return ((Term((Requirement(_NAME_FIELD, "In", (name,), on_name=True),)),),) if name else ()


def terms(selector: Field) -> tuple[Term, ...]:
    """The alternatives of a node selector (``nodeSelectorTerms``), of which one must hold."""
    selector.mapping()
    listed = selector.at("nodeSelectorTerms")
    found = listed.items()
    if not found:
        listed.wrong("at least one term is needed")
    return tuple(_term(term) for term in found)


def _term(at: Field) -> Term:
    at.mapping()
    at.typos("matchExpressions", "matchFields")
    expressions = [requirement(e) for e in at.at("matchExpressions").items()]
    names = [_on_name(e) for e in at.at("matchFields").items()]
    return Term(tuple(r for r in (*expressions, *names) if r is not None))


def _preferred(at: Field) -> tuple[tuple[int, Term], ...]:
    """Weights and terms. A term without requirements likes every node alike and is left out."""
    weighted = []
    for entry in at.items():
        entry.mapping()
        if not entry.at("weight").present:
            entry.at("weight").wrong("a preferred term needs a weight from 1 to 100")
        weighted.append((entry.at("weight").integer(1, low=1, high=100), _term(entry.at("preference"))))
    return tuple((weight, term) for weight, term in weighted if term.requirements)


def requirement(at: Field, operators: tuple[str, ...] = _OPERATORS) -> Requirement | None:
    """One expression over a label, or None with a Problem noted."""
    at.mapping()
    key = at.at("key").text("")
    operator = at.at("operator").choice("", *operators)
    values = tuple(value.text("") for value in at.at("values").items())
    if not key:
        at.at("key").wrong("an expression needs the key of a label")
    if not operator and not at.at("operator").present:
        at.at("operator").wrong("an expression needs an operator", operators)
    good = bool(key and operator) and _counted(operator, values, at.at("values"))
    return Requirement(key, operator, values) if good else None


def _counted(operator: str, values: tuple[str, ...], at: Field) -> bool:
    if operator in ("In", "NotIn") and not values:
        at.wrong(f"{operator} needs at least one value")
        return False
    if operator in ("Exists", "DoesNotExist") and values:
        at.wrong(f"{operator} takes no values")
        return False
    if operator in ("Gt", "Lt") and not (len(values) == 1 and _integer(values[0])):
        at.wrong(f"{operator} needs exactly one value, a whole number in quotes")
        return False
    return True


def _integer(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20


def _on_name(at: Field) -> Requirement | None:
    """An expression over a field of the node, of which Kubernetes knows one: its name."""
    found = requirement(at, ("In", "NotIn"))
    if found is None:
        return None
    if found.key != _NAME_FIELD:
        at.at("key").mistaken("is not a field that can be matched", (_NAME_FIELD,))
        return None
    if len(found.values) != 1:
        at.at("values").wrong("matchFields takes exactly one value")
        return None
    return Requirement(_NAME_FIELD, found.operator, found.values, on_name=True)


def toleration(at: Field) -> Toleration | None:
    at.mapping()
    at.typos("key", "operator", "value", "effect", "tolerationSeconds")
    key, value = at.at("key").text(""), at.at("value").text("")
    effect = at.at("effect").choice("", *EFFECTS, "")
    operator = at.at("operator").choice("Equal", "Equal", "Exists", "")  # newer operators would be misread: a Problem
    if not key and operator != "Exists":
        at.at("key").wrong("a toleration without a key needs operator Exists")
        return None
    if operator == "Exists" and value:
        at.at("value").wrong("operator Exists takes no value")
        return None
    return Toleration(key, operator or "Equal", value, effect)


def taint(at: Field) -> Taint | None:
    at.mapping()
    key = at.at("key").text("")
    effect = at.at("effect").choice("", *EFFECTS)
    if not key:
        at.at("key").wrong("a taint needs a key")
    if not at.at("effect").present:
        at.at("effect").wrong("a taint needs an effect", EFFECTS)
    return Taint(key, at.at("value").text(""), effect) if key and effect else None
