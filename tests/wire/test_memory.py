"""What a mirror of a large cluster weighs."""

import json
import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="reads the size of the process from /proc")
def test_5000_nodes_and_50000_pods_fit_into_500_mib() -> None:
    ran = subprocess.run([sys.executable, "-m", "tests.wire.memory"], capture_output=True, check=True, timeout=300)
    said = json.loads(ran.stdout)
    assert said["held"] == [5_000, 50_000]
    assert said["bytes_per_pod_on_the_wire"] > 4_000
    assert said["mib"] <= 500, said
