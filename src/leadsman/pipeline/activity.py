"""When one subject wrote, and its longest silences: the same ones in whatever order its lines come.

A subject's time is kept as spans in which no silence is as long as `floor_ms`. Lines in order, or newest first, only
lengthen the last span or begin another. Where times run back and forth, spans are sorted and joined before anything is
concluded from them: a silence between two lines is none where a third line, in another part of the input, was written.
"""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from leadsman.pipeline.gaps import SHORTEST_GAP_MS, Gap
from leadsman.pipeline.record import QUOTE_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable

GAPS_KEPT = 200
"""Of each subject the longest gaps are kept; what is shorter than all of these says nothing about an idle limit."""

SPANS_KEPT = 100_000
"""Spans that are held of a subject whose times run back and forth: 40 MB, and every silence of a second in a day."""


class Edge(NamedTuple):
    """A line with a time (ms since 1970): where a span begins or ends. `text` is the line as it stands there."""

    at: int
    line: int
    text: str
    file: str


Span = tuple[Edge, Edge]


class Times:
    """The first and the last time (ms since 1970) of anything that a file tells."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.last: int | None = None

    def note(self, *times: int | None) -> None:
        """Take these times in, as far as they are known."""
        known = [at for at in (self.first, self.last, *times) if at is not None]
        if known:
            self.first, self.last = min(known), max(known)


class Subject:
    """One writer's lines so far: when it began, when it last wrote, and its longest silences.

    `last_at` is the time of the line that was read last. `forwards` and `backwards` count the steps between spans.
    """

    def __init__(self, name: str, kept: int = GAPS_KEPT) -> None:
        self.name = name
        self.lines = 0
        self.first: int | None = None
        self.until: int | None = None
        self.last_at: int | None = None
        self.floor_ms = SHORTEST_GAP_MS
        self.forwards = 0
        self.backwards = 0
        self._kept = kept
        self._spans: list[Span] = []
        self._open: Span | None = None

    def wrote(self, edge: Edge) -> None:
        """Note a line with a time."""
        self.wrote_between(edge, edge)

    def wrote_rising(self, first: Edge, last: Edge) -> None:
        """Note lines whose times rise from one to the next, with no silence of `floor_ms` between any two of them."""
        if self._open is not None and self.until is not None and first.at >= self._open[1].at:
            begun, ended = self._open
            if first.at - ended.at < self.floor_ms:
                self._open = begun, last
            else:
                self._close(forwards=True)
                self._open = first, last
            self.until = max(self.until, last.at)
            self.last_at = last.at
            return
        self.wrote(first)
        self.wrote_between(first, last)

    def wrote_between(self, left: Edge, right: Edge) -> None:
        """Note two lines between which there is no silence of `floor_ms`, in the order in which they were read."""
        start, end = (left, right) if left.at <= right.at else (right, left)
        self.first = start.at if self.first is None else min(self.first, start.at)
        self.until = end.at if self.until is None else max(self.until, end.at)
        self.last_at = right.at
        if self._open is None:
            self._open = start, end
            return
        begun, ended = self._open
        if start.at - ended.at < self.floor_ms and begun.at - end.at < self.floor_ms:
            self._open = (start if start.at < begun.at else begun, end if end.at >= ended.at else ended)
        else:
            self._close(forwards=start.at > ended.at)
            self._open = start, end

    def silences(self) -> list[Gap]:
        """Return the longest silences, in order of time. `floor_ms` is then the length below which none was kept."""
        spans = _joined([*self._spans, *([self._open] if self._open else [])], self.floor_ms)
        gaps = [_gap(before[1], after[0]) for before, after in pairwise(spans)]
        if len(gaps) < self._kept:
            return gaps
        longest = heapq.nlargest(self._kept, gaps)
        if len(longest) == self._kept:
            self.floor_ms = max(self.floor_ms, int(longest[-1].seconds * 1000))
        return sorted(longest, key=lambda gap: gap.at)

    def _close(self, *, forwards: bool) -> None:
        assert self._open is not None
        self._spans.append(self._open)
        self.forwards += forwards
        self.backwards += not forwards
        if len(self._spans) >= self._room:
            self._spans = _joined(self._spans, self.floor_ms)
            self._thin_out(self._room // 2)

    @property
    def _room(self) -> int:
        """Spans that are held before they are thinned out. In one direction each of them is a silence for good."""
        return SPANS_KEPT if self.forwards and self.backwards else 2 * self._kept

    def _thin_out(self, kept: int) -> None:
        """Join the spans between which the silences are shortest. Of equal ones the earlier are kept."""
        if len(self._spans) <= kept + 1:
            return
        lengths = [after[0].at - before[1].at for before, after in pairwise(self._spans)]
        longest = heapq.nlargest(kept, range(len(lengths)), key=lengths.__getitem__)
        self.floor_ms = max(self.floor_ms, lengths[longest[-1]])
        starts = [0, *(place + 1 for place in sorted(longest)), len(self._spans)]
        self._spans = [(self._spans[since][0], self._spans[until - 1][1]) for since, until in pairwise(starts)]


def _joined(spans: Iterable[Span], floor_ms: int) -> list[Span]:
    """Return the spans in order of time, joined where less than `floor_ms` lies between them."""
    joined: list[Span] = []
    for start, end in sorted(spans, key=lambda span: span[0].at):
        if joined and start.at - joined[-1][1].at < floor_ms:
            begun, ended = joined[-1]
            joined[-1] = begun, end if end.at >= ended.at else ended
        else:
            joined.append((start, end))
    return joined


def _gap(before: Edge, after: Edge) -> Gap:
    return Gap(
        seconds=(after.at - before.at) / 1000,
        at=after.at,
        line=after.line,
        text=after.text[:QUOTE_LENGTH],
        file=after.file,
        before_line=before.line,
        before_text=before.text[:QUOTE_LENGTH],
        before_file=before.file,
    )
