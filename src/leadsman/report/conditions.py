"""What console and page say alike of a condition: who, when, and the line that shows it best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.words import count, duration, moment, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.condition import Condition


LAST_SEEN = (
    "authentication_failed",
    "authorization_failed",
    "certificate",
    "client_throttled",
    "disk_full",
    "log_dir_failed",
    "offsets_reset",
    "producer_fenced",
)
"""Kinds of which nothing says that they are over: they were merely not seen any more."""


def when(condition: Condition) -> str:
    """Say since when it is so, or from when to when it was. Empty where no line carries a time."""
    if condition.stands and condition.since:
        return f"since {moment(condition.since)}"
    if condition.kind in LAST_SEEN and condition.since and condition.until and condition.since != condition.until:
        return f"since {moment(condition.since)}, last seen {moment(condition.until)}"
    return span(condition.since, condition.until)


def who(condition: Condition, at_most: int) -> str:
    """Name those who have it; of more than `at_most` the rest is counted."""
    named = condition.subjects[:at_most]
    left_out = condition.count - len(named)
    more = f" and {count(left_out)} more" if left_out > 0 else ""
    return ", ".join(named) + more


def how_long(condition: Condition) -> str:
    """Say how long a condition that is over lasted, from its first beginning to its last end."""
    if condition.stands or not condition.since or not condition.until or condition.since == condition.until:
        return ""
    return duration((condition.until - condition.since).total_seconds())


def tally(conditions: Sequence[Condition]) -> str:
    """Say how many conditions there are, and how many of them to the end."""
    standing = sum(condition.stands for condition in conditions)
    last = f"{count(standing)} seen up to the end" if standing else "none seen up to the end"
    return f"{count(len(conditions), 'condition conditions')}, {last} of the capture"
