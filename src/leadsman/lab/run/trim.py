"""Makes a recording small enough for a repository: whole runs of lines are cut, no line that stays is changed."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leadsman.capture import Item, read_manifest, write_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

DUMP_LINES = 50
"""A record with more continuation lines is a settings dump: a broker's has 350, and it prints four a start."""

LARGEST = 40_000
"""Bytes from which on a file is cut further: a dozen recordings of a few files each are to fit into a repository."""

EDGE = 18_000
"""Bytes kept at either end of a broker's log. The first settings dump, 15,500 bytes, is at the start."""

AROUND = 8
"""Lines kept on either side of a turning point."""

REPEAT_AFTER = timedelta(seconds=0.5)
"""A storm of one warning is thinned to one line in this time: short, so that no cut looks like an idle gap."""

ROUTINE_AFTER = timedelta(seconds=1)
"""The same for INFO lines of ordinary work, of which there is more. The lab's shortest limit is 3 s."""

MIN_BYTES = 6_000
"""Of a class histogram, classes that take less are cut: of 3,400 that a young broker has, 150 take more."""

CLASS = re.compile(r" *\d+: +\d+ +(\d+) ")

METRICS = re.compile(r"### |kafka_|jvm_gc_|jvm_memory_(?:used|max)_bytes\{area=.heap|jvm_memory_pool_collection_used")
"""Of scrapes, comments are cut, and JVM metrics other than those of heap and garbage collector."""

_TIME = re.compile(r"^\[?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{3})\]? ")
_WARNING = re.compile(r" (?:ERROR|WARN|WARNING) ")
_TURNING_POINT = re.compile(
    r"Kafka Server started|[Bb]eginning controlled shutdown|Server id=\d+\] shutting down|Starting \S*Server"
)


def trim(folder: Path) -> None:
    """Trim every log of a capture, and note each cut in the manifest."""
    manifest = read_manifest(folder)
    assert manifest is not None, f"{folder} is no capture"
    items = tuple(_trim_item(folder, item) for item in manifest.items)
    write_manifest(folder, replace(manifest, items=items))


def _trim_item(folder: Path, item: Item) -> Item:
    path = folder / item.file
    if item.source not in OUTPUTS and item.source not in LOGS:
        return item
    before = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if item.source in OUTPUTS:
        after = [line for line in before if OUTPUTS[item.source](line)]
    else:
        after = shorten(before, is_client_log=item.source == "client_log")
    if after == before:
        return item
    path.write_text("".join(after), encoding="utf-8")
    removed = "small entries" if item.source in OUTPUTS else "repeated runs"
    return replace(item, note=f"Trimmed for the repository: {len(after)} of {len(before)} lines, {removed} cut.")


def _is_large_class(line: str) -> bool:
    match = CLASS.match(line)
    return match is None or int(match[1]) >= MIN_BYTES


def _is_kept_metric(line: str) -> bool:
    return METRICS.match(line) is not None


LOGS = ("client_log", "broker_log", "controller_log", "state_change_log", "gc_log", "zookeeper_log")

OUTPUTS: Mapping[str, Callable[[str], bool]] = {"class_histogram": _is_large_class, "metrics": _is_kept_metric}
"""Which lines of an output are kept, by its source."""


def shorten(lines: list[str], *, is_client_log: bool) -> list[str]:
    """Cut what repeats itself. In a client's log (`is_client_log`) a silence means something: no cut makes one."""
    lines = without_repeated_dumps(lines)
    if sum(map(len, lines)) <= LARGEST:
        return lines
    return without_storms(lines) if is_client_log else turning_points(lines)


def without_repeated_dumps(lines: list[str]) -> list[str]:
    """Cut the continuation lines of every settings dump but the first under the same heading."""
    seen: set[str] = set()
    kept: list[str] = []
    for record in _records(lines):
        heading = _TIME.sub("", record[0])
        repeated = len(record) > DUMP_LINES and heading in seen
        kept += record[:1] if repeated else record
        seen.add(heading)
    return kept


def without_storms(lines: list[str]) -> list[str]:
    """Cut what repeats the same within REPEAT_AFTER, if it is a warning, otherwise within ROUTINE_AFTER."""
    last: dict[str, datetime] = {}
    kept: list[str] = []
    for record in _records(lines):
        pattern, at = _normalised(record[0]), _time(record[0])
        if at:
            if pattern in last and at - last[pattern] < (REPEAT_AFTER if _WARNING.search(record[0]) else ROUTINE_AFTER):
                continue
            last[pattern] = at
        kept += record
    return kept


def turning_points(lines: list[str]) -> list[str]:
    """Keep a run at the start, one at the end, and one around every start and shutdown."""
    keep = {*range(_line_count(lines, EDGE)), *range(len(lines) - _line_count(lines[::-1], EDGE), len(lines))}
    for number, line in enumerate(lines):
        if _TURNING_POINT.search(line):
            keep |= set(range(number - AROUND, number + AROUND + 1))
    return [line for number, line in enumerate(lines) if number in keep]


def _records(lines: list[str]) -> Iterator[list[str]]:
    """Yield each line with the lines that continue it: those that carry no time."""
    record: list[str] = []
    for line in lines:
        if record and _TIME.match(line):
            yield record
            record = []
        record.append(line)
    if record:
        yield record


def _normalised(line: str) -> str:
    return re.sub(r"\d+", "N", _TIME.sub("", line))


def _time(line: str) -> datetime | None:
    match = _TIME.match(line)
    return datetime.fromisoformat(match[1].replace(",", ".")).replace(tzinfo=UTC) if match else None


def _line_count(lines: list[str], largest: int) -> int:
    """Return how many lines from the start have at most `largest` characters."""
    total = 0
    for count, line in enumerate(lines):
        total += len(line)
        if total > largest:
            return count
    return len(lines)
