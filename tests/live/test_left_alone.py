"""Pods that nobody places are told of: they would wait for ever, and nothing else would say why."""

from phalanx.dialects.following import Follower, Marks, Told
from phalanx.model.objects import ObjectKey
from tests.testing import live_objects as objects
from tests.testing import made_by_controllers as controllers
from tests.testing.live_objects import Doc


def heard(follower: Follower, *docs: Doc, gone: tuple[ObjectKey, ...] = ()) -> Told:
    for key in gone:
        follower.gone(key)
    for doc in docs:
        follower.seen(doc)
    return follower.tell()


def daemon_set(scheduler: str) -> Doc:
    template = controllers.template(1)
    template["spec"]["schedulerName"] = scheduler
    return controllers.made("apps/v1", "DaemonSet", "agent", {"template": template})


def test_a_daemon_set_whose_pods_name_us_is_told_that_nobody_binds_them() -> None:
    follower = Follower(Marks())
    told = heard(follower, daemon_set("phalanx"))
    ((subject, (problem,)),) = told.dangling
    assert (subject.key.kind, subject.key.name) == ("DaemonSet", "agent")
    assert problem.path == "spec.template.spec.schedulerName" and "kube-scheduler" in problem.message
    assert heard(follower, objects.topology()).dangling == [], "once"
    assert [one.key.name for one in heard(follower, daemon_set("default-scheduler")).accepted] == ["agent"]
    assert heard(Follower(Marks()), daemon_set("default-scheduler")).dangling == []


def test_a_pod_of_another_scheduler_that_names_a_gang_is_told_of_on_the_gang() -> None:
    gang = controllers.made("phalanx.dev/v1alpha1", "Gang", "g", {"podGroups": [{"name": "all", "count": 2}]})
    theirs = objects.pod("theirs", 1, labels={"phalanx.dev/gang": "g"})
    ours = objects.pod("ours", 1, labels={"phalanx.dev/gang": "g"})
    theirs["spec"]["schedulerName"] = "default-scheduler"
    for docs in ([gang, ours, theirs], [theirs, gang, ours], [ours, theirs, gang]):
        follower, notes = Follower(Marks()), {}
        for doc in docs:
            notes.update(heard(follower, doc).notes)
        (problem,) = notes["default/g"]
        assert "pod theirs names this gang, and another scheduler binds it" in problem.message
        done = {**theirs, "status": {"phase": "Succeeded"}}
        assert heard(follower, done).notes == {"default/g": ()}
        assert heard(follower, theirs).notes["default/g"]
        gone = heard(follower, gone=(ObjectKey("", "Pod", "default", "theirs"),))
        assert gone.notes == {"default/g": ()}
