"""Groups errors that follow one another, each alone on its line: in a storm nearly every line is such a one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from leadsman.pipeline.read.records import Hit, RecordStart
from leadsman.redaction import mask_where_found
from leadsman.telemetry.source import all_signatures
from leadsman.vocabulary import ERROR

if TYPE_CHECKING:
    from leadsman.pipeline.read.error_groups import ErrorLine
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
        self._lines: list[ErrorLine] = []

    def add(self, at: int, line: int, text: str, signatures: tuple[int, ...]) -> None:
        """Add a line of `MAX_MESSAGE` characters at most."""
        self._lines.append((at, line, text, signatures))

    def close(self) -> None:
        """Group the errors so far, in their order."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        since = 0
        for index in sorted(mask_where_found([text for _, _, text, _ in lines])):
            self._extractor.group_lines(lines[since:index], subject=self._name, file=self._file)
            at, line, text, signatures = lines[index]
            hit = Hit(line, text, text, 0, signatures)
            self._extractor.extract(RecordStart(at, text, self._name), [hit], self._file)
            since = index + 1
        self._extractor.group_lines(lines[since:], subject=self._name, file=self._file)
