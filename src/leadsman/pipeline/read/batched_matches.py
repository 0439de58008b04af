"""Turns many lines with the same signatures into events at once, column by column.

Most lines that become events are a record of one line: leaders that started, connections that were closed. One by
one, assembling the record and making its row costs more than finding and matching the line.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.pipeline.events import ColumnarEvents, from_columns
from leadsman.pipeline.read.records import Hit, RecordStart
from leadsman.redaction import mask_where_found
from leadsman.telemetry.source import all_signatures
from leadsman.vocabulary import ERROR, SETTING

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterator, Sequence

    import pyarrow as pa

    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.read.records import EventExtractor
    from leadsman.telemetry.source import Signature, Source

MIN_BATCH_LINES = 20
"""Fewer lines of one kind are made rows: below this number columns cost more."""

MAX_BUFFERED_LINES = 20_000
"""Lines in the buffer at most: some 3 MB, and one block more."""


class MatchedLines(NamedTuple):
    """Records with the same signatures: their times (ms since 1970), lines in the file, texts, writers and quotes."""

    at: list[int]
    lines: list[int]
    texts: list[str]
    subjects: list[str]
    quotes: list[str]

    def without(self, indices: Collection[int]) -> MatchedLines:
        """Return the lines at the other places."""
        left = [index for index in range(len(self.at)) if index not in indices]
        return MatchedLines(*([column[index] for index in left] for column in self))  # type: ignore[arg-type]


@cache
def is_self_contained(signatures: tuple[int, ...]) -> bool:
    """Whether the events of a line with these matches depend on no other line: one event each, no unknown error.

    A match of ERROR does not count on a line that also has another event. Settings depend on the values before.
    """
    found = [all_signatures()[index][1] for index in signatures]
    reported = [signature for signature in found if signature.event != ERROR]
    return (
        bool(reported)
        and len({signature.event for signature in reported}) == len(reported)
        and all(each.event != SETTING and not each.once and each.is_readable_by_column for each in reported)
    )


class BatchedMatches:
    """A buffer of lines of one file, each a self-contained record, until they become events."""

    def __init__(self, file: str, extractor: EventExtractor) -> None:
        self._file = file
        self._extractor = extractor
        self._kept: dict[tuple[int, ...], MatchedLines] = {}
        self._count = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to flush the buffer."""
        return self._count >= MAX_BUFFERED_LINES

    def add(self, signatures: tuple[int, ...], at: int, line: int, *, text: str, subject: str, quote: str) -> None:
        """Add a line with matches of these signatures and of no others."""
        kept = self._kept.get(signatures)
        if kept is None:
            kept = self._kept[signatures] = MatchedLines([], [], [], [], [])
        kept.at.append(at)
        kept.lines.append(line)
        kept.texts.append(text)
        kept.subjects.append(subject)
        kept.quotes.append(quote)
        self._count += 1

    def mask_texts(self) -> None:
        """Mask the secrets in the lines of the buffer, before they leave the process in a state."""
        for kept in self._kept.values():
            for column in (kept.texts, kept.quotes):
                for index, text in mask_where_found(column).items():
                    column[index] = text

    def flush(self) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the events of all lines in the buffer, and empty it."""
        for signatures, kept in self._kept.items():
            yield from self._flush_lines(signatures, kept)
        self._kept, self._count = {}, 0

    def _flush_lines(self, signatures: tuple[int, ...], kept: MatchedLines) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the lines' events as one batch; singly where a line may hold a secret, or does not match after all."""
        if len(kept.texts) < MIN_BATCH_LINES:
            for index in range(len(kept.texts)):
                yield from self._event_rows(signatures, kept, index)
            return
        known = [each for each in map(all_signatures().__getitem__, signatures) if each[1].event != ERROR]
        matches = [[signature.search(pattern, text) for text in kept.texts] for _, signature, pattern in known]
        singly = {index for column in matches for index, match in enumerate(column) if match is None}
        singly |= set(mask_where_found(kept.texts))
        if kept.quotes != kept.texts:
            singly |= set(mask_where_found(kept.quotes))
        if len(kept.texts) - len(singly) < MIN_BATCH_LINES:
            singly = set(range(len(kept.texts)))
        for index in sorted(singly):
            yield from self._event_rows(signatures, kept, index)
        if len(singly) == len(kept.texts):
            return
        left = kept.without(singly) if singly else kept
        for (source, signature, _), column in zip(known, matches, strict=True):
            together = [match for index, match in enumerate(column) if match is not None and index not in singly]
            yield self._batch(source, signature, together, left)

    def _batch(
        self, source: Source, signature: Signature, matches: Sequence[re.Match[str]], lines: MatchedLines
    ) -> pa.RecordBatch:
        self._extractor.note_source(source, signature)
        labels, values = signature.read_all(matches)
        return from_columns(
            ColumnarEvents(
                capture=self._extractor.capture,
                source=source.name,
                name=signature.event,
                file=self._file,
                at=lines.at,
                subjects=lines.subjects if len(set(lines.subjects)) > 1 else lines.subjects[0],
                lines=np.array(lines.lines, np.int64),
                texts=lines.quotes,
                values=values,
                labels=labels,
            )
        )

    def _event_rows(self, signatures: tuple[int, ...], kept: MatchedLines, index: int) -> Sequence[EventRow]:
        text = kept.texts[index]
        record_start = RecordStart(kept.at[index], text.split("\n", 1)[0], kept.subjects[index])
        hit = Hit(kept.lines[index], text, kept.quotes[index], 0, signatures)
        return self._extractor.extract(record_start, [hit], self._file)
