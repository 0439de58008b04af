"""What librdkafka says of itself once a second. Asking the client instead can block (seen with 2.16)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTSIDE = "-1"
"""librdkafka's partition for records that have none yet."""


def silent_seconds(told: Mapping[str, Any]) -> float:
    """Return how long ago any connected broker was last heard; infinite if none is connected."""
    idle = [broker["rxidle"] for broker in told["brokers"].values() if broker["state"] == "UP"]
    return min((microseconds / 1e6 for microseconds in idle if microseconds >= 0), default=math.inf)


def lag(told: Mapping[str, Any]) -> int:
    """Return how many readable records of the fetched partitions the application was not given yet."""
    partitions = (p for topic in told["topics"].values() for name, p in topic["partitions"].items() if name != OUTSIDE)
    return sum(_behind(partition) for partition in partitions if partition["fetch_state"] == "active")


def _behind(partition: Mapping[str, Any]) -> int:
    """Before the first record there is only the offset that is fetched next. Negative offsets: not known."""
    given = partition["app_offset"] if partition["app_offset"] >= 0 else partition["next_offset"]
    return max(0, int(partition["ls_offset"]) - int(given)) if given >= 0 else 0
