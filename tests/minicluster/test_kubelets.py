"""What becomes of a pod once it has a node, and of its node."""

from phalanx.minicluster import Pace
from tests.minicluster.site import Doc, Site, bare, is_leaving, is_true, phases
from tests.testing import live_objects as objects


def pod(name: str, gpus: int = 1, policy: str = "Never", **annotations: str) -> Doc:
    said = {f"minicluster.phalanx.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    written = bare(objects.pod(name, gpus, annotations=said))
    return {**written, "spec": {**written["spec"], "restartPolicy": policy}}


def only(site: Site) -> Doc:
    (found,) = site.pods()
    return found


def test_a_bound_pod_runs_and_is_ready_as_the_pace_says() -> None:
    site = Site(Pace(start=(2.0, 2.0), ready=(3.0, 3.0)))
    site.add(pod("a"))
    site.bind(1)
    assert phases(site.pods()) == ["Pending"]
    site.run(1)
    assert phases(site.pods()) == ["Running"] and not is_true(only(site), "Ready")
    site.run(3)
    assert is_true(only(site), "Ready") and site.cluster.next_due() is None


def test_a_pod_that_finds_no_room_on_its_node_fails_and_the_others_stay() -> None:
    site = Site(nodes=1)
    site.add(pod("a", 5), pod("b", 5), pod("c", 3))
    site.bind(5)
    assert phases(site.pods()) == ["Running", "Failed", "Running"]
    assert site.there("", "Pod", "b")["status"]["reason"] == "OutOfnvidia.com/gpu"


def test_room_is_there_again_when_a_pod_has_ended() -> None:
    site = Site(nodes=1)
    site.add(pod("a", 5, runs_for="10"))
    site.bind(20)
    site.add(pod("b", 5))
    site.bind(5)
    assert phases(site.pods()) == ["Succeeded", "Running"]


def test_a_pod_is_refused_by_a_node_that_it_does_not_select() -> None:
    site = Site(nodes=1)
    wrong = pod("a")
    site.add({**wrong, "spec": {**wrong["spec"], "nodeSelector": {"topology/rack": "elsewhere"}}})
    site.bind(1)
    assert only(site)["status"]["reason"] == "NodeAffinity"


def test_a_pod_ends_by_itself_with_the_exit_code_of_its_annotation() -> None:
    site = Site()
    site.add(pod("a", runs_for="10"), pod("b", runs_for="10", fails="3"), pod("c"))
    site.bind(10)
    assert phases(site.pods()) == ["Running"] * 3
    site.run(1)
    assert phases(site.pods()) == ["Succeeded", "Failed", "Running"]
    state = site.there("", "Pod", "b")["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == 3


def test_a_running_pod_that_is_told_to_fail_fails_at_once() -> None:
    site = Site()
    site.add(pod("a"))
    site.bind(10)
    site.annotate(only(site), runs_for="0", fails="1")
    assert phases(site.pods()) == ["Failed"]


def test_a_container_that_may_restart_does_and_is_ready_again() -> None:
    site = Site()
    site.add(pod("a", policy="Always", runs_for="30", fails="1"))
    site.bind(31)
    assert only(site)["status"]["containerStatuses"][0]["restartCount"] == 1
    assert phases(site.pods()) == ["Running"] and not is_true(only(site), "Ready")
    site.run(15)
    assert is_true(only(site), "Ready")


def test_a_deleted_pod_takes_its_time_says_how_it_ended_and_goes() -> None:
    site = Site(Pace(ending=(5.0, 5.0), stays=(2.0, 2.0), succeeds=1.0))
    site.add(pod("a", policy="Always"))
    site.bind(5)
    site.delete(only(site))
    site.run(4)
    assert phases(site.pods()) == ["Running"] and is_leaving(only(site))
    site.run(1)
    assert phases(site.pods()) == ["Succeeded"], "also under restartPolicy Always"
    site.run(2)
    assert site.pods() == []


def test_how_a_drained_pod_ends_is_said_by_its_annotation_before_the_pace() -> None:
    site = Site(Pace(stays=(9.0, 9.0), succeeds=1.0))
    site.add(pod("a", drained_exit_code="1"), pod("b"))
    site.bind(5)
    for one in site.pods():
        site.delete(one)
    site.run(3)
    assert phases(site.pods()) == ["Failed", "Succeeded"]


def test_a_pod_that_ends_slowly_holds_its_room_beyond_its_grace() -> None:
    site = Site(nodes=1)
    site.add(pod("a", 8, ends_slowly="100"))
    site.bind(5)
    site.delete(only(site))
    site.add(pod("b", 8))
    site.run(60)
    site.bind(1)
    assert phases(site.pods()) == ["Running", "Failed"]
    site.run(60)
    assert site.names() == ["b"]


def test_pods_of_a_silent_node_stay_until_it_speaks_again() -> None:
    site = Site(Pace(node_grace=40, node_timeout=300), nodes=1)
    site.add(pod("a"))
    site.bind(5)
    node = site.there("", "Node", "n0")
    site.annotate(node, silent="true")
    site.run(39)
    assert is_true(only(site), "Ready")
    site.run(1)
    assert not is_true(only(site), "Ready") and not is_true(site.there("", "Node", "n0"), "Ready")
    site.run(300)
    assert is_leaving(only(site)) and is_true(only(site), "DisruptionTarget")
    site.run(10_000)
    assert is_leaving(only(site))

    def speaking(found: Doc) -> Doc:
        return {**found, "metadata": {**found["metadata"], "annotations": {}}}

    site.change(node, speaking)
    site.run(5)
    back = site.there("", "Node", "n0")
    assert site.pods() == [] and is_true(back, "Ready") and not back["spec"].get("taints")


def test_pods_of_a_node_that_is_gone_are_removed_unless_it_comes_back() -> None:
    site = Site(nodes=2)
    site.add(pod("a"), pod("b"))
    site.bind(5)
    node = site.there("", "Node", "n0")
    site.delete(node)
    site.run(30)
    site.add(node)
    site.run(100)
    assert site.names() == ["a", "b"]
    site.delete(node)
    site.run(39)
    assert site.names() == ["a", "b"]
    site.run(1)
    assert site.names() == ["b"]
