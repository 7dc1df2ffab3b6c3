"""The bed itself: everything starts, real controllers do their work, and what tests lean on holds."""

import json
import subprocess
from typing import Any

import pytest
import yaml

from testbed import build
from testbed.access import KubectlFailed
from testbed.bed import Bed

CONTAINER = {"name": "main", "image": "example.test/none", "resources": {"requests": {"cpu": "1"}}}
WAIT = "--timeout=60s"


def node(name: str) -> dict[str, Any]:
    sizes = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    status = {"capacity": sizes, "allocatable": sizes}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def apply(bed: Bed, *documents: dict[str, Any]) -> None:
    bed.apply(yaml.safe_dump_all(documents))


def template(**more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [CONTAINER], **more}}


def indexed_job(pods: int) -> dict[str, Any]:
    shape = {"completionMode": "Indexed", "parallelism": pods, "completions": pods}
    return {"spec": {**shape, "template": template(restartPolicy="Never")}}


def names_of_pods(bed: Bed, namespace: str) -> list[str]:
    return bed.kubectl("get", "pods", "-n", namespace, "-o", "name").split()


@pytest.fixture(scope="module")
def nodes(bed: Bed) -> list[str]:
    names = [f"n{number}" for number in range(4)]
    apply(bed, *(node(name) for name in names))
    bed.kubectl("wait", "--for=condition=Ready", WAIT, *(f"node/{name}" for name in names))
    return names


def test_the_server_says_its_version_to_kubectl(bare_bed: Bed) -> None:
    versions = json.loads(bare_bed.kubectl("version", "-o", "json"))
    assert versions["serverVersion"]["gitVersion"] == build.KUBERNETES_VERSION
    assert versions["clientVersion"]["gitVersion"] == build.KUBERNETES_VERSION


def test_the_scheduling_kinds_of_this_version_are_served(bare_bed: Bed) -> None:
    served = bare_bed.kubectl("api-resources", "--api-group=scheduling.k8s.io", "-o", "name").split()
    assert {f"{kind}.scheduling.k8s.io" for kind in ("workloads", "podgroups", "compositepodgroups")} <= set(served)


def test_a_stranger_may_do_nothing(bare_bed: Bed) -> None:
    command = [build.path("kubectl"), f"--kubeconfig={bare_bed.kubeconfig('anna')}", "get", "pods"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert 'User "anna" cannot list resource "pods"' in answer.stderr


def test_a_service_account_may_do_what_its_role_grants(bare_bed: Bed) -> None:
    account = "system:serviceaccount:default:reader"
    bare_bed.kubectl("create", "clusterrole", "reader", "--verb=list", "--resource=pods")
    bare_bed.kubectl(
        "create", "clusterrolebinding", "reader", "--clusterrole=reader", "--serviceaccount=default:reader"
    )
    as_account = [build.path("kubectl"), f"--kubeconfig={bare_bed.kubeconfig(account)}"]
    assert subprocess.run([*as_account, "get", "pods"], check=False, capture_output=True).returncode == 0
    assert subprocess.run([*as_account, "create", "ns", "x"], check=False, capture_output=True).returncode == 1


def test_objects_outlive_a_server_that_is_killed(bare_bed: Bed) -> None:
    server = bare_bed.server
    bare_bed.kubectl("create", "configmap", "keepsake")
    bare_bed.kill_apiserver()
    with pytest.raises(KubectlFailed):
        bare_bed.kubectl("get", "configmap", "keepsake")
    bare_bed.restart_apiserver()
    assert bare_bed.server == server
    assert "keepsake" in bare_bed.kubectl("get", "configmap", "keepsake")


def test_what_is_forgotten_is_answered_with_gone(bare_bed: Bed) -> None:
    path = "/api/v1/namespaces/kube-public/configmaps"
    for name in ("one", "two"):
        bare_bed.kubectl("create", "configmap", name, "-n", "kube-public")
    page = json.loads(bare_bed.kubectl("get", "--raw", f"{path}?limit=1"))["metadata"]
    bare_bed.kubectl("create", "configmap", "three", "-n", "kube-public")
    bare_bed.forget_history()
    with pytest.raises(KubectlFailed, match="continue parameter is too old"):
        bare_bed.kubectl("get", "--raw", f"{path}?limit=1&continue={page['continue']}")
    watch = f"{path}?watch=1&timeoutSeconds=5&resourceVersion={page['resourceVersion']}"
    assert '"code":410' in bare_bed.kubectl("get", "--raw", watch)


def test_pods_of_a_job_run_until_they_are_finished(bed: Bed, nodes: list[str]) -> None:
    space = bed.namespace("finish")
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work", "namespace": space}, **indexed_job(2)}
    apply(bed, job)
    bed.kubectl("wait", "--for=jsonpath={.status.ready}=2", WAIT, "job/work", "-n", space)
    bed.finish(space, *(name.removeprefix("pod/") for name in names_of_pods(bed, space)))
    bed.kubectl("wait", "--for=condition=Complete", WAIT, "job/work", "-n", space)


def test_a_leader_worker_set_gets_its_pods(bed: Bed, nodes: list[str]) -> None:
    space = bed.namespace("lws")
    groups = {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": template()}}
    metadata = {"name": "serve", "namespace": space}
    apply(
        bed,
        {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": metadata, "spec": groups},
    )
    bed.kubectl("wait", "--for=condition=Available", WAIT, "leaderworkerset/serve", "-n", space)
    assert len(names_of_pods(bed, space)) == 6


def test_a_job_set_of_two_indexed_jobs_completes(bed: Bed, nodes: list[str]) -> None:
    space = bed.namespace("jobset")
    bed.use_pods("complete")
    jobs = [{"name": name, "replicas": 1, "template": indexed_job(pods)} for name, pods in (("lead", 1), ("work", 3))]
    metadata = {"name": "train", "namespace": space}
    spec = {"replicatedJobs": jobs}
    apply(bed, {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec})
    bed.kubectl("wait", "--for=condition=Completed", WAIT, "jobset/train", "-n", space)
    bed.use_pods("ready")
