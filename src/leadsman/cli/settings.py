"""Settings from leadsman.toml. Flags and environment variables (LEADSMAN_DIAGNOSE_MASTER) override the files."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FILE = "leadsman.toml"

HARMLESS = {
    "diagnose": ("format", "mode", "set", "since", "timezone", "until"),
    "watch": ("format", "interval", "mode", "retention", "set", "speed", "timezone"),
    "changes": ("between", "format", "since", "timezone", "until"),
    "sweep": ("format",),
}
"""The settings that a file in the current folder may set. Others can run code (`spark-conf` loads jars), connect to
hosts or write files, and a folder of captures can be anybody's."""


class SettingsFile(NamedTuple):
    """A file of settings. `is_own`: it is the user's own or was named by the user, and may set everything."""

    name: str
    tables: Mapping[str, Any]
    is_own: bool


class Settings(NamedTuple):
    """The defaults of commands for click, the file of each, and what the file in the current folder may not set."""

    defaults: dict[str, dict[str, Any]]
    files: dict[tuple[str, str], str]
    refused: list[str]


def read_settings(named: str | None, command: Callable[[str], click.Command | None]) -> Settings:
    """Return the settings of the named file; without one, of the user's own file and that of the current folder.

    Raises UsageError for a named file that does not exist, for a file that is no TOML, for a table of no command, and
    for a setting that the command does not have: a setting that no command reads would seem to be in effect.
    """
    settings = Settings({}, {}, [])
    for file in _files(named):
        for table, values in file.tables.items():
            parameters = _parameters(f"{file.name}: [{table}]", values, command(table))
            for name, value in parameters.items():
                setting = name.replace("_", "-")
                if file.is_own or setting in HARMLESS.get(table, ()):
                    settings.defaults.setdefault(table, {})[name] = value
                    settings.files[table, setting] = file.name
                else:
                    settings.refused.append(f"{table}.{setting}")
    return settings


def user_file() -> Path:
    """Return the path of the user's own settings file."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "leadsman", FILE)


def _files(named: str | None) -> list[SettingsFile]:
    """Return the files to read; later ones override earlier ones."""
    if named:
        if not Path(named).exists():
            raise UsageError(f"No settings file at {named}. Write one (see: leadsman config), or leave --config out.")
        return [SettingsFile(named, _read(Path(named)), is_own=True)]
    candidates = ((str(user_file()), True), (FILE, False))
    return [SettingsFile(name, _read(Path(name)), is_own) for name, is_own in candidates if Path(name).is_file()]


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read as TOML: {error}") from error


def settable(command: click.Command) -> dict[str, click.Option]:
    """Return the options that a file or the environment can set, by their names in the file: the flags' names."""
    options = (each for each in command.params if isinstance(each, click.Option) and each.name)
    return {str(option.name).replace("_", "-"): option for option in options}


def _parameters(table_name: str, table: object, command: click.Command | None) -> dict[str, Any]:
    """Return the settings of a table by the names of click's parameters."""
    if not isinstance(table, dict) or command is None:
        raise UsageError(
            f"{table_name} is no table of a command. Write settings below their command, such as [diagnose]."
        )
    known = settable(command)
    parameters = {}
    for key, value in table.items():
        option = known.get(key.replace("_", "-"))
        if option is None:
            raise UsageError(f"{table_name} has no setting {key!r}. It has: {', '.join(known)}.")
        parameters[str(option.name)] = _value(value, option)
    return parameters


def _value(value: object, option: click.Option) -> object:
    """Convert a table such as [diagnose.set] to repeated KEY=VALUE options, and one value to a list of one."""
    if isinstance(value, dict):
        return [f"{key}={each}" for key, each in _flatten(value)]
    return [value] if option.multiple and not isinstance(value, list) else value


def _flatten(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in table.items():
        pairs += _flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return pairs
