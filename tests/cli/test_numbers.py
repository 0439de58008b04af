"""Every option that takes a number takes finite ones alone, and a limit of what a command can compute or wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from leadsman.cli.group import COMMANDS, group
from leadsman.collect.durations import DurationParam

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands(parent: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command with its subcommands."""
    context = click.Context(parent)
    for name in parent.list_commands(context):
        command = parent.get_command(context, name)
        assert command is not None
        yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = [(name, option) for name, command in commands(group) for option in command.params]
NUMBERS = [
    pytest.param(option, id=f"{name} {option.opts[-1]}")
    for name, option in ALL
    if isinstance(option.type, click.types.FloatParamType | click.types.IntParamType)
]
DURATIONS = [
    pytest.param(option, id=f"{name} {option.opts[-1]}")
    for name, option in ALL
    if isinstance(option.type, DurationParam)
]


def test_the_options_of_all_commands_are_tried() -> None:
    assert {name.split()[0] for name, _ in ALL} == set(COMMANDS) - {"modes", "doctor", "config"}
    assert len(NUMBERS) > 10
    assert len(DURATIONS) > 10


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "infinity"])
@pytest.mark.parametrize("option", NUMBERS)
def test_what_is_no_finite_number_is_refused(option: click.Parameter, text: str) -> None:
    with pytest.raises(click.BadParameter):
        option.type.convert(text, option, None)


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "99999999999999999999999d", "40000d", "\u0661s"])
@pytest.mark.parametrize("option", DURATIONS)
def test_a_duration_is_at_most_a_century(option: click.Parameter, text: str) -> None:
    with pytest.raises(click.BadParameter):
        option.type.convert(text, option, None)


@pytest.mark.parametrize("value", ["nan", "inf", "1e999"])
def test_a_threshold_is_finite(call, tmp_path, value: str) -> None:
    (tmp_path / "a.log").write_text("")

    result = call("diagnose", "a.log", "--set", f"idle_disconnect.stall_seconds={value}")

    assert result.code == 2
    assert "takes a number such as" in result.err


@pytest.mark.parametrize(
    ("addresses", "reuses"),
    [("60", "inf"), ("60", "nan"), ("60", "1e308"), ("60", "-1"), ("999999999999999999999", "4"), ("0", "4")],
)
def test_a_fleet_beyond_the_limits_is_refused(call, addresses: str, reuses: str) -> None:
    result = call("check", "host", "--addresses", addresses, "--reuses", reuses)

    assert result.code == 2
    assert "range" in result.err or "finite" in result.err


def test_the_largest_fleet_is_simulated(call) -> None:
    result = call("check", "host", "--addresses", 1 << 24, "--reuses", 1_000_000_000)

    assert result.code in {0, 1}
    assert "0.0001 simulated days" in result.out
