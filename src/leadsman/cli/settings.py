"""Settings from a file: leadsman.toml. Flags and the environment (LEADSMAN_DIAGNOSE_MASTER) come before it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FILE = "leadsman.toml"


def tables(path: str | None = None) -> dict[str, Any]:
    """Return the file's tables. Empty where there is no file.

    Raises UsageError for a file that was named but is not there, or that is no TOML.
    """
    file = Path(path or FILE)
    if not file.exists():
        if path:
            raise UsageError(f"No settings file at {path}. Write one (see: leadsman config), or leave --config out.")
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{file} cannot be read as TOML: {error}") from error


def defaults(found: Mapping[str, Any], command: Callable[[str], click.Command | None], file: str) -> dict[str, Any]:
    """Return the tables, one a command, as click's defaults: `[diagnose] master = "..."`.

    Raises UsageError for a table that is no command's and for a setting that the command has not: one that nobody
    reads would look as if it held.
    """
    return {name: _options(f"{file}: [{name}]", table, command(name)) for name, table in found.items()}


def settable(command: click.Command) -> dict[str, click.Option]:
    """Return the options that can be set in a file or by the environment, by their names in a file."""
    options = (each for each in command.params if isinstance(each, click.Option) and each.name)
    return {str(option.name).replace("_", "-"): option for option in options}


def _options(where: str, table: object, command: click.Command | None) -> dict[str, Any]:
    """Return a table with its settings as the command line's parameters are called."""
    if not isinstance(table, dict) or command is None:
        raise UsageError(f"{where} is no table of a command. Settings stand below their command, such as [diagnose].")
    known = settable(command)
    chosen = {}
    for key, value in table.items():
        option = known.get(key.replace("_", "-"))
        if option is None:
            raise UsageError(f"{where} has no setting {key!r}. It has: {', '.join(known)}.")
        chosen[str(option.name)] = _value(value, option)
    return chosen


def _value(value: object, option: click.Option) -> object:
    """Let a table such as [diagnose.set] stand for repeated KEY=VALUE options, and one value for a list of one."""
    if isinstance(value, dict):
        return [f"{key}={each}" for key, each in _flat(value)]
    return [value] if option.multiple and not isinstance(value, list) else value


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        found += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return found
