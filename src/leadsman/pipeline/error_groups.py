"""Counts the errors of one stream that no signature knows, by kind; of too many kinds it keeps those that matter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.pipeline.severity import severity_of
from leadsman.vocabulary import ERROR, ERRORS_UNLISTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.pipeline.events import Row
    from leadsman.pipeline.severity import Severity

    Kind = tuple[str, str]
    """What an error is called, and its message without what differs."""

GROUPS_HELD = 2000
"""Kinds of one severity that are told apart in one stream: 40 times what is listed, and 2 KB each. A program has as
many wordings only where it writes whatever it is asked for into them."""

GROUPS_KEPT = 1000
"""How many of them are kept once there are too many; so sorting them out costs little for each."""


@dataclass(slots=True)
class Group:
    """Errors of one kind with one message."""

    row: Row
    severity: Severity
    count: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, at: int | None) -> None:
        """Count one more."""
        self.count += 1
        if at is not None:
            self.first = at if self.first is None else min(self.first, at)
            self.last = at if self.last is None else max(self.last, at)

    @property
    def weight(self) -> tuple[int, int]:
        """What a listing ranks errors of one severity by: many before few, and of as many the newer ones."""
        return self.count, self.first or 0


@dataclass(slots=True)
class ErrorGroups:
    """The groups by kind and message. Of what is let go its number is known, and when it was."""

    groups: dict[Kind, Group] = field(default_factory=dict)
    held: Counter[Severity] = field(default_factory=Counter)
    unlisted: Group | None = None
    kinds_unlisted: int = 0

    def add(self, kind: Kind, at: int | None, row: Callable[[], Row]) -> None:
        """Count an error; `row` makes the event of the first one of its kind."""
        group = self.groups.get(kind)
        if group is None:
            first = row()
            group = self.groups[kind] = Group(first, severity_of(ERROR, first.labels))
            self.held[group.severity] += 1
        group.add(at)
        if self.held[group.severity] > GROUPS_HELD:
            self._let_go(group.severity)

    def rows(self, iso: Callable[[int], str]) -> Iterator[Row]:
        """Yield one event a group, and one for all that were let go."""
        for group in (*self.groups.values(), *([self.unlisted] if self.unlisted else [])):
            labels = dict(group.row.labels)
            if group is self.unlisted:
                labels["kinds"] = str(self.kinds_unlisted)
            if group.last is not None:
                labels["until"] = iso(group.last)
            yield group.row._replace(at=group.first, value=float(group.count), labels=labels)

    def _let_go(self, severity: Severity) -> None:
        alike = [(group.weight, kind) for kind, group in self.groups.items() if group.severity == severity]
        lightest = sorted(alike)[: len(alike) - GROUPS_KEPT]
        self._sum_up([self.groups.pop(kind) for _, kind in lightest])
        self.held[severity] = GROUPS_KEPT

    def _sum_up(self, groups: Iterable[Group]) -> None:
        for group in groups:
            if self.unlisted is None:
                row = group.row._replace(name=ERRORS_UNLISTED, text=None, labels={})
                self.unlisted = Group(row, group.severity)
            self.kinds_unlisted += 1
            total = self.unlisted.count + group.count
            for at in (group.first, group.last):
                self.unlisted.add(at)
            self.unlisted.count = total
