"""`leadsman check host`: kernel settings that invite a failure, before it strikes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.catalogue import every_mode
from leadsman.collect.span import Span
from leadsman.errors import UsageError
from leadsman.gate.host import Advice, Fleet, Forecast, apply, drop_in, settings_here, settings_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

EPILOG = """\b
Examples:
  leadsman check host --addresses 60 --reuses 40 --rest 10m
  leadsman check host --addresses 60 --reuses 40 --settings broker-1.txt     from the output of sysctl -a
  leadsman check host --addresses 60 --reuses 40 --drop-in /etc/sysctl.d/60-neighbours.conf --apply

\b
Exit codes:
  0  nothing to advise, or applied and verified        1  something to change
  2  could not run
"""


@click.command("host", epilog=EPILOG)
@click.option("--addresses", type=click.IntRange(1), required=True, help="Addresses that this host talks to.")
@click.option("--reuses", type=click.FloatRange(0), required=True, help="How many of them change hands a day.")
@click.option("--rest", type=Span(), default="10m", show_default=True, help="How long an address rests in between.")
@click.option("--noticed", type=Span(), default="1h", show_default=True, help="Until somebody helps a stuck client.")
@click.option(
    "--silent", is_flag=True, help="The network never confirms a MAC, and no load balancer keeps client addresses."
)
@click.option("--settings", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Output of sysctl -a.")
@click.option(
    "--drop-in",
    type=click.Path(dir_okay=False, path_type=Path),
    default="/etc/sysctl.d/60-leadsman.conf",
    show_default=True,
    help="The file that keeps the settings.",
)
@click.option("--apply", "applies", is_flag=True, help="Write the file, set the kernel, and verify both.")
def command(
    *,
    addresses: int,
    reuses: float,
    rest: timedelta,
    noticed: timedelta,
    silent: bool,
    settings: Path | None,
    drop_in: Path,
    applies: bool,
) -> int:
    """Hold a host's kernel settings against the fleet that it lives among, and say what to expect.

    A dry run: the file that it would write is shown. With --apply it is written, set, and read back.
    """
    if applies and settings:
        raise UsageError("--settings describes another host; --apply changes this one. Give one of them.")
    fleet = Fleet(
        addresses=addresses,
        reuses_a_day=reuses,
        rest_seconds=rest.total_seconds(),
        noticed_seconds=noticed.total_seconds(),
        confirms=not silent,
    )
    advice: list[Advice] = []
    for name, part in ((mode.name, mode.host) for mode in every_mode() if mode.host):
        forecast = part.check(settings_in(settings) if settings else settings_here(part.SETTINGS), fleet)
        _say(name, forecast)
        advice += forecast.advice
    return _change(advice, drop_in, applies=applies) if advice else 0


def _say(mode: str, forecast: Forecast) -> None:
    click.secho(mode, bold=True)
    for each in forecast.advice:
        click.echo(f"  {each.setting} is {each.found or 'not readable'}, should be {each.wanted}. {each.why}")
    if not forecast.advice:
        click.echo("  Nothing to change.")
    click.echo(f"  Expected: {forecast.now:.1f} {forecast.harm}" + ("" if not forecast.advice else " as it is,"))
    if forecast.advice:
        click.echo(f"            {forecast.advised:.1f} with these settings.")
    for assumed in forecast.assumed:
        click.echo(click.style(f"  ({assumed})", dim=True))


def _change(advice: Sequence[Advice], file: Path, *, applies: bool) -> int:
    click.echo(f"\n{'Written' if applies else 'Would write'} {file}:\n")
    click.echo("".join(f"  {line}\n" for line in drop_in(advice).splitlines()))
    if not applies:
        click.echo("Nothing was changed: this was a dry run. With --apply it is written, set and verified.")
        return 1
    return _verified(advice, apply(advice, file))


def _verified(advice: Sequence[Advice], found: Mapping[str, str]) -> int:
    wrong = [each for each in advice if found.get(each.setting) != each.wanted]
    for each in advice:
        click.echo(f"{'x' if each in wrong else '+'} {each.setting} is {found.get(each.setting, 'not readable')} now")
    undo = " ".join(f"{each.setting}={each.found}" for each in advice if each.found is not None)
    click.echo(f"Undo: rm the file, and: sysctl -w {undo}")
    click.echo("A running incident does not end by this. End it: ip neigh del ADDRESS dev DEVICE")
    return int(bool(wrong))
