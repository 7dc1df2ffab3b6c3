"""Which resources are followed on a server that serves several versions of a kind."""

from phalanx.kube import kinds
from phalanx.wire.discovery import Served
from phalanx.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, PODS, Resource

READ = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")
NEWER = Resource("scheduling.k8s.io", "v1", "podgroups", "PodGroup")
OTHER = Resource("example.com", "v7", "podgroups", "PodGroup")


def test_a_kind_is_followed_in_a_version_that_we_read_though_the_server_prefers_another() -> None:
    served = Served((OTHER, NEWER, READ))
    assert kinds.followed(served) == [NODES, PODS, CUSTOM_RESOURCE_DEFINITIONS, READ]
    assert kinds.readable_first(served).find("scheduling.k8s.io", "PodGroup") == READ


def test_a_kind_that_is_served_in_no_version_that_we_read_is_followed_so_that_its_objects_are_told() -> None:
    assert kinds.followed(Served((NEWER,)))[-1] == NEWER
