"""The pods of openb: ``name,cpu_milli,memory_mib,num_gpu,gpu_milli,...,creation_time,deletion_time,scheduled_time``.

Every pod stands for itself. Many ask for a part of one GPU; such a part is counted as that much of the node's GPUs,
and which of its devices it shares is not modelled. A pod that never ran in the trace has its whole life as duration.
"""

from collections.abc import Iterable

from phalanx.model.nodes import PodShape
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.sim.rows import Row, table
from phalanx.sim.submission import Submission
from phalanx.sim.traces.asking import GPU, Asking, from_zero

COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time")
MILLI = NANO // 1000
MIB = 2**20 * NANO


def read(lines: Iterable[str], asking: Asking) -> list[Submission]:
    return from_zero(_submission(row, asking) for row in table(lines, COLUMNS))


def _submission(row: Row, asking: Asking) -> Submission:
    created = row.number("creation_time")
    began = row.number("scheduled_time", created)
    root = Group("pod", (PodSet("pod", 1, 1, PodShape(_requests(row))),))
    request = Request("Pod", "openb", row.text("name"), root, topology=asking.topology)
    return Submission(created, request, max(0.0, row.number("deletion_time") - began))


def _requests(row: Row) -> Resources:
    gpus = row.whole("num_gpu")
    milli = row.whole("gpu_milli") if gpus == 1 else 1000 * gpus
    amounts = {"cpu": row.whole("cpu_milli") * MILLI, "memory": row.whole("memory_mib") * MIB, GPU: milli * MILLI}
    return Resources.of({**amounts, PODS: NANO})
