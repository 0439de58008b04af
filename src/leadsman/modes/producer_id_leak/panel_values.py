"""The values of the dashboard panels, from the same capture as the finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.producer_id_leak.dashboard_panels import IN_PERCENT, OTHERS, SPELLINGS
from leadsman.modes.producer_id_leak.heaps import LIVE
from leadsman.modes.producer_id_leak.id_counts import AT, BROKER, COUNT, IS_BROKER_COUNT, IS_TOPIC_COUNT, PART, TOPIC
from leadsman.pipeline.detector_sql import run_steps, sql_literals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VALUES_OF_A_LINE = 150
"""A panel on the page is 300 pixels wide: more values than this cannot be distinguished."""

MEASURED = (names.METRIC, names.PRODUCERS_COUNTED, names.HEAP_CLASS, names.GC_PAUSED)


def _but_not(panel: str) -> str:
    other = OTHERS.get(panel)
    return f" AND NOT labels['metric'] RLIKE '{other}'" if other else ""


def panel_points(events: DataFrame) -> DataFrame:
    """Return the values of all panels (subject, panel, time, value), thinned to the number that can be drawn."""
    spelt = " ".join(
        f"WHEN labels['metric'] RLIKE '{spelling}'{_but_not(panel)} THEN "
        f"struct('{panel}' AS panel, value * {_scale(panel)}D AS value)"
        for panel, spelling in SPELLINGS.items()
    )
    kinds = ", ".join(
        (
            f"IF(name = '{names.METRIC}', CASE {spelt} END, NULL)",
            f"IF({IS_BROKER_COUNT}, struct('ids' AS panel, {COUNT} AS value), NULL)",
            f"IF({IS_TOPIC_COUNT}, struct('ids_of_partitions' AS panel, value), NULL)",
            f"struct('live_heap' AS panel, {LIVE} AS value)",
        )
    )
    subject = f"IF({IS_TOPIC_COUNT}, concat_ws('-', {TOPIC}, nullif({PART}, '')), {BROKER})"
    of_line = "PARTITION BY capture, outcome, subject"
    return run_steps(
        {"events": events},
        {
            "panel_values": f"SELECT capture, {subject} AS subject, {AT} AS at, inline(array_compact(array({kinds})))"
            f" FROM events WHERE name IN ({sql_literals(*MEASURED)})",
            "values_by_time": "SELECT capture, subject, panel AS outcome, at, max(value) AS value FROM panel_values"
            " WHERE at IS NOT NULL AND value IS NOT NULL AND NOT isnan(value) GROUP BY capture, subject, panel, at",
            "numbered_values": f"SELECT *, row_number() OVER ({of_line} ORDER BY at DESC) - 1 AS position,"
            f" count(*) OVER ({of_line}) AS value_count FROM values_by_time",
            "points": "SELECT capture, subject, outcome, CAST(NULL AS timestamp) AS since, at, value"
            " FROM numbered_values"
            f" WHERE position % ceil(value_count / {VALUES_OF_A_LINE}) = 0",
        },
    )


def _scale(panel: str) -> int:
    return 100 if panel in IN_PERCENT else 1
