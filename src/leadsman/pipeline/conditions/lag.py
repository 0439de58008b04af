"""Lag that grows: the sum over a group's partitions at each look, and where it has not fallen for long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.model import Evidence
from leadsman.pipeline.conditions.kinds import condition
from leadsman.pipeline.conditions.signs import Run
from leadsman.pipeline.shapes import table
from leadsman.words import count, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, Row

    from leadsman.condition import Condition

NAMES = (names.GROUP_LAG, names.METRIC)

METRIC = "lower(replace(labels['metric'], '_', ''))"
EXPORTED = "('kafkaconsumergrouplag', 'kafkaconsumergroupgrouplag', 'kafkaconsumergrouplagsum')"
"""What kafka_exporter and kafka-lag-exporter call the lag of a group on a partition or topic."""

LOOKS = 3
LOOKS_SECONDS = 60.0
LONG_SECONDS = 600.0
"""Three looks in a minute or two ten minutes apart: lag goes up and down with each fetch."""

SHARE = 0.2
"""Of what was produced meanwhile, the part that the lag grew by. A group that keeps up swings by a few per cent."""

LEAST_RECORDS = 100.0
"""A lag that grew by less is one batch or two."""

TIMES = 2.0
"""How many times the first lag the last one is at least, where nothing tells how much was produced."""

STEPS = {
    "told": f"""
        SELECT capture, labels['group'] AS group, labels['topic'] AS topic, at, value,
            try_cast(labels['end'] AS DOUBLE) AS end, file, line, text
        FROM events WHERE name = '{names.GROUP_LAG}' AND at IS NOT NULL AND value IS NOT NULL
        UNION ALL
        SELECT capture, coalesce(labels['consumergroup'], labels['group']), labels['topic'], at, value, NULL, file,
            line, text
        FROM events WHERE name = '{names.METRIC}' AND at IS NOT NULL AND {METRIC} IN {EXPORTED}
    """,
    "looks": """
        SELECT capture, group, topic, at, sum(value) AS lag, sum(end) AS end, count(*) AS partitions,
            max_by(struct(file, line, at, text), struct(value, file, line)) AS example
        FROM told WHERE group IS NOT NULL GROUP BY capture, group, topic, at
    """,
    "stepped": """
        SELECT *, lag < lag(lag) OVER w OR partitions <> lag(partitions) OVER w AS fell
        FROM looks WINDOW w AS (PARTITION BY capture, group, topic ORDER BY at)
    """,
    "numbered": """
        SELECT *, sum(IF(fell, 1, 0)) OVER (PARTITION BY capture, group, topic ORDER BY at) AS stretch FROM stepped
    """,
    "stretches": """
        SELECT capture, group, topic, stretch, count(*) AS looks, min(at) AS since, max(at) AS last,
            min_by(lag, at) AS first_lag, max_by(lag, at) AS last_lag, max_by(end, at) - min_by(end, at) AS produced,
            max_by(example, at) AS example,
            max(stretch) OVER (PARTITION BY capture, group, topic) = stretch AS stands
        FROM numbered GROUP BY capture, group, topic, stretch
    """,
    "grown": f"""
        SELECT * FROM stretches
        WHERE (looks >= {LOOKS} AND CAST(last AS DOUBLE) - CAST(since AS DOUBLE) >= {LOOKS_SECONDS}D
                OR CAST(last AS DOUBLE) - CAST(since AS DOUBLE) >= {LONG_SECONDS}D)
            AND last_lag - first_lag >= {LEAST_RECORDS}D
            AND IF(produced > 0, last_lag - first_lag >= {SHARE}D * produced, last_lag >= {TIMES}D * first_lag)
        ORDER BY stands DESC, last_lag - first_lag DESC LIMIT 1000
    """,
}


def growing(events: DataFrame) -> dict[str, list[Row]]:
    """Return the stretches in which a group's lag on a topic grew, by capture; those to the end and the worst first."""
    found: dict[str, list[Row]] = {}
    for row in table({"events": events}, STEPS).collect():
        found.setdefault(row["capture"], []).append(row)
    return found


def conditions(rows: Sequence[Row]) -> Iterator[Condition]:
    """Yield the one condition for all groups whose lag grows, or grew."""
    if rows:
        runs = [_run(row) for row in rows]
        worst = rows[0]
        what = (
            f"{worst['group']} from {count(worst['first_lag'])} to {count(worst['last_lag'])} records in "
            f"{duration(runs[0].seen_seconds)}"
        )
        figures = {
            "groups": len({row["group"] for row in rows}),
            "what": what,
            "first_lag": worst["first_lag"],
            "last_lag": worst["last_lag"],
        }
        stands = any(row["stands"] for row in rows)
        yield condition("lag_growing", runs, figures, things=(row["group"] for row in rows), stands=stands)


def _run(row: Row) -> Run:
    example = row["example"]
    line = Evidence(file=example["file"], line=example["line"], text=example["text"] or "", time=example["at"])
    return Run(
        "lag_growing",
        row["group"],
        row["since"],
        row["last"],
        None if row["stands"] else row["last"],
        not row["stands"],
        None,
        row["looks"],
        (),
        0,
        (),
        None,
        row["first_lag"],
        row["last_lag"],
        row["last_lag"],
        row["first_lag"],
        None,
        line,
        0,
        0,
    )
