"""``phalanx completion``: the scripts are run in the shells they are for."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from phalanx.cli import main, vocabulary
from phalanx.cli.vocabulary import Command, Option, Value

Captured = pytest.CaptureFixture[str]
WORDS = vocabulary.of(main.app)
EVERY = list(WORDS.all())
FILES = ("a file.yaml", "gang.yaml", "nodes.csv")


def script(shell: str, folder: Path, capsys: Captured) -> Path:
    """The script, in a folder that has some files."""
    assert main.run(("completion", shell)) == 0
    path = folder / "script"
    path.write_text(capsys.readouterr().out)
    (folder / "here").mkdir()
    for name in FILES:
        (folder / "here" / name).touch()
    return path


def shell(name: str, *tokens: str, given: str, folder: Path) -> str:
    """What a shell prints. Without the shell the test is skipped; CI installs all three, and bash is always there."""
    if shutil.which(name) is None and not (name == "bash" and os.environ.get("PHALANX_CI") == "1"):
        pytest.skip(f"there is no {name} here")
    done = subprocess.run(
        [name, *tokens], input=given, capture_output=True, text=True, cwd=folder / "here", timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout


# -- what the parser takes ---------------------------------------------------------------------------------------


def test_the_words_are_those_of_the_parser() -> None:
    """Every command is there, and every option the parser knows stands in its help."""
    assert {one.path for one in EVERY} >= {("place",), ("snapshot", "save"), ("completion",), ("simulate",)}
    for one in EVERY:
        app = main.app
        for name in one.path:
            app = app[name]
        if one.commands:
            continue
        taken = {name for each in app.assemble_argument_collection() for name in each.names if name.startswith("-")}
        assert {name for option in one.options for name in option.names} - {"--help", "-h"} == taken


def offered(one: Command, typed: str = "") -> list[str]:
    """What may stand behind a command without an option before it."""
    if typed.startswith("-"):
        return [name for option in one.options for name in option.names]
    below = [command.path[-1] for command in one.commands]
    return [*below, *one.argument.words, *(FILES if one.argument.is_file else ())]


def valued() -> list[tuple[Command, str, Option]]:
    return [(one, name, option) for one in EVERY for option in one.options if option.value for name in option.names]


def wanted(value: Value | None) -> list[str]:
    assert value is not None
    return sorted((*value.words, *(FILES if value.is_file else ())))


# -- bash --------------------------------------------------------------------------------------------------------

ASK_BASH = r"""
source ../script
complete -p phalanx
while IFS=$'\t' read -r -a COMP_WORDS; do
  last=$(( ${#COMP_WORDS[@]} - 1 ))
  [[ "${COMP_WORDS[last]}" != "." ]] || COMP_WORDS[last]=""
  COMP_CWORD=$last
  _phalanx
  (IFS=$'\t'; echo "${COMPREPLY[*]}")
done
"""


def bash(lines: list[tuple[str, ...]], folder: Path, capsys: Captured) -> list[list[str]]:
    """What bash offers at the end of each line, whose words are as bash cuts them."""
    script("bash", folder, capsys)
    given = "".join("\t".join(("phalanx", *line[:-1], line[-1] or ".")) + "\n" for line in lines)
    first, *answers = shell("bash", "--norc", "-c", ASK_BASH, given=given, folder=folder).splitlines()
    assert first == "complete -F _phalanx phalanx"
    return [answer.split("\t") if answer else [] for answer in answers]


def test_bash_offers_commands_options_and_values(tmp_path: Path, capsys: Captured) -> None:
    lines = [
        ("pla",),
        ("snapshot", ""),
        ("check", "--out"),
        ("check", "-o", ""),
        ("check", "--output", "=", "y"),
        ("check", "--output", "="),
        ("place", "-f", "g"),
        ("place", "-f", "a"),
        ("place", "-f", "check", "-o", "w"),
        ("explain", "queue", "--all"),
        ("simulate", "--policy", "pack", "--policy", "s"),
        ("tree", ""),
        ("nothing", "like", ""),
    ]
    assert bash(lines, tmp_path, capsys) == [
        ["place"],
        ["save", "load"],
        ["--output"],
        ["text", "json", "yaml"],
        ["yaml"],
        ["text", "json", "yaml"],
        ["gang.yaml"],
        ["a file.yaml"],
        ["wide"],
        ["--all-namespaces"],
        ["spread"],
        [],
        [command.path[-1] for command in WORDS.commands],
    ]


def test_bash_offers_at_every_place_what_the_parser_takes_there(tmp_path: Path, capsys: Captured) -> None:
    asked: list[tuple[tuple[str, ...], list[str]]] = []
    for one in EVERY:
        asked += [((*one.path, ""), sorted(offered(one))), ((*one.path, "-"), sorted(offered(one, "-")))]
    asked += [((*one.path, name, ""), wanted(option.value)) for one, name, option in valued()]
    answers = bash([line for line, _ in asked], tmp_path, capsys)
    assert [(line, sorted(found)) for (line, _), found in zip(asked, answers, strict=True)] == asked


# -- zsh ---------------------------------------------------------------------------------------------------------

ASK_ZSH = r"""
zmodload zsh/zpty
TERM=dumb zpty asked zsh -f -i
heard() { local part; while zpty -r asked part "*$1*"; do print -rn -- "$part"; [[ $part == *$1* ]] && break; done }
zpty -w asked "PS1=; autoload -Uz compinit; compinit -u -D; source ../script"
zpty -w asked "tell() { print -r -- '<<<'\$BUFFER'>>>' }; zle -N tell; bindkey '^X' tell; print RE''ADY"
heard READY > /dev/null
while IFS= read -r line; do
  zpty -w -n asked "$line"$'\t\x18'
  heard '>>>' | grep -o '<<<.*>>>'
  zpty -w -n asked $'\x15'
done
"""


def test_zsh_completes_what_is_typed(tmp_path: Path, capsys: Captured) -> None:
    script("zsh", tmp_path, capsys)
    lines = {
        "pla": "place ",
        "snapshot s": "snapshot save ",
        "check --out": "check --output ",
        "check -o y": "check -o yaml ",
        "check --output=y": "check --output=yaml ",
        "place -f g": "place -f gang.yaml ",
        "explain queue --all": "explain queue --all-namespaces ",
        "simulate --faults s": "simulate --faults stormy ",
        "completion f": "completion fish ",
    }
    given = "".join(f"phalanx {line}\n" for line in lines)
    found = shell("zsh", "-f", "-c", ASK_ZSH, given=given, folder=tmp_path).splitlines()
    assert found == [f"<<<phalanx {line}>>>" for line in lines.values()]


# -- fish --------------------------------------------------------------------------------------------------------

ASK_FISH = r"""
source ../script
while read -l line
    set -l found (complete -C $line | string replace -r \t'.*' '')
    echo (string join \t -- $found)
end
"""


def test_fish_offers_at_every_place_what_the_parser_takes_there(tmp_path: Path, capsys: Captured) -> None:
    asked: list[tuple[str, list[str]]] = []
    for one in EVERY:
        start = " ".join(("phalanx", *one.path))
        asked += [(f"{start} ", sorted(offered(one))), (f"{start} --", _long(offered(one, "-")))]
    for one, name, option in valued():
        asked.append((" ".join(("phalanx", *one.path, name, "")), wanted(option.value)))
    script("fish", tmp_path, capsys)
    given = "".join(f"{line}\n" for line, _ in asked)
    answers = shell("fish", "--no-config", "-c", ASK_FISH, given=given, folder=tmp_path).splitlines()
    assert [(line, sorted(answer.split("\t")) if answer else [])
            for (line, _), answer in zip(asked, answers, strict=True)] == asked  # fmt: skip


def _long(names: list[str]) -> list[str]:
    return sorted(name for name in names if name.startswith("--"))


# -- the command -------------------------------------------------------------------------------------------------


def test_a_shell_that_is_not_known_is_wrong_usage(capsys: Captured) -> None:
    assert main.run(("completion", "tcsh")) == 2
    err = capsys.readouterr().err
    assert '"bash", "zsh", "fish"' in err and err.endswith("Try: phalanx completion --help\n")


def test_a_script_starts_nothing(capsys: Captured) -> None:
    for name in ("bash", "zsh", "fish"):
        assert main.run(("completion", name)) == 0
        lines = capsys.readouterr().out.splitlines()
        assert not [line for line in lines if "$(phalanx" in line or line.strip().startswith("phalanx")]
