"""etcd, the store behind the API server. Its data outlive a restart of either, not the bed."""

import json
import urllib.request
from pathlib import Path

from testbed import build, ports
from testbed.process import Process, answers

# 50,000 pods with their events fit; the default of 2 GiB would not hold a long benchmark.
QUOTA_BYTES = 8 * 2**30


class Etcd:
    """One member, plain HTTP on loopback, no fsync: the data need not survive the machine."""

    def __init__(self, folder: Path, logs: Path) -> None:
        client, peer = (f"http://127.0.0.1:{ports.free()}" for _ in range(2))
        self.url = client
        command = [
            build.path("etcd"),
            f"--data-dir={folder}",
            "--unsafe-no-fsync",
            f"--quota-backend-bytes={QUOTA_BYTES}",
        ]
        command += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
        command += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
        command += [f"--initial-cluster=default={peer}", "--log-level=warn"]
        self.process = Process("etcd", command, logs / "etcd.log")

    def start(self) -> None:
        self.process.start()
        self.process.wait_until(lambda: answers(f"{self.url}/health"))

    def compact(self) -> int:
        """Forgets all history up to now and returns the revision."""
        revision = int(self._call("kv/range", {"key": "AA=="})["header"]["revision"])
        self._call("kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def _call(self, method: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        request = urllib.request.Request(f"{self.url}/v3/{method}", data=json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=30.0) as answer:
            found: dict[str, dict[str, str]] = json.load(answer)
        return found
