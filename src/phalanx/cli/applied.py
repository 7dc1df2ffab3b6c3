"""What the scheduler of a cluster would decide about documents, were they applied to it as it is now."""

from collections.abc import Iterable, Mapping
from typing import Any

from phalanx.cluster import Decision, Decisions
from phalanx.engine.lifecycle import State
from phalanx.kube import glance
from phalanx.kube.configuration import Configuration
from phalanx.kube.glance import Glance
from phalanx.model.decision import Internal, Invalid
from phalanx.model.reasons import Why

Document = Mapping[Any, Any]


def seen(there: Iterable[Document], docs: Iterable[Document], now: float, settings: Configuration) -> Glance:
    """The cluster with these documents in it. Their pods are taken as made, wherever they were copied from."""
    objects = [*there, *(_without_uid(doc) for doc in docs)]
    return glance.at(objects, now, settings.marks(), settings.policy(), settings.settings())


def _without_uid(doc: Document) -> Document:
    metadata = doc.get("metadata")
    if not isinstance(metadata, Mapping):
        return doc
    return {**doc, "metadata": {key: one for key, one in metadata.items() if key != "uid"}}


def agreed(decisions: Decisions, seen: Glance) -> Decisions:
    """The decisions as the scheduler would make them: it knows of queues, and of those who wait already. Of what is
    none of its gangs, or was one and is over, it knows nothing, and what was decided stays; so it does where the
    scheduler only waits for pods that the documents would make."""
    alive = [(one, one.request) for one in seen.gangs() if one.state is not State.FINISHED]
    gangs = {(asked.kind, asked.namespace, asked.name, asked.unit): one for one, asked in alive}
    refused = {(one.kind, one.namespace, one.name): one for _, one in seen.told.refused}
    found = Decisions()
    found.warnings = decisions.warnings
    for one in decisions:
        gang = gangs.get((one.kind, one.namespace, one.name, one.unit))
        wrong = refused.get((one.kind, one.namespace, one.name))
        if isinstance(one.decided, (Invalid, Internal)) or (gang is None and wrong is None):
            found.append(one)
        elif gang is not None:
            there = Decision(*seen.answer(gang))
            found.append(one if _lacks_pods(there) and not _lacks_pods(one) else there)
        elif wrong is not None:
            found.append(Decision(wrong))
    return found


def _lacks_pods(one: Decision) -> bool:
    return one.reason is not None and one.reason.type is Why.PODS_MISSING
