"""The JobSet controller. Without its defaulting webhook it panics on the first JobSet, so both come together."""

from pathlib import Path

from testbed.access import Access
from testbed.operator import Operator

MODULE = "sigs.k8s.io/jobset"
CONFIG_API = "config.jobset.x-k8s.io/v1alpha1"


def operator(access: Access, folder: Path, logs: Path) -> Operator:
    """Ready to start."""
    return Operator("jobset", MODULE, CONFIG_API, access, folder, logs)
