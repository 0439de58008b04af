"""Recognises the format of a file by its first block. Names and extensions of files decide nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING

from leadsman.telemetry import formats
from leadsman.telemetry.discovery import declared_in
from leadsman.telemetry.file_format import FileSample
from leadsman.telemetry.format import NotText, RecognisedFormat
from leadsman.telemetry.record_batch import batch_reader
from leadsman.telemetry.timestamps.timestamp_format import TimeDefaults

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from leadsman.telemetry.file_format import FileFormat


@cache
def all_formats() -> tuple[FileFormat, ...]:
    """All formats declared as `FORMAT` below telemetry/formats/, in the order in which they are tried."""
    declared: list[FileFormat] = declared_in(formats, "FORMAT")
    return tuple(sorted(declared, key=lambda each: each.priority))


def recognise(head: bytes, *, zone: tzinfo, latest: datetime | None = None) -> RecognisedFormat | NotText:
    """Return how to read the file that begins with `head`, one decompressed block of it. Its last line may be cut.

    `zone` is the zone of times that name none. `latest` is a time before which the file was written (when it was
    last changed; now, if not given): it decides the year of times that carry none.
    """
    form = _first_match(head, all_formats(), zone=zone, latest=latest)
    if isinstance(form, RecognisedFormat) and form.records is not None and form.batches is None:
        return replace(form, batches=batch_reader(form.records))
    return form


def _recognise_section(head: bytes, *, zone: tzinfo, latest: datetime | None) -> RecognisedFormat | NotText:
    """Return how to read one section of a file."""
    candidates = (each for each in all_formats() if each.in_sections)
    return _first_match(head, candidates, zone=zone, latest=latest)


def _first_match(
    head: bytes, candidates: Iterable[FileFormat], *, zone: tzinfo, latest: datetime | None
) -> RecognisedFormat | NotText:
    sample = FileSample(
        head,
        TimeDefaults(zone, latest or datetime.now(UTC)),
        recognise=partial(recognise, zone=zone, latest=latest),
        recognise_section=partial(_recognise_section, zone=zone, latest=latest),
    )
    for candidate in candidates:
        if match := candidate.matches(sample):
            return candidate.reader(sample, match)
    raise AssertionError("plain_lines matches every file")
