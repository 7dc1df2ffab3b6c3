"""DaemonSets: what they will take on each node."""

from typing import Any

from phalanx.dialects import daemonsets
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.nodes import Taint
from phalanx.model.resources import NANO


def read(**spec: Any) -> Any:
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], **spec}
    doc = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"namespace": "kube-system", "name": "agent"},
        "spec": {"template": {"metadata": {"labels": {"app": "agent"}}, "spec": pod}},
    }
    at = Field.of(doc)
    found = daemonsets.read(at, Surroundings())
    return found, at


def tolerates(found: Any, key: str, effect: str) -> bool:
    taint = Taint(f"node.kubernetes.io/{key}", "", effect)
    return any(one.tolerates(taint) for one in found.shape.filter.tolerations)


def test_a_daemonset_has_the_shape_of_its_pods() -> None:  # K-074
    found, _ = read(nodeSelector={"gpu": "yes"})
    assert (found.id, found.shape.requests.get("cpu")) == ("kube-system/agent", NANO)
    assert found.shape.filter.selector == (("gpu", "yes"),)


def test_its_pods_tolerate_what_the_controller_lets_them_tolerate() -> None:  # K-074
    found, _ = read()
    assert tolerates(found, "unschedulable", "NoSchedule") and tolerates(found, "not-ready", "NoExecute")
    assert not tolerates(found, "not-ready", "NoSchedule")


def test_pods_on_the_network_of_the_host_come_before_the_network_does() -> None:  # K-074
    assert not tolerates(read()[0], "network-unavailable", "NoSchedule")
    assert tolerates(read(hostNetwork=True)[0], "network-unavailable", "NoSchedule")


def test_what_is_wrong_in_a_daemonset_is_a_problem_with_its_path() -> None:
    _, at = read(tolerations=[{"operator": "Exsts"}])
    assert any("template.spec.tolerations[0].operator" in note.path for note in at.notes.problems)
