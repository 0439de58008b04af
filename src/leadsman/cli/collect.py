"""`leadsman collect`: a capture from a running system."""

from __future__ import annotations

import shlex
import socket
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.cli.parts import need
from leadsman.cli.progress import steps
from leadsman.collect.collector import Collector, named, names
from leadsman.collect.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from leadsman.collect.collector import Probe
    from leadsman.collect.series import Tally

EPILOG = """\b
Examples:
  leadsman collect kafka --bootstrap broker-1:9092 --out incident      what the cluster says of itself
  leadsman collect jvm 4711 --out incident                             the same capture, more of it
  leadsman collect prometheus http://broker-1:7071/metrics --repeat 10s --for 5m
  leadsman collect kafka --bootstrap broker-1:9092 --print-commands    the same as shell commands
  leadsman diagnose incident

\b
Exit codes:
  0  all was had        3  something could not be had: the capture says what and why
  2  could not run

\b
More: docs/collecting.md
"""

SOMETHING_MISSING = 3


SHARED = (
    click.Option(
        ["--out"],
        type=click.Path(file_okay=False, path_type=Path),
        help="The capture's folder; one that is there already is added to.  [default: capture-<time>]",
    ),
    click.Option(["--repeat"], type=Span(), default="10s", show_default=True, help="With --for: how often."),
    click.Option(["--for", "lasts"], type=Span(), default="0s", help="Make a series that takes so long."),
    click.Option(
        ["--as", "subject"], metavar="NAME", default="", help="What the capture calls it.  [default: the host's name]"
    ),
    click.Option(["--print-commands"], is_flag=True, help="Run nothing; print the plain commands as a shell script."),
)


class Collectors(click.Group):
    """The collectors as commands; each is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all collectors."""
        return list(names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return a collector as a command."""
        return _command(cmd_name, named(cmd_name)) if cmd_name in names() else None


@click.command("collect", cls=Collectors, epilog=EPILOG)
def command() -> None:
    """Write a capture from a running system. It reads only, and secrets are masked before anything is written."""


def _command(name: str, collector: Collector) -> click.Command:
    epilog = "\b\nExamples:\n" + "\n".join(f"  {each}" for each in collector.examples)
    return click.Command(
        name,
        callback=partial(_run, name, collector),
        params=[*collector.parameters, *SHARED],
        help=collector.help,
        short_help=collector.title + ".",
        epilog=epilog if collector.examples else None,
    )


def _run(
    name: str,
    collector: Collector,
    *,
    out: Path | None,
    repeat: timedelta,
    lasts: timedelta,
    subject: str,
    print_commands: bool,
    **options: Any,  # noqa: ANN401 - click hands over what it has parsed
) -> int:
    from leadsman.collect.into import Folder  # noqa: PLC0415 - --help needs none of this
    from leadsman.collect.script import script  # noqa: PLC0415
    from leadsman.collect.series import Plan  # noqa: PLC0415

    if print_commands:
        with collector.open(options) as probes:
            click.echo(script(collector.title, probes, subject), nl=False)
        return 0
    if collector.part:
        need(collector.part, f"collect {name}")
    path = out or Path(f"capture-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    folder = Folder(path=path, subject=subject or socket.gethostname(), ran=_call(name, options))
    with collector.open(options) as probes:
        return _told(_taken(folder, probes, Plan(repeat, lasts)), path)


def _taken(folder: Any, probes: Iterable[Probe], plan: Any) -> Tally:  # noqa: ANN401 - imported where they are made
    from leadsman.collect.series import collect  # noqa: PLC0415

    folder.open()
    try:
        with steps() as say:
            return collect(folder, probes, plan, say)
    except KeyboardInterrupt:
        click.echo(f"Stopped. What was had until now is a whole capture: {folder.path}", err=True)
        raise


def _told(tally: Tally, path: Path) -> int:
    """Say what came of it: the capture's path on standard output, everything else beside it."""
    for file, why in (tally.missing or {}).items():
        click.echo(f"Could not be had: {file}: {why}", err=True)
    click.echo(f"Diagnose it: leadsman diagnose {shlex.quote(str(path))}", err=True)
    click.echo(str(path))
    if not tally.taken:
        return 2
    return SOMETHING_MISSING if tally.missing else 0


def _call(name: str, options: dict[str, Any]) -> str:
    """Return the call for the manifest. Values that are secrets are masked where it is written."""
    words = [f"--{key.replace('_', '-')}={value}" for key, value in options.items() if value not in (None, (), False)]
    return " ".join(["leadsman collect", name, *words])
