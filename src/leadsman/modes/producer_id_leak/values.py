"""The values of the panels, out of the same capture as the finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.producer_id_leak.counts import AT, BROKER, COUNT, OF_BROKER, OF_TOPIC, PART, TOPIC
from leadsman.modes.producer_id_leak.heaps import LIVE
from leadsman.modes.producer_id_leak.panels import IN_PERCENT, OTHERS, SPELLINGS
from leadsman.pipeline.shapes import quoted, table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VALUES_OF_A_LINE = 150
"""A panel on the page is 300 pixels wide: more values than that nobody can tell apart."""

MEASURED = (names.METRIC, names.PRODUCERS_COUNTED, names.HEAP_CLASS, names.GC_PAUSED)


def _but_not(panel: str) -> str:
    other = OTHERS.get(panel)
    return f" AND NOT labels['metric'] RLIKE '{other}'" if other else ""


def points_of(events: DataFrame) -> DataFrame:
    """Return the values of all panels: subject, panel, time and value, thinned to what can be drawn."""
    spelt = " ".join(
        f"WHEN labels['metric'] RLIKE '{spelling}'{_but_not(panel)} THEN "
        f"struct('{panel}' AS panel, value * {_scale(panel)}D AS value)"
        for panel, spelling in SPELLINGS.items()
    )
    kinds = ", ".join(
        (
            f"IF(name = '{names.METRIC}', CASE {spelt} END, NULL)",
            f"IF({OF_BROKER}, struct('ids' AS panel, {COUNT} AS value), NULL)",
            f"IF({OF_TOPIC}, struct('ids_of_partitions' AS panel, value), NULL)",
            f"struct('live_heap' AS panel, {LIVE} AS value)",
        )
    )
    of_whom = f"IF({OF_TOPIC}, concat_ws('-', {TOPIC}, nullif({PART}, '')), {BROKER})"
    of_line = "PARTITION BY capture, outcome, subject"
    return table(
        {"events": events},
        {
            "told": f"SELECT capture, {of_whom} AS subject, {AT} AS at, inline(array_compact(array({kinds})))"
            f" FROM events WHERE name IN ({quoted(*MEASURED)})",
            "at_a_time": "SELECT capture, subject, panel AS outcome, at, max(value) AS value FROM told"
            " WHERE at IS NOT NULL AND value IS NOT NULL AND NOT isnan(value) GROUP BY capture, subject, panel, at",
            "numbered": f"SELECT *, row_number() OVER ({of_line} ORDER BY at DESC) - 1 AS place,"
            f" count(*) OVER ({of_line}) AS held FROM at_a_time",
            "points": "SELECT capture, subject, outcome, CAST(NULL AS timestamp) AS since, at, value FROM numbered"
            f" WHERE place % ceil(held / {VALUES_OF_A_LINE}) = 0",
        },
    )


def _scale(panel: str) -> int:
    return 100 if panel in IN_PERCENT else 1
