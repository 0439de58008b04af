"""librdkafka's statistics, which it emits once a second. Calling the client instead can block (seen with 2.16)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

UNASSIGNED_PARTITION = "-1"
"""librdkafka's partition for records that have none yet."""


def seconds_since_response(statistics: Mapping[str, Any]) -> float:
    """Return how long ago any connected broker last responded; infinite if none is connected."""
    idle = [broker["rxidle"] for broker in statistics["brokers"].values() if broker["state"] == "UP"]
    return min((microseconds / 1e6 for microseconds in idle if microseconds >= 0), default=math.inf)


def lag(statistics: Mapping[str, Any]) -> int:
    """Return how many readable records of the fetched partitions the application has not received yet."""
    partitions = (
        partition
        for topic in statistics["topics"].values()
        for number, partition in topic["partitions"].items()
        if number != UNASSIGNED_PARTITION
    )
    return sum(_partition_lag(partition) for partition in partitions if partition["fetch_state"] == "active")


def _partition_lag(partition: Mapping[str, Any]) -> int:
    """Before the first record there is only the offset that is fetched next. Negative offsets are unknown."""
    position = partition["app_offset"] if partition["app_offset"] >= 0 else partition["next_offset"]
    return max(0, int(partition["ls_offset"]) - int(position)) if position >= 0 else 0
