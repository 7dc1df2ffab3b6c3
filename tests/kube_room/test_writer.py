"""Effects carried out: in order for a gang, binds together, every answer told."""

import asyncio
from typing import Any, cast

import pytest

from phalanx.kube import writer as room
from phalanx.kube.writer import Writer
from phalanx.model.effects import Bind, Effect, Evict, Prepare, Resume, Suspend, Ungate
from phalanx.model.events import Answer, Answered, BindAnswered, SuspendRefused
from phalanx.model.nodes import Toleration
from phalanx.model.objects import Incarnation, ObjectKey
from phalanx.model.pods import PodKey
from phalanx.wire import binding
from phalanx.wire.client import Client
from phalanx.wire.discovery import Served
from phalanx.wire.errors import Refused, Unanswered
from phalanx.wire.resources import JOBS
from tests.testing import named
from tests.testing.live_jobs import merged

TRAIN = named.owner("train")


def key(name: str) -> PodKey:
    return PodKey("default", name, f"uid-{name}")


def pod(name: str) -> dict[str, Any]:
    spec = {"schedulingGates": [{"name": "phalanx.dev/topology"}]}
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": spec}


def owner() -> dict[str, Any]:
    """A suspended Job."""
    spec = {"suspend": True, "template": {"spec": {"containers": [{}]}}}
    return {"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": spec}


def conflict() -> Refused:
    return Refused(409, "Conflict", "changed meanwhile", {}, None)


