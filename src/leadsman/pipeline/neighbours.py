"""Reads the lines around a line of evidence, so that a page can show it where it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.pipeline.blocks import Unreadable, blocks
from leadsman.pipeline.record import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.model import Diagnosis, Evidence

AROUND = 2
"""Lines shown before and after a line."""


def with_neighbours(diagnosis: Diagnosis, place: str | None = None) -> Diagnosis:
    """Return the diagnosis with the neighbours of all its evidence. Files that cannot be read here stay without.

    `place` is where the input is, if its path does not say: a pipe's.
    """
    wanted: dict[str, set[int]] = {}
    for line in _evidence(diagnosis):
        wanted.setdefault(line.file, set()).update(range(max(1, line.line - AROUND), line.line + AROUND + 1))
    root = Path(place or diagnosis.path)
    texts = {file: _lines(root / file if root.is_dir() else root, numbers) for file, numbers in wanted.items()}

    def around(line: Evidence) -> Evidence:
        near = texts[line.file]
        before = [near[number] for number in range(line.line - AROUND, line.line) if number in near]
        after = [near[number] for number in range(line.line + 1, line.line + AROUND + 1) if number in near]
        return replace(line, before=tuple(before), after=tuple(after))

    findings = tuple(
        replace(
            finding,
            chain=tuple(replace(link, evidence=tuple(map(around, link.evidence))) for link in finding.chain),
        )
        for finding in diagnosis.findings
    )
    return replace(diagnosis, findings=findings)


def _evidence(diagnosis: Diagnosis) -> Iterator[Evidence]:
    for finding in diagnosis.findings:
        for link in finding.chain:
            yield from link.evidence


def _lines(path: Path, numbers: Iterable[int]) -> dict[int, str]:
    """Return the lines of these numbers, secrets masked; none where the file cannot be read here."""
    wanted = sorted(numbers)
    found: dict[int, str] = {}
    behind = 0
    try:
        for data, end in blocks(path):
            count = data.count(b"\n", 0, end) + (end > 0 and data[end - 1] != ord("\n"))
            inside = [number for number in wanted if behind < number <= behind + count]
            if inside:
                lines = data[:end].split(b"\n")
                found |= {
                    number: quote(lines[number - behind - 1].decode("utf-8", "replace").rstrip("\r"))
                    for number in inside
                }
            behind += count
            if behind >= wanted[-1]:
                break
    except (OSError, Unreadable):
        pass
    return found
