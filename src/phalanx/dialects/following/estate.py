"""What belongs to the cluster itself: nodes one by one; topologies, queues, priorities and the like together."""

from dataclasses import replace

from phalanx.dialects import attachments, clusterstate, daemonsets, picture, queueing
from phalanx.dialects.attachments import Limits
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.following import dangling, ours
from phalanx.dialects.following.ours import Marks
from phalanx.dialects.following.setaside import Quarantine
from phalanx.dialects.following.told import SetAside, Subject, Told
from phalanx.dialects.following.verdicts import Verdicts
from phalanx.dialects.kindtable import CSI_NODE, DAEMON_SET, OURS
from phalanx.dialects.picture import ClusterReading
from phalanx.dialects.queueing import NAMESPACE
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.daemons import DaemonSet
from phalanx.model.events import DaemonSetsSeen, NodeGone, NodeSeen, QueuesSeen, TopologiesSeen
from phalanx.model.nodes import Node
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem
from phalanx.model.queues import EVERY_NAMESPACE, Queues

_NOT_PLACED = (
    "its pods are made for their nodes one by one, and Phalanx binds none of them: they wait for ever; leave "
    "schedulerName out, and kube-scheduler does"
)


class Estate:
    """``tell`` gives the new Surroundings when anything that workloads may look up has changed, else None."""

    def __init__(self, marks: Marks = Marks()) -> None:  # noqa: B008 - a frozen value
        self._marks = marks
        self._docs: dict[ObjectKey, Document] = {}
        self._nodes: dict[str, Node] = {}
        self._limits: dict[str, Limits] = {}  # of volumes, by node
        self._limited: frozenset[str] = frozenset()  # drivers that have a limit somewhere
        self._changed: dict[str, Node | None] = {}
        self._namespaces: dict[str, dict[str, str]] = {}
        self._queues = Queues()
        self._stale = True
        self._said: tuple[Problem, ...] = ()  # told already
        self._verdicts = Verdicts()
        self.aside = Quarantine()
        self._passed_over: dict[ObjectKey, Document] = {}  # as they were when something was raised about them

    def seen(self, doc: Document) -> None:
        if doc.kind == "Node":
            self._node_seen(doc)
            return
        if doc.of_kind == CSI_NODE:
            self._limits_seen(doc.name, attachments.limits(Field.of(doc.value, Notes())))
            return
        if doc.of_kind == NAMESPACE:
            self._namespaces[doc.name] = queueing.namespace_labels(Field.of(doc.value, Notes()))
            return
        key = doc.key
        is_said = doc.home == OURS and (not ours.is_said_valid(doc) or dangling.is_said(doc))
        if key not in self._docs and is_said:
            self._verdicts.unsettle(key)
        self._docs[key] = doc
        self._stale = True

    def gone(self, key: ObjectKey) -> None:
        if key.kind == "Node":
            if self._nodes.pop(key.name, None) is not None:
                self._changed[key.name] = None
        elif key.of_kind == CSI_NODE:
            self._limits_seen(key.name, {})
        elif key.of_kind == NAMESPACE:
            self._namespaces.pop(key.name, None)
        elif self._docs.pop(key, None) is not None:
            self._verdicts.lift(key)
            self._stale = True
        self.aside.lift([key])
        self._passed_over.pop(key, None)

    def unsettle(self, one: SetAside) -> None:
        """It cannot be read as it is now: that it can be later is news."""
        if one.subject.key in self._docs:
            self._verdicts.refuse(one.subject.key, one)

    def _node_seen(self, doc: Document) -> None:
        node = clusterstate.node(Field.of(doc.value, Notes()))
        if self._nodes.get(node.name) != node:
            self._nodes[node.name] = self._changed[node.name] = node

    def _limits_seen(self, node: str, limits: Limits) -> None:
        """How many volumes may be attached to a node. Of a driver that has a limit anywhere all nodes count them."""
        if self._limits.pop(node, {}) != limits and node in self._nodes:
            self._changed[node] = self._nodes[node]
        self._limits.update({node: limits} if limits else {})
        limited = attachments.drivers(self._limits.values())
        if limited != self._limited:
            self._limited, self._stale = limited, True
            self._changed.update({name: one for name, one in self._nodes.items() if name not in self._changed})

    def tell(self, told: Told) -> Surroundings | None:
        for name, node in self._changed.items():
            told.events.append(NodeGone(name) if node is None else NodeSeen(self._with_limits(node)))
        self._changed.clear()
        around = self._tell_rest(told) if self._stale else None
        self._tell_queues(told, around is not None)
        return around

    def _with_limits(self, node: Node) -> Node:
        return attachments.with_limits(node, self._limits.get(node.name, {}), self._limited)

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
        found = self._read(told)
        said = (*found.problems, *found.warnings)
        told.problems = tuple(one for one in said if one not in self._said)
        self._said = said
        self._tell_verdicts(told, found)
        self._tell_daemon_sets(told)
        told.events.append(TopologiesSeen(found.snapshot.topologies))
        self._queues = found.snapshot.queues
        around = replace(found.surroundings, limited=self._limited)
        told.events.append(DaemonSetsSeen(self._daemon_sets(around, told)))
        return around

    def _read(self, told: Told) -> ClusterReading:
        """All of it together; without those about which something is raised, also when each is read by itself."""
        again = [key for key, doc in self._passed_over.items() if self._docs.get(key) is not doc]
        self.aside.lift(again)
        for key in again:
            del self._passed_over[key]
        try:
            return picture.read(self._readable())
        except Exception:
            self._pass_over(told)
        return picture.read(self._readable())

    def _readable(self) -> list[Document]:
        keys = sorted(self._docs.keys() - self._passed_over.keys())
        return [self._docs[key] for key in keys if key.of_kind != DAEMON_SET]

    def _pass_over(self, told: Told) -> None:
        for doc in self._readable():
            try:
                picture.read([doc])
            except Exception as error:
                self._trip(doc, error, told)

    def _trip(self, doc: Document, error: Exception, told: Told) -> None:
        self._passed_over[doc.key] = doc
        self._verdicts.refuse(doc.key, self.aside.hold(doc.key, doc, error, told))

    def _tell_verdicts(self, told: Told, all_read: ClusterReading) -> None:
        """On objects of our kinds, each read by itself: what several do to each other is no fault of one of them. That
        one names another that is not there is told on it, and makes it no worse."""
        queues, topologies = all_read.snapshot.queues, {one.name for one in all_read.snapshot.topologies}
        for key, doc in [(doc.key, doc) for doc in self._readable() if doc.key.group == OURS]:
            try:
                wrong = tuple(one.told_on(key) for one in picture.read([doc]).problems)
                noted = wrong or dangling.of(doc, queues, topologies)
            except Exception as error:
                self._trip(doc, error, told)
                continue
            if noted and self._verdicts.refuse(key, noted):
                (told.unusable if wrong else told.dangling).append((Subject.of(key, doc), noted))
            elif not noted and self._verdicts.lift(key):
                told.accepted.append(Subject.of(key, doc))

    def _tell_daemon_sets(self, told: Told) -> None:
        """On those that name us: their pods are made for their nodes, and wait for somebody to bind them there."""
        for key in sorted(key for key in self._docs if key.of_kind == DAEMON_SET):
            doc = self._docs[key]
            at = Field.of(doc.value).at("spec", "template", "spec", "schedulerName")
            if at.value in self._marks.schedulers:
                noted = (Problem(at.path, at.value, (), _NOT_PLACED),)
                if self._verdicts.refuse(key, noted):
                    told.dangling.append((Subject.of(key, doc), noted))
            elif self._verdicts.lift(key):
                told.accepted.append(Subject.of(key, doc))

    def _daemon_sets(self, around: Surroundings, told: Told) -> tuple[DaemonSet, ...]:
        """Those that can be read; the pods of others count once they are there."""
        found = []
        for key in sorted(key for key in self._docs if key.of_kind == DAEMON_SET and key not in self._passed_over):
            at = Field.of(self._docs[key].value, Notes())
            try:
                one = daemonsets.read(at, around)
            except Exception as error:
                self._trip(self._docs[key], error, told)
                continue
            found.extend([] if at.notes.problems else [one])
        return tuple(found)
