"""Small Spark pieces that detectors are made of: events in, observations out.

An observation says what the telemetry shows of one link of a causal chain, for one subject (`*`: for the whole
capture). Every detector returns a frame with the columns of `OBSERVATION`. The pieces are SQL as text, and many steps
make one statement (`table`): a call into the JVM for each step, or for each Column, is what a diagnosis of a small
capture would spend its time on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman.pipeline import embedded
from leadsman.pipeline.embedded import is_embedded
from leadsman.pipeline.lean import frame_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

EVIDENCE = "struct<file:string,line:bigint,at:timestamp,text:string>"

OBSERVATION = ("capture", "subject", "link", "state", "since", "until", "figures", "facts", "evidence")
"""string, string, string, string, timestamp, timestamp, map<string,double>, map<string,string>, array<EVIDENCE>"""

POINT = ("capture", "subject", "outcome", "since", "at", "value")
"""string, string, string, timestamp, timestamp, double"""

_TEXT, _TIME = pa.string(), pa.timestamp("us", tz="UTC")
_LINE = pa.struct([("file", _TEXT), ("line", pa.int64()), ("at", _TIME), ("text", _TEXT)])
_OBSERVATIONS = pa.schema(
    zip(
        OBSERVATION,
        (*(_TEXT,) * 4, _TIME, _TIME, pa.map_(_TEXT, pa.float64()), pa.map_(_TEXT, _TEXT), pa.list_(_LINE)),
        strict=True,
    )
)
_POINTS = pa.schema(zip(POINT, (_TEXT, _TEXT, _TEXT, _TIME, _TIME, pa.float64()), strict=True))

CELL = ("capture", "row", "column", "outcome", "trouble", "says", "file", "line")
"""string, string, string, string, boolean, string, string, bigint"""

ROWS_KEPT, COLUMNS_KEPT = 60, 30
"""Rows and columns of a matrix that one can still read; those with trouble come first."""

EVIDENCE_KEPT = 6
"""Lines quoted for one link of one subject: enough to believe it, few enough to read."""

EARLIER = (
    "(a, b) -> CASE WHEN a.at < b.at THEN -1 WHEN a.at > b.at THEN 1 "
    "WHEN a.line < b.line THEN -1 WHEN a.line > b.line THEN 1 ELSE 0 END"
)


EXPLAINS = "explains"
"""Link of an observation that says whose events a subject's finding accounts for: `accounted` makes them."""


class Detection(NamedTuple):
    """What a detector hands on: observations of the chain's links, points for the page, and frames to let go of.

    `cells` are those of the mode's matrix, where it has one (`matrix`).
    Settled frames belong to the last: Spark Connect drops them with the last reference that Python holds.
    """

    observations: DataFrame
    points: DataFrame
    kept: tuple[DataFrame, ...] = ()
    cells: DataFrame | None = None


def silent(*kept: DataFrame) -> Detection:
    """Return the detection of a detector that found no trace of its symptom in the frames that it settled.

    Most captures have no trace of most modes, and the steps that are left out are most of what a detector costs.
    """
    spark = kept[0].sparkSession
    return Detection(frame_of(spark, _OBSERVATIONS.empty_table()), frame_of(spark, _POINTS.empty_table()), kept)


def table(frames: Mapping[str, DataFrame], steps: Mapping[str, str]) -> DataFrame:
    """Return the last of several named queries; each can read the frames and the queries before it, by name.

    Planned at once, not query by query. What is read twice is planned and computed twice: make it a frame (`settled`).
    """
    *earlier, (_, last) = steps.items()
    named = {name: f"SELECT * FROM {{{name}}}" for name in frames} | {name: _literal(query) for name, query in earlier}
    clauses = ",\n".join(f"{name} AS ({query})" for name, query in named.items())
    spark = next(iter(frames.values())).sparkSession
    shown: dict[str, Any] = dict(frames)  # PySpark declares keyword arguments after one of another type
    return spark.sql(f"WITH {clauses}\n{_literal(last)}", **shown)


def settled(frame: DataFrame) -> DataFrame:
    """Return a small frame computed, its plan cut off: it is read several times, and plans are copied where they are.

    Detecting idle_disconnect in a small capture took 25 s of processor time on persisted frames, on settled ones 6.
    """
    return embedded.settled(frame) if is_embedded(frame.sparkSession) else frame.localCheckpoint()


