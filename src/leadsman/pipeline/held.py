"""Events read once and kept, so that a query walks over those that it asks for and no others.

A large capture can hold a million events of one name, partitions' states for example, and most queries ask for others.
Such names are kept apart, each as a frame of its own whose `name` is a constant: the optimizer sees that a query for
other names finds nothing there, and leaves the frame out.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman.pipeline.shapes import settled

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import DataFrame

KEPT_APART = 20_000
"""Events of one name. To walk over so many takes as long as to plan for one more frame, 0.1 s."""


def held(events: DataFrame, *, many: int = KEPT_APART) -> tuple[DataFrame, set[str]]:
    """Return the events computed, and the names that they carry; names with more events than `many` are kept apart."""
    together = settled(events)
    counts = {row["name"]: row["count"] for row in together.groupBy("name").count().collect()}
    return _apart(together, [name for name, count in counts.items() if count > many]), set(counts)


def _apart(together: DataFrame, many: Collection[str]) -> DataFrame:
    """Return the same events, those of each of `many` names in a frame of its own."""
    if not many:
        return together
    others = settled(together.where(~F.col("name").isin(*many)))
    frames = [
        settled(together.where(F.col("name") == name).drop("name")).withColumn("name", F.lit(name)) for name in many
    ]
    return reduce(lambda left, right: left.unionByName(right), frames, others)
