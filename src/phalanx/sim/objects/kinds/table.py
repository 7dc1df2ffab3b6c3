"""All ways in which workloads are written in these worlds."""

from phalanx.sim.objects.kinds import batches, builtin, gathered, operators
from phalanx.sim.objects.kinds.row import Row

ROWS: dict[str, Row] = {**builtin.ROWS, **batches.ROWS, **operators.ROWS, **gathered.ROWS}
