"""A cluster in memory: a store of Kubernetes objects, small controllers, and kubelets that only pretend.

Lives here: ``Store`` (every verb, in one place), ``Cluster`` (everything that is due until a time), ``Pace`` (how slow
or hasty they are), one file for each controller. What a pod does is said by annotations, of itself or of its template,
all with the prefix ``minicluster.phalanx.dev/``:

=====================  ==============================================================================================
``runs-for``           seconds from running until its containers end by themselves (without it: as the pace says)
``fails``              the exit code with which they end then, 0 if it is not said
``times``              how often they do, if they may restart; afterwards they run on (without it: always)
``never-ready``        it runs and is never ready
``ends-slowly``        seconds that it takes to end once it is deleted, whatever its grace is
``drained-exit-code``  with which it ends then: 0 is Succeeded, any other Failed (without it: as the pace says)
``every``              of a CronJob: seconds between its Jobs; its schedule is not read
``silent``             of a node: its kubelet tells nothing, and lets no pod go
=====================  ==============================================================================================

May import: the model. May change: its own store.
Will never: open a socket, read a clock, or hold a scheduling rule.
"""

from phalanx.minicluster.cluster import Cluster
from phalanx.minicluster.errors import Rejected
from phalanx.minicluster.pace import Pace
from phalanx.minicluster.store import Event, Store

__all__ = ["Cluster", "Event", "Pace", "Rejected", "Store"]
