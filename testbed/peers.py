"""Kinds of Kueue and KAI as their releases define them. Their controllers and webhooks do not run here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from testbed import folders, golang

Document = dict[str, Any]

_DEFINED = {
    "sigs.k8s.io/kueue": (
        "config/components/crd/bases/kueue.x-k8s.io_{}.yaml",
        ("topologies", "resourceflavors", "clusterqueues", "localqueues", "cohorts", "workloads"),
    ),
    "github.com/NVIDIA/KAI-scheduler": (
        "deployments/kai-scheduler/crds/{}.yaml",
        ("kai.scheduler_topologies", "scheduling.run.ai_queues", "scheduling.run.ai_podgroups"),
    ),
}


def definitions() -> list[Document]:
    """Their CRDs. An object of Kueue's older version is kept as it is written: nobody converts it here."""
    return [yaml.load(path.read_text(), yaml.CSafeLoader) for path in _files()]


def fetch() -> None:
    """The modules in Go's cache, so that the tests need no network."""
    missing = [path for path in _files() if not path.is_file()]
    assert not missing, f"the pinned releases have no {missing[0]}"


def _files() -> Iterator[Path]:
    go = golang.find()
    for module, (form, names) in _DEFINED.items():
        folder = golang.module_folder(go, folders.MODULES / "peers", module)
        yield from (folder / form.format(name) for name in names)
