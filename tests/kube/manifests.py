"""Objects that several tests create, as short as they can be."""

from typing import Any

Object = dict[str, Any]
GATE = "phalanx.dev/topology"


def template(cpu: int = 2, scheduler: str = "phalanx", **more: Any) -> Object:
    """A pod template of one container; ``more``: fields of its spec, and ``labels`` and ``annotations``."""
    metadata = {key: more.pop(key) for key in ("labels", "annotations") if key in more}
    container = {"name": "main", "image": "registry.example/none:1", "resources": {"requests": {"cpu": str(cpu)}}}
    return {"metadata": metadata, "spec": {"schedulerName": scheduler, "containers": [container], **more}}


def pod(name: str, cpu: int = 2, **more: Any) -> Object:
    made = template(cpu, **more)
    return {"apiVersion": "v1", "kind": "Pod", **made, "metadata": {**made["metadata"], "name": name}}


def job(name: str, pods: int, cpu: int = 2, annotations: Object | None = None, **more: Any) -> Object:
    """An Indexed Job; ``suspend`` and ``labels`` are its own, the rest is its template's."""
    own = {key: more.pop(key) for key in ("suspend",) if key in more}
    metadata = {"name": name, "annotations": annotations or {}, "labels": more.pop("job_labels", {})}
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", **own}
    made = template(cpu, restartPolicy="Never", **more)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**spec, "template": made}}


def gang(name: str, **groups: Object) -> Object:
    """A Gang of these groups; names with a line in place of a hyphen."""
    listed = [{"name": group.replace("_", "-"), **said} for group, said in groups.items()]
    head = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang"}
    return {**head, "metadata": {"name": name}, "spec": {"podGroups": listed}}


def members(gang: str, group: str, count: int, cpu: int = 2, **more: Any) -> list[Object]:
    """Pods that name a Gang."""
    labels = {"phalanx.dev/gang": gang, "phalanx.dev/group": group}
    return [pod(f"{gang}-{group}-{number}", cpu, labels=labels, **more) for number in range(count)]


def pod_group(name: str, least: int, **spec: Any) -> Object:
    """Kubernetes' own group of pods."""
    policy = {"gang": {"minCount": least}}
    head = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"}
    return {**head, "metadata": {"name": name}, "spec": {"schedulingPolicy": policy, **spec}}
