"""Yodlee's cursor: the contiguous range of time whose changes were fetched. A missing window is never skipped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST_WINDOW = timedelta(minutes=60)
OLDEST_WINDOW = timedelta(days=7) - timedelta(minutes=5)
"""Yodlee's limit of 7 days, less 5 minutes until the request is sent."""


@dataclass(frozen=True, slots=True)
class FetchWindow:
    """A window of time, without its end."""

    since: datetime
    until: datetime

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> FetchWindow:
        """Return the window of a query; KeyError or ValueError if it has none."""
        return cls(_parse_time(query["fromDate"]), _parse_time(query["toDate"]))

    def query(self) -> dict[str, str]:
        """Return the window as Yodlee's parameters."""
        return {"fromDate": _format_time(self.since), "toDate": _format_time(self.until)}

    def __str__(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.query().items())


@dataclass(frozen=True, slots=True)
class FetchedRange:
    """A range of time without a gap: every change in it was fetched."""

    begin: datetime
    end: datetime

    @classmethod
    def parse(cls, cursor: str) -> FetchedRange | None:
        """Return the range of a cursor `begin/end`; None before the first fetch.

        A cursor without a begin is of a version that skipped missing windows: only its end is known to be fetched.
        """
        begin, _, end = cursor.rpartition("/")
        return cls(_parse_time(begin or end), _parse_time(end)) if end else None

    def __str__(self) -> str:
        return f"{_format_time(self.begin)}/{_format_time(self.end)}"

    def recent(self, now: datetime) -> FetchedRange:
        """Return the range, or one without length at Yodlee's limit if all of it is older: the gap is lost."""
        oldest = now - OLDEST_WINDOW
        return FetchedRange(oldest, oldest) if self.end < oldest else self

    def extend(self, window: FetchWindow) -> FetchedRange:
        """Return the range with a window that touches it; the range itself if a gap lies between."""
        if window.since > self.end or window.until < self.begin:
            return self
        return FetchedRange(min(self.begin, window.since), max(self.end, window.until))


def missing_windows(fetched: FetchedRange, *, until: datetime, now: datetime) -> list[FetchWindow]:
    """Return the windows between the range and `until`, oldest first; then those before the range, newest first.

    Each window touches the range that the windows before it make, and none is older than Yodlee's 7 days.
    """
    after = _hours(fetched.end, until)
    before = _hours(now - OLDEST_WINDOW, fetched.begin)
    return [*after, *reversed(list(before))]


def _hours(since: datetime, until: datetime) -> Iterator[FetchWindow]:
    while since < until:
        end = min(since + LONGEST_WINDOW, until)
        yield FetchWindow(since, end)
        since = end


def _parse_time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _format_time(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
