"""What changed around the time when something began, as a part of its finding."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.pipeline.changes import sides
from leadsman.pipeline.changes.compare import compare
from leadsman.pipeline.changes.facets import LISTINGS
from leadsman.pipeline.shapes import columns, quoted
from leadsman.words import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pyspark.sql import DataFrame

    from leadsman.model import Change, FailureMode, Finding
    from leadsman.pipeline.verdicts import Observation

MARGIN = 0.05
"""Share of the time that a finding spans. A deployment precedes what it breaks by its own start-up, and not by much."""

LOOKS = (*LISTINGS, "kafka_producers", "class_histogram")
"""Sources that tell how things stood when somebody looked: the first look after the beginning shows what is new."""


def onset(card: FailureMode, observations: Iterable[Observation]) -> datetime | None:
    """Return when it began: the earliest start of the link that the card names."""
    return min(
        (each.since for each in observations if card.onset and each.link == card.onset and each.since), default=None
    )


def around(events: DataFrame, finding: Finding, began: datetime) -> tuple[Change, ...]:
    """Return what changed between a little before and a little after, or the next look at the system."""
    assert finding.since is not None
    assert finding.until is not None
    margin = max(timedelta(seconds=1), MARGIN * (finding.until - finding.since))
    start = in_utc(began)  # Spark's times come without their zone
    after = max(start + margin, _next_look(events, start) or start)
    return compare(events, sides.between(start - margin, after)).changes


def _next_look(events: DataFrame, began: datetime) -> datetime | None:
    looks = events.where(f"source IN ({quoted(*LOOKS)}) AND at > {sides.moment(began)}")
    (row,) = looks.agg(*columns("unix_micros(min(at)) AS next")).collect()
    return None if row["next"] is None else sides.at_micros(row["next"])
