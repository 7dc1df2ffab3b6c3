"""A real control plane for the tests of this folder; they are skipped where it is not built."""

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

from testbed import peers
from testbed.bed import Bed
from testbed.fixtures import bare_bed, bed
from tests.kube.site import Site, with_us

__all__ = ["bare_bed", "bed"]


@pytest.fixture(scope="session")
def prepared(bed: Bed) -> Bed:
    """The bed with our kinds and our role."""
    with_us(bed)
    return bed


@pytest.fixture(scope="session")
def foreign_kinds(prepared: Bed) -> None:
    """Kueue's and KAI's kinds beside ours, from the first test on that asks for them."""
    prepared.install(peers.definitions())


@pytest.fixture
def site(prepared: Bed, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """A namespace of its own for each test, cleared afterwards."""
    name = f"s{crc32(request.node.nodeid.encode()):08x}"
    one = Site(prepared, tmp_path, name)
    try:
        yield one
    finally:
        one.clear()
