"""LiveScheduler used wrongly: each way gives an error that says what is allowed, and nothing was heard of that step."""

import copy
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from phalanx import Cluster
from phalanx.kube.configuration import BadConfiguration
from phalanx.testing import LiveScheduler, matchers
from tests.cluster import docs

NAN = float("nan")


def made(configuration: Any) -> Callable[[], object]:
    return lambda: LiveScheduler(configuration)


def stepped(**given: Any) -> Callable[[], object]:
    return lambda: LiveScheduler().step(**given)


def decided() -> Any:
    return Cluster.from_manifests(docs.cluster()).place([docs.gang()])


WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a path as configuration": (made(Path("phalanx.yaml")), TypeError, "the text of its YAML file, or None"),
    "a path's text as configuration": (made("phalanx.yaml"), BadConfiguration, "expected a mapping that begins"),
    "a mapping as configuration": (made({"kind": "Configuration"}), TypeError, "is not a Configuration, the text"),
    "nothing seen": (stepped(seen=None), TypeError, "seen: expected a list of mappings"),
    "a text seen": (stepped(seen="node"), TypeError, "seen: expected a list of mappings"),
    "names seen": (stepped(seen=["node"]), TypeError, "seen[0]: 'node' is not an object as a server has it"),
    "an empty object seen": (stepped(seen=[docs.node("a"), None]), TypeError, "seen[1]: None is not an object"),
    "nothing gone": (stepped(gone=None), TypeError, "gone: None is no list of tuples"),
    "one tuple gone": (stepped(gone=("", "Pod", "a", "p")), TypeError, "gone[0]: '' is not a tuple of texts: API"),
    "an object gone": (stepped(gone=[docs.node("a")]), TypeError, "gone[0]: a value of type dict is not a tuple"),
    "a key cut short gone": (stepped(gone=[("Pod", "p")]), ValueError, "('Pod', 'p') has 2 parts; they are API group,"),
    "an answer cut short": (stepped(answers=[("a", "p", "bound")]), ValueError, "namespace, name, uid, node, answer"),
    "an answer in words of its own": (
        stepped(answers=[("a", "p", "u", "n", "ok")]), ValueError,
        "answers[0]: 'ok' is not one of bound, here, conflict, refused, unknown",
    ),
    "an answer without a node": (stepped(answers=[("a", "p", "u", None, "bound")]), TypeError, "a tuple of texts"),
    "a time in words": (stepped(now="12:00"), TypeError, "now: '12:00' is not a number"),
    "no time": (stepped(now=NAN), ValueError, "now: nan is not a number"),
    "too much jitter": (stepped(jitter=7), ValueError, "jitter: 7 is not a number from 0 to 1"),
    "less than nothing unheard": (stepped(unheard=-1), ValueError, "unheard: -1 is not a number from 0 on"),
    "decisions to a matcher": (lambda: matchers.why_not_placed(decided()), TypeError, "(decision,) = cluster.place"),
    "a negative depth": (
        lambda: matchers.why_not_together(decided()[0], "workers", -1),
        ValueError, "depth: -1 is not a number from 0 on",
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_call_says_what_is_allowed(wrong: str) -> None:
    call, error, sentence = WRONG[wrong]
    with pytest.raises(error) as found:
        call()
    assert sentence in str(found.value)


def test_no_pods_of_a_set_that_is_not_there_is_told() -> None:
    assert "there is no pod set 'worker'; placed were workers" in matchers.why_not_counted(decided()[0], "worker", 0)


def node(name: str) -> docs.Doc:
    found = docs.node(name, {"kubernetes.io/hostname": name})
    found["metadata"]["uid"] = name
    found["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return found


def pod(name: str) -> docs.Doc:
    metadata = {"name": name, "namespace": "x", "uid": name, "labels": {"phalanx.dev/gang": "g"}}
    spec = {"schedulerName": "phalanx", **docs.template(1)["spec"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def gang(count: int) -> docs.Doc:
    found = docs.gang("g", {"name": "main", "count": count})
    found["metadata"] = {"name": "g", "namespace": "x", "uid": "g"}
    return found


def bound(scheduler: LiveScheduler, seen: list[Any], now: float) -> list[str]:
    return [effect.name for effect in scheduler.step(seen=seen, now=now) if effect.kind == "Bind"]


def test_of_a_wrong_step_nothing_was_heard() -> None:
    scheduler = LiveScheduler()
    with pytest.raises(TypeError):
        scheduler.step(seen=[gang(1), node("a"), "pod"], now=1.0)  # type: ignore[list-item]
    assert scheduler.gangs() == [] and bound(scheduler, [gang(1), pod("p")], 2.0) == []
    assert bound(scheduler, [node("a")], 3.0) == ["p"]


def test_an_object_that_is_changed_and_not_told_again_is_as_it_was_told() -> None:
    scheduler, told = LiveScheduler(), [node("a"), gang(2), pod("p")]
    given = copy.deepcopy(told)
    scheduler.step(seen=given, now=1.0)
    given[1]["spec"]["podGroups"][0]["count"] = 5
    given[2]["metadata"]["labels"].clear()
    assert bound(scheduler, [pod("q")], 2.0) == ["p", "q"]


def test_objects_may_be_mappings_that_cannot_be_changed_or_one_alone() -> None:
    scheduler = LiveScheduler()
    scheduler.step(seen=[MappingProxyType(one) for one in (node("a"), gang(1))], now=1.0)
    effects = scheduler.step(seen=pod("p"), now=2.0)
    assert [effect.name for effect in effects if effect.kind == "Bind"] == ["p"]
