"""What is generated for workloads, and who owns it. Documents in, intended objects out; nothing is changed.

Four ways lead to the object that gathers a workload's pods (W-119 to W-122):

* Manifest: a user makes it and names it in the pod templates. Nothing is generated and nothing of it is overwritten.
* Adoption: the same, for a workload that deletes itself: it becomes an owner, so that both go together.
* Default-created: a workload that is a gang and names nothing gets a Gang of its own name (a JobSet the Workload of its
  design), and its templates the labels that name it.
* Templated: each run of a CronJob gets a Gang of its own (``for_run``).

Who made an object shows in its owners. The controller of a generated one is its workload; an adopted one has the
workload as a plain owner, which the garbage collector heeds as well, and stays its user's. So generating again
refreshes the first and never touches the second.
"""

from phalanx.dialects.generation.generate import for_run, generate
from phalanx.dialects.generation.linking import linked
from phalanx.dialects.generation.made import is_gang, refreshed
from phalanx.dialects.generation.values import Adoption, Default, Generation, Linked

__all__ = ["Adoption", "Default", "Generation", "Linked", "for_run", "generate", "is_gang", "linked", "refreshed"]
