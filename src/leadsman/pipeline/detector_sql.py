"""The SQL building blocks of detectors, which turn events into observations.

An observation is what the telemetry shows of one link of a causal chain, for one subject (`*`: for the whole capture).
Every detector returns a frame with the columns of `OBSERVATION`. Steps are SQL texts, and many steps make one statement
(`run_steps`): a diagnosis of a small capture would otherwise spend its time on calls into the JVM, one for each step or
Column.
"""

from __future__ import annotations

import re
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman.pipeline.spark import embedded
from leadsman.pipeline.spark.embedded import has_many_rows, is_embedded
from leadsman.pipeline.spark.pyspark_startup import create_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

EVIDENCE = "struct<file:string,line:bigint,at:timestamp,text:string>"

EVIDENCE_LINE = "struct(file, line, at, text)"
"""The expression for an event's line as evidence."""

NO_EVIDENCE = f"CAST(array() AS array<{EVIDENCE}>)"
NO_FIGURES = "CAST(map() AS map<string,double>)"
NO_FACTS = "CAST(map() AS map<string,string>)"

OBSERVATION = ("capture", "subject", "link", "state", "since", "until", "figures", "facts", "evidence")
"""string, string, string, string, timestamp, timestamp, map<string,double>, map<string,string>, array<EVIDENCE>"""

POINT = ("capture", "subject", "outcome", "since", "at", "value")
"""string, string, string, timestamp, timestamp, double. A chart of the page draws a point as an instant, or as a span
where `since` is given."""

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

CELL = ("capture", "row", "column", "outcome", "is_harm", "explanation", "file", "line")
"""string, string, string, string, boolean, string, string, bigint"""

ROWS_KEPT, COLUMNS_KEPT = 60, 30
"""Rows and columns of a matrix that is still readable; those with most harm come first."""

EVIDENCE_KEPT = 6
"""Lines quoted for one link of one subject: enough to prove the link, few enough to read."""

TIME_ORDER = (
    "(a, b) -> CASE WHEN a.at < b.at THEN -1 WHEN a.at > b.at THEN 1 "
    "WHEN a.line < b.line THEN -1 WHEN a.line > b.line THEN 1 ELSE 0 END"
)
"""The comparator of lines of evidence for `array_sort`: by time, then by line number."""

COORDINATOR_BASE, MAX_BROKER_ID = 2_147_483_647, 1_000_000_000
"""Clients give the connection to a group's coordinator the node id 2147483647 minus the broker's id, so that it differs
from their other connection to that broker. Ids of brokers are smaller than a billion."""

EXPLAINS = "explains"
"""The link of observations that name the events which a finding explains (`explained_events_query`)."""


LABEL = re.compile(r"labels\['(\w+)'\]")
"""A look-up of a label, which takes the embedded engine 0.65 microseconds: many expressions share one look-up for each
event (`label_columns`): LABEL.sub(LABEL_COLUMN, text)."""

LABEL_COLUMN = r"label_\1"


class LinkRow(NamedTuple):
    """One link's row, made of expressions: its state, its times, and the array of lines that prove it."""

    link: str
    state: str
    since: str = ""
    until: str = ""
    lines: str = ""


class Detection(NamedTuple):
    """The result of a detector: observations of the chain's links, points for the page, and cells of the mode's matrix.

    `materialized_frames` are unpersisted after the observations are collected. They must be referenced until then:
    Spark Connect drops a checkpoint with Python's last reference to it.
    """

    observations: DataFrame
    points: DataFrame
    materialized_frames: tuple[DataFrame, ...] = ()
    cells: DataFrame | None = None


def empty_detection(*materialized_frames: DataFrame) -> Detection:
    """Return the detection of a detector that found no trace of its symptom in the frames that it materialized.

    Most captures have no trace of most modes, and the remaining steps would take most of a detector's time.
    """
    spark = materialized_frames[0].sparkSession
    observations, points = (create_frame(spark, schema.empty_table()) for schema in (_OBSERVATIONS, _POINTS))
    return Detection(observations, points, materialized_frames)


