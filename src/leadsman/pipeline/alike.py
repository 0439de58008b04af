"""Tells many lines of one kind at once, column by column.

Most lines that become events are a whole record, and tell all by themselves: leaders that started, connections that
were closed. Taken one by one, going through a record and making a row of it costs more than finding and matching the
line.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.pipeline.events import Columns, from_columns
from leadsman.pipeline.record import Head, Hit
from leadsman.redaction import suspects
from leadsman.telemetry.source import every_signature
from leadsman.vocabulary import ERROR, SETTING

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterator, Sequence

    import pyarrow as pa

    from leadsman.pipeline.events import Row
    from leadsman.pipeline.record import Listener
    from leadsman.telemetry.source import Signature, Source

FEW = 20
"""Lines of one kind below which columns cost more than rows."""

MANY = 20_000
"""Lines that are put by at most: 3 MB or so, and a block's more."""


class Lines(NamedTuple):
    """Records with the same signatures: their times (ms since 1970), lines in the file, texts, writers and quotes."""

    at: list[int]
    lines: list[int]
    texts: list[str]
    subjects: list[str]
    quotes: list[str]

    def without(self, places: Collection[int]) -> Lines:
        """Return the others."""
        left = [place for place in range(len(self.at)) if place not in places]
        return Lines(*([column[place] for place in left] for column in self))  # type: ignore[arg-type]


@cache
def tells_by_itself(signatures: tuple[int, ...]) -> bool:
    """Whether a line on which these were found tells all by itself: an event each, and no error that is unknown.

    An error of a line that is an event of another name is that event. Settings may be no news, and are not of these.
    """
    found = [every_signature()[index][1] for index in signatures]
    told = [signature for signature in found if signature.event != ERROR]
    return (
        bool(told)
        and len({signature.event for signature in told}) == len(told)
        and all(each.event != SETTING and not each.once and each.by_column for each in told)
    )


class Alike:
    """Lines of one file, each a record that tells by itself, put by until they are told."""

    def __init__(self, file: str, listener: Listener) -> None:
        self._file = file
        self._listener = listener
        self._kept: dict[tuple[int, ...], Lines] = {}
        self._count = 0

    @property
    def are_many(self) -> bool:
        """Whether it is time to tell them."""
        return self._count >= MANY

    def put(self, signatures: tuple[int, ...], at: int, line: int, *, text: str, subject: str, quote: str) -> None:
        """Put a line by on which these signatures were found, and no others."""
        kept = self._kept.get(signatures)
        if kept is None:
            kept = self._kept[signatures] = Lines([], [], [], [], [])
        kept.at.append(at)
        kept.lines.append(line)
        kept.texts.append(text)
        kept.subjects.append(subject)
        kept.quotes.append(quote)
        self._count += 1

    def told(self) -> Iterator[Row | pa.RecordBatch]:
        """Yield the events of all that was put by."""
        for signatures, kept in self._kept.items():
            yield from self._told(signatures, kept)
        self._kept, self._count = {}, 0

    def _told(self, signatures: tuple[int, ...], kept: Lines) -> Iterator[Row | pa.RecordBatch]:
        """Tell lines at once; singly those that may hold a secret, or that are not what the scanner took them for."""
        if len(kept.texts) < FEW:
            for place in range(len(kept.texts)):
                yield from self._singly(signatures, kept, place)
            return
        known = [each for each in map(every_signature().__getitem__, signatures) if each[1].event != ERROR]
        matches = [[signature.search(pattern, text) for text in kept.texts] for _, signature, pattern in known]
        singly = {place for column in matches for place, match in enumerate(column) if match is None}
        singly |= set(suspects(kept.texts))
        if kept.quotes != kept.texts:
            singly |= set(suspects(kept.quotes))
        if len(kept.texts) - len(singly) < FEW:
            singly = set(range(len(kept.texts)))
        for place in sorted(singly):
            yield from self._singly(signatures, kept, place)
        if len(singly) == len(kept.texts):
            return
        left = kept.without(singly) if singly else kept
        for (source, signature, _), column in zip(known, matches, strict=True):
            together = [match for place, match in enumerate(column) if match is not None and place not in singly]
            yield self._batch(source, signature, together, left)

    def _batch(
        self, source: Source, signature: Signature, matches: Sequence[re.Match[str]], lines: Lines
    ) -> pa.RecordBatch:
        self._listener.note(source, signature)
        labels, values = signature.read_all(matches)
        return from_columns(
            Columns(
                capture=self._listener.capture,
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

    def _singly(self, signatures: tuple[int, ...], kept: Lines, place: int) -> Sequence[Row]:
        text = kept.texts[place]
        head = Head(kept.at[place], text.split("\n", 1)[0], kept.subjects[place])
        hit = Hit(kept.lines[place], text, kept.quotes[place], 0, signatures)
        return self._listener.hear(head, [hit], self._file)
