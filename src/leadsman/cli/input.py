"""How inputs, times, zones, KEY=VALUE pairs and a Spark are named on a command line, where captures are read."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from leadsman.cli.progress import progress
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leadsman.pipeline.streams import File


class Moment(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on, and only to the type checker
    """A time in ISO 8601; without a zone it is UTC."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:  # noqa: ANN401 - click's signature
        """Return the time, or fail with an example."""
        try:
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is no ISO 8601 time such as 2020-12-20T08:14:03Z.", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


OPTIONS = (
    click.option(
        "--timezone",
        default="UTC",
        show_default=True,
        metavar="ZONE",
        help="Zone of times that carry none, such as Europe/Berlin.",
    ),
    click.option("--master", metavar="URL", help="A Spark master, such as spark://host:7077 or local[4]."),
    click.option("--remote", metavar="URL", help="A Spark Connect server, such as sc://host:15002."),
    click.option(
        "--executors",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Python packages for executors that have none: the archive of `leadsman setup --executors`.",
    ),
    click.option("--spark-conf", multiple=True, metavar="K=V", help="A Spark setting; may be repeated."),
)


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say in which zone times are, and where Spark runs."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def pair(text: str, option: str) -> tuple[str, str]:
    """Return the two sides of KEY=VALUE; UsageError, naming the option, where it is none."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"{option} takes KEY=VALUE, not {text!r}.")
    return key, value


def zone(name: str) -> ZoneInfo:
    """Return a zone by its name; UsageError where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(f"No time zone is called {name!r}. Take a name such as UTC or Europe/Berlin.") from error


@contextmanager
def inputs(paths: Sequence[str]) -> Iterator[Mapping[str, File]]:
    """Yield what the pipes among the paths hold. They are read to their ends first."""
    from leadsman.pipeline.pipes import is_pipe, spooled  # noqa: PLC0415 - for commands that read captures only

    with ExitStack() as stack:
        with progress("Reading the input until it ends") if any(map(is_pipe, paths)) else nullcontext():
            pipes = stack.enter_context(spooled(paths))
        yield pipes