def run_steps(frames: Mapping[str, DataFrame], steps: Mapping[str, str]) -> DataFrame:
    """Return the last of several named queries. Each query can read the frames and the earlier queries by name.

    Spark plans all queries at once. A query that two others read is planned and computed twice: make it a frame
    (`materialized`).
    """
    *earlier, (_, last) = steps.items()
    named = {name: f"SELECT * FROM {{{name}}}" for name in frames} | {name: _literal(query) for name, query in earlier}
    clauses = ",\n".join(f"{name} AS ({query})" for name, query in named.items())
    text, spark = f"WITH {clauses}\n{_literal(last)}", next(iter(frames.values())).sparkSession
    if is_embedded(spark):
        return embedded.query(text, frames)
    arguments: dict[str, Any] = dict(frames)  # PySpark declares keyword arguments after one of another type
    return spark.sql(text, **arguments)


def materialized(frame: DataFrame) -> DataFrame:
    """Return a small frame, computed and without its plan: queries that read a frame copy its plan.

    Detecting idle_disconnect in a small capture took 25 s of CPU time on persisted frames, 6 s on checkpointed ones.
    """
    return embedded.materialized(frame) if is_embedded(frame.sparkSession) else frame.localCheckpoint()


def add_materialized(frames: dict[str, DataFrame], steps: Mapping[str, str]) -> None:
    """Compute the last of the named queries, and add its result to the frames under the query's name."""
    frames[list(steps)[-1]] = materialized(run_steps(frames, steps))


def add_shared(frames: dict[str, DataFrame], step: Mapping[str, str]) -> Mapping[str, str]:
    """Return a query that several later ones read, as a step of theirs. Of very many events it becomes a frame instead.

    To plan it once more for each of them takes less time than to hand its rows on, unless there are very many.
    """
    if not has_many_rows(next(iter(frames.values())).sparkSession):
        return step
    add_materialized(frames, step)
    return {}


def iso_8601(time: str) -> str:
    """Return the expression for a time as text in ISO 8601, which a card's `{...:moment}` reads."""
    return f"date_format({time}, \"yyyy-MM-dd'T'HH:mm:ssXXX\")"


def _literal(query: str) -> str:
    """Return the query with its braces doubled: PySpark's `sql` reads single braces as a frame's name."""
    return query.replace("{", "{{").replace("}", "}}")


def broker_of_node(node: str) -> str:
    """Return the SQL for the broker to which a connection goes, by the node id that its client gives it, a bigint."""
    return f"IF({node} > {MAX_BROKER_ID}, {COORDINATOR_BASE} - {node}, {node})"


def sql_literals(*texts: str) -> str:
    """Return texts as SQL literals, for `IN (...)`."""
    return ", ".join("'" + text.replace("'", "\\'") + "'" for text in texts)


def looked_up_labels(texts: Iterable[str]) -> set[str]:
    """Return the labels that the texts look up."""
    return {label for text in texts for label in LABEL.findall(text)}


def label_columns(labels: Iterable[str]) -> str:
    """Return labels as columns at the end of a list."""
    return "".join(f", labels['{label}'] AS label_{label}" for label in sorted(labels))


def sql_columns(*expressions: str) -> list[Column]:
    """Return SQL expressions as columns: `agg` takes no text."""
    return [F.expr(expression) for expression in expressions]


def nullable(expression: str) -> str:
    """Return the expression as a nullable one. The rows of one array must agree in nullability (`embedded.py`)."""
    return f"IF(capture IS NULL, NULL, {expression})"


def earliest_lines(column: str, kept: int = EVIDENCE_KEPT) -> str:
    """Return the expression for the earliest lines of an array of evidence, each once."""
    return f"slice(array_sort(array_distinct(CAST({column} AS array<{EVIDENCE}>)), {TIME_ORDER}), 1, {kept})"


def map_column(columns: Sequence[str], kind: str, *, unless_zero: Sequence[str] = ()) -> str:
    """Return the expression for a map from column name to value, without nulls.

    `unless_zero` are further columns, which are left out where they are 0.
    """
    values = {name: name for name in columns} | {name: f"nullif({name}, 0)" for name in unless_zero}
    if not values:
        return f"CAST(map() AS map<string,{kind}>)"
    pairs = ", ".join(f"struct('{name}' AS key, CAST({value} AS {kind}) AS value)" for name, value in values.items())
    return f"map_from_entries(filter(array({pairs}), pair -> pair.value IS NOT NULL))"


