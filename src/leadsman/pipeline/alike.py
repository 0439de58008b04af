"""Tells many lines of one kind at once, column by column.

Most lines that become events are a whole record, and hold one signature: leaders that started, connections that were
closed. Taken one by one, going through a record and making a row of it costs more than finding and matching the line.
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
    from collections.abc import Collection, Iterator, Sequence

    import pyarrow as pa

    from leadsman.pipeline.events import Row
    from leadsman.pipeline.record import Listener

FEW = 20
"""Lines of one kind below which columns cost more than rows."""

MANY = 20_000
"""Lines that are put by at most: 3 MB or so, and a block's more."""


class Lines(NamedTuple):
    """Records with one signature: their times (ms since 1970), lines in the file, texts, writers and quotes."""

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
def by_themselves() -> frozenset[tuple[int, ...]]:
    """Return the signatures of which each line tells by itself: no group of errors, no setting that may be no news."""
    return frozenset(
        (index,)
        for index, (_, signature, _) in enumerate(every_signature())
        if signature.event not in {ERROR, SETTING} and not signature.once and signature.by_column
    )


class Alike:
    """Lines of one file, each a record with one signature, put by until they are told."""

    def __init__(self, file: str, listener: Listener) -> None:
        self._file = file
        self._listener = listener
        self._kept: dict[int, Lines] = {}
        self._count = 0

    @property
    def are_many(self) -> bool:
        """Whether it is time to tell them."""
        return self._count >= MANY

    def put(self, index: int, at: int, line: int, *, text: str, subject: str, quote: str) -> None:
        """Put a line by on which the signature `index` was found."""
        kept = self._kept.get(index)
        if kept is None:
            kept = self._kept[index] = Lines([], [], [], [], [])
        kept.at.append(at)
        kept.lines.append(line)
        kept.texts.append(text)
        kept.subjects.append(subject)
        kept.quotes.append(quote)
        self._count += 1

    def told(self) -> Iterator[Row | pa.RecordBatch]:
        """Yield the events of all that was put by."""
        for index, kept in self._kept.items():
            yield from self._told(index, kept)
        self._kept, self._count = {}, 0

    def _told(self, index: int, kept: Lines) -> Iterator[Row | pa.RecordBatch]:
        """Tell lines at once; singly those that may hold a secret, or that are not what the scanner took them for."""
        if len(kept.texts) < FEW:
            for place in range(len(kept.texts)):
                yield from self._singly(index, kept, place)
            return
        source, signature, pattern = every_signature()[index]
        matches = [pattern.search(text) for text in kept.texts]
        singly = {place for place, match in enumerate(matches) if match is None} | set(suspects(kept.texts))
        if kept.quotes != kept.texts:
            singly |= set(suspects(kept.quotes))
        if len(matches) - len(singly) < FEW:
            singly = set(range(len(matches)))
        for place in sorted(singly):
            yield from self._singly(index, kept, place)
        together = [match for place, match in enumerate(matches) if match is not None and place not in singly]
        if not together:
            return
        if singly:
            kept = kept.without(singly)
        self._listener.note(source, signature)
        labels, values = signature.read_all(together)
        yield from_columns(
            Columns(
                capture=self._listener.capture,
                source=source.name,
                name=signature.event,
                file=self._file,
                at=kept.at,
                subjects=kept.subjects if len(set(kept.subjects)) > 1 else kept.subjects[0],
                lines=np.array(kept.lines, np.int64),
                texts=kept.quotes,
                values=values,
                labels=labels,
            )
        )

    def _singly(self, index: int, kept: Lines, place: int) -> Sequence[Row]:
        text = kept.texts[place]
        head = Head(kept.at[place], text.split("\n", 1)[0], kept.subjects[place])
        hit = Hit(kept.lines[place], text, kept.quotes[place], 0, (index,))
        return self._listener.hear(head, [hit], self._file)
