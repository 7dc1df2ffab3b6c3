"""The LeaderWorkerSet controller. It builds on StatefulSets, so it needs the controllers of Kubernetes beside it."""

from pathlib import Path

from testbed.access import Access
from testbed.operator import Operator

MODULE = "sigs.k8s.io/lws"
CONFIG_API = "config.lws.x-k8s.io/v1alpha1"


def operator(access: Access, folder: Path, logs: Path) -> Operator:
    """Ready to start."""
    return Operator("lws", MODULE, CONFIG_API, access, folder, logs)
