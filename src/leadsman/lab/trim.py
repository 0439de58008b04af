"""Makes a recording small enough for a repository, without changing a line that stays: only whole runs are cut."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from leadsman.capture import Item, read_manifest, write_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DUMP_LINES = 50
"""A record with more continuation lines is a settings dump: a broker's has 350, and it prints four a start."""

LARGEST = 60_000
"""Bytes that one file may keep. What is larger after its dumps are cut repeats itself."""

_TIME = re.compile(r"^\[?[\d\-]+ [\d:,.]+\]? ")


def trim(folder: Path, *, largest: int = LARGEST) -> None:
    """Trim every log of a capture, and say in its manifest which and how."""
    manifest = read_manifest(folder)
    assert manifest is not None, f"{folder} is no capture"
    items = tuple(_trimmed(folder, item, largest) for item in manifest.items)
    write_manifest(folder, replace(manifest, items=items))


def _trimmed(folder: Path, item: Item, largest: int) -> Item:
    path = folder / item.file
    before = path.read_text(encoding="utf-8").splitlines(keepends=True)
    after = without_middle(without_repeated_dumps(before), largest)
    if after == before:
        return item
    path.write_text("".join(after), encoding="utf-8")
    return replace(item, note=f"Trimmed for the repository: {len(after)} of {len(before)} lines, repeated runs cut.")


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


def _records(lines: list[str]) -> Iterator[list[str]]:
    """Yield each line with the lines that continue it: those that begin with white space, or hold nothing."""
    record: list[str] = []
    for line in lines:
        if record and not line[0].isspace():
            yield record
            record = []
        record.append(line)
    if record:
        yield record


def without_middle(lines: list[str], largest: int) -> list[str]:
    """Keep a run at the start and a run at the end that together have at most `largest` bytes."""
    if sum(map(len, lines)) <= largest:
        return lines
    head = _first(lines, largest // 2)
    tail = _first(lines[::-1], largest // 2)
    return lines[:head] + lines[len(lines) - tail :]


def _first(lines: list[str], largest: int) -> int:
    """How many lines from the start have at most `largest` characters."""
    total = 0
    for count, line in enumerate(lines):
        total += len(line)
        if total > largest:
            return count
    return len(lines)
