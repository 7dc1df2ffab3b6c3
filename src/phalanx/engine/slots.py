"""The places of a gang that was placed: one per pod, in the order of its ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

from phalanx.model.placement import Placement
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import Group, PodSet, Request


@dataclass(slots=True)
class Slot:
    """One place: the ``number``-th pod of a set, on a node. ``pod``: who takes it; None while nobody does."""

    pod_set: str
    number: int
    node: str
    pod: PodKey | None = None
    sent: bool = False  # somebody was sent to it, or found there
    done: bool = False  # its pod has succeeded, and needs it no more
    moved: bool = False  # its node went, or is no good for it any more (``nodechanges``): nobody else is bound to it
    leaving: bool = False  # its pod was asked to go, so that its group can be placed elsewhere
    empty_since: float | None = None  # when its last pod left it

    def copied(self) -> "Slot":
        """Another one that is as it is now."""
        return Slot(
            self.pod_set, self.number, self.node, self.pod, self.sent, self.done, self.moved, self.leaving,
            self.empty_since,
        )  # fmt: skip

    def take(self, pod: Pod) -> None:
        """This pod has it now. One that is on a node already brings that with it."""
        self.pod = pod.key
        self.node = pod.node or self.node

    def follow(self, pod: Pod) -> None:
        """Somebody else gave its pod a node."""
        self.node = pod.node

    def follow_pin(self, pod: Pod, is_good: bool) -> None:
        """Its pod may go to this node only; where that is no good for it, its pod is called back."""
        self.node, self.sent, self.moved = pod.pinned, True, not is_good

    def send(self) -> None:
        """Somebody was sent to it, or found there."""
        self.sent = True

    def succeed(self) -> None:
        """Its pod has done its work."""
        self.done = True

    def forget_pod(self) -> None:
        """Its pod is not listed any more; what that did stays done."""
        self.pod, self.done = None, True

    def lose_pod(self, now: float) -> None:
        """Its pod left it. One that was asked to go elsewhere leaves a place that is none any more."""
        self.pod, self.empty_since = None, now
        self.moved, self.leaving = self.moved or self.leaving, False

    def stay_empty(self, now: float) -> None:
        """Its gang has started without a pod for it."""
        self.empty_since = now

    def lose_node(self) -> None:
        """Its node went, or is no good for it any more: nobody else is bound to it."""
        self.moved = True

    def move(self, node: str) -> None:
        """It is on this node from now on."""
        self.node, self.moved = node, False

    def give_up_pod(self) -> None:
        """Its pod is lost with its node; another one will come."""
        self.pod = None

    def vacate(self, is_taken: bool) -> None:
        """Its group moves elsewhere: a pod that is there is asked to go first."""
        self.leaving = is_taken
        self.moved = self.moved or not is_taken

    def rename(self, pod_set: str) -> None:
        """Its set is called this now."""
        self.pod_set = pod_set

    def renumber(self, number: int) -> None:
        self.number = number

    def set_back(self, seconds: float) -> None:
        """The clock was set back."""
        self.empty_since = None if self.empty_since is None else self.empty_since - seconds


def made(request: Request, placement: Placement) -> dict[str, list[Slot]]:
    """The places of every pod set. In a ranked group they follow the ranks, which run through its sets in order."""
    found: dict[str, list[Slot]] = {}
    for group in request.root.groups():
        sets = [member for member in group.members if isinstance(member, PodSet)]
        nodes = _in_order(group, sets, placement)
        for pods in sets:
            found[pods.name] = [Slot(pods.name, i, node) for i, node in enumerate(nodes[pods.name])]
    return {name: slots for name, slots in found.items() if slots}


def _in_order(group: Group, sets: list[PodSet], placement: Placement) -> dict[str, list[str]]:
    counted = {
        pods.name: [node for node, count in placement.pod_sets.get(pods.name, ()) for _ in range(count)]
        for pods in sets
    }
    ranked = placement.ranks.get(group.name)
    if ranked is None:
        return counted
    found: dict[str, list[str]] = {}
    start = 0
    for pods in sets:
        end = start + len(counted[pods.name])
        found[pods.name] = list(ranked[start:end])
        start = end
    return found


def numbered(made: dict[str, list[Slot]], request: Request, living: Sequence[Pod]) -> dict[str, list[Slot]]:
    """The places with the numbers of the pods that exist: of four ranks 0, 1 and 3 may be there."""
    first = offsets(request)
    for name, slots in made.items():
        ranks = (
            sorted(pod.rank - first[name] for pod in living if pod.pod_set == name and pod.rank is not None)
            if name in first
            else []
        )
        if len(ranks) == len(slots):
            for slot, rank in zip(slots, ranks, strict=True):
                slot.renumber(rank)
    return made


def offsets(request: Request) -> dict[str, int]:
    """The rank of the first pod of each set of a ranked group; sets of other groups have none."""
    found: dict[str, int] = {}
    for group in request.root.groups():
        start = 0
        for pods in (member for member in group.members if isinstance(member, PodSet)):
            if group.ranks is not None:
                found[pods.name] = start
            start += pods.count
    return found
