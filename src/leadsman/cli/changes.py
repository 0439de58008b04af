"""`leadsman changes`: what changed between two times, or between two captures."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import click

from leadsman.cli.input import Moment, inputs, pair, spark_options, zone
from leadsman.cli.parts import need
from leadsman.cli.progress import progress
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leadsman.model import Changes
    from leadsman.pipeline.question import Input
    from leadsman.pipeline.session import Wanted

EPILOG = """\b
Examples:
  leadsman changes incident --between 2020-12-18T22:00:00Z 2020-12-20T08:00:00Z
  leadsman changes friday/ sunday/
  leadsman changes friday/ sunday/ --format json | jq '.changes[].key'
  leadsman changes /var/log/kafka --between 2020-12-18 2020-12-20 --timezone Europe/Berlin

\b
A capture that shows both times is made by:
  leadsman collect kafka --bootstrap HOST:9092 --repeat 10m --for 2h --out incident

\b
Exit codes:
  0  nothing changed      1  something changed
  2  could not run        3  one side tells nothing that the other tells too
"""

BOTH_SIDES = "leadsman collect kafka --bootstrap HOST:9092 --repeat 10m --for 2h --out CAPTURE"

SAME, CHANGED, NOT_VISIBLE = 0, 1, 3
TWO_CAPTURES = 2
SHOWN = 30


@click.command("changes", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="CAPTURE [CAPTURE]")
@click.option("--between", nargs=2, type=Moment(), metavar="TIME TIME", help="The two times; ISO 8601.")
@click.option(
    "--format", type=click.Choice(["console", "json"]), default="console", show_default=True, help="What to print."
)
@click.option("--limit", type=click.IntRange(1), default=SHOWN, show_default=True, help="Changes on the console.")
@spark_options
def command(**options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Say what changed between two times of one capture, or between two captures.

    Topics, partitions, settings, versions, client ids, hosts, producer ids, leaders: each as it stood last before the
    first time, against how it stood last before the second. What had been at rest until then comes first.
    """
    sides = _sides(options["paths"], options["between"])
    need("spark", "changes")
    from leadsman.pipeline.question import look  # noqa: PLC0415 - Spark is loaded only now
    from leadsman.pipeline.session import Wanted  # noqa: PLC0415

    wanted = Wanted(
        master=options["master"],
        remote=options["remote"],
        conf=dict(pair(each, "--spark-conf") for each in options["spark_conf"]),
        executors=options["executors"],
    )
    with inputs(options["paths"]) as pipes:
        changes = _changes(look(options["paths"], zone(options["timezone"]), pipes), wanted, options)
    _show(changes, sides, options)
    return exit_code(changes)


def _sides(paths: Sequence[str], between: tuple[datetime, datetime] | None) -> dict[str, str]:
    """Return what before and after are, for people and programs; UsageError where the call does not say."""
    if between is None:
        if len(paths) != TWO_CAPTURES or paths[0] == paths[1]:
            raise UsageError(
                "Nothing to compare: give two captures, or one and two times. For example: leadsman changes "
                f"{paths[0]} --between 2020-12-18T22:00:00Z 2020-12-20T08:00:00Z"
            )
        return {"before": paths[0], "after": paths[1]}
    if len(paths) != 1:
        raise UsageError(f"--between compares two times of one capture, not of {len(paths)}: leave one of them out.")
    if between[0] >= between[1]:
        raise UsageError(f"--between takes the earlier time first: {between[1].isoformat()} {between[0].isoformat()}")
    return {"capture": paths[0], "before": between[0].isoformat(), "after": between[1].isoformat()}


def _changes(source: Input, wanted: Wanted, options: dict[str, Any]) -> Changes:
    from leadsman.pipeline.question import read_small  # noqa: PLC0415
    from leadsman.pipeline.session import session  # noqa: PLC0415

    with ThreadPoolExecutor(1) as pool, progress("Starting Spark") as say:
        reading = pool.submit(read_small, source)
        with session(wanted) as spark:
            from leadsman.pipeline.changes import compare, sides  # noqa: PLC0415 - PySpark, while the JVM starts
            from leadsman.pipeline.inputs import cores, events_of  # noqa: PLC0415
            from leadsman.pipeline.remote_files import listed  # noqa: PLC0415

            say("Comparing")
            side = sides.between(*options["between"]) if options["between"] else sides.captures(*options["paths"])
            return compare.compare(events_of(spark, listed(spark, reading.result(), cores(spark))), side)


def exit_code(changes: Changes) -> int:
    """Return 1 where something changed, 0 where nothing did, 3 where nothing could be compared."""
    if changes.changes:
        return CHANGED
    return SAME if changes.compared else NOT_VISIBLE


def _show(changes: Changes, sides: dict[str, str], options: dict[str, Any]) -> None:
    if options["format"] == "json":
        from leadsman.report.changes import dumps  # noqa: PLC0415

        click.echo(dumps(changes, sides))
        return
    from leadsman.report.console import show_changes  # noqa: PLC0415

    show_changes(changes, sides, limit=options["limit"])
    if not changes.compared:
        click.echo(f"Nothing is told of both sides. A capture that shows both: {BOTH_SIDES}", err=True)
