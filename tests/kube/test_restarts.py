"""What a scheduler that ended wrote into objects is put right by the one that comes after it."""

import os
import signal

import pytest

from tests.kube.manifests import gang
from tests.kube.site import Object, Site


def only_here(site: Site) -> str:
    """A configuration: what other tests left behind is not looked at."""
    return f"namespaces: [{site.namespace}]\n"


def is_valid(site: Site, kind: str, name: str) -> str:
    return str((site.condition(kind, name, "Valid") or {}).get("status", ""))


def topology(site: Site, alias: str) -> Object:
    levels = [{"nodeLabel": f"{site.namespace}/rack", "name": alias}]
    head = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Topology"}
    return {**head, "metadata": {"name": site.namespace}, "spec": {"levels": levels}}


def test_a_gang_that_became_good_while_nobody_looked_says_so(site: Site) -> None:
    site.nodes("r1=1")
    site.apply([topology(site, "shelf")])
    with site.phalanx(only_here(site)) as running:
        site.apply([gang("crew", workers={"count": 2, "topology": {"required": "cage"}})])
        site.until(lambda: is_valid(site, "gang", "crew") == "False", "the Gang says that it is wrong")
        assert running.stop() == 0
        site.delete("topologies.phalanx.dev", site.namespace)  # its levels cannot change, so it is made anew
        site.apply([topology(site, "cage")])
        running.start()
        site.until(lambda: is_valid(site, "gang", "crew") == "True", "the Gang says that it is good")


def test_a_topology_and_a_queue_say_that_they_are_good(site: Site) -> None:
    queue = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": site.namespace}, "spec": {}}
    site.apply([topology(site, "shelf"), queue])
    with site.phalanx(only_here(site)):
        for kind in ("topologies.phalanx.dev", "queues.phalanx.dev"):
            site.until(lambda kind=kind: is_valid(site, kind, site.namespace) == "True", f"{kind} say so")


def flavor(site: Site, label: str) -> Object:
    head = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Flavor", "metadata": {"name": site.namespace}}
    return {**head, "spec": {"nodeLabels": {label: "yes"}}}


def test_a_flavor_that_was_corrected_while_nobody_looked_is_told_that_it_is_good(site: Site) -> None:
    kind = "flavors.phalanx.dev"
    with site.phalanx(only_here(site)) as running:
        site.apply([flavor(site, "not a key")])
        site.until(lambda: is_valid(site, kind, site.namespace) == "False", "the Flavor says that it is wrong")
        said = site.condition(kind, site.namespace, "Valid")
        assert said is not None and said["message"].startswith("spec.nodeLabels['not a key']")
        assert running.stop() == 0
        site.apply([flavor(site, "fast")])
        running.start()
        site.until(lambda: is_valid(site, kind, site.namespace) == "True", "the Flavor says that it is good")


# -- the site itself ------------------------------------------------------------------------------------------------


def test_nobody_waits_for_a_scheduler_that_died(site: Site) -> None:
    with site.phalanx(only_here(site)) as running:
        assert running.process is not None
        os.kill(running.process.pid, signal.SIGKILL)  # not by the test's own hand, as far as the site can see
        with pytest.raises(AssertionError, match=r"ended by itself, so not: (?s:.*)following"):
            site.until(lambda: False, "something that never is")


def test_a_scheduler_that_was_told_to_end_may_be_away(site: Site) -> None:
    with site.phalanx(only_here(site)) as running:
        assert running.process is not None
        running.process.terminate()
        running.process.wait()
        with pytest.raises(AssertionError, match="not in 0 s"):
            site.until(lambda: False, "something that never is", seconds=0)
        running.start()
        running.kill()
        with pytest.raises(AssertionError, match="not in 0 s"):
            site.until(lambda: False, "something that never is", seconds=0)
