"""Rules of a pod about other pods, ports and volumes: affinity, anti-affinity, spread, host ports, claims."""

from phalanx.dialects import claims
from phalanx.dialects.amounts import restartable
from phalanx.dialects.claims import Wanted
from phalanx.dialects.fields import Field
from phalanx.dialects.nodefilter import requirement
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.nodes import HostPort, LabelSelector, PodTerm, SpreadRule, Term

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_DISKS = ("awsElasticBlockStore", "azureDisk", "gcePersistentDisk", "iscsi", "rbd")  # may refuse to be on two nodes


def selector(at: Field) -> LabelSelector:
    """Which pods a rule speaks of. Nothing written matches nothing, an empty mapping everything."""
    if not at.mapping():
        return LabelSelector(matches_nothing=True)
    at.typos("matchLabels", "matchExpressions")
    found = [requirement(e, _SELECTOR_OPERATORS) for e in at.at("matchExpressions").items()]
    return LabelSelector(at.at("matchLabels").pairs(), tuple(r for r in found if r is not None))


def pod_terms(affinity: Field, namespace: str) -> tuple[PodTerm, ...]:
    """The required terms of ``podAffinity`` or ``podAntiAffinity``; preferred ones are a warning."""
    affinity.mapping()
    affinity.typos(_REQUIRED, _PREFERRED)
    if affinity.at(_PREFERRED).items():
        affinity.at(_PREFERRED).warn("preferred rules between pods are not considered")
    return tuple(_pod_term(term, namespace) for term in affinity.at(_REQUIRED).items())


def _pod_term(at: Field, namespace: str) -> PodTerm:
    at.mapping()
    at.typos("topologyKey", "labelSelector", "namespaces", "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys")
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        _unsupported(at.at(name))
    return PodTerm(_key(at), selector(at.at("labelSelector")), _namespaces(at, namespace))


def _namespaces(at: Field, own: str) -> tuple[str, ...] | None:
    """The namespaces a term looks into: those listed, all of them (None), or the pod's own."""
    chosen = at.at("namespaceSelector")
    if chosen.mapping():
        if any(part.value for _, part in chosen.entries()):
            chosen.wrong("choosing namespaces by their labels is not supported yet; list them in namespaces")
        return None
    return tuple(sorted({ns.text(own) for ns in at.at("namespaces").items()})) or (own,)


def _key(at: Field) -> str:
    key = at.at("topologyKey").text("")
    if not key:
        at.at("topologyKey").wrong("the rule needs the key of a node label")
    return key


def _unsupported(at: Field) -> None:
    if at.value not in (None, [], ()):
        at.wrong("is not supported yet")


def spread_rules(constraints: Field) -> tuple[SpreadRule, ...]:
    """topologySpreadConstraints that forbid (DoNotSchedule); those that only wish are a warning."""
    return tuple(rule for rule in map(_spread_rule, constraints.items()) if rule is not None)


def _spread_rule(at: Field) -> SpreadRule | None:
    at.mapping()
    at.typos("maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector", "minDomains", "matchLabelKeys")
    when = at.at("whenUnsatisfiable")
    if not when.present:
        when.wrong("say what happens when it cannot be kept", ("DoNotSchedule", "ScheduleAnyway"))
    if when.choice("", "DoNotSchedule", "ScheduleAnyway") == "ScheduleAnyway":
        at.warn("spreading with ScheduleAnyway is not considered")
        return None
    _unsupported(at.at("matchLabelKeys"))
    if not at.at("maxSkew").present:
        at.at("maxSkew").wrong("a spread rule needs maxSkew, at least 1")
    return SpreadRule(
        key=_key(at),
        max_skew=at.at("maxSkew").integer(1, low=1),
        selector=selector(at.at("labelSelector")),
        min_domains=at.at("minDomains").integer(1, low=1),
        honor_affinity=at.at("nodeAffinityPolicy").choice("Honor", "Honor", "Ignore") == "Honor",
        honor_taints=at.at("nodeTaintsPolicy").choice("Ignore", "Honor", "Ignore") == "Honor",
    )


def host_ports(spec: Field) -> tuple[HostPort, ...]:
    """Ports a pod takes on its node, each once. With hostNetwork every port of a container is one.

    Init containers count only if they keep running: the others are gone when it matters.
    """
    shared = spec.at("hostNetwork").flag(False)
    sidecars = [c for c in spec.at("initContainers").items() if restartable(c)]
    found = [
        _host_port(port, shared)
        for container in (*spec.at("containers").items(), *sidecars)
        for port in container.at("ports").items()
    ]
    return tuple(sorted({p for p in found if p is not None}, key=lambda p: (p.port, p.protocol, p.ip)))


def _host_port(at: Field, shared: bool) -> HostPort | None:
    at.mapping()
    inner = at.at("containerPort").integer(0, low=1, high=65535)
    port = at.at("hostPort").integer(0, high=65535) or (inner if shared else 0)
    protocol = at.at("protocol").choice("TCP", "TCP", "UDP", "SCTP")
    return HostPort(port, protocol, at.at("hostIP").text("") or "0.0.0.0") if port else None


def reachable(pod: Field, namespace: str, around: Surroundings) -> tuple[tuple[Term, ...], ...]:
    """Where the volumes of a pod, or of those that a template makes, can be reached from: one entry per bound volume
    that is not everywhere."""
    for volume in pod.at("spec", "volumes").items():
        _check(volume)
    named = list(claims.wanted(pod))
    for volume in pod.at("spec", "volumes").items() if not any(one.made_for for one in named) else ():
        if volume.at("ephemeral").present:
            volume.at("ephemeral").warn("which nodes can use this volume is not considered")
    found = [_reachable(one, namespace, around) for one in named]
    return tuple(terms for terms in found if terms is not None)


def _check(volume: Field) -> None:
    volume.mapping()
    for kind in _DISKS:
        if volume.at(kind).present:
            volume.at(kind).warn("which nodes can use this volume is not considered")
    volume.at("persistentVolumeClaim").mapping()
    volume.at("persistentVolumeClaim", "claimName").text("")


def _reachable(one: Wanted, namespace: str, around: Surroundings) -> tuple[Term, ...] | None:
    title, at, claim = f"claim {namespace}/{one.name}", one.at, one.find(namespace, around)
    if claim is None:
        at.warn(f"{title} is {around.unknown}; {around.instead or 'its volume is taken to be reachable'}")
        return None
    if claim.one_pod:
        at.warn(f"{title} serves one pod at a time (ReadWriteOncePod), which is not considered")
    if not claim.volume:
        at.warn(f"{title} is not bound; where its volume can be made is not considered")
    elif not claim.known:
        at.warn(f"volume {claim.volume} of {title} is {around.unknown}")
    return claim.reachable
