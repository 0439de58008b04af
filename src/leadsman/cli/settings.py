"""Settings from leadsman.toml. Flags and environment variables (LEADSMAN_DIAGNOSE_MASTER) override the files."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from leadsman.errors import LeadsmanError, UsageError

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


MOST_BYTES = 1 << 20
"""Of a file of settings: people write a few lines."""


class SettingsFile(NamedTuple):
    """A file of settings. `is_own`: it is the user's own or was named by the user, and may set everything."""

    name: str
    tables: Mapping[str, Any]
    is_own: bool


class Settings(NamedTuple):
    """The defaults of commands for click, the file of each, and what is ignored of the file in the current folder."""

    defaults: dict[str, dict[str, Any]]
    files: dict[tuple[str, str], str]
    refused: list[str]
    unknown: list[str]


def read_settings(named: str | None, command: Callable[[str], click.Command | None]) -> Settings:
    """Return the settings of the named file; without one, of the user's own file and that of the current folder.

    Raises UsageError for a named file that does not exist; and for a file of the user that is no TOML, or has a table
    of no command or a setting that the command does not have: a setting that no command reads would seem to be in
    effect. In the file of the current folder these are ignored, for otherwise anybody's file could stop every command.
    """
    settings = Settings({}, {}, [], [])
    if named:
        if not Path(named).exists():
            raise UsageError(f"No settings file at {named}. Write one (see: leadsman config), or leave --config out.")
        _add_own(settings, Path(named), command)
        return settings
    if user_file().is_file():
        _add_own(settings, user_file(), command)
    if Path(FILE).is_file():
        _add_local(settings, Path(FILE), command)
    return settings


def _add_own(settings: Settings, file: Path, command: Callable[[str], click.Command | None]) -> None:
    for table, values in _read(file).items():
        found = command(table)
        if not isinstance(values, dict) or found is None or not settable(found):
            raise UsageError(
                f"{file}: [{table}] is no table of a command with settings. Write settings below their command, such "
                f"as [diagnose]. There are: {', '.join(_tables(command))}."
            )
        for key, value in values.items():
            option = settable(found).get(key.replace("_", "-"))
            if option is None:
                raise UsageError(f"{file}: [{table}] has no setting {key!r}. It has: {', '.join(settable(found))}.")
            _add(settings, table, option, value, file=str(file))


def _tables(command: Callable[[str], click.Command | None]) -> list[str]:
    """Return the commands that have settings."""
    from leadsman.cli.group import COMMANDS  # it imports this module

    return [name for name in COMMANDS if (found := command(name)) is not None and settable(found)]


def _add_local(settings: Settings, file: Path, command: Callable[[str], click.Command | None]) -> None:
    """Add the harmless settings of the file in the current folder, and name the others."""
    try:
        tables = _read(file)
    except UsageError:
        settings.unknown.append("the whole file, which is no TOML")
        return
    for table, values in tables.items():
        found = command(table)
        if not isinstance(values, dict) or found is None:
            settings.unknown.append(table)
            continue
        for key, value in values.items():
            setting = key.replace("_", "-")
            option = settable(found).get(setting)
            if option is None:
                settings.unknown.append(f"{table}.{setting}")
            elif setting not in HARMLESS.get(table, ()):
                settings.refused.append(f"{table}.{setting}")
            elif not _is_valid(value, option, found):
                settings.unknown.append(f"the value of {table}.{setting}")
            else:
                _add(settings, table, option, value, file=FILE)


def _add(settings: Settings, table: str, option: click.Option, value: object, *, file: str) -> None:
    name = str(option.name)
    settings.defaults.setdefault(table, {})[name] = _value(value, option)
    settings.files[table, name.replace("_", "-")] = file


def user_file() -> Path:
    """Return the path of the user's own settings file."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "leadsman", FILE)


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UsageError(f"{file} cannot be read as TOML: it is larger than {MOST_BYTES >> 20} MiB.")
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read as TOML: {error}") from error


def settable(command: click.Command) -> dict[str, click.Option]:
    """Return the options that a file or the environment can set, by their names in the file: the flags' names."""
    options = (each for each in command.params if isinstance(each, click.Option) and each.name)
    return {str(option.name).replace("_", "-"): option for option in options}


def _is_valid(value: object, option: click.Option, command: click.Command) -> bool:
    """Whether the command takes a value: by the option's type, and by what the command makes of the text."""
    from leadsman.catalogue import modes_named, threshold_overrides  # only where a folder has a file
    from leadsman.cli.options import parse_pair, time_zone

    checks: Mapping[str, Callable[[Any], object]] = {
        "timezone": time_zone,
        "mode": modes_named,
        "set": lambda pairs: threshold_overrides(dict(parse_pair(each, "set") for each in pairs)),
    }
    try:
        text = option.type_cast_value(click.Context(command), _value(value, option))
        checks.get(str(option.name), bool)(text)
    except (click.BadParameter, LeadsmanError, TypeError, ValueError):
        return False
    return True


def _value(value: object, option: click.Option) -> object:
    """Convert a table such as [diagnose.set] to repeated KEY=VALUE options, and one value to a list of one."""
    if isinstance(value, dict):
        return [f"{key}={each}" for key, each in _flatten(value)]
    return [value] if option.multiple and not isinstance(value, list) else value


def _flatten(table: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the values by their dotted keys. A dotted key of TOML can nest deeper than functions can."""
    pairs: list[tuple[str, Any]] = []
    rest = list(table.items())
    while rest:
        key, value = rest.pop(0)
        if isinstance(value, dict):
            rest[:0] = [(f"{key}.{inner}", each) for inner, each in value.items()]
        else:
            pairs.append((key, value))
    return pairs
