"""Taking the gate off a pod and pinning it, as one patch."""

from dataclasses import replace
from typing import Any

from phalanx.decider import pinning
from phalanx.dialects.following import ours
from phalanx.model.effects import Ungate
from phalanx.model.nodes import Toleration
from phalanx.model.pods import PodKey

SELECTOR = (("kubernetes.io/hostname", "n1"), ("rack", "r1"))
UNGATED = Ungate("default/g", PodKey("default", "p", "u"), "n1", SELECTOR)
H100 = Toleration("gpu", "Equal", "h100", "NoSchedule")
WRITTEN = {"key": "gpu", "operator": "Equal", "value": "h100", "effect": "NoSchedule"}


def pod(gates: list[str], **more: Any) -> dict[str, Any]:
    spec = {"schedulingGates": [{"name": name} for name in gates], **more}
    return {"metadata": {"name": "p", "uid": "u"}, "spec": spec}


def patched(doc: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """What a server makes of it: the few rules of JSON Patch that are used here."""
    for one in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in one["path"].split("/")[1:]]
        at: Any = doc
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]
        if isinstance(at, list) and last == "-":
            at.append(one["value"])
            continue
        last = int(last) if isinstance(at, list) else last
        if one["op"] == "test":
            assert at[last] == one["value"]
        elif one["op"] == "remove":
            del at[last]
        else:
            at[last] = one["value"]
    return doc


def test_the_gate_comes_off_and_the_pod_is_pinned_in_one_write() -> None:  # K-062
    before = pod(["phalanx.dev/topology"])
    after = patched(before, pinning.operations(before, replace(UNGATED, rank=3, domain="b1/r1", least=4)))
    assert after["spec"]["schedulingGates"] == []
    assert after["spec"]["nodeSelector"] == dict(SELECTOR)
    assert after["metadata"]["annotations"] == {
        "phalanx.dev/pinned": "kubernetes.io/hostname,rack",
        "phalanx.dev/node": "n1",
        "phalanx.dev/domain": "b1/r1",
        "phalanx.dev/rank": "3",
        "phalanx.dev/least": "4",
    }


def test_gates_of_others_and_what_the_pod_selects_itself_stay() -> None:
    before = pod(["other", "phalanx.dev/topology"], nodeSelector={"rack": "r1", "gpu": "h100"})
    after = patched(before, pinning.operations(before, UNGATED))
    assert after["spec"]["schedulingGates"] == [{"name": "other"}]
    assert after["spec"]["nodeSelector"] == {"rack": "r1", "gpu": "h100", "kubernetes.io/hostname": "n1"}
    assert after["metadata"]["annotations"] == {
        "phalanx.dev/pinned": "kubernetes.io/hostname",
        "phalanx.dev/node": "n1",
    }


def test_a_pod_without_our_gate_needs_nothing() -> None:
    assert pinning.operations(pod(["other"]), UNGATED) == []


def test_the_patch_is_refused_for_another_pod_of_that_name() -> None:
    first = pinning.operations(pod(["phalanx.dev/topology"]), UNGATED)[0]
    assert first == {"op": "test", "path": "/metadata/uid", "value": "u"}


def test_a_pod_gets_the_tolerations_of_its_flavor_that_it_lacks_and_loses_them_when_it_is_read() -> None:
    own = {"key": "own", "operator": "Exists"}
    for tolerations in ([], [own], [own, {**WRITTEN, "tolerationSeconds": 5}]):
        before = pod(["phalanx.dev/topology"], tolerations=list(tolerations))
        after = patched(before, pinning.operations(before, replace(UNGATED, tolerations=(H100,))))
        given = [] if len(tolerations) == 2 else [WRITTEN]
        assert after["spec"]["tolerations"] == [*tolerations, *given]
        assert ours.unpinned(after)["spec"]["tolerations"] == tolerations  # type: ignore[index]


def test_a_pod_that_is_bound_gets_them_before_and_once() -> None:
    before = pod([])
    after = patched(before, pinning.tolerating(before, [H100]))
    assert after["spec"]["tolerations"] == [WRITTEN]
    assert pinning.tolerating(after, [H100]) == []


def test_a_note_of_ours_that_somebody_spoiled_takes_nothing_away() -> None:
    spoiled = pod([], tolerations=[WRITTEN])
    for text in ("{", "7", '{"key": "gpu"}'):
        spoiled["metadata"]["annotations"] = {"phalanx.dev/tolerated": text}
        assert ours.unpinned(spoiled)["spec"]["tolerations"] == [WRITTEN]  # type: ignore[index]


def test_a_gang_with_a_name_too_long_for_a_label_gets_a_short_one_on_its_pods() -> None:
    before = pod(["phalanx.dev/topology"])
    before["metadata"]["annotations"] = {"phalanx.dev/gang": "g" * 70}
    after = patched(before, pinning.operations(before, UNGATED))
    label = after["metadata"]["labels"]["phalanx.dev/gang"]
    assert len(label) == 63 and label.startswith("g" * 40)
    assert pinning.labels(after["metadata"]) == {}
    assert pinning.labels({"annotations": {"phalanx.dev/gang": "short"}}) == {}