def link_rows(relation: str, shared: Mapping[str, str], links: Iterable[LinkRow]) -> str:
    """Return the query that turns each row of a relation into one row for each link, an observation.

    `shared` are the expressions of the columns that all links of a row have in common, by name. Either all links give
    `since`, or none does; so with `until` and `lines`. The lines become the column `evidence`.

    Expressions become columns before the rows are made of them: the embedded engine computes what a generator reads
    once for each column that the generator returns.
    """
    columns, structs = [f"{value} AS {name}" for name, value in shared.items()], []
    for number, row in enumerate(links):
        own = {"link": nullable(f"'{row.link}'"), "state": nullable(row.state), "since": row.since, "until": row.until}
        own["evidence"] = nullable(earliest_lines(row.lines)) if row.lines else ""
        given = {name: value for name, value in own.items() if value}
        columns += [f"{value} AS {name}_{number}" for name, value in given.items()]
        structs.append(", ".join(f"{name}_{number} AS {name}" for name in given))
    rows = f"inline(array({', '.join(f'struct({names})' for names in structs)}))"
    return f"SELECT {', '.join(shared)}, {rows} FROM (SELECT {', '.join(columns)} FROM {relation})"


def capture_link_rows(
    relation: str,
    states: Mapping[str, str],
    *,
    figures: str,
    facts: str,
    since: str = "since",
    until: str = "until",
) -> str:
    """Return the query that turns each capture's row into its figures and facts, one row for each link by its state.

    These links are of the whole capture, such as its alternatives, and have no lines of their own.
    """
    shared = {
        "capture": "capture",
        "subject": "'*'",
        "since": since,
        "until": until,
        "figures": figures,
        "facts": facts,
        "evidence": NO_EVIDENCE,
    }
    return link_rows(relation, shared, starmap(LinkRow, states.items()))


def matrix(cells: DataFrame) -> DataFrame:
    """Return the cells of the rows and columns with most harm, and how many rows and columns there are."""
    harm = "sum(CAST(is_harm AS INT)) OVER (PARTITION BY capture, {0}) AS {0}_harm"
    rank = "dense_rank() OVER (PARTITION BY capture ORDER BY {0}_harm DESC, {0}) AS {0}_rank"
    counted = cells.selectExpr(*CELL, harm.format("row"), harm.format("column"))
    ranked = counted.selectExpr("*", rank.format("row"), rank.format("column"))
    totals = [f"max({each}_rank) OVER (PARTITION BY capture) AS {each}s" for each in ("row", "column")]
    kept = f"row_rank <= {ROWS_KEPT} AND column_rank <= {COLUMNS_KEPT}"
    return ranked.selectExpr("*", *totals).where(kept).select(*CELL, "rows", "columns", "row_rank", "column_rank")


def explained_events_query(
    relation: str, *, subject: str = "'*'", writer: str = "NULL", server: str = "NULL", names: Sequence[str] = ()
) -> str:
    """Return the query for observations that name the events which findings explain, one for each row of `relation`.

    A finding explains events from `since` to `until` of its row (a null is no bound) whose names are in the card's
    `explains`, or in `names` where given: events of the subject `writer`, or of lines that name the broker `server` by
    its id or address, or of the whole capture where neither is given. `subject` is the subject of the finding, `*` the
    whole mode. A finding without such rows explains what its own subjects wrote while it lasted.
    """
    listed = f"'{','.join(names)}'" if names else "NULL"
    facts = f"map('writer', {writer}, 'server', CAST({server} AS STRING), 'names', {listed})"
    return f"""
        SELECT capture, {subject} AS subject, '{EXPLAINS}' AS link, 'observed' AS state,
            CAST(since AS TIMESTAMP) AS since, CAST(until AS TIMESTAMP) AS until,
            {NO_FIGURES} AS figures,
            map_filter(CAST({facts} AS map<string,string>), (name, value) -> value IS NOT NULL) AS facts,
            {NO_EVIDENCE} AS evidence
        FROM {relation}
    """


def observations(*frames: DataFrame) -> DataFrame:
    """Return the union of the frames, with the columns of an observation."""
    first, *others = (frame.select(*OBSERVATION) for frame in frames)
    for other in others:
        first = first.unionByName(other)
    return first
