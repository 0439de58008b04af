"""Reads the output of a program: its facts become columns of the event table, rows where they are few."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from leadsman.pipeline.events import ColumnarEvents, EventRow, from_columns
from leadsman.pipeline.idle_gaps.writers import TimeRange
from leadsman.pipeline.read.hidden_lines import HiddenLines
from leadsman.pipeline.read.records import MAX_TOKEN, QUOTE_LENGTH, EventExtractor
from leadsman.redaction import MASK, can_hold_secret, hidden_parts, mask_all, mask_where_found
from leadsman.telemetry.outputs.parser import OutputContext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from leadsman.pipeline.read.blocks import Block
    from leadsman.pipeline.scope.streams import File
    from leadsman.telemetry.outputs.parser import EventColumns
    from leadsman.telemetry.source import Source
    from leadsman.telemetry.timestamps.file_names import NameTime

MIN_BATCH = 40
"""Facts from which on columns cost less than rows."""

MAX_GATHERED = 20_000
"""Facts that are gathered before they become a batch: some 5 MB."""


class GatheredFacts:
    """Facts of several outputs of a stream, as columns: one by one, small outputs would be expensive."""

    def __init__(self) -> None:
        self._parts: list[ColumnarEvents] = []
        self._count = 0

    def add(self, part: ColumnarEvents) -> Iterator[pa.RecordBatch]:
        """Add the facts of one name, and yield what was gathered once it is much."""
        self._parts.append(part)
        self._count += len(part.lines)
        if self._count >= MAX_GATHERED:
            yield from self._batch()

    def rest(self) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield what was gathered since."""
        yield from self._batch() if self._count >= MIN_BATCH else self._rows()

    def _batch(self) -> Iterator[pa.RecordBatch]:
        parts, self._parts, self._count = self._parts, [], 0
        yield from_columns(*parts)

    def _rows(self) -> Iterator[EventRow]:
        parts, self._parts, self._count = self._parts, [], 0
        return chain.from_iterable(map(as_rows, parts))


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
        facts: GatheredFacts,
        line: int = 0,
        named: NameTime | None = None,
    ) -> None:
        self.bytes = 0
        self.line = line
        self.timed = False  # its lines are no log's, so silence in it says nothing of an application
        self.times = TimeRange()
        self.undated = False  # whether it has facts without times of their own
        self._above = line
        self._capture = extractor.capture
        self._source = source
        self._facts = facts
        self.named = named
        self._about = about or OutputContext(file=file.name, path=file.path, at=named.at if named else None)
        extractor.sources.add(source.name)

    def all(self, opened: Iterable[Block]) -> Iterator[pa.RecordBatch]:
        """Gather the events of the output, and yield those that were gathered where they are many."""
        assert self._source.parser is not None
        for facts in map(without_secrets, self._source.parser.read(self._counted(opened), self._about)):
            self.undated = self.undated or not facts.at
            self.times.note(*(facts.at or (self._about.at,)))
            if len(facts.lines):
                yield from self._facts.add(self._columns(facts))

    def _counted(self, opened: Iterable[Block]) -> Iterator[bytes]:
        assert self._source.parser is not None
        data = b"\n"
        hidden_lines = HiddenLines()
        for block in opened:
            data = block.data[: block.end]
            self.bytes += len(data)
            if self._source.parser.text:
                self.line += data.count(b"\n")
                data = hidden_lines.mask(data)
            yield data
        self.line += self._source.parser.text and not data.endswith(b"\n")

    def _columns(self, facts: EventColumns) -> ColumnarEvents:
        lines = np.asarray(facts.lines, np.int64)
        return ColumnarEvents(
            capture=self._capture,
            source=self._source.name,
            name=facts.name,
            file=self._about.file,
            at=facts.at or self._about.at,
            subjects=facts.subjects or self._about.subject,
            lines=lines + self._above if self._above else lines,
            texts=facts.texts,
            values=facts.values,
            labels=facts.labels,
        )


def as_rows(columns: ColumnarEvents) -> Iterator[EventRow]:
    """Yield the events one by one."""
    count = len(columns.lines)
    labels = {name: _each(column, count) for name, column in columns.labels.items()}
    rows = zip(
        _each(columns.at, count),
        _each(columns.subjects, count),
        _each(columns.file, count),
        columns.lines.tolist(),
        columns.texts,
        columns.values if len(columns.values) else repeat(None, count),
        *labels.values(),
        strict=True,
    )
    for at, subject, file, line, text, value, *texts in rows:
        own = {name: label for name, label in zip(labels, texts, strict=True) if label is not None}
        number = None if value is None else float(value)
        yield EventRow(columns.capture, at, subject, columns.source, columns.name, file, line, text, number, own)


def _each(column: Any, count: int) -> Sequence[Any]:  # noqa: ANN401 - of texts or times
    return [column] * count if column is None or isinstance(column, str | int) else column


def without_secrets(facts: EventColumns) -> EventColumns:
    """Return the facts with their secrets masked and their texts cut to quotes: a line of megabytes can hold all facts.

    A label that is a secret by its key on the line is masked as well.
    """
    if max(map(len, facts.texts), default=0) > QUOTE_LENGTH:
        facts = replace(facts, texts=[text[: QUOTE_LENGTH + MAX_TOKEN] for text in facts.texts])
    elif not can_hold_secret("\n".join(chain(facts.texts, _label_texts(facts)))):
        return facts
    texts = facts.texts
    distinct = list(dict.fromkeys(texts))
    masked = {distinct[index]: text for index, text in mask_where_found(distinct).items()}
    every = {name: [each] * len(texts) if isinstance(each, str) else each for name, each in facts.labels.items()}
    labels = {name: _masked_labels(column) for name, column in every.items()}
    for index, text in enumerate(texts) if masked else ():
        if text in masked:
            _mask_labels_of(labels, index, hidden_parts(text))
    return replace(facts, texts=[masked.get(text, text)[:QUOTE_LENGTH] for text in texts], labels=labels)


def _label_texts(facts: EventColumns) -> Iterator[str]:
    """Return the texts of all labels."""
    columns = ((column,) if isinstance(column, str) else filter(None, column) for column in facts.labels.values())
    return chain.from_iterable(columns)


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
