"""What a person sees who asks for help, or types something wrong."""

import re
import subprocess
import sys

import pytest

from phalanx.cli import main, vocabulary

Captured = pytest.CaptureFixture[str]
COMMANDS = [one.path for one in vocabulary.of(main.app).all()]
RUNNING = [path for path in COMMANDS if path and path != ("snapshot",)]


def helped(path: tuple[str, ...], capsys: Captured) -> str:
    assert main.run((*path, "--help")) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("path", RUNNING, ids=" ".join)
def test_wrong_usage_ends_in_where_the_command_is_explained(path: tuple[str, ...], capsys: Captured) -> None:
    assert main.run((*path, "--no-such-option")) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"Try: phalanx {' '.join(path)} --help"


@pytest.mark.parametrize(
    ("tokens", "last"),
    [
        (("plcae",), "Try: phalanx --help"),
        (("--what",), "Try: phalanx --help"),
        (("snapshot", "safe"), "Try: phalanx snapshot --help"),
        (("place",), "Try: phalanx place --help"),
        (("place", "-f", "x", "-o", "xml"), "Try: phalanx place --help"),
        (("simulate", "--cluster", "2x2", "--faster", "0"), "Try: phalanx simulate --help"),
        (("simulate", "--cluster", "what is this"), "Try: phalanx simulate --help"),
        (("replay", "-x"), "Try: phalanx replay --help"),
    ],
)
def test_every_kind_of_wrong_usage_does(tokens: tuple[str, ...], last: str, capsys: Captured) -> None:
    assert main.run(tokens) == 2
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("error: ") and err[-1] == last


def test_what_is_no_wrong_usage_is_not_sent_to_the_help(capsys: Captured) -> None:
    assert main.run(("place", "-f", "/no/such/file")) == 1
    assert "Try:" not in capsys.readouterr().err


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "phalanx")
def test_help_says_what_to_write_and_not_which_type_it_is_of(path: tuple[str, ...], capsys: Captured) -> None:
    text = helped(path, capsys)
    assert not re.findall(r"\b(STR|INT|FLOAT|BOOL|CHOICE|PATH|LIST)\b", text)
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "phalanx")
def test_help_writes_defaults_as_a_person_would(path: tuple[str, ...], capsys: Captured) -> None:
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", helped(path, capsys)).split())
    for default in re.findall(r"\[default: (.*?)\]", text):
        assert re.fullmatch(r"[a-z0-9, .]+", default), default
    assert "[default: ]" not in text


def test_defaults_are_told(capsys: Captured) -> None:
    text = " ".join(re.sub(r"[│]", " ", helped(("simulate",), capsys)).split())
    for said in ("[default: pack]", "[default: 0]", "[default: 1]", "[default: 32]", "[default: yes]"):
        assert said in text


def test_help_loads_no_more_than_the_command_line_itself() -> None:
    """Asking for help is answered at once: what decides, reads or draws is not loaded for it."""
    code = (
        "import sys; from phalanx.cli.main import run; run(['--help']); "
        "print(*(m for m in sys.modules if m.startswith('phalanx.')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not [name for name in loaded if name.split(".")[1] in ("engine", "place", "sim", "dialects", "kube", "wire")]
    assert not loaded & {"phalanx.cli.completing", "phalanx.cli.vocabulary", "phalanx.cli.simulating"}
