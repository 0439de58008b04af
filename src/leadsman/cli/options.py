"""Options of the commands that read captures: modes, thresholds, times, time zones, Spark, and pipes as input."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from leadsman.cli.completion import mode_names
from leadsman.cli.progress import progress
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leadsman.pipeline.scope.streams import File


class TimeParam(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on, and only to the type checker
    """A time in ISO 8601; without a zone it is UTC."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:  # noqa: ANN401 - click's signature
        """Return the time, or fail with an example."""
        try:
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is no ISO 8601 time such as 2020-12-20T08:14:03Z.", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


mode_option = click.option(
    "--mode", multiple=True, metavar="NAME", shell_complete=mode_names, help="Only this failure mode; may be repeated."
)

threshold_option = click.option(
    "--set",
    multiple=True,
    metavar="MODE.PARAMETER=VALUE",
    help="Change a detector's threshold; may be repeated. `leadsman config` lists them.",
)

SPARK_OPTIONS = (
    click.option(
        "--timezone",
        default="UTC",
        show_default=True,
        metavar="ZONE",
        help="Time zone of times without a zone, such as Europe/Berlin.",
    ),
    click.option("--master", metavar="URL", help="A Spark master, such as spark://host:7077 or local[4]."),
    click.option("--remote", metavar="URL", help="A Spark Connect server, such as sc://host:15002."),
    click.option(
        "--executors",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Archive of Python packages for executors without them, from `leadsman setup --executors`.",
    ),
    click.option("--spark-conf", multiple=True, metavar="K=V", help="A Spark setting; may be repeated."),
)


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the time zone and for Spark."""
    for option in reversed(SPARK_OPTIONS):
        command = option(command)
    return command


def parse_pair(text: str, option: str) -> tuple[str, str]:
    """Return key and value of KEY=VALUE; UsageError names the option."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"{option} takes KEY=VALUE, not {text!r}.")
    return key, value


def time_zone(name: str) -> ZoneInfo:
    """Return the time zone of this name; UsageError where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(f"No time zone is called {name!r}. Use a name such as UTC or Europe/Berlin.") from error


@contextmanager
def spool_pipes(paths: Sequence[str]) -> Iterator[Mapping[str, File]]:
    """Yield a file for each pipe among the paths. Each pipe is read to its end first."""
    from leadsman.pipeline.scope.pipes import is_pipe, spool_pipes  # for commands that read captures only

    with ExitStack() as stack:
        with progress("Reading standard input or a pipe to its end") if any(map(is_pipe, paths)) else nullcontext():
            pipes = stack.enter_context(spool_pipes(paths))
        yield pipes
