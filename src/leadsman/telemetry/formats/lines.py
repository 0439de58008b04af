"""Finds the time of a plain line, whatever stands before it: a bracket, a level, a priority, a key."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta, timezone
from typing import TYPE_CHECKING

from leadsman.telemetry.formats import calendar, jsons
from leadsman.telemetry.formats.stamps import Stamp, epoch, iso, iso_or_epoch

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo

DIGITS = b"0123456789"
CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LETTERS = CAPITALS + CAPITALS.lower()
LEVEL = rb"\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\]?"
MARKS = re.compile(
    rb"(?:\x1b\[[0-9;]*m|\xef\xbb\xbf|\x00)+"
)  # colours, a byte order mark, the hole copytruncate leaves
MARKED = (b"\x1b", b"\xef", b"\x00")
ELSEWHERE = timezone(timedelta(hours=13, minutes=37))  # nobody's zone
NO_BYTE = 10  # no line holds a newline, and no shape begins with one
NO_SHAPE = (-1, None)
SHARE_OF_LINES = 0.2  # a shape that could be met in any text counts only where it is this common


@dataclass(frozen=True, slots=True)
class Shape:
    """One way in which a line begins. `firsts` are the bytes that can begin it.

    A `guess` is a shape that other text could have by chance: it is used only in files that are full of it.
    """

    name: str
    firsts: bytes
    stamp: Stamp
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Clock:
    """What a time on a line does not say itself: its zone and its year."""

    zone: tzinfo
    latest: datetime


def skip(count: int, stamp: Stamp) -> Stamp:
    """Read a time that stands `count` bytes into the line."""

    def shifted(block: bytes, start: int, end: int) -> int | None:
        return stamp(block, start + count, end)

    return shifted


def behind(prefix: bytes, stamp: Stamp) -> Stamp:
    """Read a time that stands behind what the pattern `prefix` matches."""
    match = re.compile(prefix).match

    def shifted(block: bytes, start: int, end: int) -> int | None:
        found = match(block, start, end)
        return None if found is None else stamp(block, found.end(), end)

    return shifted


CONTAINER = re.compile(rb"[^ ]+ std(?:out|err) [FP] ")
INDENTED = re.compile(rb"[^ ]+ std(?:out|err) [FP] (?:\t|  )")


def container(stamp: Stamp) -> Stamp:
    """Kubernetes CRI: `2021-02-16T12:36:02.123456789Z stderr F text`. Indented text continues the line before."""

    def unless_indented(block: bytes, start: int, end: int) -> int | None:
        return None if INDENTED.match(block, start, end) else stamp(block, start, end)

    return unless_indented


def every_shape(clock: Clock, sample: list[bytes], json_keys: tuple[bytes, ...]) -> tuple[Shape, ...]:
    """All shapes, the commonest first. `json_keys` are the keys under which JSON lines of the sample carry a time."""
    date, date_or_epoch = iso(clock.zone), iso_or_epoch(clock.zone)
    named = calendar.named_month(clock.zone)
    contained = any(map(CONTAINER.match, sample))
    ambiguous = calendar.day_or_month_first(clock.zone, sample)
    return (
        Shape("Kubernetes CRI", b"12", container(date)) if contained else Shape("timed lines", b"12", date),
        Shape("timed lines", b"[(", skip(1, date)),
        Shape("JSON lines", b"{", jsons.stamp(json_keys, clock.zone)),
        Shape("librdkafka stderr", b"%", behind(rb"%\d\|", epoch)),
        Shape("syslog", b"<", behind(rb"<\d{1,3}>(?:\d )?", _first(date, calendar.syslog(clock.zone, clock.latest)))),
        Shape("timed lines", CAPITALS + b"[", behind(LEVEL + rb":?[ \t|:]{1,4}\[?(?:[\w.]{1,60}[ :])?", date)),
        Shape("logfmt", LETTERS, behind(rb"(?:level=\w+ )?(?:time|ts|t|timestamp|date)=\"?", date_or_epoch)),
        Shape("klog", b"IWEF", calendar.klog(clock.zone, clock.latest)),
        Shape("syslog", CAPITALS, calendar.syslog(clock.zone, clock.latest)),
        Shape("java.util.logging", CAPITALS, calendar.java_util(clock.zone)),
        Shape("access log", DIGITS + b"abcdef:", behind(rb"[\w.:-]+ [^ ]+ [^ ]+ \[", named)),
        Shape("timed lines", DIGITS, named),
        Shape("timed lines", b"[", skip(1, named)),
        Shape("timed lines", DIGITS, calendar.two_digit_year(clock.zone), guess=True),
        Shape("epoch lines", DIGITS, epoch, guess=True),
        Shape(
            "timed lines",
            LETTERS + b"[<(-",
            behind(rb"[^\n]{1,90}?(?=[ \[(|=]\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:)[ \[(|=]", date),
            guess=True,
        ),
        *([Shape("timed lines", DIGITS, ambiguous, guess=True)] if ambiguous else []),
    )


def _first(*stamps: Stamp) -> Stamp:
    def either(block: bytes, start: int, end: int) -> int | None:
        return next((at for stamp in stamps if (at := stamp(block, start, end)) is not None), None)

    return either


@dataclass(frozen=True, slots=True)
class Timing:
    """How the lines of one file carry their times."""

    time_at: Stamp
    times: tuple[int | None, ...]
    """Those of the sample's lines."""
    names: tuple[str, ...]
    timed: float
    """The share of the sample's lines that carry a time."""
    json_keys: tuple[bytes, ...]
    """The spellings of the keys under which JSON lines carry theirs."""
    json: Stamp
    """What reads a time behind such a key."""
    knows_json: bool
    """Whether no other shape can read a JSON line."""
    chosen: tuple[int, ...]
    """Which of the shapes were met, or could be by a line that the sample does not hold."""
    first: Stamp
    """The shape that is tried first, until a line is read by another."""
    tries_first: Callable[[], bool]
    """Whether the next line is tried with that shape first. What it reads, no other shape is asked then."""


