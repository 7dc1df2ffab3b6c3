"""The real bed, for the tests of this folder. They run with ``make test-kube`` only."""

from testbed.fixtures import bare_bed, bed

__all__ = ["bare_bed", "bed"]
