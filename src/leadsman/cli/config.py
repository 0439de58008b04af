"""`leadsman config`: every setting, its value and where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from leadsman.catalogue import every_mode
from leadsman.cli.settings import settable
from leadsman.redaction import mask

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIGURED = ("diagnose", "changes", "reproduce", "sweep", "demo", "setup")

EPILOG = """\b
A flag comes before the environment, the environment before the file, the file before the default:
  flag         leadsman diagnose logs --master 'local[4]'
  environment  LEADSMAN_DIAGNOSE_MASTER='local[4]'
  file         leadsman.toml in the current folder, or where --config or LEADSMAN_CONFIG says:
                 [diagnose]
                 master = "local[4]"
                 mode = ["idle_disconnect"]
                 [diagnose.set.idle_disconnect]
                 stall_seconds = 130

\b
Examples:
  leadsman config
  leadsman --config production.toml config
"""


class Row(NamedTuple):
    """One setting as it is shown."""

    name: str
    value: str
    origin: str


@click.command("config", epilog=EPILOG)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show every setting, its value, and whether the environment, a file or the default gave it.

    Settings are those of commands; thresholds are those of detectors, which --set changes.
    """
    assert ctx.parent is not None
    file = ctx.parent.meta.get("leadsman.file", "")
    settings = [row for name in CONFIGURED for row in _settings(ctx.parent, name, file)]
    changed = [row for row in _resolved(ctx.parent, "diagnose", file) if row[0] == "set"]
    thresholds = list(_thresholds(changed))
    _print("setting", settings)
    click.echo()
    if thresholds:
        _print("threshold (--set)", thresholds)
    else:
        click.echo("Thresholds come with the detectors: pip install 'leadsman[spark]'")


def _print(title: str, rows: list[Row]) -> None:
    table = [Row(title, "value", "from"), *rows]
    first, second = max(len(row.name) for row in table), max(len(row.value) for row in table)
    for number, row in enumerate(table):
        line = f"{row.name:<{first}}  {row.value:<{second}}  {row.origin}"
        click.echo(click.style(line, bold=True) if number == 0 else line)


def _settings(parent: click.Context, name: str, file: str) -> Iterator[Row]:
    for setting, value, origin in _resolved(parent, name, file):
        yield Row(f"{name}.{setting}", _shown(value), origin)


def _resolved(parent: click.Context, name: str, file: str) -> Iterator[tuple[str, Any, str]]:
    """Resolve a command's options as a call without flags would, and say where each value comes from."""
    assert isinstance(parent.command, click.Group)
    command = parent.command.get_command(parent, name)
    assert command is not None
    ctx = click.Context(command, info_name=name, parent=parent, resilient_parsing=True)
    ctx.default_map = (parent.default_map or {}).get(name, {})
    for setting, option in settable(command).items():
        value, source = option.consume_value(ctx, {})
        if source is ParameterSource.ENVIRONMENT:
            yield setting, option.value_from_envvar(ctx), variable(name, setting)
        else:
            yield setting, value, file if source is ParameterSource.DEFAULT_MAP else "default"


def variable(command: str, setting: str) -> str:
    """Return the environment variable of a setting."""
    return f"LEADSMAN_{command}_{setting}".replace("-", "_").upper()


def _shown(value: Any) -> str:  # noqa: ANN401 - an option's value can be anything
    """Return a value as it would be written, secrets masked: a --spark-conf can hold a storage key."""
    if value is None or value in ((), []) or "UNSET" in repr(value).upper():
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return mask(" ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))


def _thresholds(changed: list[tuple[str, Any, str]]) -> Iterator[Row]:
    """Return every threshold; none where the detectors cannot be loaded, as they come with leadsman[spark]."""
    given = {
        key: (value, origin)
        for _, pairs, origin in changed
        if origin != "default"
        for key, _, value in (str(pair).partition("=") for pair in pairs)
    }
    for mode in every_mode():
        try:
            parameters = mode.parameters
        except ImportError:
            return
        for name, default in parameters.items():
            value, origin = given.get(f"{mode.name}.{name}", (default, "default"))
            yield Row(f"{mode.name}.{name}", str(value), origin)
