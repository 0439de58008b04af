"""`leadsman config`: every setting, its value and where it came from."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from leadsman.catalogue import every_mode

CONFIGURED = ("diagnose", "reproduce")

ORIGIN = {
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
    ParameterSource.COMMANDLINE: "flag",
}

EPILOG = """\b
A flag comes before the environment, the environment before the file, the file before the default.
  flag         leadsman diagnose logs --master local[4]
  environment  LEADSMAN_DIAGNOSE_MASTER=local[4]
  file         leadsman.toml:
                 [diagnose]
                 master = "local[4]"
                 [diagnose.set.idle_disconnect]
                 stall_seconds = 30
"""


@click.command("config", epilog=EPILOG, short_help="Show every setting, its value and where it came from.")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show the settings of `diagnose` and `reproduce`, and the detectors' thresholds that --set can change."""
    assert ctx.parent is not None
    rows = [row for name in CONFIGURED for row in _options(ctx.parent, name)]
    width, middle = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    for name, value, origin in rows:
        click.echo(f"{name:<{width}}  {value:<{middle}}  {origin}")
    click.echo("\nThresholds (change one: --set MODE.PARAMETER=VALUE)")
    for mode in every_mode():
        for name, value in _thresholds(mode):
            click.echo(f"{mode.name}.{name} = {value}")


def _options(parent: click.Context, name: str) -> list[tuple[str, str, str]]:
    """Resolve a command's options as a call without flags would, and say where each value comes from."""
    assert isinstance(parent.command, click.Group)
    command = parent.command.get_command(parent, name)
    assert command is not None
    ctx = click.Context(command, info_name=name, parent=parent, resilient_parsing=True)
    ctx.default_map = (parent.default_map or {}).get(name, {})
    rows = []
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name:
            value, source = parameter.consume_value(ctx, {})
            rows.append((f"{name}.{parameter.name.replace('_', '-')}", _shown(value), ORIGIN.get(source, "default")))
    return rows


def _shown(value: Any) -> str:  # noqa: ANN401 - an option's value can be anything
    if value is None or value == () or "UNSET" in repr(value).upper():
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _thresholds(mode: Any) -> list[tuple[str, float]]:  # noqa: ANN401 - catalogue.Mode
    try:
        return list(mode.parameters.items())
    except ImportError:
        return []  # the detectors come with leadsman[spark]
