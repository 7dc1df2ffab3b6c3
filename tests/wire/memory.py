"""A small program: mirrors 5,000 nodes and 50,000 pods and says how many MiB the process holds then.

The objects have the size of real ones (a pod of a training job with its managedFields is 5 KB on the wire). They come
out of the air instead of a socket: what is measured is what stays.
"""

import asyncio
import json
import random
import sys
from collections.abc import AsyncGenerator, Callable
from typing import Any

import msgspec

from phalanx.wire import garbage
from phalanx.wire.client import Client
from phalanx.wire.mirror import Mirror
from phalanx.wire.resources import NODES, PODS, Resource
from phalanx.wire.shapes import WatchEvent, decode_event, decode_node, decode_pod
from tests.wire.loopback import bookmark

Make = Callable[[int], dict[str, Any]]


def a_pod(number: int) -> dict[str, Any]:
    job, rank = divmod(number, 8)
    name = f"train-llama-{job:05d}-workers-{rank}-{number * 7919 % 100_000:05d}"
    labels = {
        "app.kubernetes.io/name": "train",
        "batch.kubernetes.io/job-name": f"train-llama-{job:05d}",
        "batch.kubernetes.io/job-completion-index": str(rank),
        "batch.kubernetes.io/controller-uid": f"{job:08x}-1c2d-4e5f-8a9b-0123456789ab",
        "team": f"team-{job % 50}",
    }
    metadata = {
        "name": name,
        "generateName": name[:-5],
        "namespace": f"team-{job % 50}",
        "uid": f"{number:08x}-aaaa-4bbb-8ccc-0123456789ab",
        "resourceVersion": str(1_000_000 + number),
        "creationTimestamp": "2026-11-01T12:00:00Z",
        "labels": labels,
        "annotations": {"phalanx.dev/gang": f"train-llama-{job:05d}", "phalanx.dev/rank": str(rank)},
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": f"train-llama-{job:05d}",
                "uid": f"{job:08x}-1c2d-4e5f-8a9b-0123456789ab",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "managedFields": [{"manager": "kube-controller-manager", "fieldsV1": {f"f:field-{i}": {} for i in range(90)}}],
    }
    return {"metadata": metadata, "spec": _spec(number), "status": _status()}


def _spec(number: int) -> dict[str, Any]:
    amounts = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1", "rdma/hca": "1"}
    container = {
        "name": "main",
        "image": "registry.example.org/team/train:2026.11.1",
        "command": ["python", "-m", "train", "--config", "/etc/train/config.yaml"],
        "env": [{"name": f"SETTING_{i}", "value": f"value-of-setting-{i}"} for i in range(12)],
        "resources": {"requests": amounts, "limits": amounts},
        "volumeMounts": [{"name": f"volume-{i}", "mountPath": f"/mnt/volume-{i}"} for i in range(3)],
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    return {
        "nodeName": f"node-{number // 10:05d}",
        "schedulerName": "phalanx",
        "containers": [container],
        "volumes": [{"name": f"volume-{i}", "emptyDir": {}} for i in range(3)],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {"accelerator": "h200"},
        "restartPolicy": "Never",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
    }


def _status() -> dict[str, Any]:
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": "2026-11-01T12:00:00Z"} for kind in kinds]
    container = {
        "name": "main",
        "ready": True,
        "restartCount": 0,
        "imageID": "sha256:" + "0" * 64,
        "containerID": "c" * 64,
    }
    return {"phase": "Running", "conditions": conditions, "containerStatuses": [container], "podIP": "192.0.2.9"}


def a_node(number: int) -> dict[str, Any]:
    name = f"node-{number:05d}"
    labels = {f"feature.node.kubernetes.io/cpu-feature-{i}": "true" for i in range(40)}
    labels |= {"topology.kubernetes.io/rack": f"r{number // 16}", "kubernetes.io/hostname": name}
    amounts = {"cpu": "192", "memory": "2Ti", "nvidia.com/gpu": "8", "pods": "110"}
    images = [{"names": [f"registry.example.org/image-{i}@sha256:{'0' * 64}"], "sizeBytes": i} for i in range(50)]
    metadata = {"name": name, "uid": f"{number:08x}-node", "resourceVersion": str(1_000_000 + number), "labels": labels}
    return {"metadata": metadata, "spec": {}, "status": {"allocatable": amounts, "capacity": amounts, "images": images}}


class OutOfTheAir(Client):
    """Instead of a server: a streaming start with so many objects, then silence."""

    def __init__(self, objects: dict[Resource, tuple[Make, int]]) -> None:
        self._objects = objects

    async def watch(self, resource: Resource, namespace: str = "", **how: Any) -> AsyncGenerator[WatchEvent, None]:
        make, count = self._objects[resource]
        for number in range(count):
            yield decode_event(msgspec.json.encode({"type": "ADDED", "object": make(number)}))
        yield decode_event(bookmark(2_000_000, end=True))
        await asyncio.Event().wait()


def resident_mib() -> float:
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def main() -> None:
    client = OutOfTheAir({PODS: (a_pod, 50_000), NODES: (a_node, 5_000)})
    garbage.before_sync()
    mirrors = [
        Mirror(client, NODES, decode_node, lambda old, new: None, chance=random.Random(1)),
        Mirror(client, PODS, decode_pod, lambda old, new: None, chance=random.Random(2)),
    ]
    tasks = [asyncio.create_task(mirror.run()) for mirror in mirrors]
    for mirror in mirrors:
        await mirror.synced.wait()
    garbage.after_sync()
    wire = len(msgspec.json.encode(a_pod(1)))
    held = [len(mirror.store) for mirror in mirrors]
    sys.stdout.write(json.dumps({"mib": round(resident_mib()), "held": held, "bytes_per_pod_on_the_wire": wire}))
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