def learn(sample: list[bytes], clock: Clock) -> Timing:
    """Chooses the shapes that this file needs."""
    json_keys = jsons.time_keys(sample)
    shapes = every_shape(clock, sample, json_keys)
    met = _met(sample, shapes)
    seen = Counter(index for index, at in met if at is not None)
    lines = max(1, sum(1 for line in sample if line.strip()))
    chosen = tuple(
        index for index, shape in enumerate(shapes) if not shape.guess or seen[index] >= SHARE_OF_LINES * lines
    )
    timed = sum(seen[index] for index in chosen)
    names = tuple(dict.fromkeys(shapes[index].name for index, _ in seen.most_common() if index in chosen))
    knows_json = not any(shapes[index].guess and b"<"[0] in shapes[index].firsts for index in chosen)
    time_at, tries_first = _time_at(tuple(shapes[index] for index in chosen))
    return Timing(
        time_at,
        _times(sample, met, time_at),
        names,
        timed / lines,
        json_keys,
        iso_or_epoch(clock.zone),
        knows_json,
        chosen,
        shapes[chosen[0]].stamp,
        tries_first,
    )


def _times(sample: list[bytes], met: list[Met], time_at: Stamp) -> tuple[int | None, ...]:
    """Return the times of the lines: those that were met, where all lines are JSON, which no other shape reads."""
    timed = next((line for line, (_, at) in zip(sample, met, strict=True) if at is not None), None)
    if timed is not None and all(line[:1] == b"{" for line in sample):
        time_at(timed, 0, len(timed))  # what reads the next line tries the shape of the last one first
        return tuple(at for _, at in met)
    return tuple(time_at(line, 0, len(line)) for line in sample)


def is_zoned(sample: list[bytes], clock: Clock, timing: Timing) -> bool:
    """Whether every time names its zone: then another default changes none of these times of the sample."""
    shapes = every_shape(replace(clock, zone=ELSEWHERE), sample, timing.json_keys)
    elsewhere, _ = _time_at(tuple(shapes[index] for index in timing.chosen))
    return all(elsewhere(line, 0, len(line)) == at for line, at in zip(sample, timing.times, strict=True))


Met = tuple[int, int | None]
"""The shape that knows a line's beginning, and the time that it reads there."""


def _met(sample: list[bytes], shapes: tuple[Shape, ...]) -> list[Met]:
    """Return for each line in which shape it begins."""
    by_first: dict[int, list[tuple[int, Stamp]]] = {}
    met: list[Met] = []
    for line in sample:
        marks = MARKS.match(line) if line[:1] in MARKED else None
        start, end = marks.end() if marks else 0, len(line)
        first = line[start] if start < end else NO_BYTE
        if first not in by_first:
            by_first[first] = [(index, shape.stamp) for index, shape in enumerate(shapes) if first in shape.firsts]
        read = ((index, at) for index, stamp in by_first[first] if (at := stamp(line, start, end)) is not None)
        met.append(next(read, NO_SHAPE))
    return met


def _time_at(shapes: tuple[Shape, ...]) -> tuple[Stamp, Callable[[], bool]]:
    """Return what reads a line by the shape of the line before, or else another; and whether that is the first one."""
    by_first: dict[int, tuple[Stamp, ...]] = {}  # filled as bytes are met: a small file meets few
    last: Stamp = shapes[0].stamp
    marked = frozenset(b"\x1b\xef\x00")

    def time_at(block: bytes, start: int, end: int) -> int | None:
        nonlocal last
        at = last(block, start, end)
        if at is not None or start >= end or start >= len(block):
            return at
        first = block[start]
        if first in marked and (marks := MARKS.match(block, start, end)):
            return time_at(block, marks.end(), end)
        if first not in by_first:
            by_first[first] = tuple(shape.stamp for shape in shapes if first in shape.firsts)
        read = ((stamp, at) for stamp in by_first[first] if (at := stamp(block, start, end)) is not None)
        last, at = next(read, (last, None))
        return at

    def tries_first() -> bool:
        return last is shapes[0].stamp

    return time_at, tries_first
