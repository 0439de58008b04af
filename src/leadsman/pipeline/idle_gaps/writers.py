"""When one subject wrote, and its longest idle gaps: the same ones in whatever order its lines come.

A subject's time is kept as spans in which no idle gap is as long as `floor_ms`. Lines in order, or newest first, only
lengthen the last span or begin another. Where times run back and forth, spans are sorted and joined before anything is
concluded from them: between two lines there is no idle gap where a third line, in another part of the input, stands.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from leadsman.pipeline.idle_gaps.bisection import SHORTEST_GAP_MS, Gap
from leadsman.pipeline.idle_gaps.spans import PackedSpans, Span, SpanEnd
from leadsman.pipeline.read.records import QUOTE_LENGTH, quote_beginning
from leadsman.redaction import mask_where_found

if TYPE_CHECKING:
    from collections.abc import Iterable

GAPS_KEPT = 200
"""Of each subject the longest gaps are kept; what is shorter than all of these says nothing about an idle limit."""

SPANS_KEPT = 100_000
"""Spans that are held of a subject whose times run far back and forth: 40 MB, every idle gap of a second in a day."""

STEPS_BACK_EXPECTED = 2
"""Where a line came late, another one may come so many times as late. Spans further back are thinned out as those of a
subject whose times run in one direction: one step of a clock does not make its state grow with its lines."""


Interval = tuple[int, int]
"""From one time (ms since 1970) to another."""


class TimeRange:
    """The first and the last time (ms since 1970) in a file, of lines and of anything else."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.last: int | None = None

    def note(self, *times: int | None) -> None:
        """Take these times in, as far as they are known."""
        known = [at for at in (self.first, self.last, *times) if at is not None]
        if known:
            self.first, self.last = min(known), max(known)


