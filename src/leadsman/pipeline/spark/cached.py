"""Caches events that are read once, so that a query scans only frames with events that it selects.

A large capture can hold a million events of one name, partitions' states for example, and most queries select other
names. Each such name gets a frame of its own in which `name` is a constant: the optimizer sees that a query for other
names matches nothing there, and prunes the frame.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman.pipeline.detector_sql import materialized

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import DataFrame

SEPARATE_FRAME_EVENTS = 20_000
"""Events of one name. A scan of so many takes as long as planning one more frame, 0.1 s."""


def cache_events(events: DataFrame, *, many: int = SEPARATE_FRAME_EVENTS) -> tuple[DataFrame, set[str]]:
    """Return the materialized events, and their names. A name with more than `many` events gets a frame of its own."""
    every = materialized(events)
    counts = {row["name"]: row["count"] for row in every.groupBy("name").count().collect()}
    return _separate_frames(every, [name for name, count in counts.items() if count > many]), set(counts)


def _separate_frames(events: DataFrame, many: Collection[str]) -> DataFrame:
    """Return the same events, with one frame for each of the names in `many`."""
    if not many:
        return events
    others = materialized(events.where(~F.col("name").isin(*many)))
    frames = [
        materialized(events.where(F.col("name") == name).drop("name")).withColumn("name", F.lit(name)) for name in many
    ]
    return reduce(lambda left, right: left.unionByName(right), frames, others)
