"""What is built, from what, and when it is built again."""

import re
from pathlib import Path

import pytest

from testbed import build, folders


@pytest.fixture
def etcd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> build.Binary:
    """A binary whose module and cache are folders of this test."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PHALANX_TESTBED", str(tmp_path / "cache"))
    monkeypatch.setattr(folders, "MODULES", tmp_path / "modules")
    (tmp_path / "modules" / "kubernetes").mkdir(parents=True)
    (tmp_path / "cache" / "bin").mkdir(parents=True)
    for name in ("go.mod", "go.sum"):
        (tmp_path / "modules" / "kubernetes" / name).write_text(name)
    return build.Binary("etcd", "kubernetes", "example.test/etcd")


def pretend_to_build(binary: build.Binary) -> None:
    binary.path.touch()
    binary.path.with_suffix(".stamp").write_text(build.stamp_of(binary))


def test_a_program_is_missing_until_it_is_built(etcd: build.Binary) -> None:
    assert not etcd.built()
    pretend_to_build(etcd)
    assert etcd.built()


def test_a_program_is_missing_when_a_pin_changed_since_it_was_built(etcd: build.Binary) -> None:
    pretend_to_build(etcd)
    (folders.MODULES / "kubernetes" / "go.sum").write_text("another sum")
    assert not etcd.built()


def test_programs_of_the_user_are_taken_before_ours(
    etcd: build.Binary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "etcd").touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert etcd.built()
    assert etcd.path == tmp_path / "etcd"


def test_assets_that_lack_a_program_do_not_hide_ours(
    etcd: build.Binary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    pretend_to_build(etcd)
    assert etcd.built()
    assert etcd.path.parent == tmp_path / "cache" / "bin"


@pytest.mark.parametrize("binary", build.BINARIES, ids=lambda binary: binary.name)
def test_every_program_is_pinned_exactly(binary: build.Binary) -> None:
    pins = (folders.MODULES / binary.module / "go.mod").read_text()
    owner = binary.package.partition("/cmd")[0]
    assert re.search(rf"^(require )?\s*{re.escape(owner)} v\d+\.\d+\.\d+( // indirect)?$", pins, re.MULTILINE)
    assert (folders.MODULES / binary.module / "go.sum").exists()
