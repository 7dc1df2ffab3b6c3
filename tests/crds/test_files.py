"""The files under deploy/crds: written from the models, and found out when they differ."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from phalanx.kube.crds import manifests
from phalanx.kube.crds.__main__ import main

DEPLOYED = Path(__file__).parents[2] / "deploy" / "crds"


def test_the_deployed_files_are_those_of_the_models() -> None:
    assert main(["--check", str(DEPLOYED)]) == 0


def test_what_is_written_passes_the_check(tmp_path: Path) -> None:
    assert main([str(tmp_path / "new")]) == 0
    assert main(["--check", str(tmp_path / "new")]) == 0


def test_a_changed_file_fails_the_check_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path)])
    changed = tmp_path / "phalanx.dev_gangs.yaml"
    changed.write_text(changed.read_text().replace("Gang:", "gang:"))
    assert main(["--check", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "phalanx.dev_gangs.yaml is out of date" in told
    assert "queues" not in told


def test_a_missing_file_fails_the_check(tmp_path: Path) -> None:
    main([str(tmp_path)])
    (tmp_path / "phalanx.dev_queues.yaml").unlink()
    assert main(["--check", str(tmp_path)]) == 1


def test_a_file_of_a_kind_that_is_gone_fails_the_check_and_is_taken_away(tmp_path: Path) -> None:
    main([str(tmp_path)])
    left = tmp_path / "phalanx.dev_squads.yaml"
    left.write_text("{}")
    assert main(["--check", str(tmp_path)]) == 1
    main([str(tmp_path)])
    assert not left.exists()


@pytest.mark.parametrize("arguments", [[], ["--check"], ["--wrong"], ["a", "b"]])
def test_wrong_arguments_are_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "usage" in capsys.readouterr().err


def test_the_bytes_do_not_depend_on_the_hash_seed() -> None:
    program = "from phalanx.kube.crds import manifests; print(manifests.files())"
    given = [_run(program, seed) for seed in ("1", "2")]
    assert given[0] == given[1] == f"{manifests.files()}\n"


def _run(program: str, seed: str) -> str:
    surroundings = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-c", program], env=surroundings, text=True, capture_output=True, check=True
    ).stdout


def test_files_are_plain_yaml_without_references() -> None:
    for name, text in manifests.files().items():
        assert yaml.safe_load(text)["kind"] == "CustomResourceDefinition", name
        assert "&id" not in text, name