def settle(found: dict[str, DataFrame], steps: Mapping[str, str]) -> None:
    """Compute the last of the named queries, and put it beside the frames that they read, under its name."""
    found[list(steps)[-1]] = settled(table(found, steps))


def iso(time: str) -> str:
    """Return the expression for a time as a fact: the ISO 8601 that a card's `{...:moment}` reads."""
    return f"date_format({time}, \"yyyy-MM-dd'T'HH:mm:ssXXX\")"


def _literal(query: str) -> str:
    """Return the query with its braces doubled: in PySpark's `sql` a single one begins a frame's name."""
    return query.replace("{", "{{").replace("}", "}}")


def quoted(*texts: str) -> str:
    """Return texts as SQL literals, for `IN (...)`."""
    return ", ".join("'" + text.replace("'", "\\'") + "'" for text in texts)


def columns(*expressions: str) -> list[Column]:
    """Return SQL expressions as columns, for `agg`, which takes no text."""
    return [F.expr(expression) for expression in expressions]


def nullable(expression: str) -> str:
    """Return an expression as one that may be null. Rows of one array must agree in this (`embedded.py`)."""
    return f"IF(capture IS NULL, NULL, {expression})"


def first_lines(column: str, kept: int = EVIDENCE_KEPT) -> str:
    """Return the expression for the earliest lines of an array of evidence, each once."""
    return f"slice(array_sort(array_distinct(CAST({column} AS array<{EVIDENCE}>)), {EARLIER}), 1, {kept})"


def map_of(columns: Sequence[str], kind: str, *, where_any: Sequence[str] = ()) -> str:
    """Return the expression for a map from column name to value; nulls are left out, and zeroes of `where_any`."""
    values = {name: name for name in columns} | {name: f"nullif({name}, 0)" for name in where_any}
    if not values:
        return f"CAST(map() AS map<string,{kind}>)"
    pairs = ", ".join(f"struct('{name}' AS key, CAST({value} AS {kind}) AS value)" for name, value in values.items())
    return f"map_from_entries(filter(array({pairs}), pair -> pair.value IS NOT NULL))"


def matrix(cells: DataFrame) -> DataFrame:
    """Return the cells with the columns of `CELL` that there is room for, and how many rows and columns there are."""
    trouble = "sum(CAST(trouble AS INT)) OVER (PARTITION BY capture, {0}) AS {0}_trouble"
    place = "dense_rank() OVER (PARTITION BY capture ORDER BY {0}_trouble DESC, {0}) AS {0}_place"
    counted = cells.selectExpr(*CELL, trouble.format("row"), trouble.format("column"))
    placed = counted.selectExpr("*", place.format("row"), place.format("column"))
    totals = [f"max({each}_place) OVER (PARTITION BY capture) AS {each}s" for each in ("row", "column")]
    room = f"row_place <= {ROWS_KEPT} AND column_place <= {COLUMNS_KEPT}"
    return placed.selectExpr("*", *totals).where(room).select(*CELL, "rows", "columns", "row_place", "column_place")


def accounted(
    source: str, *, subject: str = "'*'", who: str = "NULL", server: str = "NULL", names: Sequence[str] = ()
) -> str:
    """Return the query for whose events the findings of `source` account for, from its `since` to its `until`.

    The events are those of the card's `explains`, or of `names` alone: of the subject `who`, where there is one; of
    lines that name the broker `server` by number or address, where there is one; without either of the whole capture.
    `subject` is whose finding it is; of `*` the whole mode's. A bound that is null is none. Without such rows a finding
    accounts for what its own subjects wrote while it lasted.
    """
    listed = f"'{','.join(names)}'" if names else "NULL"
    facts = f"map('who', {who}, 'server', CAST({server} AS STRING), 'names', {listed})"
    return f"""
        SELECT capture, {subject} AS subject, '{EXPLAINS}' AS link, 'observed' AS state,
            CAST(since AS TIMESTAMP) AS since, CAST(until AS TIMESTAMP) AS until,
            CAST(map() AS map<string,double>) AS figures,
            map_filter(CAST({facts} AS map<string,string>), (name, value) -> value IS NOT NULL) AS facts,
            CAST(array() AS array<{EVIDENCE}>) AS evidence
        FROM {source}
    """


def observations(*frames: DataFrame) -> DataFrame:
    """Return the frames one below the other, with the columns of an observation."""
    first, *others = (frame.select(*OBSERVATION) for frame in frames)
    for other in others:
        first = first.unionByName(other)
    return first
