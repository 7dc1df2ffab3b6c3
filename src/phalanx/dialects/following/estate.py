"""What belongs to the cluster itself: nodes one by one; topologies, queues, priorities and the like together."""

from dataclasses import replace

from phalanx.dialects import clusterstate, daemonsets, picture, queueing, readers
from phalanx.dialects.documents import OURS, Document
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.following import dangling, ours
from phalanx.dialects.following.told import Subject, Told
from phalanx.dialects.following.verdicts import Verdicts
from phalanx.dialects.neighbours import Key
from phalanx.dialects.picture import ClusterReading
from phalanx.dialects.queueing import NAMESPACE
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.daemons import DaemonSet
from phalanx.model.events import DaemonSetsSeen, NodeGone, NodeSeen, QueuesSeen, TopologiesSeen
from phalanx.model.nodes import Node
from phalanx.model.problems import Problem
from phalanx.model.queues import EVERY_NAMESPACE, Queues

DAEMON_SET = ("apps", "DaemonSet")


class Estate:
    """``tell`` gives the new Surroundings when anything that workloads may look up has changed, else None."""

    def __init__(self) -> None:
        self._docs: dict[Key, Document] = {}
        self._nodes: dict[str, Node] = {}
        self._changed: dict[str, Node | None] = {}
        self._namespaces: dict[str, dict[str, str]] = {}
        self._queues = Queues()
        self._stale = True
        self._said: tuple[Problem, ...] = ()  # told already
        self._verdicts = Verdicts()

    def seen(self, doc: Document) -> None:
        if doc.kind == "Node":
            self._node_seen(doc)
            return
        if (doc.home, doc.kind) == NAMESPACE:
            self._namespaces[doc.name] = queueing.namespace_labels(Field.of(doc.value, Notes()))
            return
        key = readers.key(doc)
        if key not in self._docs and doc.home == OURS and (not ours.is_said_valid(doc) or dangling.is_said(doc)):
            self._verdicts.unsettle(key)
        self._docs[key] = doc
        self._stale = True

    def gone(self, key: Key) -> None:
        if key[1] == "Node":
            if self._nodes.pop(key[3], None) is not None:
                self._changed[key[3]] = None
        elif key[:2] == NAMESPACE:
            self._namespaces.pop(key[3], None)
        elif self._docs.pop(key, None) is not None:
            self._verdicts.lift(key)
            self._stale = True

    def _node_seen(self, doc: Document) -> None:
        node = clusterstate.node(Field.of(doc.value, Notes()))
        if self._nodes.get(node.name) != node:
            self._nodes[node.name] = self._changed[node.name] = node

    def tell(self, told: Told) -> Surroundings | None:
        for name, node in self._changed.items():
            told.events.append(NodeGone(name) if node is None else NodeSeen(node))
        self._changed.clear()
        around = self._tell_rest(told) if self._stale else None
        self._tell_queues(told, around is not None)
        return around

    def _tell_queues(self, told: Told, changed: bool) -> None:
        """Namespaces too, but only where a queue chooses among them: they come and go, and every gang in line is
        looked at when queues change. No workload is read otherwise because of their labels."""
        chosen = any(one.namespace_selector != EVERY_NAMESPACE for one in self._queues.queues.values())
        known = dict(self._namespaces) if chosen else {}
        if changed or self._queues.namespaces != known:
            self._queues = replace(self._queues, namespaces=known)
            told.events.append(QueuesSeen(self._queues))

    def _tell_rest(self, told: Told) -> Surroundings:
        self._stale = False
        found = picture.read([self._docs[key] for key in sorted(self._docs) if key[:2] != DAEMON_SET])
        told.problems = tuple(one for one in found.problems if one not in self._said)
        self._said = found.problems
        self._tell_verdicts(told, found)
        told.events.append(TopologiesSeen(found.snapshot.topologies))
        self._queues = found.snapshot.queues
        told.events.append(DaemonSetsSeen(self._daemon_sets(found.surroundings)))
        return found.surroundings

    def _tell_verdicts(self, told: Told, all_read: ClusterReading) -> None:
        """On objects of our kinds, each read by itself: what several do to each other is no fault of one of them. That
        one names another that is not there is told on it, and makes it no worse."""
        queues, topologies = all_read.snapshot.queues, {one.name for one in all_read.snapshot.topologies}
        for key, doc in [(key, self._docs[key]) for key in sorted(self._docs) if key[0] == OURS]:
            wrong = tuple(_inside(doc, one) for one in picture.read([doc]).problems)
            noted = wrong or dangling.of(doc, queues, topologies)
            if noted and self._verdicts.refuse(key, noted):
                (told.unusable if wrong else told.dangling).append((Subject.of(key, doc), noted))
            elif not noted and self._verdicts.lift(key):
                told.accepted.append(Subject.of(key, doc))

    def _daemon_sets(self, around: Surroundings) -> tuple[DaemonSet, ...]:
        """Those that can be read; the pods of others count once they are there."""
        found = []
        for key in sorted(key for key in self._docs if key[:2] == DAEMON_SET):
            at = Field.of(self._docs[key].value, Notes())
            one = daemonsets.read(at, around)
            found.extend([] if at.notes.problems else [one])
        return tuple(found)


def _inside(doc: Document, problem: Problem) -> Problem:
    """A problem as the object itself tells it: without its own name in the path."""
    return replace(problem, path=problem.path.removeprefix(f"{doc.title}: "))
