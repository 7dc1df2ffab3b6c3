"""``phalanx completion``: a script that lets bash, zsh or fish complete what is typed. It holds every word and starts
nothing."""

from collections.abc import Callable, Iterable, Iterator

from cyclopts import App

from phalanx.cli import vocabulary
from phalanx.cli.errors import Exit
from phalanx.cli.vocabulary import Command, Option, Value


def run(app: App, shell: str) -> int:
    print(_WRITERS[shell](vocabulary.of(app)), end="")
    return Exit.PLACED


# -- bash and zsh ------------------------------------------------------------------------------------------------
#
# Both read the line from the left: which command is it, and does the word under the cursor belong to an option? In the
# tables below a key is "command|word"; of options that may be given in any command only those of this one count.

_READ = """\
  local at="" option="" word i
  for ((i = {first}; i < {current}; i++)); do
    word="${{{words}[i]}}"
    if [[ -n "$option" ]]; then
      [[ "$word" == "=" ]] || option=""
      continue
    fi
    case "$at|$word" in
{commands}
{valued}
    esac
  done
"""

_BASH = """\
# Completion of phalanx for bash; made by: phalanx completion bash
_phalanx() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}"
{read}  [[ "$cur" == "=" ]] && cur=""
  local found="" files=""
  if [[ -n "$option" ]]; then
    case "$at|$option" in
{values}
    esac
  elif [[ "$cur" == -* ]]; then
    case "$at" in
{options}
    esac
  else
    case "$at" in
{arguments}
    esac
  fi
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(compgen -W "$found" -- "$cur"; [[ -z "$files" ]] || compgen -f -- "$cur")
  [[ -z "$files" ]] || compopt -o filenames 2> /dev/null
}}
complete -F _phalanx phalanx
"""

_ZSH = """\
#compdef phalanx
# Completion of phalanx for zsh; made by: phalanx completion zsh
_phalanx() {{
{read}  if [[ -z "$option" && "${{words[CURRENT]}}" == --*=* ]]; then
    option="${{words[CURRENT]%%=*}}"
    compset -P '*='
  fi
  local -a found
  local files=""
  if [[ -n "$option" ]]; then
    case "$at|$option" in
{values}
    esac
  elif [[ "${{words[CURRENT]}}" == -* ]]; then
    case "$at" in
{options}
    esac
  else
    case "$at" in
{arguments}
    esac
  fi
  (( ${{#found}} )) && _describe phalanx found
  [[ -z "$files" ]] || _files
}}
if [[ "${{funcstack[1]}}" == _phalanx ]]; then
  _phalanx "$@"
else
  compdef _phalanx phalanx
fi
"""


def _bash(top: Command) -> str:
    read = _read(top, first="1", current="COMP_CWORD", words="COMP_WORDS")
    return _BASH.format(read=read, **_tables(top, _bash_words))


def _zsh(top: Command) -> str:
    read = _read(top, first="2", current="CURRENT", words="words")
    return _ZSH.format(read=read, **_tables(top, _zsh_words))


def _read(top: Command, first: str, current: str, words: str) -> str:
    below = [one for one in top.all() if one.path]
    commands = "\n".join(f'      "{_at(one.path[:-1])}|{one.path[-1]}") at="{_at(one.path)}" ;;' for one in below)
    names = [f'"{_at(one.path)}|{name}"' for one in top.all() for name in _valued(one)]
    return _READ.format(
        first=first, current=current, words=words, commands=commands,
        valued=f'      {"|".join(names)}) option="$word" ;;',
    )  # fmt: skip


def _tables(top: Command, said: Callable[[Iterable[tuple[str, str]]], str]) -> dict[str, str]:
    """The cases of a script. ``said``: words with what they mean, as the shell takes them."""
    values, options, arguments = [], [], []
    for one in top.all():
        at = _at(one.path)
        for option in one.options:
            if option.value is not None and option.value != Value():
                keys = "|".join(f'"{at}|{name}"' for name in option.names)
                values.append(_case(keys, said((word, "") for word in option.value.words), option.value.is_file))
        options.append(_case(f'"{at}"', said(_named(one.options)), files=False))
        below = [(command.path[-1], command.about) for command in one.commands]
        offered = below or [(word, "") for word in one.argument.words]
        if offered or one.argument.is_file:
            arguments.append(_case(f'"{at}"', said(offered), one.argument.is_file))
    return {"values": "\n".join(values), "options": "\n".join(options), "arguments": "\n".join(arguments)}


def _case(key: str, words: str, files: bool) -> str:
    return f"      {key}) found={words}{'; files=yes' if files else ''} ;;"


def _named(options: Iterable[Option]) -> Iterator[tuple[str, str]]:
    return ((name, option.about) for option in options for name in option.names)


def _valued(command: Command) -> Iterator[str]:
    return (name for option in command.options if option.value is not None for name in option.names)


def _at(path: tuple[str, ...]) -> str:
    return " ".join(path)


def _bash_words(given: Iterable[tuple[str, str]]) -> str:
    return _quoted(" ".join(word for word, _ in given))


def _zsh_words(given: Iterable[tuple[str, str]]) -> str:
    return f"({' '.join(_quoted(f'{word}:{about}' if about else word) for word, about in given)})"


def _quoted(text: str) -> str:
    """For bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish --------------------------------------------------------------------------------------------------------

_FISH = """\
# Completion of phalanx for fish; made by: phalanx completion fish
function __phalanx_at --description 'whether the words before the cursor name this command'
    set -l at ''
    set -l option ''
    for word in (commandline -opc)[2..]
        if test -n "$option"
            set option ''
            continue
        end
        switch "$at|$word"
{commands}
            case {valued}
                set option $word
        end
    end
    test "$at" = "$argv"
end
complete -c phalanx -f
{lines}
"""


def _fish(top: Command) -> str:
    commands = "\n".join(
        f"            case '{_at(one.path[:-1])}|{one.path[-1]}'\n                set at '{_at(one.path)}'"
        for one in top.all() if one.path
    )  # fmt: skip
    valued = " ".join(f"'{_at(one.path)}|{name}'" for one in top.all() for name in _valued(one))
    lines = "\n".join(line for one in top.all() for line in _fish_lines(one))
    return _FISH.format(commands=commands, valued=valued, lines=lines)


def _fish_lines(one: Command) -> Iterator[str]:
    start = f"complete -c phalanx -n '__phalanx_at{''.join(f' {word}' for word in one.path)}'"
    for below in one.commands:
        yield f"{start} -a {below.path[-1]} -d {_fish_quoted(below.about)}"
    if one.argument != Value():
        yield f"{start}{_fish_words(one.argument)}{' -F' if one.argument.is_file else ''}"
    for option in one.options:
        names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.names)
        yield f"{start}{names}{_fish_value(option.value)} -d {_fish_quoted(option.about)}"


def _fish_value(value: Value | None) -> str:
    return "" if value is None else f" -r -{'F' if value.is_file else 'f'}{_fish_words(value)}"


def _fish_words(value: Value) -> str:
    return f" -a {_fish_quoted(' '.join(value.words))}" if value.words else ""


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_WRITERS: dict[str, Callable[[Command], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
