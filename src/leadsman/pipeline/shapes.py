"""Small Spark pieces that detectors are made of: events in, observations out.

An observation says what the telemetry shows of one link of a causal chain, for one subject (`*`: for the whole
capture). Every detector returns a frame with the columns of `OBSERVATION`.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column

EVIDENCE = "struct<file:string,line:bigint,at:timestamp,text:string>"

OBSERVATION = (
    "capture string, subject string, link string, state string, since timestamp, until timestamp, "
    f"figures map<string,double>, facts map<string,string>, evidence array<{EVIDENCE}>"
)

POINT = "capture string, subject string, outcome string, since timestamp, at timestamp, value double"

EVIDENCE_KEPT = 6
"""Lines quoted for one link of one subject: enough to believe it, few enough to read."""


def seconds(column: str) -> Column:
    """Return a timestamp as seconds since 1970, with its fraction."""
    return F.col(column).cast("double")


def line() -> Column:
    """Return the event as a line of evidence."""
    return F.struct("file", "line", "at", "text")


def first_lines(column: str | Column, kept: int = EVIDENCE_KEPT) -> Column:
    """Aggregate: the earliest lines of a group, each once, in the order of time and place."""
    by_time = "(a, b) -> CASE WHEN a.at < b.at THEN -1 WHEN a.at > b.at THEN 1 WHEN a.line < b.line THEN -1 ELSE 1 END"
    return F.slice(F.expr(f"array_sort(collect_set({column}), {by_time})"), 1, kept) if isinstance(column, str) else column


def episodes(events: DataFrame, *, apart_seconds: float) -> DataFrame:
    """Add `episode`: events of a subject belong together while less than `apart_seconds` lie between neighbours."""
    of_subject = Window.partitionBy("capture", "subject").orderBy("at", "line")
    distance = seconds("at") - F.lag(seconds("at")).over(of_subject)
    starts = F.when(distance.isNull() | (distance >= apart_seconds), 1).otherwise(0)
    return events.withColumn("starts", starts).withColumn("episode", F.sum("starts").over(of_subject)).drop("starts")


def figures(named: Mapping[str, Column | str]) -> Column:
    """Return a map of numbers; those that are null are left out."""
    return _map({name: (F.col(c) if isinstance(c, str) else c).cast("double") for name, c in named.items()})


def facts(named: Mapping[str, Column | str]) -> Column:
    """Return a map of words; those that are null are left out."""
    return _map({name: (F.col(c) if isinstance(c, str) else c).cast("string") for name, c in named.items()})


def all_of(frames: Iterable[DataFrame]) -> DataFrame:
    """Return the frames one below the other."""
    return reduce(DataFrame.unionByName, frames)


def _map(named: Mapping[str, Column]) -> Column:
    pairs = [F.struct(F.lit(name).alias("key"), column.alias("value")) for name, column in named.items()]
    return F.map_from_entries(F.filter(F.array(*pairs), lambda pair: pair["value"].isNotNull()))
