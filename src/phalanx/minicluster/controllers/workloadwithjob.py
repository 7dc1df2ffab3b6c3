"""What the Job controller does under the gate WorkloadWithJob of Kubernetes 1.37: a Workload and a PodGroup a Job.

For Jobs without a controller above them, whose template names no group, and that never started; policy ``basic`` unless
``spec.scheduling`` says more. They live as long as the Job. Left out: Jobs below another controller, changes of
``minCount``, disruption modes and claims, the finalizer of PodGroups.
"""

from phalanx.minicluster import making
from phalanx.minicluster.context import Context
from phalanx.minicluster.documents import Document, Kind, changed, controller_of, fingerprint, reference

WORKLOAD: Kind = ("scheduling.k8s.io", "Workload")
POD_GROUP: Kind = ("scheduling.k8s.io", "PodGroup")
_API = "scheduling.k8s.io/v1beta1"


def pod_group(context: Context, job: Document, started: bool, now: float) -> Document | None:
    """The group that the pods of a Job name, made if it is to be; None where they name none."""
    if not context.pace.workload_with_job or controller_of(job) is not None:
        return None
    if job["spec"]["template"]["spec"].get("schedulingGroup"):
        return None
    there = next(iter(context.children(job, POD_GROUP)), None)
    if there is not None or started:
        return there
    workload = next(iter(context.children(job, WORKLOAD)), None) or making.create(context, _workload(job), now)
    return None if workload is None else making.create(context, _group(job, workload), now)


def joined(template: Document, group: Document | None) -> Document:
    """The pod template with the group in it."""
    if group is None:
        return template
    return changed(template, "spec", "schedulingGroup", to={"podGroupName": group["metadata"]["name"]})


def owned(pod: Document, group: Document | None) -> Document:
    """The pod with the group among its owners."""
    if group is None:
        return pod
    owners = [*pod["metadata"]["ownerReferences"], reference(group, controller=False)]
    return changed(pod, "metadata", "ownerReferences", to=owners)


def _workload(job: Document) -> Document:
    name = job["metadata"]["name"]
    meta = _metadata(f"{name}-{fingerprint(job['metadata']['uid'])}", job)
    above = {"apiGroup": "batch", "kind": "Job", "name": name}
    template = {"name": f"{name}-pgt-0", **_asked(job)}
    spec = {"controllerRef": above, "podGroupTemplates": [template]}
    return {"apiVersion": _API, "kind": "Workload", "metadata": meta, "spec": spec}


def _group(job: Document, workload: Document) -> Document:
    name, template = workload["metadata"]["name"], workload["spec"]["podGroupTemplates"][0]["name"]
    meta = _metadata(f"{name}-{template}-{fingerprint([name, template])}", job)
    meta["ownerReferences"] = [*meta["ownerReferences"], reference(workload, controller=False)]
    above = {"workloadName": name, "templateName": template}
    spec = {"workloadRef": above, **_asked(job)}
    return {"apiVersion": _API, "kind": "PodGroup", "metadata": meta, "spec": spec}


def _metadata(name: str, job: Document) -> Document:
    return {"name": name, "namespace": job["metadata"]["namespace"], "ownerReferences": [reference(job)]}


def _asked(job: Document) -> Document:
    """Policy and constraints; a gang without a number has all pods of the Job."""
    said = job["spec"].get("scheduling") or {}
    policy = said.get("schedulingPolicy") or {"basic": {}}
    if "gang" in policy:
        policy = {"gang": {"minCount": max(1, int(job["spec"]["parallelism"])), **(policy["gang"] or {})}}
    constraints = said.get("schedulingConstraints")
    return {"schedulingPolicy": policy, **({"schedulingConstraints": constraints} if constraints else {})}
