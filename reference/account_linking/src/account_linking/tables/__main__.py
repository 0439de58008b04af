"""python -m account_linking.tables stream|history|replay|reclassify|upkeep --tables FOLDER [--bootstrap HOST:PORT]."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from account_linking.tables import flow, streams
from account_linking.tables.layout import Layout
from account_linking.tables.session import session
from account_linking.tables.upkeep import upkeep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


def main(words: Sequence[str], spark: SparkSession | None = None) -> int:
    """Run one command to its end; `stream` without --once has none."""
    asked = _arguments(words)
    running = spark or session()
    layout = Layout(asked.tables)
    match asked.command:
        case "stream":
            _stream(running, asked, layout)
        case "history":
            flow.history(running, asked.bootstrap, layout)
        case "replay":
            sys.stdout.write(f"{flow.replay(running, layout)} rows left the quarantine\n")
        case "upkeep":
            upkeep(running, layout)
        case _:
            flow.reclassify(running, layout)
    return 0


def _stream(spark: SparkSession, asked: argparse.Namespace, layout: Layout) -> None:
    every = None if asked.once else asked.every
    parts = [
        start(spark, asked.bootstrap, layout, checkpoint=f"{asked.tables}/_checkpoints/{name}", every=every)
        for name, start in (("tables", streams.tables), ("changes", streams.changes))
        if not asked.once
    ]
    if asked.once:
        for name, start in (("tables", streams.tables), ("changes", streams.changes)):
            start(spark, asked.bootstrap, layout, checkpoint=f"{asked.tables}/_checkpoints/{name}").awaitTermination()
    for query in parts:
        query.awaitTermination()


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m account_linking.tables", description=__doc__)
    parser.add_argument("command", choices=["stream", "history", "replay", "reclassify", "upkeep"])
    parser.add_argument("--tables", required=True, help="folder, or any place that Spark writes to")
    parser.add_argument("--bootstrap", default="localhost:9092", help="brokers")
    parser.add_argument("--every", default="1 second", help="how often a batch of the stream begins")
    parser.add_argument("--once", action="store_true", help="take what there is, then end")
    return parser.parse_args(words)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
