"""Reads the output of a program: its facts become rows of the event table, one by one where few, else as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leadsman.pipeline.activity import Times
from leadsman.pipeline.events import Columns, Row, from_columns
from leadsman.pipeline.record import QUOTE_LENGTH, Listener, quote
from leadsman.redaction import mask
from leadsman.telemetry.reading import About

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from leadsman.pipeline.blocks import Block
    from leadsman.pipeline.streams import File
    from leadsman.telemetry.formats.file_names import NameTime
    from leadsman.telemetry.reading import Facts
    from leadsman.telemetry.source import Source

BULK = 1000
"""Facts of one name from which on a batch of their own costs less than rows that are gathered into one."""


class OutputReading:
    """The reading of one output: how much of it there was. `line` lines of the file lie above it.

    `named` is the time in the file's name. It is that of facts for which the output has none.
    """

    def __init__(
        self,
        file: File,
        source: Source,
        *,
        listener: Listener,
        about: About | None = None,
        line: int = 0,
        named: NameTime | None = None,
    ) -> None:
        self.bytes = 0
        self.line = line
        self.timed = False  # its lines are no log's, so silence in it says nothing of an application
        self.times = Times()
        self.undated = False  # whether it has facts without times of their own
        self._above = line
        self._capture = listener.capture
        self._source = source
        self.named = named
        self._about = about or About(file=file.name, path=file.path, at=named.at if named else None)
        listener.sources.add(source.name)

    def all(self, opened: Iterable[Block]) -> Iterator[Row | pa.RecordBatch]:
        """Yield the events of the output."""
        assert self._source.reading is not None
        for facts in self._source.reading.read(self._counted(opened), self._about):
            self.undated = self.undated or not facts.at
            self.times.note(*(facts.at or (self._about.at,)))
            if len(facts.lines) < BULK:
                yield from self._rows(facts)
            else:
                yield self._batch(facts)

    def _counted(self, opened: Iterable[Block]) -> Iterator[bytes]:
        assert self._source.reading is not None
        data = b"\n"
        for block in opened:
            data = block.data[: block.end]
            self.bytes += len(data)
            if self._source.reading.text:
                self.line += data.count(b"\n")
            yield data
        self.line += self._source.reading.text and not data.endswith(b"\n")

    def _rows(self, facts: Facts) -> Iterator[Row]:
        about = self._about
        for index, line in enumerate(facts.lines):
            yield Row(
                capture=self._capture,
                at=facts.at[index] if facts.at else about.at,
                subject=facts.subjects[index] if facts.subjects else about.subject,
                source=self._source.name,
                name=facts.name,
                file=about.file,
                line=int(line) + self._above,
                text=quote(facts.texts[index]),
                value=facts.values[index] if facts.values else None,
                labels={key: text for key, column in facts.labels.items() if (text := column[index]) is not None},
            )

    def _batch(self, facts: Facts) -> pa.RecordBatch:
        count = len(facts.lines)
        texts = mask("\n".join(text[:QUOTE_LENGTH] for text in facts.texts)).split("\n")
        return from_columns(
            Columns(
                capture=self._capture,
                source=self._source.name,
                name=facts.name,
                file=self._about.file,
                at=facts.at or [self._about.at] * count,
                subjects=facts.subjects or [self._about.subject] * count,
                lines=np.asarray(facts.lines, np.int64) + self._above,
                texts=texts,
                values=facts.values or [None] * count,
                labels=facts.labels,
            )
        )
