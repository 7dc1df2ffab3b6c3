"""The volumes of all pods: what those of ours wait for, and how many of a node's attachments they take."""

from collections.abc import Iterable
from dataclasses import replace

from phalanx.dialects import attachments, claims
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import volumes
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.objects import ObjectKey
from phalanx.model.pods import Pod


class PodVolumes:
    """Kept of pods that have claims: as much as tells these."""

    def __init__(self) -> None:
        self._claiming: dict[ObjectKey, Field] = {}
        self._waits: dict[ObjectKey, str] = {}

    def see(self, key: ObjectKey, pod: Field) -> None:
        found = claims.alone(pod)
        if found is None:
            self._claiming.pop(key, None)
        else:
            self._claiming[key] = found

    def forget(self, key: ObjectKey) -> None:
        self._claiming.pop(key, None)
        self._waits.pop(key, None)

    def keys(self) -> Iterable[ObjectKey]:
        """Pods that have claims."""
        return self._claiming.keys()

    def judge(self, pods: Iterable[Document], around: Surroundings) -> None:
        """Pods of ours, and what there is of their volumes by now."""
        for doc in pods:
            self._waits[doc.key] = volumes.waits_for(doc, around) if doc.key in self._claiming else ""

    def waits_for(self, pod: Pod) -> str:
        """What a pod waits for before it may get a node; empty: nothing."""
        return "" if pod.node else self._waits.get(pod.key.object, "")

    def added(self, pod: Pod, around: Surroundings) -> Pod:
        """The pod with its volumes among what it takes on its node, and with what it waits for."""
        pod = replace(pod, waits_for=waits) if (waits := self.waits_for(pod)) else pod
        key = pod.key.object
        if key not in self._claiming or not around.limited:
            return pod
        more = attachments.of(self._claiming[key], key.namespace, around)
        return replace(pod, running=replace(pod.running, requests=pod.requests + more))
