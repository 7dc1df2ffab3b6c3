"""Taking the gate off a pod and pinning it, as one patch."""

from typing import Any

from phalanx.kube import pinning

SELECTOR = (("kubernetes.io/hostname", "n1"), ("rack", "r1"))


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
    after = patched(before, pinning.operations(before, SELECTOR, 3))
    assert after["spec"]["schedulingGates"] == []
    assert after["spec"]["nodeSelector"] == dict(SELECTOR)
    assert after["metadata"]["annotations"] == {
        "phalanx.dev/pinned": "kubernetes.io/hostname,rack",
        "phalanx.dev/rank": "3",
    }


def test_gates_of_others_and_what_the_pod_selects_itself_stay() -> None:
    before = pod(["other", "phalanx.dev/topology"], nodeSelector={"rack": "r1", "gpu": "h100"})
    after = patched(before, pinning.operations(before, SELECTOR, None))
    assert after["spec"]["schedulingGates"] == [{"name": "other"}]
    assert after["spec"]["nodeSelector"] == {"rack": "r1", "gpu": "h100", "kubernetes.io/hostname": "n1"}
    assert after["metadata"]["annotations"] == {"phalanx.dev/pinned": "kubernetes.io/hostname"}


def test_a_pod_without_our_gate_needs_nothing() -> None:
    assert pinning.operations(pod(["other"]), SELECTOR, None) == []


def test_the_patch_is_refused_for_another_pod_of_that_name() -> None:
    first = pinning.operations(pod(["phalanx.dev/topology"]), SELECTOR, None)[0]
    assert first == {"op": "test", "path": "/metadata/uid", "value": "u"}
