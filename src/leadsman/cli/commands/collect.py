"""`leadsman collect`: a capture from a running system."""

from __future__ import annotations

import shlex
import socket
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.cli.extras import require_extra
from leadsman.cli.progress import steps
from leadsman.cli.terminal import echo
from leadsman.collect.collector import Collector, collector_names, find_collector
from leadsman.collect.durations import DurationParam

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from leadsman.collect.collector import Probe
    from leadsman.collect.series import CollectionResult

EPILOG = """\b
Examples:
  leadsman collect kafka --bootstrap broker-1:9092 --out incident      brokers, topics, groups, producer ids
  leadsman collect jvm 4711 --out incident                             add a JVM to the same capture
  leadsman collect prometheus http://broker-1:7071/metrics --repeat 10s --for 5m
  leadsman collect kafka --bootstrap broker-1:9092 --print-commands    print shell commands instead
  leadsman diagnose incident

\b
Exit codes:
  0  complete           3  not everything collected: the capture says what and why
  2  could not run

\b
More: docs/collecting.md
"""

INCOMPLETE = 3


SHARED = (
    click.Option(
        ["--out"],
        type=click.Path(file_okay=False, path_type=Path),
        help="The capture's folder; an existing capture is extended.  [default: capture-<time>]",
    ),
    click.Option(
        ["--repeat"], type=DurationParam(), default="10s", show_default=True, help="With --for: the interval."
    ),
    click.Option(["--for"], type=DurationParam(), default="0s", help="Collect a series for this long."),
    click.Option(
        ["--as"], metavar="NAME", default="", help="The subject's name in the capture.  [default: the host's name]"
    ),
    click.Option(["--print-commands"], is_flag=True, help="Run nothing; print the commands as a shell script."),
)


class Collectors(click.Group):
    """The collectors as commands; each module is imported only when its command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all collectors."""
        return list(collector_names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return a collector as a command."""
        return _command(cmd_name, find_collector(cmd_name)) if cmd_name in collector_names() else None


@click.command("collect", cls=Collectors, epilog=EPILOG)
def command() -> None:
    """Write a capture from a running system. Collecting changes nothing, and secrets are masked before writing."""


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
    print_commands: bool,
    **options: Any,  # noqa: ANN401 - click hands over what it has parsed
) -> int:
    from leadsman.collect.capture_folder import CaptureFolder  # --help needs none of this
    from leadsman.collect.series import CollectionSchedule
    from leadsman.collect.shell_script import shell_script

    subject, duration = options.pop("as"), options.pop("for")
    if print_commands:
        with collector.open(options) as probes:
            click.echo(shell_script(collector.title, probes, subject), nl=False)
        return 0
    if collector.extra:
        require_extra(collector.extra, f"collect {name}")
    path = out or Path(f"capture-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    folder = CaptureFolder(path=path, subject=subject or socket.gethostname(), ran=_call(name, options))
    with collector.open(options) as probes:
        return _show_result(_collect(folder, probes, CollectionSchedule(repeat, duration)), path)


def _collect(folder: Any, probes: Iterable[Probe], schedule: Any) -> CollectionResult:  # noqa: ANN401 - imported where they are made
    from leadsman.collect.series import collect_series

    folder.open()
    try:
        with steps() as show_step:
            return collect_series(folder, probes, schedule, show_step)
    except KeyboardInterrupt:
        echo(f"Stopped. The capture until now is valid: {folder.path}", err=True)
        raise


def _show_result(result: CollectionResult, path: Path) -> int:
    """Print the capture's path on standard output, and everything else on standard error; return the exit code."""
    for what, reasons in (("Not collected", result.not_collected), ("Not complete", result.incomplete)):
        for name, why in reasons.items():
            named = why if why.startswith(name) else f"{name}: {why}"
            echo(f"{what}: {' '.join(named.splitlines())}", err=True)
    if not result.collected:
        echo(f"Nothing was collected into {path}, for the reasons above.", err=True)
        return 2
    echo(f"Diagnose it: leadsman diagnose {shlex.quote(str(path))}", err=True)
    click.echo(str(path))
    return INCOMPLETE if result.not_collected or result.incomplete else 0


def _call(name: str, options: dict[str, Any]) -> str:
    """Return the call for the manifest. Secrets are masked when the manifest is written."""
    arguments = [
        f"--{key.replace('_', '-')}={value}" for key, value in options.items() if value not in (None, (), False)
    ]
    return " ".join(["leadsman collect", name, *arguments])
