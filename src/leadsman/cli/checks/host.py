"""`leadsman check host`: checks kernel settings for a fleet of this size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.catalogue import every_mode
from leadsman.cli.input_file import InputFile
from leadsman.cli.terminal import echo
from leadsman.collect.durations import DurationParam
from leadsman.collect.numbers import FiniteNumber
from leadsman.errors import UsageError
from leadsman.gate.host import Advice, Fleet, Forecast, apply_advice, kernel_settings, parse_sysctl, sysctl_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

MOST_ADDRESSES = 1 << 24
"""The addresses of 10.0.0.0/8, the largest private network."""

MOST_REUSES = 1_000_000_000

EPILOG = """\b
Examples:
  leadsman check host --addresses 60 --reuses 40 --rest 10m
  leadsman check host --addresses 60 --reuses 40 --settings broker-1.txt     settings of another host
  leadsman check host --addresses 60 --reuses 40 --drop-in /etc/sysctl.d/60-neighbours.conf --apply

\b
Exit codes:
  0  nothing to change, or applied and verified        1  something to change
  2  could not run
"""


@click.command("host", short_help="Check kernel settings for the size of the fleet.", epilog=EPILOG)
@click.option(
    "--addresses", type=click.IntRange(1, MOST_ADDRESSES), required=True, help="Addresses that this host talks to."
)
@click.option(
    "--reuses", type=FiniteNumber(0, MOST_REUSES), required=True, help="Addresses per day that move to another host."
)
@click.option(
    "--rest",
    type=DurationParam(),
    default="10m",
    show_default=True,
    help="Time that an address is unused before another host gets it.",
)
@click.option(
    "--noticed",
    type=DurationParam(),
    default="1h",
    show_default=True,
    help="Time until an operator repairs a client that cannot connect.",
)
@click.option(
    "--network-never-confirms-mac",
    is_flag=True,
    help="The network never confirms a MAC, and no load balancer keeps client addresses.",
)
@click.option("--settings", type=InputFile(), help="Output of sysctl -a.")
@click.option(
    "--drop-in",
    type=click.Path(dir_okay=False, path_type=Path),
    default="/etc/sysctl.d/60-leadsman.conf",
    show_default=True,
    help="The sysctl.d file for the settings.",
)
@click.option("--apply", "applies", is_flag=True, help="Write the file, set the kernel, and verify both.")
def command(
    *,
    addresses: int,
    reuses: float,
    rest: timedelta,
    noticed: timedelta,
    network_never_confirms_mac: bool,
    settings: Path | None,
    drop_in: Path,
    applies: bool,
) -> int:
    """Check a host's kernel settings for its fleet, and estimate the harm with and without changes.

    Without --apply nothing is changed: the sysctl.d file is only shown. With --apply the file is written, the kernel is
    set, and both are read back.
    """
    if applies and settings:
        raise UsageError("--settings describes another host, and --apply changes this one. Give one of them.")
    fleet = Fleet(
        addresses=addresses,
        reuses_per_day=reuses,
        address_unused_seconds=rest.total_seconds(),
        repair_seconds=noticed.total_seconds(),
        network_confirms_mac=not network_never_confirms_mac,
    )
    advice: list[Advice] = []
    for name, part in ((mode.name, mode.host) for mode in every_mode() if mode.host):
        forecast = part.check(parse_sysctl(settings) if settings else kernel_settings(part.SETTINGS), fleet)
        _show(name, forecast)
        advice += forecast.advice
    return _change(advice, drop_in, applies=applies) if advice else 0


def _show(mode: str, forecast: Forecast) -> None:
    echo(mode, bold=True)
    for each in forecast.advice:
        echo(f"  {each.setting} is {each.current or 'not readable'}, should be {each.recommended}. {each.why}")
    if not forecast.advice:
        echo("  Nothing to change.")
    echo(f"  Expected: {forecast.harm_now:.1f} {forecast.harm}" + ("" if not forecast.advice else " as it is,"))
    if forecast.advice:
        echo(f"            {forecast.harm_advised:.1f} with these settings.")
    for assumption in forecast.assumptions:
        echo(f"  ({assumption})", dim=True)


def _change(advice: Sequence[Advice], file: Path, *, applies: bool) -> int:
    echo(f"\n{'Written' if applies else 'Would write'} {file}:\n")
    echo("".join(f"  {line}\n" for line in sysctl_file(advice).splitlines()))
    if not applies:
        echo("Nothing was changed. With --apply the file is written, set and verified.")
        return 1
    return _verify(advice, apply_advice(advice, file))


def _verify(advice: Sequence[Advice], current: Mapping[str, str]) -> int:
    wrong = [each for each in advice if current.get(each.setting) != each.recommended]
    for each in advice:
        echo(f"{'x' if each in wrong else '+'} {each.setting} is {current.get(each.setting, 'not readable')} now")
    undo = " ".join(f"{each.setting}={each.current}" for each in advice if each.current is not None)
    echo(f"Undo: remove the file, and run: sysctl -w {undo}")
    echo("This does not end a running incident. End it: ip neigh del ADDRESS dev DEVICE")
    return int(bool(wrong))
