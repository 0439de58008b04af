"""python -m account_linking.tables COMMAND --tables FOLDER [--bootstrap HOST:PORT]: streams, rebuild, maintenance."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from account_linking.tables import ingest, streams
from account_linking.tables.layout import Layout
from account_linking.tables.rebuild import rebuild
from account_linking.tables.session import session
from account_linking.tables.upkeep import run_upkeep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


def main(arguments: Sequence[str], spark: SparkSession | None = None) -> int:
    """Run one command; `stream` without --once runs until it is stopped."""
    options = _arguments(arguments)
    running = spark or session()
    layout = Layout(options.tables)
    match options.command:
        case "stream":
            _stream(running, options, layout)
        case "history":
            ingest.history(running, options.bootstrap, layout)
        case "replay":
            sys.stdout.write(f"{ingest.replay(running, layout)} rows moved from quarantine to silver\n")
        case "rebuild":
            rebuilt = rebuild(running, layout)
            sys.stdout.write(
                f"Changed rows: {rebuilt.silver} of silver, {rebuilt.accounts} of accounts,"
                f" {rebuilt.quarantine} of quarantine. classified and monthly are up to date.\n"
            )
        case "upkeep":
            run_upkeep(running, layout)
        case _:
            ingest.reclassify(running, layout)
    return 0


def _stream(spark: SparkSession, options: argparse.Namespace, layout: Layout) -> None:
    every = None if options.once else options.every
    queries = [
        start(spark, options.bootstrap, layout, checkpoint=f"{options.tables}/_checkpoints/{name}", every=every)
        for name, start in (("tables", streams.start_tables), ("changes", streams.start_changes))
        if not options.once
    ]
    if options.once:
        for name, start in (("tables", streams.start_tables), ("changes", streams.start_changes)):
            start(
                spark, options.bootstrap, layout, checkpoint=f"{options.tables}/_checkpoints/{name}"
            ).awaitTermination()
    for query in queries:
        query.awaitTermination()


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m account_linking.tables", description=__doc__)
    parser.add_argument("command", choices=["stream", "history", "replay", "reclassify", "rebuild", "upkeep"])
    parser.add_argument("--tables", required=True, help="folder of the tables, or a URL that Spark can write to")
    parser.add_argument("--bootstrap", default="localhost:9092", help="Kafka brokers (bootstrap.servers)")
    parser.add_argument("--every", default="1 second", help="trigger interval of the stream (processingTime)")
    parser.add_argument("--once", action="store_true", help="process all available records, then stop (availableNow)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
