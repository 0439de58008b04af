"""Finds lag that grows: the sum over a group's partitions in each snapshot, where it does not fall for long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.model import Evidence
from leadsman.pipeline.conditions.episodes import Episode
from leadsman.pipeline.conditions.kinds import make_condition
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, run_steps
from leadsman.words import count, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, Row

    from leadsman.model.condition import Condition

NAMES = (names.GROUP_LAG, names.METRIC)

METRIC = "lower(replace(labels['metric'], '_', ''))"
EXPORTED = "('kafkaconsumergrouplag', 'kafkaconsumergroupgrouplag', 'kafkaconsumergrouplagsum')"
"""What kafka_exporter and kafka-lag-exporter call the lag of a group on a partition or topic."""

MIN_SNAPSHOTS = 3
MIN_SECONDS = 60.0
LONG_SECONDS = 600.0
"""Three snapshots within a minute, or two that are ten minutes apart: lag goes up and down with each fetch."""

MIN_SHARE = 0.2
"""The part of the records produced meanwhile by which the lag grew. A group that keeps up swings by a few per cent."""

MIN_RECORDS = 100.0
"""A lag that grew by less is one batch or two."""

MIN_FACTOR = 2.0
"""The last lag is at least so many times the first, where no event shows how much was produced."""

STEPS = {
    "lags": f"""
        SELECT capture, labels['group'] AS group, labels['topic'] AS topic, at, value,
            try_cast(labels['end'] AS DOUBLE) AS end, file, line, text
        FROM events WHERE name = '{names.GROUP_LAG}' AND at IS NOT NULL AND value IS NOT NULL
        UNION ALL
        SELECT capture, coalesce(labels['consumergroup'], labels['group']), labels['topic'], at, value, NULL, file,
            line, text
        FROM events WHERE name = '{names.METRIC}' AND at IS NOT NULL AND {METRIC} IN {EXPORTED}
    """,
    "snapshots": f"""
        SELECT capture, group, topic, at, sum(value) AS lag, sum(end) AS end, count(*) AS partitions,
            max_by({EVIDENCE_LINE}, struct(value, file, line)) AS example
        FROM lags WHERE group IS NOT NULL GROUP BY capture, group, topic, at
    """,
    "compared": """
        SELECT *, lag < lag(lag) OVER w OR partitions <> lag(partitions) OVER w AS fell
        FROM snapshots WINDOW w AS (PARTITION BY capture, group, topic ORDER BY at)
    """,
    "numbered": """
        SELECT *, sum(IF(fell, 1, 0)) OVER (PARTITION BY capture, group, topic ORDER BY at) AS stretch FROM compared
    """,
    "stretches": """
        SELECT capture, group, topic, stretch, count(*) AS snapshots, min(at) AS since, max(at) AS last,
            min_by(lag, at) AS first_lag, max_by(lag, at) AS last_lag, max_by(end, at) - min_by(end, at) AS produced,
            max_by(example, at) AS example,
            max(stretch) OVER (PARTITION BY capture, group, topic) = stretch AS ongoing
        FROM numbered GROUP BY capture, group, topic, stretch
    """,
    "grown": f"""
        SELECT * FROM stretches
        WHERE (snapshots >= {MIN_SNAPSHOTS} AND CAST(last AS DOUBLE) - CAST(since AS DOUBLE) >= {MIN_SECONDS}D
                OR CAST(last AS DOUBLE) - CAST(since AS DOUBLE) >= {LONG_SECONDS}D)
            AND last_lag - first_lag >= {MIN_RECORDS}D
            AND IF(produced > 0, last_lag - first_lag >= {MIN_SHARE}D * produced, last_lag >= {MIN_FACTOR}D * first_lag)
        ORDER BY ongoing DESC, last_lag - first_lag DESC LIMIT 1000
    """,
}


def growing_lag(events: DataFrame) -> dict[str, list[Row]]:
    """Return the stretches in which a group's lag on a topic grew, by capture: ongoing ones and the worst first."""
    stretches: dict[str, list[Row]] = {}
    for row in run_steps({"events": events}, STEPS).collect():
        stretches.setdefault(row["capture"], []).append(row)
    return stretches


def conditions(rows: Sequence[Row]) -> Iterator[Condition]:
    """Yield the one condition for all groups whose lag grows, or grew."""
    if rows:
        episodes = [_episode(row) for row in rows]
        worst = rows[0]
        what = (
            f"{worst['group']} from {count(worst['first_lag'])} to {count(worst['last_lag'])} records in "
            f"{duration(episodes[0].observed_seconds)}"
        )
        figures = {
            "groups": len({row["group"] for row in rows}),
            "what": what,
            "first_lag": worst["first_lag"],
            "last_lag": worst["last_lag"],
        }
        ongoing = any(row["ongoing"] for row in rows)
        yield make_condition("lag_growing", episodes, figures, things=(row["group"] for row in rows), ongoing=ongoing)


def _episode(row: Row) -> Episode:
    example = row["example"]
    line = Evidence(file=example["file"], line=example["line"], text=example["text"] or "", time=example["at"])
    return Episode(
        "lag_growing",
        row["group"],
        row["since"],
        row["last"],
        None if row["ongoing"] else row["last"],
        not row["ongoing"],
        None,
        row["snapshots"],
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
