"""Counts the errors of one stream that no signature knows, by kind; of too many kinds it keeps the most frequent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.pipeline.severity import severity_of
from leadsman.vocabulary import ERROR, ERRORS_UNLISTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.severity import ErrorSeverity

    Kind = tuple[str, str]
    """What an error is called, and its message without what differs."""

MAX_GROUPS = 2000
"""Kinds of one severity that are counted separately in one stream: 40 times what is listed, at 2 KB each. A program
has so many wordings only where it writes its input into them."""

GROUPS_AFTER_PRUNING = 1000
"""How many groups remain after pruning, so that pruning costs little for each new kind."""


@dataclass(slots=True)
class ErrorGroupTotals:
    """Errors of one kind with one message."""

    row: EventRow
    severity: ErrorSeverity
    count: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, at: int | None) -> None:
        """Count one more."""
        self.count += 1
        if at is not None:
            self.first = at if self.first is None else min(self.first, at)
            self.last = at if self.last is None else max(self.last, at)

    def merge(self, later: ErrorGroupTotals) -> None:
        """Count what was counted of the lines that follow."""
        total = self.count + later.count
        for at in (later.first, later.last):
            self.add(at)
        self.count = total

    def is_above(self, file: str, line: int) -> bool:
        """Whether a line stands above the one that the group is shown by, in the same file."""
        return line < self.row.line and file == self.row.file


@dataclass(slots=True)
class ErrorGroups:
    """The groups by kind and message. Of pruned groups the number and the times are kept."""

    groups: dict[Kind, ErrorGroupTotals] = field(default_factory=dict)
    group_counts: Counter[ErrorSeverity] = field(default_factory=Counter)
    unlisted: ErrorGroupTotals | None = None
    kinds_unlisted: int = 0

    def add(self, kind: Kind, at: int | None, row: Callable[[], EventRow], *, file_and_line: tuple[str, int]) -> None:
        """Count an error; `row` makes the event of the first one of its kind. `file_and_line` is where it stands.

        The first one is that which stands first in its file: errors may come a little out of order.
        """
        group = self.groups.get(kind)
        if group is None:
            first = row()
            group = self.groups[kind] = ErrorGroupTotals(first, severity_of(ERROR, first.labels))
            self.group_counts[group.severity] += 1
        elif group.is_above(*file_and_line):
            self._show_by(group, row())
        group.add(at)
        if self.group_counts[group.severity] > MAX_GROUPS:
            self._prune(group.severity)

    def merge(self, later: ErrorGroups) -> None:
        """Count what was counted of the lines that follow. Exact while no group was pruned."""
        for kind, group in later.groups.items():
            own = self.groups.get(kind)
            if own is None:
                self.groups[kind] = group
                self.group_counts[group.severity] += 1
            else:
                own.merge(group)
        for severity in list(self.group_counts):
            if self.group_counts[severity] > MAX_GROUPS:
                self._prune(severity)
        self.kinds_unlisted += later.kinds_unlisted
        if self.unlisted is None:
            self.unlisted = later.unlisted
        elif later.unlisted is not None:
            self.unlisted.merge(later.unlisted)

    def rows(self, iso: Callable[[int], str]) -> Iterator[EventRow]:
        """Yield one event for each group, and one for all pruned groups."""
        for group in (*self.groups.values(), *([self.unlisted] if self.unlisted else [])):
            labels = dict(group.row.labels)
            if group is self.unlisted:
                labels["kinds"] = str(self.kinds_unlisted)
            if group.last is not None:
                labels["until"] = iso(group.last)
            yield group.row._replace(at=group.first, value=float(group.count), labels=labels)

    def _show_by(self, group: ErrorGroupTotals, row: EventRow) -> None:
        self.group_counts[group.severity] -= 1
        group.row, group.severity = row, severity_of(ERROR, row.labels)
        self.group_counts[group.severity] += 1

    def _prune(self, severity: ErrorSeverity) -> None:
        """Keep what a listing ranks first among errors of one severity: many before few, of as many the newer ones."""
        candidates = [
            (group.count, group.first or 0, kind) for kind, group in self.groups.items() if group.severity == severity
        ]
        lightest = sorted(candidates)[: len(candidates) - GROUPS_AFTER_PRUNING]
        self._sum_up([self.groups.pop(kind) for *_, kind in lightest])
        self.group_counts[severity] = GROUPS_AFTER_PRUNING

    def _sum_up(self, groups: Iterable[ErrorGroupTotals]) -> None:
        for group in groups:
            if self.unlisted is None:
                row = group.row._replace(name=ERRORS_UNLISTED, text=None, labels={})
                self.unlisted = ErrorGroupTotals(row, group.severity)
            self.kinds_unlisted += 1
            self.unlisted.merge(group)
