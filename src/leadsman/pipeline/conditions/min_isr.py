"""Which under-replicated partitions have fewer in-sync replicas than min.insync.replicas asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from leadsman.pipeline.conditions.signs import Run

STEPS = {
    "told": f"""
        SELECT capture, labels['topic'] AS topic, max_by(value, struct(at, file, line)) AS replicas
        FROM events
        WHERE name = '{names.SETTING}' AND labels['key'] = 'min.insync.replicas' AND value IS NOT NULL
        GROUP BY capture, labels['topic']
    """
}

MinIsr = dict[tuple[str, str | None], float]
"""By capture and topic; of no topic: what the brokers are set to."""


def min_isr_of(events: DataFrame) -> MinIsr:
    """Return the last value of each topic."""
    return {(row["capture"], row["topic"]): row["replicas"] for row in table({"events": events}, STEPS).collect()}


def with_too_few(capture: str, found: Sequence[Run], least: Mapping[tuple[str, str | None], float]) -> Iterator[Run]:
    """Yield the runs in which a partition had too few replicas in sync; they end where it has enough again."""
    of_brokers = least.get((capture, None), 0.0)
    for run in found:
        enough = least.get((capture, run.thing.rpartition("-")[0]), of_brokers)
        if run.least is not None and run.least < enough:
            below = run.last_amount is not None and run.last_amount < enough
            yield run._replace(ended=run.ended or not below, until=run.until if below or run.until else run.last)
