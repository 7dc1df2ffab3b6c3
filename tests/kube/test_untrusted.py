"""Objects that only somebody who means harm would write, on a real server: they harm nobody else."""

import json

from tests.kube.manifests import gang, job
from tests.kube.site import Site

LEVELS = 3_000  # a server stores up to 10,000; what reads JSON in Python gives up before 1,000


def test_a_gang_nested_thousands_of_levels_deep_stops_nobody(site: Site) -> None:
    site.nodes("r1=1")
    made = gang("deep", main={"count": 1, "template": {"spec": {"containers": [], "x": "DEEP"}}})
    deep = '{"a":' * LEVELS + "1" + "}" * LEVELS
    text = json.dumps({**made, "metadata": {**made["metadata"], "namespace": site.namespace}}).replace('"DEEP"', deep)
    with site.phalanx(f"namespaces: [{site.namespace}]\n") as running:
        site.bed.kubectl("create", "-f", "-", input=text)
        site.apply([job("before", 1)])
        site.until(lambda: len(site.where()) == 1, "another workload starts")
        running.kill()
        running.start()
        site.apply([job("after", 1)])
        site.until(lambda: len(site.where()) == 2, "and also after a restart, which lists everything")
    site.delete("gang", "deep")
