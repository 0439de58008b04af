"""Counts the errors of one stream that no signature knows, by kind; of too many kinds it keeps the most frequent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.pipeline.severity import severity_of
from leadsman.vocabulary import ERROR, ERRORS_UNLISTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.severity import ErrorSeverity

    ErrorKind = tuple[str, str]
    """What an error is called, and its message without what differs."""

    ErrorLine = tuple[int, int, str, tuple[int, ...]]
    """An error that is a record by itself: time (ms since 1970), number, text and signatures of its line."""

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

    def is_below(self, file: str, line: int) -> bool:
        """Whether the group is shown by an error further down than this line of a file."""
        return line < self.row.line and file == self.row.file


@dataclass(slots=True)
class ErrorGroups:
    """The groups by kind and message. Of pruned groups the number and the times are kept."""

    groups: dict[ErrorKind, ErrorGroupTotals] = field(default_factory=dict)
    group_counts: Counter[ErrorSeverity] = field(default_factory=Counter)
    unlisted: ErrorGroupTotals | None = None
    kinds_unlisted: int = 0

    def add(self, kind: ErrorKind, at: int | None, row: Callable[[], EventRow], *, file: str, line: int) -> None:
        """Count an error; `row` makes the event of the first one of its kind. It stands in `line` of `file`.

        The first one is that which stands first in its file: errors may come a little out of order.
        """
        group = self.groups.get(kind)
        if group is None or group.is_below(file, line):
            self._show_by(kind, group, row())
        else:
            group.add(at)

    def add_lines(
        self,
        lines: Iterable[ErrorLine],
        keys: Iterable[tuple[ErrorKind, str | None]],
        row: Callable[[ErrorLine, ErrorKind, str | None], EventRow],
        *,
        file: str,
    ) -> None:
        """Count the errors on lines of a file as `add` does, in their order. `keys` have the kind and level of each."""
        for each, (kind, level) in zip(lines, keys, strict=True):
            group = self.groups.get(kind)
            if group is None or group.is_below(file, each[1]):
                self._show_by(kind, group, row(each, kind, level))
            else:
                group.add(each[0])

    def _show_by(self, kind: ErrorKind, group: ErrorGroupTotals | None, row: EventRow) -> None:
        """Count an error whose event shows the group of its kind from now on; without a group it begins one."""
        severity = severity_of(ERROR, row.labels)
        if group is None:
            self.groups[kind] = ErrorGroupTotals(row, severity, 1, row.at, row.at)
        else:
            self.group_counts[group.severity] -= 1
            group.row, group.severity = row, severity
            group.add(row.at)
        count = self.group_counts[severity] = self.group_counts[severity] + 1
        if count > MAX_GROUPS:
            self._prune(severity)

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

    def _prune(self, severity: ErrorSeverity) -> None:
        """Keep what a listing ranks first among errors of one severity: many before few, of as many the newer ones."""
        candidates = [
            (group.count, group.first or 0, kind) for kind, group in self.groups.items() if group.severity == severity
        ]
        candidates.sort()
        del candidates[len(candidates) - GROUPS_AFTER_PRUNING :]
        self._sum_up([self.groups.pop(kind) for *_, kind in candidates])
        self.group_counts[severity] = GROUPS_AFTER_PRUNING

    def _sum_up(self, groups: Sequence[ErrorGroupTotals]) -> None:
        """Count the errors of one group or more together with those of pruned groups."""
        if self.unlisted is None:
            row = groups[0].row._replace(name=ERRORS_UNLISTED, text=None, labels={})
            self.unlisted = ErrorGroupTotals(row, groups[0].severity)
        times = [group.first for group in groups if group.first is not None]
        times += [group.last for group in groups if group.last is not None]
        count = sum([group.count for group in groups])
        pruned = ErrorGroupTotals(
            self.unlisted.row, self.unlisted.severity, count, min(times, default=None), max(times, default=None)
        )
        self.kinds_unlisted += len(groups)
        self.unlisted.merge(pruned)
