"""The little world of ``LiveStage`` with a Job controller, a default scheduler, and pods that end in their own time."""

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from phalanx.decider import holding
from phalanx.dialects.following import ours
from phalanx.sim.objects.patches import merged
from phalanx.testing import Effect
from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc
from tests.testing.live_stage import Key, LiveStage, key

Events = tuple[list[Doc], list[Key], list[tuple[str, str, str, str, str]]]
BACKOFF_LIMIT = 6  # of a Job that says nothing of it


def job_key(name: str) -> Key:
    return "batch", "Job", "default", name


class JobStage(LiveStage):
    """Pods that somebody else than their controller deletes count as failures of their Job, as the Job controller
    counts them; too many of them end the Job. ``slow``: pods that are deleted stay until ``let_go``.

    ``scheduled``: how many pods the default scheduler takes at a time; None: all that may be bound.
    """

    def __init__(self, *docs: Doc, slow: bool = False, scheduled: int | None = None, **more: Any) -> None:
        self.failures: Counter[str] = Counter()
        self.made = 0
        self.slow, self.scheduled = slow, scheduled
        self.forbidden = False  # whether owners may not be patched
        self.noted = True  # whether what suspends an owner writes our note on it
        self.binds = True  # whether binds are carried out, and answered
        super().__init__(*docs, **more)

    # -- what happens by itself ------------------------------------------------------------------------------------

    def done(self, effects: Iterable[Effect]) -> Events | None:
        effects = list(effects)
        effects = [one for one in effects if one.kind != "Bind" or self.binds]
        pods = [one for one in effects if one.kind == "Evict"]
        seen, away, answers = super().done(one for one in effects if one.kind != "Evict") or ([], [], [])
        for one in effects:
            if one.kind in ("Suspend", "Resume", "Prepare") and not self.forbidden:
                seen += self._change_owner(one)
            elif one.kind == "Ungate":
                seen += self._ungate(one)
        for one in pods:
            self._delete(("", "Pod", one.namespace, one.name), one.uid, seen, away)
        for name in [at[3] for at in self.told if at[:2] == ("batch", "Job")]:
            self._control(name, seen, away)
        self._schedule(seen)
        seen = [self.told[at] for at in dict.fromkeys(key(one) for one in seen) if at in self.told]
        return (seen, away, answers) if seen or away or answers else None

    def evict(self, *names: str) -> None:
        """Somebody evicts pods, as a drain does."""
        seen: list[Doc] = []
        away: list[Key] = []
        for name in names:
            self._delete(("", "Pod", "default", name), "", seen, away)
        self.see(*seen, gone=[{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": at[3], "namespace": at[2]}}
                              for at in away])  # fmt: skip

    def let_go(self, *names: str) -> None:
        """Pods that were told to go have ended; without names all of them."""
        leaving = [one for at, one in self.told.items() if at[1] == "Pod" and "deletionTimestamp" in one["metadata"]]
        self.see(gone=[one for one in leaving if not names or one["metadata"]["name"] in names])

    def pods_of(self, name: str) -> list[Doc]:
        uid = self.told[job_key(name)]["metadata"]["uid"]
        return [one for at, one in self.told.items() if at[1] == "Pod" and _owner(one) == uid]

    def job(self, name: str) -> Doc:
        return self.told[job_key(name)]

    def is_failed(self, name: str) -> bool:
        return any(one["type"] == "Failed" for one in self.job(name).get("status", {}).get("conditions", ()))

    # -- owners ------------------------------------------------------------------------------------------------------

    def _change_owner(self, effect: Effect) -> list[Doc]:
        found = self.told.get(job_key(effect.name))
        if found is None:
            return []
        found = {**found, "metadata": {"resourceVersion": "1", **found["metadata"]}}
        gated = getattr(effect.effect, "gated", True)
        changes: dict[str, Any] = {
            "Prepare": [holding.gated],
            "Resume": [holding.gated, lambda one: holding.suspended(one, False)] if gated else [self._let_go],
            "Suspend": [lambda one: holding.suspended(one, True, effect.cause * self.noted), holding.ungated],
        }
        for change in changes[effect.kind]:
            wanted = change(found)
            found = found if wanted is None else merged(found, wanted)
        self.told[job_key(effect.name)] = found
        return [found]

    def _let_go(self, owner: Doc) -> Doc | None:
        return holding.let_go(owner) if self.noted else holding.suspended(owner, False)

    # -- pods --------------------------------------------------------------------------------------------------------

    def _ungate(self, effect: Effect) -> list[Doc]:
        at = ("", "Pod", effect.namespace, effect.name)
        pod = self.told.get(at)
        if pod is None or pod["metadata"]["uid"] != effect.uid or "schedulingGates" not in pod["spec"]:
            return []
        pod = deepcopy(pod)
        del pod["spec"]["schedulingGates"]
        pod["spec"]["nodeSelector"] = dict(effect.effect.selector)  # type: ignore[union-attr]
        pod["metadata"].setdefault("annotations", {})[ours.PINNED] = ",".join(pod["spec"]["nodeSelector"])
        pod["metadata"]["annotations"][ours.NODE] = effect.node
        self.told[at] = pod
        return [pod]

    def _delete(self, at: Key, uid: str, seen: list[Doc], away: list[Key]) -> None:
        pod = self.told.get(at)
        if pod is None or (uid and pod["metadata"]["uid"] != uid) or "deletionTimestamp" in pod["metadata"]:
            return
        self._count(pod)
        self._remove(at, seen, away)

    def _remove(self, at: Key, seen: list[Doc], away: list[Key]) -> None:
        pod = self.told[at]
        if self.slow and pod["spec"].get("nodeName"):
            metadata = {**pod["metadata"], "deletionTimestamp": "2026-11-18T10:00:00Z"}
            self.told[at] = {**pod, "metadata": metadata}
            seen.append(self.told[at])
        else:
            del self.told[at]
            away.append(at)

    def _count(self, pod: Doc) -> None:
        for at, one in self.told.items():
            if at[:2] == ("batch", "Job") and one["metadata"]["uid"] == _owner(pod):
                self.failures[at[3]] += 1

    # -- controllers -------------------------------------------------------------------------------------------------

    def _control(self, name: str, seen: list[Doc], away: list[Key]) -> None:
        """The Job controller: pods as long as the Job is neither suspended nor over."""
        found = self.told[job_key(name)]
        pods = [one for one in self.pods_of(name) if "deletionTimestamp" not in one["metadata"]]
        limit = found["spec"].get("backoffLimit", BACKOFF_LIMIT)
        if self.failures[name] > limit and not self.is_failed(name):
            condition = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
            self.told[job_key(name)] = {**found, "status": {"conditions": [condition]}}
            seen.append(self.told[job_key(name)])
        if self.is_failed(name) or found["spec"].get("suspend") is True:
            for one in pods:
                self._remove(key(one), seen, away)
            return
        for _ in range(found["spec"]["parallelism"] - len(pods)):
            self.made += 1
            pod = _pod_of(found, self.made)
            self.told[key(pod)] = pod
            seen.append(pod)

    def _schedule(self, seen: list[Doc]) -> None:
        """The default scheduler: pods without a gate that do not name us, to a node that they select."""
        waiting = [
            at
            for at, one in self.told.items()
            if at[1] == "Pod" and not {"nodeName", "schedulingGates", "schedulerName"} & one["spec"].keys()
        ]
        for at in waiting[: self.scheduled]:
            wanted = self.told[at]["spec"].get("nodeSelector", {}).items()
            nodes = [
                one["metadata"]["name"]
                for place, one in self.told.items()
                if place[1] == "Node" and wanted <= one["metadata"]["labels"].items()
            ]
            if nodes:
                self.told[at] = objects.on(self.told[at], nodes[0])
                seen.append(self.told[at])


def _owner(pod: Doc) -> str:
    return next((str(one["uid"]) for one in pod["metadata"].get("ownerReferences", ())), "")


def _pod_of(job: Doc, number: int) -> Doc:
    template = deepcopy(job["spec"]["template"])
    name = f"{job['metadata']['name']}-{number}"
    metadata = {**template.get("metadata", {}), "name": name, "namespace": "default", "uid": f"uid-{name}"}
    metadata["ownerReferences"] = [objects.reference(job)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"],
            "status": {"phase": "Pending"}}  # fmt: skip
