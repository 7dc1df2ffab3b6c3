"""Fixtures for tests against the real thing. In a conftest.py: ``from testbed.fixtures import bare_bed, bed``.

Without the binaries a test is skipped, with the reason, so that nobody waits ten minutes by accident. With
``PHALANX_KUBE=1`` or ``PHALANX_CI=1`` they are built, and what cannot be built or started is a failure.
"""

import os
from collections.abc import Iterable, Iterator

import pytest

from testbed import build
from testbed.bed import EVERYTHING, Bed, Part, binaries


def demanded() -> bool:
    """Whether a missing bed is a failure and not a reason to skip."""
    return any(os.environ.get(name) == "1" for name in ("PHALANX_KUBE", "PHALANX_CI"))


def skip_unless_built(parts: Iterable[Part]) -> None:
    """Skips the test if programs are missing and nobody asked for them to be built."""
    missing = build.missing(binaries(parts))
    if missing and not demanded():
        pytest.skip(f"the test bed lacks {', '.join(missing)}: run `python -m testbed build` or set PHALANX_KUBE=1")


@pytest.fixture(scope="session")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Everything: controllers, scheduler, kwok, JobSet, LeaderWorkerSet. Pods run until deleted or finished."""
    skip_unless_built(EVERYTHING)
    with Bed.start(EVERYTHING, tmp_path_factory.mktemp("bed")) as started:
        yield started


@pytest.fixture(scope="session")
def bare_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """An API server and its store, and nothing else that would change an object."""
    skip_unless_built({"apiserver"})
    with Bed.start({"apiserver"}, tmp_path_factory.mktemp("bare_bed")) as started:
        yield started
