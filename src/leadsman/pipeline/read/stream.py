"""Reads one stream, file by file: lines, outputs of programs, or sections of either."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from leadsman.pipeline.events import EventRow
from leadsman.pipeline.idle_gaps.bisection import next_timed_line
from leadsman.pipeline.idle_gaps.event_rows import activity_of
from leadsman.pipeline.read.blocks import DecompressionError, blocks
from leadsman.pipeline.read.log_lines import FileReading
from leadsman.pipeline.read.program_outputs import GatheredFacts, OutputReading
from leadsman.pipeline.read.records import EventExtractor, iso
from leadsman.pipeline.read.sections import SectionedReading
from leadsman.telemetry.format import NotText, no_time
from leadsman.telemetry.recognise import recognise
from leadsman.telemetry.timestamps.file_names import time_in_name
from leadsman.vocabulary import FILE_NOT_UNDERSTOOD, FILE_READ

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from datetime import tzinfo

    import pyarrow as pa

    from leadsman.pipeline.idle_gaps.writers import SubjectActivity
    from leadsman.pipeline.read.blocks import Block
    from leadsman.pipeline.read.split_reading import FileSummary
    from leadsman.pipeline.scope.streams import File, Stream
    from leadsman.telemetry.format import RecognisedFormat

    AnyReading = FileReading | OutputReading | SectionedReading


def read(stream: Stream, zone: tzinfo) -> Iterator[EventRow | pa.RecordBatch]:
    """Yield every event of the stream's files, what was read of each, and its subjects' activity.

    Where an output holds many facts, they come as batches of the event table.
    """
    extractor = EventExtractor(stream.capture)
    subjects: dict[str, SubjectActivity] = {}
    facts = GatheredFacts()
    for file, form, opened in _opened_in_order(stream.files, zone):
        if isinstance(form, str):
            yield not_understood_event(stream.capture, file, form)
        elif form is not None:
            reading = _reading(file, form, zone, stream=stream, extractor=extractor, subjects=subjects, facts=facts)
            problem = yield from read_to_end(reading, opened)
            yield file_read_event(file, form, reading, stream=stream, extractor=extractor)
            if problem:
                yield not_understood_event(stream.capture, file, problem)
    yield from facts.rest()
    yield from extractor.unknown_errors()
    yield from activity_of(subjects.values(), capture=stream.capture, file=stream.files[0].name)


def _opened_in_order(
    files: Sequence[File], zone: tzinfo
) -> Iterator[tuple[File, RecognisedFormat | str | None, Generator[Block]]]:
    """Yield the files by their first times, each with its format, or with the reason why it has none, and its blocks.

    A file that is alone is opened once: the block by which it was recognised is the first that is read.
    """
    if len(files) > 1:
        for file, form in in_order(files, zone):
            yield file, form, blocks(file.path)
        return
    for file in files:
        with closing(blocks(file.path)) as opened:
            block, form, _ = _sample(file, opened, zone)
            yield file, form, _resumed(block, opened)


def _resumed(first: Block | None, opened: Generator[Block]) -> Generator[Block]:
    """Yield a file's blocks, the first of which was taken already."""
    if first is not None:
        yield first
        yield from opened


def in_order(files: Iterable[File], zone: tzinfo) -> list[tuple[File, RecognisedFormat | str | None]]:
    """Return the files by their first times, each with its format, or with the reason why it has none."""
    sampled = [(file, *sample(file, zone)) for file in files]
    sampled.sort(key=lambda sample: (sample[2] is None, sample[2] or 0, sample[0].name))
    return [(file, form) for file, form, _ in sampled]


def sample(file: File, zone: tzinfo) -> tuple[RecognisedFormat | str | None, int | None]:
    """Return a file's format, or why it has none, and its first time (ms since 1970)."""
    with closing(blocks(file.path)) as opened:
        _, form, at = _sample(file, opened, zone)
    return form, at


def _sample(
    file: File, opened: Generator[Block], zone: tzinfo
) -> tuple[Block | None, RecognisedFormat | str | None, int | None]:
    """Return a file's first block, its format, or why it has none, and its first time (ms since 1970)."""
    try:
        block = next(opened, None)
    except (DecompressionError, OSError) as error:
        return None, f"cannot be read: {error}", None
    if block is None:
        return None, "empty", None
    try:
        form = recognise(block.data, zone=zone, latest=file.changed)  # with the beginning of a line longer than it
    except Exception as error:  # noqa: BLE001 - whatever a corrupt file raises ends the reading of this file only
        return block, f"its format was not recognised ({type(error).__name__}: {error})", None
    if isinstance(form, NotText):
        return block, form.why, None
    if form.time_at is no_time:
        return block, form, None
    mark = next_timed_line(block.data, 0, block.end, form.time_at)
    return block, form, None if mark is None else mark.at


def read_to_end(
    reading: AnyReading, opened: Generator[Block]
) -> Generator[EventRow | pa.RecordBatch, None, str | None]:
    """Yield a file's events, and return why it is not read to its end, if it is not."""
    with closing(opened):
        try:
            yield from reading.all(opened)
        except (DecompressionError, OSError) as error:
            return str(error)
        except RecursionError:
            return "is nested too deeply"
        except Exception as error:  # noqa: BLE001 - whatever a corrupt file raises ends the reading of this file only
            return f"is not what its beginning says ({type(error).__name__}: {error})"
    return None


def file_read_event(
    file: File, form: RecognisedFormat, reading: AnyReading | FileSummary, *, stream: Stream, extractor: EventExtractor
) -> EventRow:
    """Return the event of a file that was read."""
    labels = {
        "bytes": str(reading.bytes),
        "format": ", ".join(dict.fromkeys((*form.names, *getattr(reading, "formats", ())))),
        "sources": ",".join(sorted(extractor.sources)),
        **({"shows": ",".join(sorted(extractor.shows))} if extractor.shows else {}),
    }
    labels |= _timing(form, reading)
    return EventRow(stream.capture, None, stream.name, None, FILE_READ, file.name, 0, None, float(reading.line), labels)


def _timing(form: RecognisedFormat, reading: AnyReading | FileSummary) -> dict[str, str]:
    """Return what is said of a file's times: whether there are any, whether they name a zone, whence they are."""
    named = reading.named if isinstance(reading, OutputReading) and reading.undated else None
    zoned = form.zoned if named is None else named.zoned
    labels = {"zoned": str(zoned).lower(), "timed": str(reading.timed).lower()}
    labels |= {"dated_by": "name"} if named else {}
    if reading.times.first is not None and reading.times.last is not None:
        labels |= {"first": iso(reading.times.first), "last": iso(reading.times.last)}
    return labels | ({} if getattr(reading, "in_order", True) else {"order": "none"})


def _reading(
    file: File,
    form: RecognisedFormat,
    zone: tzinfo,
    *,
    stream: Stream,
    extractor: EventExtractor,
    subjects: dict[str, SubjectActivity],
    facts: GatheredFacts,
) -> AnyReading:
    if form.recognise_section is not None:
        return SectionedReading(file, form.recognise_section, extractor=extractor, subjects=subjects, facts=facts)
    if form.output_source is not None:
        named = time_in_name(file.name, zone)
        return OutputReading(file, form.output_source, extractor=extractor, facts=facts, named=named)
    return FileReading(file.name, form, name=stream.name, extractor=extractor, subjects=subjects)


def not_understood_event(capture: str, file: File, why: str) -> EventRow:
    """Return the event of a file that is not read, or not to its end."""
    return EventRow(capture, None, None, None, FILE_NOT_UNDERSTOOD, file.name, 0, why, None, {"bytes": str(file.bytes)})
