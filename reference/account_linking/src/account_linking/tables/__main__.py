"""python -m account_linking.tables COMMAND --tables FOLDER [--bootstrap HOST:PORT]: streams, rebuild, maintenance."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import TYPE_CHECKING

from account_linking.kafka_security import spark_options
from account_linking.tables import ingest, streams
from account_linking.tables.forget import forget
from account_linking.tables.layout import Layout
from account_linking.tables.maintenance import maintain_tables
from account_linking.tables.quarantine import read_quarantine
from account_linking.tables.rebuild import rebuild
from account_linking.tables.session import get_or_create_session
from account_linking.tables.translate import RULE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


def main(arguments: Sequence[str], spark: SparkSession | None = None) -> int:
    """Run one command; `stream` without --once runs until it is stopped."""
    options = _arguments(arguments)
    running = spark or get_or_create_session()
    layout = Layout(options.tables)
    match options.command:
        case "stream":
            _stream(running, options, layout)
        case "history":
            ingest.history(running, options.bootstrap, layout, security=spark_options(os.environ))
        case "replay":
            moved = ingest.replay(running, layout)
            left = read_quarantine(running, layout, samples=0).waiting
            sys.stdout.write(f"Moved from quarantine to their tables: {moved:,}. Still in quarantine: {left:,}.\n")
        case "quarantine":
            return _report_quarantine(running, options, layout)
        case "rebuild":
            rebuilt = rebuild(running, layout)
            sys.stdout.write(
                f"Changed rows: {rebuilt.silver} of silver, {rebuilt.accounts} of accounts,"
                f" {rebuilt.quarantine} of quarantine. classified and monthly are up to date.\n"
            )
        case "forget":
            _forget(running, options.user, layout)
        case "maintain":
            maintain_tables(running, layout)
        case _:
            ingest.reclassify(running, layout)
    return 0


def _forget(spark: SparkSession, user: str, layout: Layout) -> None:
    counts = forget(spark, layout, user)
    rows = ", ".join(f"{count} of {table}" for table, count in counts.items() if count) or "none"
    sys.stdout.write(
        f"Rows deleted: {rows}. The running stream of changes sends the tombstones."
        " Older files leave the disk with the first maintenance after 7 days.\n"
    )


def _report_quarantine(spark: SparkSession, options: argparse.Namespace, layout: Layout) -> int:
    from pyspark.errors import AnalysisException

    try:
        found = read_quarantine(spark, layout, samples=max(0, options.samples), rule=options.rule)
    except AnalysisException:
        sys.stderr.write(
            f"There is no table quarantine below {options.tables}. Name the folder that `stream` writes.\n"
        )
        return 2
    replay = f"python -m account_linking.tables replay --tables {shlex.quote(options.tables)}"
    sys.stdout.writelines(f"{line}\n" for line in found.lines(replay=replay))
    return 0


def _stream(spark: SparkSession, options: argparse.Namespace, layout: Layout) -> None:
    """Run both streams: side by side without end, or with --once one after the other."""
    security = spark_options(os.environ)
    queries = []
    for name, start in (("tables", streams.start_tables), ("changes", streams.start_changes)):
        checkpoint = f"{options.tables}/_checkpoints/{name}"
        every = None if options.once else options.every
        query = start(spark, options.bootstrap, layout, checkpoint=checkpoint, every=every, security=security)
        if options.once:
            query.awaitTermination()
        queries.append(query)
    for query in queries:
        query.awaitTermination()


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m account_linking.tables", description=__doc__)
    commands = ["stream", "history", "quarantine", "replay", "reclassify", "rebuild", "maintain", "forget"]
    parser.add_argument("command", choices=commands)
    parser.add_argument("--tables", required=True, help="folder of the tables, or a URL that Spark can write to")
    parser.add_argument("--bootstrap", default="localhost:9092", help="Kafka brokers (bootstrap.servers)")
    parser.add_argument("--every", default="1 second", help="trigger interval of the stream (processingTime)")
    parser.add_argument("--once", action="store_true", help="process all available records, then stop (availableNow)")
    parser.add_argument(
        "--rule",
        default="",
        choices=("", *RULE_NAMES),
        metavar="NAME",
        help="quarantine: only records that break this rule",
    )
    parser.add_argument("--samples", type=int, default=10, help="quarantine: how many records to show")
    parser.add_argument("--user", help="forget: the user whose rows are deleted")
    parsed = parser.parse_args(arguments)
    if parsed.command == "forget" and not parsed.user:
        parser.error("forget needs --user")
    return parsed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
