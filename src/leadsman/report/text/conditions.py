"""Sentences about a condition: its subjects, its times and its duration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.words import count, duration, moment, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.model.condition import Condition


WITHOUT_END = (
    "authentication_failed",
    "authorization_failed",
    "certificate",
    "client_throttled",
    "disk_full",
    "log_dir_failed",
    "offsets_reset",
    "producer_fenced",
)
"""Kinds of which no line shows the end: `until` is only the time when such a line was seen last."""


def time_text(condition: Condition) -> str:
    """Return when the condition began, and ended if it did. Empty where no line carries a time."""
    if condition.ongoing and condition.since:
        return f"since {moment(condition.since)}"
    if condition.kind in WITHOUT_END and condition.since and condition.until and condition.since != condition.until:
        return f"since {moment(condition.since)}, last seen {moment(condition.until)}"
    return span(condition.since, condition.until)


def subjects_text(condition: Condition, at_most: int) -> str:
    """Return the names of the subjects; those beyond `at_most` are counted."""
    names = condition.subjects[:at_most]
    omitted = condition.count - len(names)
    more = f" and {count(omitted)} more" if omitted > 0 else ""
    return ", ".join(names) + more


def duration_text(condition: Condition) -> str:
    """Return how long a condition lasted, from its first beginning to its last end. Empty where it is ongoing."""
    if condition.ongoing or not condition.since or not condition.until or condition.since == condition.until:
        return ""
    return duration((condition.until - condition.since).total_seconds())


def summary(conditions: Sequence[Condition]) -> str:
    """Return how many conditions there are, and how many of them are ongoing at the end of the capture."""
    ongoing = sum(condition.ongoing for condition in conditions)
    at_end = f"{count(ongoing)} ongoing" if ongoing else "none ongoing"
    return f"{count(len(conditions), 'condition conditions')}, {at_end} at the end of the capture"
