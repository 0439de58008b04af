"""Reads metrics that are no growing log: each output is a whole document of a program, and its events are facts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from leadsman.pipeline.events import batches
from leadsman.pipeline.read.blocks import Block
from leadsman.pipeline.read.program_outputs import GatheredFacts, OutputReading
from leadsman.pipeline.read.records import EventExtractor
from leadsman.pipeline.read.stream import file_read_event, not_understood_event, read_to_end
from leadsman.pipeline.scope.streams import File, Stream
from leadsman.telemetry.format import NotText
from leadsman.telemetry.outputs.parser import OutputContext
from leadsman.telemetry.recognise import recognise
from leadsman.watch.stream_changes import FACTS, SUMMARY, ChangedEvents

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from datetime import tzinfo

    import pyarrow as pa


class OutputEntry(NamedTuple):
    """One output, as the text or the JSON that its reader understands: its subject, and when it was collected (ms)."""

    writer: str
    at: int
    text: bytes


def packed_outputs(
    changed: ChangedEvents, name: str, outputs: Sequence[OutputEntry], zone: tzinfo
) -> Iterator[pa.RecordBatch]:
    """Yield the packed events of outputs of one writer. An output that no reader recognises has none."""
    extractor = EventExtractor(changed.capture)
    stream = Stream(changed.capture, name, ())
    gathered = GatheredFacts()
    facts: list[pa.RecordBatch] = []
    summary: list[pa.RecordBatch] = []
    for each in outputs:
        file = File("", changed.stream, len(each.text), moment(each.at))
        try:
            form = recognise(each.text, zone=zone, latest=file.changed)
        except Exception as error:  # noqa: BLE001 - whatever a corrupt output raises is that output's error
            why = f"its format was not recognised ({type(error).__name__}: {error})"
            facts += batches([not_understood_event(changed.capture, file, why)])
            continue
        if isinstance(form, NotText) or form.output_source is None:
            continue
        about = OutputContext(file=file.name, at=each.at, subject=each.writer)
        reading = OutputReading(file, form.output_source, extractor=extractor, about=about, facts=gathered)
        facts += batches(read_to_end(reading, _one_block(each.text)))
        summary = list(batches([file_read_event(file, form, reading, stream=stream, extractor=extractor)]))
    facts += batches(gathered.rest())
    yield from changed.packed(FACTS, facts)
    yield from changed.packed(SUMMARY, summary)


def moment(at_ms: int) -> datetime:
    """Return milliseconds since 1970 as a time."""
    return datetime.fromtimestamp(max(0, at_ms) / 1000, UTC)


def _one_block(text: bytes) -> Generator[Block]:
    yield Block(text, len(text))
