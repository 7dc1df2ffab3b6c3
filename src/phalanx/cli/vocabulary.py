"""The words of a command line, read off its parser: commands, options, and what may stand behind them."""

from collections.abc import Iterator
from dataclasses import dataclass

from cyclopts import App
from cyclopts.argument import Argument

_FILE = "FILE"  # a metavar that begins so may be the name of a file


@dataclass(frozen=True, slots=True)
class Value:
    """What may be written in one place: one of some words, the name of a file, or anything."""

    words: tuple[str, ...] = ()
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """``value`` None: it stands alone."""

    names: tuple[str, ...]
    about: str
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """``path``: the words that lead to it. ``argument``: what stands behind it without an option."""

    path: tuple[str, ...]
    about: str
    options: tuple[Option, ...]
    argument: Value
    commands: tuple["Command", ...]

    def all(self) -> Iterator["Command"]:
        yield self
        for one in self.commands:
            yield from one.all()


def of(app: App, path: tuple[str, ...] = ()) -> Command:
    names = [name for name in app if not name.startswith("-")]
    arguments = [] if names else [one for one in app.assemble_argument_collection() if not one.children]
    told = [_option(one) for one in arguments if one.index is None]
    helped = [Option(tuple(app.help_flags), "Display this message and exit")]
    versions = [] if path else [Option(tuple(app.version_flags), "Display application version")]
    return Command(
        path,
        _sentence(app.help or ""),
        (*told, *helped, *versions),
        next((_value(one) for one in arguments if one.index is not None), Value()),
        tuple(of(app[name], (*path, name)) for name in names),
    )


def _option(one: Argument) -> Option:
    return Option(tuple(one.names), _sentence(one.parameter.help or ""), None if one.is_flag() else _value(one))


def _value(one: Argument) -> Value:
    return Value(tuple(one.get_choices() or ()), (one.parameter.metavar or "").startswith(_FILE))


def _sentence(text: str) -> str:
    """The first sentence in one line."""
    return " ".join(text.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
