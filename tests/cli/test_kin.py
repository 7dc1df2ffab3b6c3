"""``phalanx explain`` and ``tree`` of objects that are no gang themselves: part of one, makers of some, or over."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from phalanx.cli import main, naming
from phalanx.cli.clusters import Look
from tests.cli.living import living, made_by, pod, snapshot
from tests.cluster import docs
from tests.cluster.docs import Doc

Captured = pytest.CaptureFixture[str]
Write = Callable[..., str]
OVER = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-16T08:30:00Z", "message": "All is done."}


def run(*tokens: str) -> int:
    return int(main.run(tokens))


def deployment(name: str, gang: str, replicas: int = 2) -> Doc:
    labels = {"app": name, "phalanx.dev/gang": gang, "phalanx.dev/group": "workers"}
    made = {"metadata": {"labels": labels}, "spec": {"schedulerName": "phalanx", **docs.template()["spec"]}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "serving"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": made},
    }  # fmt: skip


def job(name: str, scheduler: str = "phalanx", **status: Any) -> Doc:
    doc = docs.job(name)
    doc["metadata"]["namespace"] = "serving"
    doc["spec"]["template"]["spec"]["schedulerName"] = scheduler
    return living(doc, **status)


@pytest.fixture
def cluster(write: Write) -> str:
    """Gang ``llm`` of Deployment ``web`` runs, Job ``done`` has ended, CronJob ``night`` made two Jobs."""
    replicas = made_by(living({**deployment("web-1", "llm"), "kind": "ReplicaSet"}), "Deployment", "web")
    pods = [pod("llm", 0, "b1-r1-1"), pod("llm", 1, "b1-r1-2")]
    runs = [made_by(job(f"night-{n}", **over), "CronJob", "night", "batch/v1") for n, over in ((1, ENDED), (2, {}))]
    gang = docs.gang("llm")
    del gang["spec"]["podGroups"][0]["template"]
    everything = [living(gang), living(deployment("web", "llm")), replicas, *pods, job("done", **ENDED), *runs]
    return write(snapshot(*docs.cluster(), *everything), name="cluster.yaml")


ENDED = {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, OVER]}


@pytest.mark.parametrize("name", ["deployment/web", "deploy/web", "web", "serving/web", "rs/web-1", "po/llm-0"])
def test_what_is_part_of_a_gang_is_explained_by_that_gang(name: str, cluster: str, capsys: Captured) -> None:
    assert run("explain", name, "-f", cluster) == 0
    out = capsys.readouterr().out
    assert "Gang serving/llm: Running, 2 of 2 pods bound" in out
    if not name.startswith("po/"):
        assert out.splitlines()[0].endswith(" is part of Gang serving/llm.")


def lws_pod(group: int, worker: int, owner: str) -> Doc:
    made = pod("serve", 0, f"b1-r{group + 1}-{worker + 1}")
    keys = {"name": "serve", "group-index": str(group), "worker-index": str(worker)}
    name = f"serve-{group}" if not worker else f"serve-{group}-{worker}"
    labels = {f"leaderworkerset.sigs.k8s.io/{key}": value for key, value in keys.items()}
    made["metadata"].update(name=name, uid=f"uid-{name}", labels=labels)
    return made_by(made, "StatefulSet", owner)


def stateful_set(name: str, kind: str, owner: str, api: str) -> Doc:
    about = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name, "namespace": "serving"}}
    made = {"metadata": {"labels": {"app": name}}, "spec": {"schedulerName": "phalanx", **docs.template()["spec"]}}
    doc = living({**about, "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": made}})
    doc["metadata"]["uid"] = f"uid-set-{name}"
    return made_by(doc, kind, owner, api)


def test_of_several_gangs_of_one_object_those_are_meant_that_have_the_pods(write: Write, capsys: Captured) -> None:
    named = {"spec": {"schedulerName": "phalanx", **docs.template()["spec"]}}
    lws = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": "serving"},
        "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": named}},
    }  # fmt: skip
    sets = [stateful_set("serve", "LeaderWorkerSet", "serve", "leaderworkerset.x-k8s.io/v1")]
    sets += [stateful_set(f"serve-{group}", "Pod", f"serve-{group}", "v1") for group in (0, 1)]
    pods = [lws_pod(group, 0, "serve") for group in (0, 1)] + [lws_pod(group, 1, f"serve-{group}") for group in (0, 1)]
    for one in pods:
        owner = one["metadata"]["ownerReferences"][0]
        owner["uid"] = f"uid-set-{owner['name']}"
    file = write(snapshot(*docs.cluster(), living(lws), *sets, *pods))
    assert run("explain", "sts/serve-1", "-f", file) == 0
    out = capsys.readouterr().out
    assert "StatefulSet serving/serve-1 is part of LeaderWorkerSet serving/serve." in out
    assert "serve#main[1]: Running" in out and "main[0]" not in out
    assert run("explain", "sts/serve", "-f", file) == 0
    out = capsys.readouterr().out
    assert out.index("serve#main[0]: Running") < out.index("serve#main[1]: Running")


def test_programs_are_told_what_a_gang_has_to_do_with_what_was_asked_for(cluster: str, capsys: Captured) -> None:
    assert run("explain", "deploy/web", "-f", cluster, "-o", "json") == 0
    (found,) = json.loads(capsys.readouterr().out)["decisions"]
    assert (found["kind"], found["name"]) == ("Gang", "llm")
    assert found["via"] == "Deployment serving/web is part of Gang serving/llm"
    assert run("explain", "gang/llm", "-f", cluster, "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["decisions"][0]["via"] is None


def test_what_is_part_of_a_gang_is_drawn_as_that_gang(cluster: str, capsys: Captured) -> None:
    assert run("tree", "deploy/web", "-f", cluster) == 0
    out = capsys.readouterr().out
    assert "is part of Gang serving/llm." in out and "b1-r1-1 AAAAAAAA" in out


def test_what_is_part_of_a_wrong_gang_is_told_what_is_wrong_with_it(write: Write, capsys: Captured) -> None:
    wrong = living(docs.gang("odd", docs.workers(2, required="rak")))
    file = write(snapshot(*docs.cluster(), wrong, living(deployment("web", "odd"))))
    assert run("explain", "deploy/web", "-f", file) == 4
    out = capsys.readouterr().out
    assert "Deployment serving/web is part of Gang serving/odd." in out and "'rak'" in out


def test_a_pod_group_is_explained_by_the_composite_it_is_in(write: Write, capsys: Captured) -> None:
    scheduling = "scheduling.k8s.io/v1alpha3"
    about, made = {"namespace": "serving"}, {"workloadRef": {"workloadName": "w", "templateName": "t"}}
    policy = {"schedulingPolicy": {"gang": {"minGroupCount": 1}}, **made}
    tree = {"apiVersion": scheduling, "kind": "CompositePodGroup", "metadata": {"name": "all", **about}, "spec": policy}
    own = {"schedulingPolicy": {"gang": {"minCount": 1}}, "parentCompositePodGroupName": "all", **made}
    part = {"apiVersion": scheduling, "kind": "PodGroup", "metadata": {"name": "part", **about}, "spec": own}
    one = pod("part", 0)
    one["metadata"]["labels"] = {}
    one["spec"]["schedulingGroup"] = {"podGroupName": "part"}
    file = write(snapshot(*docs.cluster(), living(tree), living(part), one))
    assert run("explain", "pg/part", "-f", file) == 3
    assert "PodGroup serving/part is part of CompositePodGroup serving/all." in capsys.readouterr().out


@pytest.mark.parametrize("name", ["job/done", "done", "jobs.batch/done"])
def test_a_job_that_has_finished_is_said_to_have(name: str, cluster: str, capsys: Captured) -> None:
    assert run("explain", name, "-f", cluster) == 0
    out = capsys.readouterr().out
    assert "Job serving/done: Finished" in out and "Complete since 2026-11-16T08:30:00Z: All is done." in out


def test_a_finished_job_has_the_same_keys_for_programs_as_any_other(cluster: str, capsys: Captured) -> None:
    assert run("explain", "llm", "-f", cluster, "-o", "json") == 0
    runs = json.loads(capsys.readouterr().out)["decisions"][0]
    assert run("explain", "done", "-f", cluster, "-o", "json") == 0
    (found,) = json.loads(capsys.readouterr().out)["decisions"]
    assert found.keys() == runs.keys()
    assert (found["state"], found["queue"], found["podSets"]) == ("Finished", "default", {})
    assert found["message"].startswith("finished: Complete since ")


@pytest.mark.parametrize("name", ["cronjob/night", "cj/night", "cronjobs.batch/night", "night"])
def test_a_cronjob_is_explained_by_the_jobs_it_made(name: str, cluster: str, capsys: Captured) -> None:  # W-075
    assert run("explain", name, "-f", cluster) == 3
    out = capsys.readouterr().out
    assert out.startswith("CronJob serving/night is placed as what it made: Job serving/night-2.")
    assert "Job serving/night-2: Waiting" in out and "PodsMissing" in out


def test_a_cronjob_whose_jobs_are_over_is_told_of_those(write: Write, capsys: Captured) -> None:
    ended = [made_by(job(f"night-{n}", **ENDED), "CronJob", "night", "batch/v1") for n in (1, 2)]
    ended[1]["metadata"]["creationTimestamp"] = "2026-11-16T08:10:00Z"
    assert run("explain", "cj/night", "-f", write(snapshot(*docs.cluster(), *ended))) == 0
    out = capsys.readouterr().out
    assert out.index("Job serving/night-2: Finished") < out.index("Job serving/night-1: Finished")


def test_who_asks_for_no_pods_is_told_so_and_not_that_it_is_somebody_elses(write: Write, capsys: Captured) -> None:
    none = deployment("web", "llm", replicas=0)
    none["spec"]["template"]["metadata"]["labels"] = {"app": "web"}
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    about = {"apiVersion": "scheduling.k8s.io/v1beta1", "metadata": {"name": "alone", "namespace": "serving"}}
    group = {**about, "kind": "PodGroup", "spec": policy}
    file = write(snapshot(*docs.cluster(), living(none), living(group)))
    assert run("explain", "deploy/web", "-f", file) == 1
    assert "nothing of Deployment serving/web is to be placed: it asks for no pods" in capsys.readouterr().err
    assert run("explain", "pg/alone", "-f", file) == 1
    assert "no pod or pod template names it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("short", "kind"),
    [("sts", "StatefulSet"), ("lws", "LeaderWorkerSet"), ("rs", "ReplicaSet"), ("cpg", "CompositePodGroup")],
)
def test_kinds_go_by_the_short_names_that_kubectl_has(short: str, kind: str) -> None:
    look = Look([], 0.0, "serving")
    assert naming.is_meant(kind, "serving", "web", f"{short}/web", look)
    assert naming.is_meant(kind, "serving", "web", f"{kind.lower()}s/web", look)
    assert not naming.is_meant("Job", "serving", "web", f"{short}/web", look)


def test_what_is_listed_instead_is_of_the_namespace_that_was_asked(cluster: str, capsys: Captured) -> None:
    assert run("explain", "nothing-like-it", "-f", cluster, "-n", "elsewhere") == 1
    assert "There are in namespace elsewhere: none" in capsys.readouterr().err
    assert run("explain", "nothing-like-it", "-f", cluster, "-n", "serving") == 1
    assert "There are in namespace serving: serving/llm, serving/night-2" in capsys.readouterr().err
