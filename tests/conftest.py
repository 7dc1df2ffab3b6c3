"""For all tests: properties are never judged by the clock; a busy machine is no counterexample.

Every run looks for new counterexamples, but for the one that judges a change: the same commit, the same verdict.
"""

import os

from hypothesis import settings

settings.register_profile("untimed", deadline=None, derandomize=bool(os.environ.get("PHALANX_CI")))
settings.load_profile("untimed")
