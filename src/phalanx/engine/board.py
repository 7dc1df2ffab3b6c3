"""The Board: where every gang of a snapshot stands, in every topology at once.

A gang is the pods it runs. Coming and going is booked pod by pod in the ledger of names and nano-units, and in each
draft that was made so far; a draft made later is made from the pods of that moment. So all topologies agree,
whatever came first::

    commit(a)   ledger + pods of a      draft "racks" + pods of a      draft "power": not asked for yet
    draft("power")                      made from the ledger's pods, a among them
    release(a)  ledger - pods of a      draft "racks" - pods of a      draft "power" - pods of a
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from phalanx.model.decision import Placed
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import RunningPod
from phalanx.model.resources import Resources
from phalanx.model.snapshot import Snapshot
from phalanx.place.draft import Draft, Taken

Pods = tuple[RunningPod, ...]
Lots = dict[Resources, dict[str, int]]  # what each pod asks for -> node -> pods


class Board:
    """The drafts of one snapshot by topology, and the gangs on them. Changed only by ``commit`` and ``release``."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._picture = snapshot
        self._nodes = {node.name: node for node in snapshot.nodes}
        self._loose = tuple(pod for pod in snapshot.pods if pod.gang is None)
        self._gangs: dict[str, Pods] = _by_gang(snapshot.pods)
        self._used: dict[str, dict[str, int]] = {}
        self._drafts: dict[str | None, Draft] = {}
        self.came = False  # whether pods came to stand on nodes since somebody asked, and said so here
        self._book(snapshot.pods, 1)

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Board":
        """The board as a snapshot shows it: pods that carry the id of a gang can be released by it."""
        return cls(snapshot)

    def draft(self, topology: str | None) -> Draft:
        """The free capacity under one topology (None: only the cluster and its nodes), made when first asked for."""
        if topology not in self._drafts:
            self._drafts[topology] = Draft.of(self.snapshot(), topology)
        return self._drafts[topology]

    def snapshot(self) -> Snapshot:
        """The picture of this moment: what the board was made of, with all that came and went since."""
        return replace(self._picture, pods=(*self._loose, *(pod for pods in self._gangs.values() for pod in pods)))

    def running(self) -> dict[str, dict[str, Resources]]:
        """The gangs by id, in the order they came, and what each uses on which node."""
        return {name: _use(pods) for name, pods in self._gangs.items()}

    def pods(self) -> dict[str, Pods]:
        """The pods of each gang, in the order the gangs came."""
        return dict(self._gangs)

    def free(self, nodes: Iterable[str]) -> dict[str, dict[str, int]]:
        """Nano-units left on the nodes named, from the ledger of names: no draft is asked."""
        return {name: self._left(name) for name in nodes if name in self._nodes}

    def commit(self, placed: Placed) -> None:
        """The gang runs where it was placed. Costs what the gang has pods, times the drafts in use."""
        name = placed.request.id
        if name in self._gangs:
            raise Mistake(f"{name} is on the board already")
        self._gangs[name] = tuple(pods_of(placed))
        self._book(self._gangs[name], 1)

    def hold(self, name: str, pods: Pods) -> None:
        """A gang runs these pods and no others. Costs what changed. Without pods it is not on the board.

        A pod or a kept place of the same name may have come to ask for something else: that is a change too.
        """
        then = {(pod.namespace, pod.name, pod.node): pod for pod in self._gangs.get(name, ())}
        now = {(pod.namespace, pod.name, pod.node): pod for pod in pods}
        self._book(tuple(pod for key, pod in then.items() if now.get(key) != pod), -1)
        fresh = tuple(pod for key, pod in now.items() if then.get(key) != pod)
        self._book(fresh, 1)
        self.came = self.came or bool(fresh)
        if pods:
            self._gangs[name] = pods
        else:
            self._gangs.pop(name, None)

    def release(self, name: str) -> None:
        """The gang is gone."""
        self._book(self._gangs.pop(name), -1)

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """The board as it would be if a gang had ended; afterwards it runs again exactly as before."""
        pods, self._gangs[name] = self._gangs[name], ()
        self._book(pods, -1)
        try:
            yield
        finally:
            self._gangs[name] = pods
            self._book(pods, 1)

    def _left(self, name: str) -> dict[str, int]:
        left = dict(self._nodes[name].allocatable.items)
        for resource, amount in self._used.get(name, {}).items():
            left[resource] = left.get(resource, 0) - amount
        return left

    def _book(self, pods: Pods, sign: int) -> None:
        if not pods:
            return
        lots = _lots(pods)
        for requests, where in lots.items():
            for node, count in where.items():
                used = self._used.setdefault(node, {})
                for resource, amount in requests:
                    used[resource] = used.get(resource, 0) + sign * count * amount
        for topology, draft in list(self._drafts.items()):
            if not _move(draft, pods, lots, sign):
                del self._drafts[topology]  # made again, with these pods in it, when next asked for


