"""What Kueue users write (``kueue.x-k8s.io``), versions v1beta1 and v1beta2 alike, and what they expect to read back.

``workload`` reads its Workload, ``podgroup`` its groups of plain pods. ``queues`` reads flavors, queues, cohorts and
admission checks, ``guards`` says whether a ClusterQueue is active,
``standing`` whether a workload is, and ``assignment`` writes and reads where the pods of an admitted one go.
"""

from phalanx.dialects.kueue.podgroup import read as read_podgroup
from phalanx.dialects.kueue.workload import read

__all__ = ["read", "read_podgroup"]