class Server:
    """Answers as told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.labelled: dict[str, dict[str, str]] = {}
        self.answers: dict[str, Answer] = {}
        self.refusals: list[Exception] = []
        self.silenced: Exception | None = None  # what it says to whoever writes a status
        self.objects: dict[str, dict[str, Any]] = {}
        self.slow = 0.0  # seconds that a change takes
        self.mute = False  # whether nobody answers who writes a status
        self.answering = asyncio.Event()  # while it is not set, whoever binds or says why a pod goes waits
        self.answering.set()
        self.most, self._together = 0, 0

    async def _answer(self) -> None:
        self._together += 1
        self.most = max(self.most, self._together)
        await asyncio.sleep(0)
        await self.answering.wait()
        self._together -= 1

    def count(self, verb: str) -> int:
        return sum(asked.startswith(verb) for asked in self.asked)

    async def bind(self, _: Client, target: binding.Target, seconds: float) -> binding.Bound:
        await self._answer()
        self.asked.append(f"bind {target.name} {target.node} {dict(target.annotations)}")
        self.labelled[target.name] = dict(target.labels)
        return binding.Bound(self.answers.get(target.name, Answer.BOUND))

    async def get(self, resource: Any, name: str, namespace: str = "") -> dict[str, Any]:
        self.asked.append(f"get {name}")
        if name not in self.objects:
            raise Refused(404, "NotFound", "no such object", {}, None)
        return self.objects[name]

    async def patch(self, resource: Any, name: str, change: Any, namespace: str = "", **_: Any) -> None:
        if self.refusals:
            raise self.refusals.pop()
        await asyncio.sleep(self.slow)
        self.asked.append(f"patch {resource.plural} {name}")
        if isinstance(change, dict):
            found = merged(self.objects[name], {**change, "metadata": {**change["metadata"], "resourceVersion": "2"}})
            self.objects[name].update(found)

    async def patch_status(self, resource: Any, name: str, change: Any, namespace: str = "", **_: Any) -> None:
        await self._answer()
        if self.mute:
            await asyncio.Event().wait()
        if self.silenced is not None:
            raise self.silenced
        (condition,) = change["status"]["conditions"]
        self.asked.append(f"status {name} {condition['type']} {condition['lastTransitionTime'][-1]}")

    async def delete(self, resource: Any, name: str, namespace: str = "", *, uid: str = "") -> None:
        self.asked.append(f"delete {name} {uid}")
        if self.refusals:
            raise self.refusals.pop()


class Witness:
    def __init__(self) -> None:
        self.done: list[tuple[str, bool]] = []

    def bound(self, answer: Answer, seconds: float) -> None: ...

    def carried_out(self, effect: Effect, done: bool) -> None:
        self.done.append((type(effect).__name__, done))


class Told:
    def __init__(self) -> None:
        self.answers: list[Answered] = []
        self.read: list[tuple[PodKey, bool]] = []
        self.problems: list[str] = []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    one = Server()
    monkeypatch.setattr(room.binding, "bind", one.bind)
    return one


def hands_on(server: Server, told: Told, witness: Witness, bind_seconds: float = 10.0) -> Writer:
    return Writer(
        cast("Client", server),
        Served,
        told.answers.append,
        lambda key, found: told.read.append((key, found is not None)),
        lambda key: server.objects.get(key.name, {}).get("metadata"),
        witness,
        told.problems.append,
        concurrency=4,
        bind_seconds=bind_seconds,
    )


def carry_out(server: Server, *effects: Effect, bind_seconds: float = 10.0) -> tuple[Told, Witness]:
    told, witness = Told(), Witness()

    async def run() -> None:
        hands = hands_on(server, told, witness, bind_seconds)
        hands.carry_out(effects)
        await hands.drained()

    asyncio.run(run())
    return told, witness


def carry_out_by_steps(server: Server, *steps: list[Effect]) -> tuple[Told, Writer]:
    """The server answers nothing before the last step was told."""
    told = Told()

    async def run() -> Writer:
        server.answering.clear()
        hands = hands_on(server, told, Witness())
        for effects in steps:
            hands.carry_out(effects)
            for _ in range(10):
                await asyncio.sleep(0)
        server.answering.set()
        await hands.drained()
        return hands

    return told, asyncio.run(run())


def binds(*names: str) -> list[Effect]:
    return [Bind("g", key(name), "n1") for name in names]


def evicts(*names: str) -> list[Effect]:
    return [Evict("g", key(name), "late") for name in names]


def test_a_bind_carries_domain_and_rank_and_is_answered(server: Server) -> None:  # KA-004, KA-056
    told, _ = carry_out(server, Bind("g", key("a"), "n1", "b1/r1", 0))
    assert server.asked == ["bind a n1 {'phalanx.dev/domain': 'b1/r1', 'phalanx.dev/rank': '0'}"]
    assert told.answers == [BindAnswered(key("a"), "n1", Answer.BOUND)]


H100 = Toleration("gpu", "Equal", "h100", "NoSchedule")


def test_a_pod_has_the_tolerations_of_its_flavor_before_it_is_bound(server: Server) -> None:
    server.objects["a"] = pod("a")
    carry_out(server, Bind("g", key("a"), "n1", tolerations=(H100,)))
    assert server.asked == ["get a", "patch pods a", "bind a n1 {}"]


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (Refused(403, "Forbidden", "not allowed", {}, None), Answer.REFUSED),
        (Refused(404, "NotFound", "gone", {}, None), Answer.CONFLICT),
        (Unanswered("late"), Answer.UNKNOWN),
    ],
)
def test_a_pod_that_cannot_be_given_them_is_not_bound(server: Server, error: Exception, answer: Answer) -> None:
    server.objects["a"] = pod("a")
    server.refusals = [error]
    told, _ = carry_out(server, Bind("g", key("a"), "n1", tolerations=(H100,)))
    assert not server.count("bind")
    assert [one.answer for one in told.answers] == [answer]


def test_a_pod_of_a_gang_with_a_long_name_gets_a_label_with_its_bind(server: Server) -> None:
    server.objects["a"] = pod("a")
    server.objects["a"]["metadata"]["annotations"] = {"phalanx.dev/gang": "g" * 70}
    carry_out(server, Bind("g", key("a"), "n1"))
    assert server.labelled["a"]["phalanx.dev/gang"].startswith("g" * 40)


def test_after_a_bind_that_nobody_answered_the_pod_is_read_before_the_answer_is_told(server: Server) -> None:
    server.answers["a"] = Answer.UNKNOWN
    server.objects["a"] = pod("a")
    told, _ = carry_out(server, Bind("g", key("a"), "n1"))
    assert told.read == [(key("a"), True)]
    assert [one.answer for one in told.answers] == [Answer.UNKNOWN]
    assert "done or not done" in told.problems[0]


def test_a_pod_that_is_gone_is_told_as_gone(server: Server) -> None:
    server.answers["a"] = Answer.CONFLICT
    told, _ = carry_out(server, Bind("g", key("a"), "n1"))
    assert told.read == [(key("a"), False)]


def test_effects_of_one_gang_keep_their_order(server: Server) -> None:
    server.objects["train"] = owner()
    carry_out(server, Prepare("g", TRAIN), Resume("g", TRAIN), Bind("g", key("a"), "n1"))
    writes = [asked for asked in server.asked if not asked.startswith("get")]
    assert writes == ["patch jobs train", "patch jobs train", "bind a n1 {}"]


def test_an_owner_is_never_let_go_without_our_gate(server: Server) -> None:
    """Putting the gate in has failed when the owner is to be let go."""
    server.objects["train"] = owner()
    server.refusals = [Unanswered("late")]
    _, witness = carry_out(server, Prepare("g", TRAIN), Resume("g", TRAIN))
    assert witness.done == [("Prepare", False), ("Resume", True)]
    found = server.objects["train"]["spec"]
    assert found["suspend"] is False
    assert found["template"]["spec"]["schedulingGates"] == [{"name": "phalanx.dev/topology"}]


def test_an_owner_whose_gate_cannot_be_put_in_stays_held(server: Server) -> None:
    server.objects["train"] = owner()
    server.refusals = [Unanswered("late"), Unanswered("late")]
    _, witness = carry_out(server, Prepare("g", TRAIN), Resume("g", TRAIN))
    assert witness.done == [("Prepare", False), ("Resume", False)]
    assert server.objects["train"]["spec"]["suspend"] is True


def test_a_write_that_nobody_answers_does_not_hold_the_next_one_back(server: Server) -> None:
    server.objects["a"], server.objects["b"] = pod("a"), pod("b")
    server.slow = 3600.0
    told, witness = carry_out(
        server,
        Ungate("g", key("a"), "n1", ()),
        Ungate("g", key("b"), "n1", ()),
        Evict("g", key("a"), "late"),
        bind_seconds=0.01,
    )
    assert witness.done == [("Ungate", False), ("Ungate", False), ("Evict", True)]
    assert "no answer within 0.01 s" in told.problems[0]


def test_an_evicted_pod_says_why_before_it_goes_and_is_deleted_by_its_uid(server: Server) -> None:
    carry_out(server, Evict("g", key("a"), "a node was lost"))
    assert server.asked == ["status a DisruptionTarget Z", "delete a uid-a"]


def test_a_pod_goes_even_where_it_may_not_be_said_why(server: Server) -> None:
    server.silenced = Refused(403, "Forbidden", "no", {}, None)
    told, witness = carry_out(server, Evict("g", key("a"), "late"))
    assert server.asked == ["delete a uid-a"] and witness.done == [("Evict", True)]
    assert "DisruptionTarget" in told.problems[0]


def test_a_write_that_met_another_one_is_tried_again_on_what_is_there_now(server: Server) -> None:
    server.objects["a"] = pod("a")
    server.refusals = [conflict()]
    _, witness = carry_out(server, Ungate("g", key("a"), "n1", (("rack", "r1"),)))
    assert server.asked == ["get a", "get a", "patch pods a"]
    assert witness.done == [("Ungate", True)]


def test_what_cannot_be_written_is_told_and_nothing_else_stops(server: Server) -> None:
    server.objects["a"], server.objects["b"] = pod("a"), pod("b")
    server.refusals = [Unanswered("late")]
    told, witness = carry_out(server, Ungate("g", key("a"), "n1", ()), Ungate("g", key("b"), "n1", ()))
    assert witness.done == [("Ungate", False), ("Ungate", True)]
    assert len(told.problems) == 1


def test_an_object_that_is_gone_needs_nothing_more(server: Server) -> None:
    _, witness = carry_out(server, Resume("g", named.owner("gone")))
    assert witness.done == [("Resume", True)]


def test_gangs_do_not_wait_for_each_other(server: Server) -> None:
    told, _ = carry_out(server, *(Bind(f"g{i}", key(f"p{i}"), "n1") for i in range(50)))
    assert len(told.answers) == 50


def test_a_pod_goes_where_nobody_answers_that_it_was_told_why(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.mute = True
    monkeypatch.setattr(room, "SAYING", 0.01)
    told, witness = carry_out(server, *evicts("a", "b"), bind_seconds=600.0)
    assert sorted(server.asked) == ["delete a uid-a", "delete b uid-b"]
    assert witness.done == [("Evict", True)] * 2
    assert "DisruptionTarget" in told.problems[0] and "no answer in time" in told.problems[0]


@pytest.mark.parametrize("error", [Unanswered("lost"), Refused(500, "InternalError", "no", {}, None)])
def test_a_pod_goes_whatever_became_of_telling_it_why(server: Server, error: Exception) -> None:
    server.silenced = error
    _, witness = carry_out(server, *evicts("a"))
    assert server.asked == ["delete a uid-a"] and witness.done == [("Evict", True)]


# -- what makes the pods -----------------------------------------------------------------------------------------

NOTE = "phalanx.dev/suspended"
MPI = Incarnation(ObjectKey("kubeflow.org", "MPIJob", "default", "train"), "u")


def runs(**metadata: Any) -> dict[str, Any]:
    """A Job that makes pods."""
    made = owner()
    return {"metadata": {**made["metadata"], **metadata}, "spec": {**made["spec"], "suspend": False}}


def test_a_maker_is_suspended_with_our_note_and_its_template_is_left_alone(server: Server) -> None:
    server.objects["train"] = runs()
    carry_out(server, Suspend("g", TRAIN, "DRAINED"))
    found = server.objects["train"]
    assert found["spec"] == owner()["spec"]
    assert found["metadata"]["annotations"] == {NOTE: "for gang g: DRAINED"}
    assert server.count("patch jobs") == 1


def test_a_maker_that_we_suspended_is_let_go_without_a_gate(server: Server) -> None:
    server.objects["train"] = {**owner(), "metadata": {**owner()["metadata"], "annotations": {NOTE: "for gang g: x"}}}
    carry_out(server, Resume("g", TRAIN, gated=False))
    assert server.objects["train"]["spec"] == runs()["spec"]
    assert server.objects["train"]["metadata"]["annotations"] == {}


def test_a_maker_that_its_user_suspended_is_not_let_go(server: Server) -> None:
    server.objects["train"] = owner()
    carry_out(server, Suspend("g", TRAIN, "DRAINED"), Resume("g", TRAIN, gated=False))
    assert server.objects["train"] == owner() and server.count("patch") == 0


def test_a_kind_that_is_suspended_by_its_run_policy_is_suspended_there(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Served, "find", lambda *_: JOBS)
    server.objects["train"] = {"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": {"runPolicy": {}}}
    carry_out(server, Suspend("g", MPI, "DRAINED"))
    assert server.objects["train"]["spec"] == {"runPolicy": {"suspend": True}}
    carry_out(server, Resume("g", MPI, gated=False))
    assert server.objects["train"]["spec"] == {"runPolicy": {"suspend": False}}


def test_a_maker_that_may_not_be_suspended_is_told_so_that_its_pods_are_deleted_instead(server: Server) -> None:
    server.objects["train"] = runs()
    server.refusals = [Refused(403, "Forbidden", "jobs is forbidden", {}, None)]
    told, witness = carry_out(server, Suspend("g", TRAIN, "DRAINED"))
    assert told.answers == [SuspendRefused("g")] and witness.done == [("Suspend", False)]
    assert "deleted instead" in told.problems[0] and "forbidden" in told.problems[0]


def test_a_maker_of_which_nobody_knows_whether_it_was_suspended_is_asked_again_and_nothing_is_deleted(
    server: Server,
) -> None:
    server.objects["train"] = runs()
    server.refusals = [Unanswered("late")]
    told, witness = carry_out(server, Suspend("g", TRAIN, "DRAINED"))
    assert told.answers == [] and witness.done == [("Suspend", False)]


def test_all_makers_of_a_gang_are_asked_once_while_the_server_is_slow(server: Server) -> None:
    server.objects["train"], server.objects["head"] = runs(), runs()
    both: list[Effect] = [Suspend("g", TRAIN, "DRAINED"), Suspend("g", named.owner("head"), "DRAINED")]
    carry_out_by_steps(server, binds("a"), *[both] * 3)
    assert server.count("patch jobs train") == server.count("patch jobs head") == 1
    assert server.count("get") == 4, "to suspend it, and to see that no gate of ours is in its template"


# -- a gang that leaves ------------------------------------------------------------------------------------------

PODS = tuple(f"p{i}" for i in range(100))


def test_of_a_gang_that_leaves_nothing_is_bound_that_was_not_sent_yet(server: Server) -> None:
    """Four binds were sent. The others are neither done nor answered: their pods go, and only seeing that tells."""
    told, _ = carry_out_by_steps(server, binds(*PODS), evicts(*PODS))
    assert server.count("bind") == 4
    assert server.count("delete") == 100
    assert [one.key.name for one in told.answers] == ["p0", "p1", "p2", "p3"]


def test_pods_of_a_gang_leave_together_as_many_at_once_as_there_is_room_for(server: Server) -> None:
    carry_out_by_steps(server, evicts(*PODS))
    assert server.most == 4


def test_what_a_step_asks_for_together_is_done_in_its_order(server: Server) -> None:
    carry_out_by_steps(server, [*binds("a"), *evicts("b"), *binds("c")])
    assert [asked.split()[:2] for asked in server.asked] == [
        ["bind", "a"], ["status", "b"], ["delete", "b"], ["bind", "c"]
    ]  # fmt: skip


def test_another_object_under_the_name_of_an_owner_is_left_alone(server: Server) -> None:
    server.objects["train"] = owner()
    before = named.owner("train", uid="of the one before")
    _, witness = carry_out(server, Prepare("g", before), Resume("g", before), Suspend("g", before))
    assert server.count("patch jobs") == 0
    assert [done for _, done in witness.done] == [True, True, True]


def test_an_owner_that_is_held_back_is_not_let_go_before(server: Server) -> None:
    server.objects["train"] = owner()
    let_go: list[Effect] = [Prepare("g", TRAIN), Resume("g", TRAIN)]
    carry_out_by_steps(server, binds("a"), let_go, [Suspend("g", TRAIN)])
    assert server.objects["train"]["spec"]["suspend"] is True
    assert server.count("patch jobs") == 0


def test_an_owner_can_be_let_go_again_while_it_is_held_back(server: Server) -> None:
    server.objects["train"] = owner()
    let_go: list[Effect] = [Prepare("g", TRAIN), Resume("g", TRAIN)]
    carry_out_by_steps(server, binds("a"), [Suspend("g", TRAIN)], let_go)
    assert server.objects["train"]["spec"]["suspend"] is False


def test_what_is_under_way_or_waits_already_is_not_queued_again(server: Server) -> None:
    held: list[Effect] = [Suspend("g", TRAIN)]
    _, hands = carry_out_by_steps(server, *[binds(*PODS)] * 3, *[evicts("a", "b")] * 3, *[held] * 3)
    assert server.count("bind") == 4
    assert server.count("delete") == 2
    assert server.count("get train") == 1
    assert hands.left() == {}


def test_what_was_done_can_be_asked_for_again(server: Server) -> None:
    async def run() -> None:
        hands = hands_on(server, Told(), Witness())
        for _ in range(2):
            hands.carry_out(evicts("a"))
            await hands.drained()

    asyncio.run(run())
    assert server.count("delete") == 2


def test_a_pod_that_is_gone_when_it_is_to_leave_is_told_as_gone(server: Server) -> None:
    server.refusals = [Refused(404, "NotFound", "no such pod", {}, None)]
    told, witness = carry_out(server, *evicts("a"))
    assert told.read == [(key("a"), False)]
    assert witness.done == [("Evict", True)]


def test_what_nobody_thought_of_stays_with_one_effect(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real = server.bind

    async def broken(client: Client, target: binding.Target, seconds: float) -> binding.Bound:
        if target.name == "a":
            raise ValueError("we are wrong")
        return await real(client, target, seconds)

    monkeypatch.setattr(room.binding, "bind", broken)
    tripped: list[tuple[str, str]] = []
    told, witness = Told(), Witness()

    async def run() -> int:
        hands = hands_on(server, told, witness)
        hands._tripped = lambda about, mishap: tripped.append((about, mishap.line))
        hands.carry_out([*binds("a", "b"), *evicts("a")])
        async with asyncio.timeout(30):
            await hands.drained()
        return hands.under_way

    assert asyncio.run(run()) == 0
    assert tripped == [("Bind of gang g", "ValueError: we are wrong")]
    assert {(one.key.name, one.answer) for one in told.answers} == {("a", Answer.UNKNOWN), ("b", Answer.BOUND)}
    assert ("Bind", False) in witness.done and server.count("delete") == 1


def test_an_owner_that_is_not_as_owners_are_stays_with_its_gang(server: Server) -> None:
    server.objects["train"] = {"kind": "Job"}  # no metadata
    tripped: list[str] = []

    async def run() -> None:
        hands = hands_on(server, Told(), Witness())
        hands._tripped = lambda about, mishap: tripped.append(f"{about}: {mishap.line}")
        hands.carry_out([Resume("default/g", TRAIN), *binds("b")])
        async with asyncio.timeout(30):
            await hands.drained()

    asyncio.run(run())
    assert tripped == ["Resume of gang default/g: KeyError: 'metadata'"]
    assert server.count("bind") == 1
