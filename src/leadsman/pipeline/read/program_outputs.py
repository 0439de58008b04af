"""Reads the output of a program: its facts become rows of the event table, one by one where few, else as columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from leadsman.pipeline.events import ColumnarEvents, EventRow, from_columns
from leadsman.pipeline.idle_gaps.writers import Times
from leadsman.pipeline.read.records import MAX_TOKEN, QUOTE_LENGTH, EventExtractor
from leadsman.redaction import MASK, hidden_parts, mask_all, mask_where_found
from leadsman.telemetry.outputs.parser import OutputContext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from leadsman.pipeline.read.blocks import Block
    from leadsman.pipeline.scope.streams import File
    from leadsman.telemetry.outputs.parser import EventColumns
    from leadsman.telemetry.source import Source
    from leadsman.telemetry.timestamps.file_names import NameTime

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
        extractor: EventExtractor,
        about: OutputContext | None = None,
        line: int = 0,
        named: NameTime | None = None,
    ) -> None:
        self.bytes = 0
        self.line = line
        self.timed = False  # its lines are no log's, so silence in it says nothing of an application
        self.times = Times()
        self.undated = False  # whether it has facts without times of their own
        self._above = line
        self._capture = extractor.capture
        self._source = source
        self.named = named
        self._about = about or OutputContext(file=file.name, path=file.path, at=named.at if named else None)
        extractor.sources.add(source.name)

    def all(self, opened: Iterable[Block]) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the events of the output."""
        assert self._source.parser is not None
        for facts in map(without_secrets, self._source.parser.read(self._counted(opened), self._about)):
            self.undated = self.undated or not facts.at
            self.times.note(*(facts.at or (self._about.at,)))
            if len(facts.lines) < BULK:
                yield from self._rows(facts)
            else:
                yield self._batch(facts)

    def _counted(self, opened: Iterable[Block]) -> Iterator[bytes]:
        assert self._source.parser is not None
        data = b"\n"
        for block in opened:
            data = block.data[: block.end]
            self.bytes += len(data)
            if self._source.parser.text:
                self.line += data.count(b"\n")
            yield data
        self.line += self._source.parser.text and not data.endswith(b"\n")

    def _rows(self, facts: EventColumns) -> Iterator[EventRow]:
        about = self._about
        for index, line in enumerate(facts.lines):
            yield EventRow(
                capture=self._capture,
                at=facts.at[index] if facts.at else about.at,
                subject=facts.subjects[index] if facts.subjects else about.subject,
                source=self._source.name,
                name=facts.name,
                file=about.file,
                line=int(line) + self._above,
                text=facts.texts[index],
                value=facts.values[index] if facts.values else None,
                labels={key: text for key, column in facts.labels.items() if (text := column[index]) is not None},
            )

    def _batch(self, facts: EventColumns) -> pa.RecordBatch:
        count = len(facts.lines)
        return from_columns(
            ColumnarEvents(
                capture=self._capture,
                source=self._source.name,
                name=facts.name,
                file=self._about.file,
                at=facts.at or [self._about.at] * count,
                subjects=facts.subjects or [self._about.subject] * count,
                lines=np.asarray(facts.lines, np.int64) + self._above,
                texts=facts.texts,
                values=facts.values or [None] * count,
                labels=facts.labels,
            )
        )


def without_secrets(facts: EventColumns) -> EventColumns:
    """Return the facts with their secrets masked and their texts cut to quotes: a line of megabytes can hold all facts.

    A label that is a secret by its key on the line is masked as well.
    """
    texts = [text if len(text) <= QUOTE_LENGTH else text[: QUOTE_LENGTH + MAX_TOKEN] for text in facts.texts]
    distinct = list(dict.fromkeys(texts))
    masked = {distinct[index]: text for index, text in mask_where_found(distinct).items()}
    labels = {name: _masked_labels(column) for name, column in facts.labels.items()}
    for index, text in enumerate(texts) if masked else ():
        if text in masked:
            _mask_labels_of(labels, index, hidden_parts(text))
    return replace(facts, texts=[masked.get(text, text)[:QUOTE_LENGTH] for text in texts], labels=labels)


def _mask_labels_of(labels: dict[str, Sequence[str | None]], index: int, secrets: Iterable[str]) -> None:
    """Mask the secrets of a line in its labels."""
    for secret in secrets:
        for name, column in labels.items():
            if secret in (column[index] or ""):
                labels[name] = [*column[:index], (column[index] or "").replace(secret, MASK), *column[index + 1 :]]


def _masked_labels(column: Sequence[str | None]) -> Sequence[str | None]:
    """Return a label's values with their secrets masked; the same object where none holds one."""
    distinct = [text for text in dict.fromkeys(column) if text]
    masked = dict(zip(distinct, mask_all(distinct), strict=True))
    if all(text == after for text, after in masked.items()):
        return column
    return [masked.get(text, text) if text else text for text in column]