class SubjectActivity:
    """One writer's lines so far: when it began, when it last wrote, and its longest idle gaps.

    `last_at` is the time of the line that was read last. `forwards` and `backwards` count the steps between spans,
    `longest_step_back` is the longest way (ms) that a line lay before the latest one above it. With `packs` its spans
    are held compressed; it is then never part of a `merge`.
    """

    def __init__(self, name: str, kept: int = GAPS_KEPT, *, packs: bool = False) -> None:
        self.name = name
        self.lines = 0
        self.first: int | None = None
        self.until: int | None = None
        self.last_at: int | None = None
        self.floor_ms = SHORTEST_GAP_MS
        self.forwards = 0
        self.backwards = 0
        self.longest_step_back = 0
        self._kept = kept
        self._next_room = 0
        self._spans: list[Span] | PackedSpans = PackedSpans() if packs else []
        self._open: Span | None = None
        self._begun_at: Interval = (0, 0)  # of the open span, by the lines that it began with
        self._begins: list[Interval] | None = None if packs else []  # of the others; None where some were joined

    def note_line(self, line: SpanEnd) -> None:
        """Note a line with a time."""
        self.note_adjacent_lines(line, line)

    def note_rising_lines(self, first: SpanEnd, last: SpanEnd) -> None:
        """Note lines whose times rise from one to the next, with no idle gap of `floor_ms` between any two of them."""
        if self._open is not None and self.until is not None and first.at >= self._open[1].at:
            begun, ended = self._open
            if first.at - ended.at < self.floor_ms:
                self._open = begun, last
            else:
                self._close(forwards=True)
                self._begin(first, last)
            self.until = max(self.until, last.at)
            self.last_at = last.at
            return
        self.note_line(first)
        self.note_adjacent_lines(first, last)

    def note_adjacent_lines(self, left: SpanEnd, right: SpanEnd) -> None:
        """Note two lines between which there is no idle gap of `floor_ms`, in the order in which they were read."""
        start, end = (left, right) if left.at <= right.at else (right, left)
        self._note_step_back(start.at)
        self.first = start.at if self.first is None else min(self.first, start.at)
        self.until = end.at if self.until is None else max(self.until, end.at)
        self.last_at = right.at
        if self._open is None:
            self._begin(start, end)
            return
        begun, ended = self._open
        if start.at - ended.at < self.floor_ms and begun.at - end.at < self.floor_ms:
            self._open = (start if start.at < begun.at else begun, end if end.at >= ended.at else ended)
        else:
            self._close(forwards=start.at > ended.at)
            self._begin(start, end)

    def merge(self, later: SubjectActivity) -> None:
        """Note what `later` noted of the lines that follow, in the order in which they were read.

        The result is as if the lines had been noted here one by one. After thinning out, two things differ. Where times
        run in one direction, the idle gaps are the same, but another line of the same time may be quoted. Where times
        run back and forth, idle gaps and step counts are approximate.
        """
        self.lines += later.lines
        if later.first is None or later.until is None:
            return
        self._note_step_back(later.first)
        self.longest_step_back = max(self.longest_step_back, later.longest_step_back)
        self.first = later.first if self.first is None else min(self.first, later.first)
        self.until = later.until if self.until is None else max(self.until, later.until)
        self.last_at = later.last_at
        self.floor_ms = max(self.floor_ms, later.floor_ms)
        self.forwards += later.forwards
        self.backwards += later.backwards
        self._append(later)
        self._make_room()

    def _append(self, later: SubjectActivity) -> None:
        """Append the spans of `later`, but for those that the open span takes in because of what came before."""
        assert later._open is not None
        assert isinstance(self._spans, list)
        spans = [*later._spans, later._open]
        begins = None if later._begins is None else [*later._begins, later._begun_at]
        for span_index, (start, end) in enumerate(spans):
            since, until = begins[span_index] if begins else (start.at, end.at)
            if begins and span_index:
                self._uncount(forwards=since > spans[span_index - 1][1].at)
            if self._open is None:
                break
            begun, ended = self._open
            if since - ended.at >= self.floor_ms or begun.at - until >= self.floor_ms:
                if begins or not span_index:
                    self._count(forwards=since > ended.at)
                self._spans.append(self._open)
                self._begins = None if self._begins is None else [*self._begins, self._begun_at]
                break
            self._open = (start if start.at < begun.at else begun, end if end.at >= ended.at else ended)
        else:
            return
        self._spans += spans[span_index:-1]
        self._open = spans[-1]
        self._begins = None if self._begins is None or begins is None else [*self._begins, *begins[span_index:-1]]
        self._begun_at = later._begun_at

    def idle_gaps(self) -> list[Gap]:
        """Return the longest idle gaps, in order of time. `floor_ms` is then the length below which none was kept.

        Of equal ones the earlier are kept, as where spans are thinned out: so it does not matter when they were.
        """
        spans = _joined([*self._spans, *([self._open] if self._open else [])], self.floor_ms)
        gaps = [_gap(before[1], after[0]) for before, after in pairwise(spans)]
        if len(gaps) < self._kept:
            return gaps
        longest = heapq.nlargest(self._kept, gaps, key=lambda gap: gap.seconds)
        if len(longest) == self._kept:
            self.floor_ms = max(self.floor_ms, int(longest[-1].seconds * 1000))
        return sorted(longest, key=lambda gap: gap.at)

    def mask_texts(self) -> None:
        """Mask the secrets in the lines that are kept, before they leave the process in a state."""
        spans = [*self._spans, *([self._open] if self._open else [])]
        masked = mask_where_found([line.text for span in spans for line in span])
        for span_index in {index // 2 for index in masked}:
            start, end = spans[span_index]
            begun = start._replace(text=masked.get(2 * span_index, start.text))
            spans[span_index] = begun, end._replace(text=masked.get(2 * span_index + 1, end.text))
        if masked:
            self._hold(spans[: len(self._spans)])
            self._open = spans[-1] if self._open else None

    def _begin(self, start: SpanEnd, end: SpanEnd) -> None:
        self._open = start, end
        self._begun_at = start.at, end.at

    def _close(self, *, forwards: bool) -> None:
        assert self._open is not None
        self._spans.append(self._open)
        if self._begins is not None:
            self._begins.append(self._begun_at)
        self._count(forwards=forwards)
        self._make_room()

    def _count(self, *, forwards: bool) -> None:
        self.forwards += forwards
        self.backwards += not forwards

    def _uncount(self, *, forwards: bool) -> None:
        self.forwards -= forwards
        self.backwards -= not forwards

    def _note_step_back(self, at: int) -> None:
        if self.until is not None and self.until - at > self.longest_step_back:
            self.longest_step_back = self.until - at

    def _make_room(self) -> None:
        if len(self._spans) < self._room:
            return
        spans = _joined(self._spans, self.floor_ms)
        self._begins = None
        if self.forwards and self.backwards:
            spans = self._thinned_out(spans, self._kept, self._count_final(spans))
            self._next_room = min(2 * len(spans), SPANS_KEPT)
        if len(spans) >= self._room:
            spans = self._thinned_out(spans, self._room // 2, len(spans))
        self._hold(spans)

    def _hold(self, spans: list[Span]) -> None:
        self._spans = PackedSpans(spans) if isinstance(self._spans, PackedSpans) else spans

    @property
    def _room(self) -> int:
        """Spans that are held before they are thinned out. In one direction each of them is an idle gap for good."""
        return max(2 * self._kept, self._next_room)

    def _count_final(self, spans: list[Span]) -> int:
        """Return how many of the spans, which are in order of time, no later line will change.

        A line can come before the latest one by as much as any did so far, and by as much again.
        """
        assert self.until is not None
        since = self.until - STEPS_BACK_EXPECTED * self.longest_step_back
        return bisect_left(spans, since, key=lambda span: span[1].at)

    def _thinned_out(self, spans: list[Span], kept: int, count: int) -> list[Span]:
        """Return the spans, the first of them joined where gaps are shortest. Of equal gaps the earlier are kept."""
        if count <= kept + 1:
            return spans
        first, rest = spans[:count], spans[count:]
        lengths = [after[0].at - before[1].at for before, after in pairwise(first)]
        longest = heapq.nlargest(kept, range(len(lengths)), key=lengths.__getitem__)
        self.floor_ms = max(self.floor_ms, lengths[longest[-1]])
        starts = [0, *(span_index + 1 for span_index in sorted(longest)), len(first)]
        return [*((first[since][0], first[until - 1][1]) for since, until in pairwise(starts)), *rest]


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


def _quote(text: str) -> str:
    """Return what is shown of a line. Secrets in whole lines are masked later, in many lines at once."""
    return text if len(text) <= QUOTE_LENGTH else quote_beginning(text)


def _gap(before: SpanEnd, after: SpanEnd) -> Gap:
    return Gap(
        seconds=(after.at - before.at) / 1000,
        at=after.at,
        line=after.line,
        text=_quote(after.text),
        file=after.file,
        before_line=before.line,
        before_text=_quote(before.text),
        before_file=before.file,
    )
