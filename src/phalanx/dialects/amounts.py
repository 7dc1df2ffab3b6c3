"""Resource amounts of containers and pods, as Kubernetes defaults and adds them up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.dialects.fields import Field
from phalanx.model import resources
from phalanx.model.problems import Problem
from phalanx.model.resources import NANO, PODS, ContainerNeed, Resources, combine

Amounts = dict[str, int]  # resource name -> nano-units; an explicit zero stays

_CORE = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"


def of(at: Field) -> Amounts:
    """A mapping of resource names to quantities (``requests``, ``limits``, ``overhead``, ``allocatable``)."""
    amounts: Amounts = {}
    for name, quantity in at.entries():
        amount = _parsed(quantity)
        if amount is not None and _whole(name, amount, quantity):
            amounts[name] = amount
    return amounts


def quantity(at: Field) -> int | None:
    """Nano-units of the quantity here; None where nothing, or nothing good, is written."""
    return _parsed(at) if at.present else None


def _parsed(at: Field) -> int | None:
    parsed = resources.parse(at.value, "")  # the path is made only for a complaint: it costs more than parsing
    if isinstance(parsed, Problem):
        at.wrong(parsed.message, parsed.allowed)
        return None
    return parsed


def _whole(name: str, amount: int, at: Field) -> bool:
    """Whether the amount is possible: devices, huge pages and pods come in whole numbers."""
    if amount % NANO == 0 or not (name == PODS or _is_whole(name)):
        return True
    at.mistaken(f"is not whole; {name[:80]} comes in whole numbers only")
    return False


def _is_whole(name: str) -> bool:
    """Whether this is handed out whole, and to one alone: devices and huge pages."""
    return "/" in name or name.startswith(_HUGE_PAGES)


def requests(at: Field) -> Amounts:
    """What ``resources`` of a container asks for: a limit stands in where the request is missing."""
    at.mapping()
    at.typos("requests", "limits", "claims")
    asked, limits = of(at.at("requests")), of(at.at("limits"))
    for name in sorted({*asked, *limits}):
        _check_name(name, at)
    for name, amount in sorted(asked.items()):
        limit = limits.get(name, amount)
        if amount != limit and _is_whole(name):
            at.at("requests", name).mistaken(
                f"is not the limit {resources.show(name, limit)}; requests and limits of {name[:80]} must be equal"
            )
        elif amount > limit:
            at.at("requests", name).mistaken(f"is more than the limit {resources.show(name, limit)}")
    return {**limits, **asked}


def _check_name(name: str, at: Field) -> None:
    if name == PODS:
        at.wrong("'pods' cannot be asked for: every pod counts as one")
    elif "/" not in name and name not in _CORE and not name.startswith(_HUGE_PAGES):
        at.warn(
            f"{name[:80]!r} is no resource of Kubernetes; those of devices have a domain, like nvidia.com/gpu", _CORE
        )


def pod_level(at: Field, containers: Resources) -> Resources:
    """What the pod's own ``resources`` ask for; they replace the sum over the containers.

    A pod-level limit becomes the request only where neither the pod nor any container asks for the resource.
    """
    if not at.mapping():
        return Resources()
    at.typos("requests", "limits")
    asked, limits = of(at.at("requests")), of(at.at("limits"))
    for part in ("requests", "limits"):
        for name in of(at.at(part)):
            if name not in ("cpu", "memory") and not name.startswith(_HUGE_PAGES):
                at.at(part, name).wrong("a pod as a whole has only cpu, memory and huge pages", ("cpu", "memory"))
    for name, amount in sorted(asked.items()):
        if amount < containers.get(name):
            least = resources.show(name, containers.get(name))
            at.at("requests", name).mistaken(f"is less than the {least} its containers ask for together")
    defaults = {name: amount for name, amount in limits.items() if not containers.get(name)}
    return Resources.of({**defaults, **asked})


def effective(spec: Field, status: Field | None = None) -> Resources:
    """What a pod with this spec takes from its node, one of ``pods`` included.

    ``status``: of a pod that is on a node. It may be resized there, and still or already have something else than its
    spec asks for.
    """
    given = Given() if status is None else granted(status)
    containers = tuple(_need(c, given) for c in spec.at("containers").items())
    init = tuple(_need(c, given if restartable(c) else None) for c in spec.at("initContainers").items())
    overhead = Resources.of(of(spec.at("overhead")))
    if not spec.at("resources").present:
        return resources.effective(containers, init, overhead)
    asked, asked_first = (tuple(_need(c) for c in spec.at(part).items()) for part in ("containers", "initContainers"))
    whole = pod_level(spec.at("resources"), resources.effective(asked, asked_first))
    return resources.effective(containers, init, overhead, given.over(whole, _named_in(whole, given.whole)))


def _need(container: Field, given: "Given | None" = None) -> ContainerNeed:
    container.mapping()
    container.typos("resources", "ports", "restartPolicy")
    asked = Resources.of(requests(container.at("resources")))
    if given is None or not given.containers:
        return ContainerNeed(asked, restartable(container))
    name = container.at("name").value
    has = given.containers.get(name, Resources()) if isinstance(name, str) else Resources()
    return ContainerNeed(given.over(asked, has), restartable(container))


def _named_in(whole: Resources, given: Resources) -> Resources:
    """Only what the pod as a whole asks for: the rest is counted by container."""
    return Resources.of({name: amount for name, amount in given if whole.get(name)})


@dataclass(frozen=True, slots=True)
class Given:
    """What the kubelet says that the containers of a pod have or were promised, by their names, and the pod as a whole.

    ``refused``: the node will never give what the spec asks for, and nobody waits for it.
    """

    containers: Mapping[str, Resources] = field(default_factory=dict)
    whole: Resources = Resources()
    refused: bool = False

    def over(self, asked: Resources, given: Resources) -> Resources:
        """What counts: the most of what is asked for and given; of a refused resize what is given alone."""
        return Resources.of({**dict(asked), **dict(given)}) if self.refused else combine((asked, given), max)


def granted(status: Field) -> Given:
    """What a pod's status says of it; as kube-scheduler reads it, but that what is promised counts by itself too."""
    listed = [*status.at("containerStatuses").items(), *status.at("initContainerStatuses").items()]
    containers = {name: _granted(one) for one in listed if isinstance(name := one.at("name").value, str)}
    return Given(containers, _granted(status), any(map(_refuses, status.at("conditions").items())))


def _granted(at: Field) -> Resources:
    has, promised = of(at.at("resources", "requests")), of(at.at("allocatedResources"))
    return combine((Resources.of(has), Resources.of(promised)), max)


def _refuses(condition: Field) -> bool:
    return condition.at("type").value == "PodResizePending" and condition.at("reason").value == "Infeasible"


def restartable(container: Field) -> bool:
    """Whether an init container keeps running beside the others (a sidecar)."""
    return container.at("restartPolicy").text("") == "Always"
