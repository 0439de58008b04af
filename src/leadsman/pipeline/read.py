"""Reads one stream, file by file: lines, outputs of programs, or sections of either."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from leadsman.pipeline.blocks import Unreadable, blocks
from leadsman.pipeline.events import Row
from leadsman.pipeline.gaps import next_mark
from leadsman.pipeline.lines import FileReading
from leadsman.pipeline.outputs import OutputReading
from leadsman.pipeline.parts import PartsReading
from leadsman.pipeline.record import Listener, iso
from leadsman.pipeline.silences import activity_of
from leadsman.telemetry.format import NotText, no_time
from leadsman.telemetry.formats.file_names import time_in_name
from leadsman.telemetry.recognise import recognise
from leadsman.vocabulary import FILE_NOT_UNDERSTOOD, FILE_READ

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    import pyarrow as pa

    from leadsman.pipeline.activity import Subject
    from leadsman.pipeline.streams import File, Stream
    from leadsman.telemetry.format import Format

    AnyReading = FileReading | OutputReading | PartsReading


SPOILT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a reader stumbles with over a spoilt file. One among thousands ends its own reading, and nothing else."""


def read(stream: Stream, zone: tzinfo) -> Iterator[Row | pa.RecordBatch]:
    """Yield every event of the stream's files, what was read of each, and its subjects' activity.

    Where an output holds many facts, they come as batches of the event table.
    """
    listener = Listener(stream.capture)
    subjects: dict[str, Subject] = {}
    for file, form in _in_order(stream.files, zone):
        if isinstance(form, str):
            yield not_understood(stream.capture, file, form)
        elif form is not None:
            reading = _reading(file, form, zone, stream=stream, listener=listener, subjects=subjects)
            yield from _read_file(file, form, reading, stream=stream, listener=listener)
    yield from listener.unknown_errors()
    yield from activity_of(subjects.values(), capture=stream.capture, file=stream.files[0].name)


def _in_order(files: Iterable[File], zone: tzinfo) -> list[tuple[File, Format | str | None]]:
    """Return the files by their first times, each with its format, or with the reason why it has none."""
    sampled = [(file, *_sample(file, zone)) for file in files]
    sampled.sort(key=lambda sample: (sample[2] is None, sample[2] or 0, sample[0].name))
    return [(file, form) for file, form, _ in sampled]


def _sample(file: File, zone: tzinfo) -> tuple[Format | str | None, int | None]:
    try:
        with closing(blocks(file.path)) as opened:
            block = next(opened, None)
    except (Unreadable, OSError) as error:
        return f"cannot be read: {error}", None
    if block is None:
        return "empty", None
    try:
        form = recognise(block.data, zone=zone, latest=file.changed)  # with the beginning of a line longer than it
    except SPOILT as error:
        return f"its format was not recognised ({type(error).__name__}: {error})", None
    if isinstance(form, NotText):
        return form.why, None
    if form.time_at is no_time:
        return form, None
    mark = next_mark(block.data, 0, block.end, form.time_at)
    return form, None if mark is None else mark.at


def _read_file(
    file: File, form: Format, reading: AnyReading, *, stream: Stream, listener: Listener
) -> Iterator[Row | pa.RecordBatch]:
    opened = blocks(file.path)
    trouble: str | None = None
    with closing(opened):
        try:
            yield from reading.all(opened)
        except (Unreadable, OSError) as error:
            trouble = str(error)
        except SPOILT as error:
            trouble = f"is not what its beginning says ({type(error).__name__}: {error})"
    labels = {
        "bytes": str(reading.bytes),
        "format": ", ".join(dict.fromkeys((*form.names, *getattr(reading, "formats", ())))),
        "sources": ",".join(sorted(listener.sources)),
        **({"shows": ",".join(sorted(listener.shows))} if listener.shows else {}),
    }
    labels |= _timing(form, reading)
    yield Row(stream.capture, None, stream.name, None, FILE_READ, file.name, 0, None, float(reading.line), labels)
    if trouble:
        yield not_understood(stream.capture, file, trouble)


def _timing(form: Format, reading: AnyReading) -> dict[str, str]:
    """Return what is said of a file's times: whether there are any, whether they name a zone, whence they are."""
    named = reading.named if isinstance(reading, OutputReading) and reading.undated else None
    zoned = form.zoned if named is None else named.zoned
    labels = {"zoned": str(zoned).lower(), "timed": str(reading.timed).lower()}
    labels |= {"dated_by": "name"} if named else {}
    if reading.times.first is not None and reading.times.last is not None:
        labels |= {"first": iso(reading.times.first), "last": iso(reading.times.last)}
    return labels | ({} if getattr(reading, "in_order", True) else {"order": "none"})


def _reading(
    file: File, form: Format, zone: tzinfo, *, stream: Stream, listener: Listener, subjects: dict[str, Subject]
) -> AnyReading:
    if form.recognise_part is not None:
        return PartsReading(file, form.recognise_part, listener=listener, subjects=subjects)
    if form.output is not None:
        return OutputReading(file, form.output, listener=listener, named=time_in_name(file.name, zone))
    return FileReading(file.name, form, name=stream.name, listener=listener, subjects=subjects)


def not_understood(capture: str, file: File, why: str) -> Row:
    """Return the event of a file that is not read, or not to its end."""
    return Row(capture, None, None, None, FILE_NOT_UNDERSTOOD, file.name, 0, why, None, {"bytes": str(file.bytes)})
