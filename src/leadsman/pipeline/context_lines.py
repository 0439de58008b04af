"""Reads the lines around each line of evidence, so that a page can show the line in its context."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.pipeline.read.blocks import DecompressionError, blocks
from leadsman.pipeline.read.records import MAX_TOKEN, QUOTE_LENGTH
from leadsman.redaction import mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.model import Diagnosis, Evidence

LINES_OF_A_SECRET = 200
"""Lines above and below a line in which the beginning of a secret of several lines is looked for: a private key's."""

CONTEXT_LINES = 2
"""Lines shown before and after a line."""


def add_context_lines(diagnosis: Diagnosis, input_file: str | None = None) -> Diagnosis:
    """Return the diagnosis with context lines for all its evidence, except in files that cannot be read here.

    `input_file` is the file with the input, where the diagnosis' path is a pipe.
    """
    line_numbers: dict[str, set[int]] = {}
    for line in _evidence(diagnosis):
        line_numbers.setdefault(line.file, set()).update(
            range(max(1, line.line - CONTEXT_LINES), line.line + CONTEXT_LINES + 1)
        )
    root = Path(input_file or diagnosis.path)
    texts = {file: _lines(root / file if root.is_dir() else root, numbers) for file, numbers in line_numbers.items()}

    def with_context(line: Evidence) -> Evidence:
        context = texts[line.file]
        before = [context[number] for number in range(line.line - CONTEXT_LINES, line.line) if number in context]
        after = [context[number] for number in range(line.line + 1, line.line + CONTEXT_LINES + 1) if number in context]
        return replace(line, before=tuple(before), after=tuple(after))

    findings = tuple(
        replace(
            finding,
            chain=tuple(replace(link, evidence=tuple(map(with_context, link.evidence))) for link in finding.chain),
        )
        for finding in diagnosis.findings
    )
    return replace(diagnosis, findings=findings)


def _evidence(diagnosis: Diagnosis) -> Iterator[Evidence]:
    for finding in diagnosis.findings:
        for link in finding.chain:
            yield from link.evidence


def _lines(path: Path, numbers: Iterable[int]) -> dict[int, str]:
    """Return the lines with these numbers, secrets masked; none where the file cannot be read here."""
    requested = sorted(numbers)
    texts: dict[int, str] = {}
    lines_before = 0
    try:
        for data, end in blocks(path):
            count = data.count(b"\n", 0, end) + (end > 0 and data[end - 1] != ord("\n"))
            inside = [number for number in requested if lines_before < number <= lines_before + count]
            if inside:
                lines = data[:end].split(b"\n")
                texts |= {number: _masked_line(lines, number - lines_before - 1) for number in inside}
            lines_before += count
            if lines_before >= requested[-1]:
                break
    except (OSError, DecompressionError):
        pass
    return texts


def _masked_line(lines: Sequence[bytes], index: int) -> str:
    """Return the beginning of a line with its secrets masked, also those that begin or end on other lines."""
    first = max(0, index - LINES_OF_A_SECRET)
    nearby = lines[first : index + LINES_OF_A_SECRET]
    text = b"\n".join(line[: QUOTE_LENGTH + MAX_TOKEN] for line in nearby).decode("utf-8", "replace")
    return mask(text).split("\n")[index - first].rstrip("\r")[:QUOTE_LENGTH]
