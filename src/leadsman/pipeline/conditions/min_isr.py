"""Finds the under-replicated partitions that have fewer in-sync replicas than `min.insync.replicas`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import run_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from leadsman.pipeline.conditions.episodes import Episode

STEPS = {
    "min_isr": f"""
        SELECT capture, labels['topic'] AS topic, max_by(value, struct(at, file, line)) AS replicas
        FROM events
        WHERE name = '{names.SETTING}' AND labels['key'] = 'min.insync.replicas' AND value IS NOT NULL
        GROUP BY capture, labels['topic']
    """
}

MinIsr = dict[tuple[str, str | None], float]
"""By capture and topic; the topic is None for the setting of the brokers."""


def read_min_isr(events: DataFrame) -> MinIsr:
    """Return the last value of `min.insync.replicas` of each topic."""
    return {(row["capture"], row["topic"]): row["replicas"] for row in run_steps({"events": events}, STEPS).collect()}


def below_min_isr(
    capture: str, episodes: Sequence[Episode], min_isr: Mapping[tuple[str, str | None], float]
) -> Iterator[Episode]:
    """Yield the episodes in which a partition had too few in-sync replicas; they end where it has enough again."""
    of_brokers = min_isr.get((capture, None), 0.0)
    for episode in episodes:
        enough = min_isr.get((capture, episode.thing.rpartition("-")[0]), of_brokers)
        if episode.min_amount is not None and episode.min_amount < enough:
            is_below = episode.last_amount is not None and episode.last_amount < enough
            until = episode.until if is_below or episode.until else episode.last_seen
            yield episode._replace(ended=episode.ended or not is_below, until=until)
