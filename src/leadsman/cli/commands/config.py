"""`leadsman config`: shows every setting, its value and where the value came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from leadsman.catalogue import every_mode
from leadsman.cli.settings import settable
from leadsman.cli.terminal import echo
from leadsman.installation import install_command
from leadsman.redaction import MASK, mask

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIGURED_COMMANDS = ("diagnose", "watch", "changes", "reproduce", "sweep", "demo", "setup")

EPILOG = """\b
A flag comes before the environment, the environment before the file, the file before the default:
  flag         leadsman diagnose logs --master 'local[4]'
  environment  LEADSMAN_DIAGNOSE_MASTER='local[4]'
  file         ~/.config/leadsman/leadsman.toml, or where --config or LEADSMAN_CONFIG says:
                 [diagnose]
                 master = "local[4]"
                 mode = ["idle_disconnect"]
                 [diagnose.set.idle_disconnect]
                 stall_seconds = 130
A leadsman.toml in the current folder is read too, for harmless settings such as mode, set and timezone.

\b
Examples:
  leadsman config
  leadsman --config production.toml config
"""


class SettingRow(NamedTuple):
    """One row of the output."""

    name: str
    value: str
    origin: str


@click.command("config", epilog=EPILOG)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show every setting, its value, and its origin: the environment, a file or the default.

    Settings belong to commands. Thresholds belong to detectors; `diagnose --set` changes them.
    """
    assert ctx.parent is not None
    settings = [row for name in CONFIGURED_COMMANDS for row in _settings(ctx.parent, name)]
    changed = [row for row in _resolve_options(ctx.parent, "diagnose") if row[0] == "set"]
    thresholds = list(_thresholds(changed))
    _print("setting", settings)
    echo()
    if thresholds:
        _print("threshold (--set)", thresholds)
    else:
        echo(f"Thresholds come with the detectors: {install_command('spark')}")


def _print(title: str, rows: list[SettingRow]) -> None:
    table = [SettingRow(title, "value", "from"), *rows]
    first, second = max(len(row.name) for row in table), max(len(row.value) for row in table)
    for number, row in enumerate(table):
        line = f"{row.name:<{first}}  {row.value:<{second}}  {row.origin}"
        echo(line, bold=number == 0)


def _settings(parent: click.Context, name: str) -> Iterator[SettingRow]:
    for setting, value, origin in _resolve_options(parent, name):
        yield SettingRow(f"{name}.{setting}", _value_text(_without_urls(setting, value)), origin)


def _without_urls(setting: str, value: Any) -> Any:  # noqa: ANN401 - an option's value can be anything
    """Return the kinds alone of `--notify KIND=URL`: the whole URL of a webhook is a secret."""
    if setting != "notify" or not isinstance(value, (list, tuple)):
        return value
    return [
        f"{kind}={MASK}" if equals and "://" not in kind else MASK
        for kind, equals, _ in (str(each).partition("=") for each in value)
    ]


def _resolve_options(parent: click.Context, name: str) -> Iterator[tuple[str, Any, str]]:
    """Yield each option's name, value and origin, as in a call without flags."""
    assert isinstance(parent.command, click.Group)
    command = parent.command.get_command(parent, name)
    assert command is not None
    ctx = click.Context(command, info_name=name, parent=parent, resilient_parsing=True)
    ctx.default_map = (parent.default_map or {}).get(name, {})
    for setting, option in settable(command).items():
        value, source = option.consume_value(ctx, {})
        if source is ParameterSource.ENVIRONMENT:
            yield setting, option.value_from_envvar(ctx), environment_variable(name, setting)
        else:
            from_file = source is ParameterSource.DEFAULT_MAP
            yield setting, value, parent.meta["leadsman.files"][name, setting] if from_file else "default"


def environment_variable(command: str, setting: str) -> str:
    """Return the environment variable of a setting."""
    return f"LEADSMAN_{command}_{setting}".replace("-", "_").upper()


def _value_text(value: Any) -> str:  # noqa: ANN401 - an option's value can be anything
    """Return a value as text, secrets masked: a --spark-conf can hold a storage key."""
    if value is None or value in ((), []) or "UNSET" in repr(value).upper():
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return mask(" ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))


def _thresholds(changed: list[tuple[str, Any, str]]) -> Iterator[SettingRow]:
    """Yield every threshold; none where leadsman[spark], which the detectors need, is not installed."""
    overridden = {
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
            value, origin = overridden.get(f"{mode.name}.{name}", (default, "default"))
            yield SettingRow(f"{mode.name}.{name}", str(value), origin)