def pods_of(placed: Placed) -> Iterator[RunningPod]:
    """The pods of a placement, named by gang, set and number: with slashes, so that no real pod is called the same."""
    gang = placed.request.id
    shapes = {pod_set.name: pod_set.shape for pod_set in placed.request.root.pod_sets()}
    for name, counts in placed.placement.pod_sets.items():
        shape, labels = shapes[name], dict(shapes[name].labels)
        nodes = [node for node, count in counts for _ in range(count)]
        for number, node in enumerate(nodes):
            called = f"{gang}/{name}/{number}"
            yield RunningPod(
                called, shape.namespace, node, shape.requests, labels, shape.ports, shape.anti_affinity, gang
            )


def _by_gang(pods: Pods) -> dict[str, Pods]:
    found: dict[str, list[RunningPod]] = {}
    for pod in pods:
        if pod.gang is not None:
            found.setdefault(pod.gang, []).append(pod)
    return {name: tuple(members) for name, members in found.items()}


def _lots(pods: Pods) -> Lots:
    """Pods that ask for the same, counted by node: a gang has many pods and few of these."""
    found: Lots = {}
    for (requests, node), count in Counter((pod.requests, pod.node) for pod in pods).items():
        found.setdefault(requests, {})[node] = count
    return found


def _use(pods: Pods) -> dict[str, Resources]:
    found: dict[str, Resources] = {}
    for requests, where in _lots(pods).items():
        for node, count in where.items():
            found[node] = found.get(node, Resources()) + requests.times(count)
    return found


def _move(draft: Draft, pods: Pods, lots: Lots, sign: int) -> bool:
    """Puts pods on a draft, or with -1 takes them off; False, and nothing done, if its units cannot hold them."""
    if draft.accommodate(lots, "running") is not None or not all(_exact(draft, requests) for requests in lots):
        return False
    at = draft.tree.index
    here = [pod for pod in pods if pod.node in at]
    for pod in here:
        if pod.ports:
            draft.count_ports(pod.ports, at[pod.node], sign)
    for requests, where in lots.items():
        known = sorted((at[node], -sign * count) for node, count in where.items() if node in at)
        if known:
            draft.give((_taken(draft, requests, known),))
    if sign > 0:
        draft.pods.add(here)
    else:
        draft.pods.remove((pod.namespace, pod.name) for pod in here)
    return True


def _exact(draft: Draft, requests: Resources) -> bool:
    """Whether a draft holds these amounts in whole units; it makes no effort for pods larger than every node."""
    return all(amount % draft.unit[draft.row[name]] == 0 for name, amount in requests)


def _taken(draft: Draft, requests: Resources, counts: list[tuple[int, int]]) -> Taken:
    """So many pods on each position, in ascending order, in the units the draft has now."""
    nodes, numbers = np.array(counts, np.int64).T
    return Taken(draft.lump(("running", requests), requests), nodes, numbers)
