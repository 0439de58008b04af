"""Keeps the events of watched streams: appended to a Delta table, and the current ones in memory for the detectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.pipeline.spark.packed_events import decompress
from leadsman.pipeline.spark.pyspark_startup import create_frame
from leadsman.watch.stream_changes import FACTS, SUMMARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, Row, SparkSession

TABLE_SCHEMA = pa.schema(
    [
        *ARROW_SCHEMA,
        ("stream", pa.string()),
        ("version", pa.int64()),
        ("number", pa.int64()),
        ("kind", pa.string()),
    ]
)
"""The event table with what decides whether an event is current: see `current_events`."""


@dataclass(frozen=True, slots=True)
class Change:
    """The events of one kind of a stream in one offset."""

    capture: str
    stream: str
    version: int
    number: int
    kind: str
    events: pa.Table


@dataclass(slots=True)
class StreamEvents:
    """The current events of one stream. Facts of the same offset replace each other: a batch can be run again."""

    version: int = 0
    facts: dict[int, pa.Table] = field(default_factory=dict)
    summary: tuple[int, pa.Table] = (0, ARROW_SCHEMA.empty_table())

    def apply(self, number: int, changes: Iterable[Change]) -> None:
        """Take in all changes of an offset."""
        of_kind: dict[str, list[pa.Table]] = {FACTS: [], SUMMARY: []}
        for each in changes:
            if each.version > self.version:
                self.version = each.version
                self.facts.clear()
            if each.version == self.version:
                of_kind[each.kind].append(each.events)
        if of_kind[FACTS]:
            self.facts[number] = pa.concat_tables(of_kind[FACTS])
        if of_kind[SUMMARY] and number >= self.summary[0]:
            self.summary = number, pa.concat_tables(of_kind[SUMMARY])

    @property
    def tables(self) -> list[pa.Table]:
        """The current events."""
        return [*self.facts.values(), self.summary[1]]


class CurrentEvents:
    """The current events of all streams, in memory."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], StreamEvents] = {}

    def apply(self, changes: Iterable[Change]) -> None:
        """Take in the changes of one offset or more."""
        grouped: dict[tuple[int, str, str], list[Change]] = {}
        for each in changes:
            grouped.setdefault((each.number, each.capture, each.stream), []).append(each)
        for (number, capture, stream), members in sorted(grouped.items(), key=lambda item: item[0]):
            self._streams.setdefault((capture, stream), StreamEvents()).apply(number, members)

    def table(self) -> pa.Table:
        """Return all current events."""
        tables = [table for each in self._streams.values() for table in each.tables]
        return pa.concat_tables([ARROW_SCHEMA.empty_table(), *tables])


def changes_of(rows: Iterable[Row]) -> list[Change]:
    """Return the changes in the rows of a batch of the query."""
    return [
        Change(
            row["capture"],
            row["stream"],
            row["version"],
            row["number"],
            row["kind"],
            decompress(pa.py_buffer(bytes(row["events"]))) if row["count"] else ARROW_SCHEMA.empty_table(),
        )
        for row in rows
    ]


class EventTable:
    """The Delta table of events."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self.path = path

    def append(self, changes: Iterable[Change], *, query: str, batch: int) -> None:
        """Append the changes of one batch. A batch that was appended before is not appended again."""
        tables = [_with_columns(each) for each in changes if each.events.num_rows]
        if not tables:
            return
        writer = create_frame(self._spark, pa.concat_tables(tables)).write.format("delta").mode("append")
        writer.option("txnAppId", query).option("txnVersion", batch).save(self.path)

    def read(self) -> list[Change]:
        """Return all changes in the table; none where there is no table yet."""
        from delta import DeltaTable

        if not DeltaTable.isDeltaTable(self._spark, self.path):
            return []
        table = self._spark.read.format("delta").load(self.path).toArrow().cast(TABLE_SCHEMA)
        return _changes_in(table)


def current_events(table: DataFrame) -> DataFrame:
    """Return the current events of an event table: of each stream, those of its last version and its last summary.

    A table keeps what was current at any time. `version` is the offset in which the reading of a stream began, or
    began again; `number` the offset in which an event was found.
    """
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    latest = table.groupBy("capture", "stream").agg(
        F.max("version").alias("last_version"), F.max("number").alias("last_number")
    )
    is_current = (F.col("version") == F.col("last_version")) & (
        (F.col("kind") == FACTS) | (F.col("number") == F.col("last_number"))
    )
    return table.join(latest, ["capture", "stream"]).where(is_current).select(*ARROW_SCHEMA.names)


def _with_columns(change: Change) -> pa.Table:
    count = change.events.num_rows
    columns: Mapping[str, Any] = {
        "stream": pa.repeat(change.stream, count),
        "version": pa.repeat(pa.scalar(change.version, pa.int64()), count),
        "number": pa.repeat(pa.scalar(change.number, pa.int64()), count),
        "kind": pa.repeat(change.kind, count),
    }
    table = change.events
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


def _changes_in(table: pa.Table) -> list[Change]:
    columns = ["capture", "stream", "version", "number", "kind"]
    ordered = table.sort_by([(name, "ascending") for name in columns])
    keys = list(zip(*(ordered.column(name).to_pylist() for name in columns), strict=True))
    changes: list[Change] = []
    first = 0
    for key, rows in groupby(keys):
        count = len(list(rows))
        capture, stream, version, number, kind = key
        events = ordered.slice(first, count).select(ARROW_SCHEMA.names)
        changes.append(Change(capture, stream, version, number, kind, events))
        first += count
    return changes
