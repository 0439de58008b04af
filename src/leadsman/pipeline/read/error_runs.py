"""Groups errors that follow one another, each alone on its line: in a storm nearly every line is such a one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from leadsman.pipeline.read.records import Hit, RecordStart, blank_lines
from leadsman.redaction import mask_where_found
from leadsman.telemetry.source import all_signatures
from leadsman.vocabulary import ERROR

if TYPE_CHECKING:
    from leadsman.pipeline.read.records import EventExtractor


@cache
def is_unknown_error(signatures: tuple[int, ...]) -> bool:
    """Whether a line with these matches is an error that no signature knows."""
    return all(all_signatures()[index][1].event == ERROR for index in signatures)


class ErrorRun:
    """Lines that are records by themselves, with an error that no signature knows, until another record comes."""

    def __init__(self, file: str, name: str, extractor: EventExtractor) -> None:
        self._file = file
        self._name = name
        self._extractor = extractor
        self._lines: list[tuple[int, int, str, tuple[int, ...]]] = []

    def add(self, at: int, line: int, text: str, signatures: tuple[int, ...]) -> None:
        """Add a line of `MAX_MESSAGE` characters at most."""
        self._lines.append((at, line, text, signatures))

    def close(self) -> None:
        """Group the errors so far, in their order."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        texts = [text for _, _, text, _ in lines]
        secret = mask_where_found(texts)
        named = self._name, self._file
        for index, ((at, line, text, signatures), blank) in enumerate(zip(lines, blank_lines(texts), strict=True)):
            if index in secret:
                hit = Hit(line, text, text, 0, signatures)
                self._extractor.extract(RecordStart(at, text, self._name), [hit], self._file)
            else:
                self._extractor.group_line(at, line, text, subject_and_file=named, blank=blank)
