"""`leadsman changes`: what changed between two times, or between two captures."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import click

from leadsman.cli.extras import require_extra
from leadsman.cli.options import TimeParam, parse_pair, spark_options, spool_pipes, time_zone
from leadsman.cli.progress import progress
from leadsman.cli.terminal import echo
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leadsman.model import Changes
    from leadsman.pipeline.request import DiagnosisInput
    from leadsman.pipeline.spark.session import SessionOptions

EPILOG = """\b
Examples:
  leadsman changes incident --between 2020-12-18T22:00:00Z 2020-12-20T08:00:00Z
  leadsman changes friday/ sunday/
  leadsman changes friday/ sunday/ --format json | jq '.changes[].key'
  leadsman changes /var/log/kafka --between 2020-12-18 2020-12-20 --timezone Europe/Berlin

\b
Record a capture that shows both times:
  leadsman collect kafka --bootstrap HOST:9092 --repeat 10m --for 2h --out incident

\b
Exit codes:
  0  nothing changed      1  something changed
  2  could not run        3  the two sides hold no data of the same kind
"""

COLLECT_BOTH_SIDES = "leadsman collect kafka --bootstrap HOST:9092 --repeat 10m --for 2h --out CAPTURE"

NO_CHANGE, CHANGED, NOT_COMPARABLE = 0, 1, 3
TWO_CAPTURES = 2
CHANGES_SHOWN = 30


@click.command("changes", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="CAPTURE [CAPTURE]")
@click.option("--between", nargs=2, type=TimeParam(), metavar="TIME TIME", help="The two times; ISO 8601.")
@click.option(
    "--format",
    type=click.Choice(["console", "json"]),
    default="console",
    show_default=True,
    help="Format of standard output.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=CHANGES_SHOWN,
    show_default=True,
    help="Show at most this many changes on the console.",
)
@spark_options
def command(**options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Show what changed between two times of one capture, or between two captures.

    Topics, partitions, settings, versions, client ids, hosts, producer ids, leaders: the last
    state before the first time is compared with the last state before the second. Things that had never changed before
    come first.
    """
    sides = _sides(options["paths"], options["between"])
    require_extra("spark", "changes")
    from leadsman.pipeline.request import find_input  # Spark is loaded only now
    from leadsman.pipeline.spark.session import SessionOptions

    session_options = SessionOptions(
        master=options["master"],
        remote=options["remote"],
        conf=dict(parse_pair(each, "--spark-conf") for each in options["spark_conf"]),
        executors=options["executors"],
    )
    with spool_pipes(options["paths"]) as pipes:
        changes = _changes(
            find_input(options["paths"], time_zone(options["timezone"]), pipes), session_options, options
        )
    _show(changes, sides, options)
    return exit_code(changes)


def _sides(paths: Sequence[str], between: tuple[datetime, datetime] | None) -> dict[str, str]:
    """Return what before and after are; UsageError where the call does not name both."""
    if between is None:
        if len(paths) != TWO_CAPTURES or paths[0] == paths[1]:
            raise UsageError(
                "Nothing to compare: give two captures, or one and two times. For example: leadsman changes "
                f"{paths[0]} --between 2020-12-18T22:00:00Z 2020-12-20T08:00:00Z"
            )
        return {"before": paths[0], "after": paths[1]}
    if len(paths) != 1:
        raise UsageError(f"--between compares two times of one capture, not of {len(paths)}. Leave one of them out.")
    if between[0] >= between[1]:
        raise UsageError(f"--between takes the earlier time first: {between[1].isoformat()} {between[0].isoformat()}")
    return {"capture": paths[0], "before": between[0].isoformat(), "after": between[1].isoformat()}


def _changes(inputs: DiagnosisInput, session_options: SessionOptions, options: dict[str, Any]) -> Changes:
    from leadsman.pipeline.request import read_small_input
    from leadsman.pipeline.spark.session import session

    with ThreadPoolExecutor(1) as pool, progress("Starting Spark") as show_step:
        reading = pool.submit(read_small_input, inputs)
        with session(session_options) as spark:
            from leadsman.pipeline.changes import compare, sides  # PySpark, while the JVM starts
            from leadsman.pipeline.scope.remote_files import list_remote_files
            from leadsman.pipeline.spark.event_frames import cores, event_frame

            show_step("Comparing")
            side = sides.by_time(*options["between"]) if options["between"] else sides.by_capture(*options["paths"])
            return compare.compare(event_frame(spark, list_remote_files(spark, reading.result(), cores(spark))), side)


def exit_code(changes: Changes) -> int:
    """Return 1 where something changed, 0 where nothing did, 3 where nothing could be compared."""
    if changes.changes:
        return CHANGED
    return NO_CHANGE if changes.compared else NOT_COMPARABLE


def _show(changes: Changes, sides: dict[str, str], options: dict[str, Any]) -> None:
    if options["format"] == "json":
        from leadsman.report.json_documents.changes import changes_json

        click.echo(changes_json(changes, sides))
        return
    from leadsman.report.console.changes import show_changes

    show_changes(changes, sides, limit=options["limit"])
    if not changes.compared:
        echo(f"The two sides hold no data of the same kind. Record both sides: {COLLECT_BOTH_SIDES}", err=True)
