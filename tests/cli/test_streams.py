"""Output that cannot be written is one line and an exit code; files without a name are wrong usage."""

import errno
import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from phalanx.cli import main, streams
from tests.cluster import docs

Captured = pytest.CaptureFixture[str]

PHALANX = (sys.executable, "-c", "from phalanx.cli.main import main; main()")
FULL = "error: standard output cannot be written: no space left on device\n"
COMMANDS = (
    "place -f FILE", "place -f FILE -o json", "place -f FILE -o yaml", "check -f FILE",
    "explain llm -n serving -f FILE", "get -f FILE", "queue -f FILE -o json", "tree -f FILE",
    "tree llm -n serving -f FILE", "convert -f FILE --to kueue", "snapshot save - -f FILE", "snapshot load FILE",
    "simulate --cluster 1x1x2 --limit 2", "run --print-configuration", "completion bash", "--help", "place --help",
    "--version", "demo",
)  # fmt: skip


@pytest.fixture
def given(write) -> str:
    return str(write(*docs.cluster(), docs.gang()))


def shell(redirected: str, command: str, file: str) -> subprocess.CompletedProcess[str]:
    """A command as a shell starts it: ``redirected`` is what stands behind it."""
    tokens = [file if one == "FILE" else one for one in command.split()]
    script = ["sh", "-c", f'exec "$@" {redirected}', "sh", *PHALANX, *tokens]
    return subprocess.run(script, check=False, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_device_is_one_line_and_a_failure(command: str, given: str) -> None:
    done = shell(">/dev/full", command, given)
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith(("warning: ", "saved "))]
    assert lines == [FULL]


@pytest.mark.parametrize("command", ["place -f FILE", "place -f FILE -o json", "queue -f FILE", "--version"])
@pytest.mark.parametrize(("redirected", "why"), [(">&-", "it is closed"), ("1</dev/null", "bad file descriptor")])
def test_a_closed_standard_output_is_one_line_and_a_failure(
    command: str, redirected: str, why: str, given: str
) -> None:
    done = shell(redirected, command, given)
    assert (done.returncode, done.stderr) == (1, f"error: standard output cannot be written: {why}\n")


def test_an_answer_that_waits_in_the_buffer_is_not_lost_in_silence(given: str) -> None:
    """Small outputs are written when the command ends; the exit code of what was found is not given then."""
    wrong = shell(">/dev/full", "place -f FILE -o name", given)
    assert (wrong.returncode, wrong.stderr) == (1, FULL)


def test_who_fails_for_another_reason_says_that_one(given: str) -> None:
    done = shell(">&-", "place -f /nowhere", given)
    assert (done.returncode, done.stderr) == (1, "error: /nowhere: no such file\n")


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize("command", ["place -f FILE", "simulate --cluster 1x1x2 --limit 2", "snapshot save - -f FILE"])
def test_without_a_standard_error_the_answer_is_given_all_the_same(command: str, redirected: str, given: str) -> None:
    done = shell(redirected, command, given)
    assert done.returncode == 0 and done.stdout


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full"])
def test_without_a_standard_error_the_exit_code_still_tells(redirected: str) -> None:
    assert shell(redirected, "place -f /nowhere", "").returncode == 1
    assert shell(redirected, "place --wrong", "").returncode == 2


def test_remarks_go_on_when_there_is_room_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler writes its log there for months, and a disk may be full for a while."""

    class Disk(io.StringIO):
        is_full = True

        def write(self, text: str, /) -> int:
            if self.is_full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(text)

    disk = Disk()
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", disk)
    streams.prepare()
    sys.stderr.write("lost")
    disk.is_full = False
    sys.stderr.write("kept")
    assert disk.getvalue() == "kept"


def test_records_that_cannot_be_written_are_told_with_their_file(given: str, capsys: Captured) -> None:
    for command in (("place", "-f", given), ("simulate", "--cluster", "1x1x2", "--limit", "2")):
        assert main.run([*command, "--record", "/dev/full"]) == 1
        assert capsys.readouterr().err == "error: /dev/full: No space left on device\n"


def test_a_snapshot_is_written_to_a_pipe_and_never_in_its_place(given: str, tmp_path: Path, capsys: Captured) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert main.run(["snapshot", "save", str(pipe), "-f", given]) == 0
        assert os.read(reader, 1 << 20).startswith(b"apiVersion")
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# -- files without a name ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "command"),
    [
        (("place", "-f", ""), "place"),
        (("place", "-f", "FILE", "-f", ""), "place"),
        (("place", "-f", "FILE", "--record", ""), "place"),
        (("check", "-f", ""), "check"),
        (("convert", "-f", "", "--to", "kai"), "convert"),
        (("explain", "llm", "-f", ""), "explain"),
        (("get", "-f", ""), "get"),
        (("queue", "-f", ""), "queue"),
        (("tree", "-f", ""), "tree"),
        (("replay", ""), "replay"),
        (("snapshot", "save", ""), "snapshot save"),
        (("snapshot", "load", ""), "snapshot load"),
        (("simulate", "--cluster", ""), "simulate"),
        (("simulate", "--cluster", "1x1x2", "--trace", ""), "simulate"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_a_file_without_a_name_is_wrong_usage(
    tokens: tuple[str, ...], command: str, given: str, capsys: Captured
) -> None:
    assert main.run([given if one == "FILE" else one for one in tokens]) == 2
    err = capsys.readouterr().err
    assert "a file has a name, and this is empty" in err
    assert err.endswith(f"Try: phalanx {command} --help\n")
