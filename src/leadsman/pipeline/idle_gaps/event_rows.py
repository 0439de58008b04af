"""The activity of a stream's subjects as events: when each wrote, and its longest idle gaps, these column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leadsman.pipeline.events import ColumnarEvents, EventRow, from_columns
from leadsman.pipeline.read.records import iso
from leadsman.redaction import mask, mask_all
from leadsman.vocabulary import SUBJECT_ACTIVE, SUBJECT_IDLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from leadsman.pipeline.idle_gaps.bisection import Gap
    from leadsman.pipeline.idle_gaps.writers import SubjectActivity

FEW = 100
"""Silences of a stream below which columns cost more than rows, which are put together with those of other streams."""

MANY = 10_000
"""Silences that are handed out together: 5 MB or so."""


def activity_of(subjects: Iterable[SubjectActivity], *, capture: str, file: str) -> Iterator[EventRow | pa.RecordBatch]:
    """Yield for each subject that wrote at known times an event of all its activity, and one for each idle gap."""
    names: list[str] = []
    kept: list[Gap] = []
    for subject in subjects:
        if subject.first is None or subject.until is None:
            continue
        gaps = subject.idle_gaps()
        labels = {"until": iso(subject.until), "floor_seconds": str(subject.floor_ms / 1000)}
        lines = float(subject.lines)
        yield EventRow(capture, subject.first, subject.name, None, SUBJECT_ACTIVE, file, 0, None, lines, labels)
        names += [subject.name] * len(gaps)
        kept += gaps
        if len(kept) >= MANY:
            yield _idle_rows(capture, names, kept)
            names, kept = [], []
    if len(kept) >= FEW:
        yield _idle_rows(capture, names, kept)
    else:
        yield from (_row(capture, name, gap) for name, gap in zip(names, kept, strict=True))


def _row(capture: str, name: str, gap: Gap) -> EventRow:
    """Return the same event as `_idle_rows` does. Secrets are masked where rows become a batch."""
    labels = {
        "since": iso(gap.at - round(gap.seconds * 1000)),
        "before_line": str(gap.before_line),
        "before_text": gap.before_text,
        "before_file": gap.before_file,
    }
    return EventRow(capture, gap.at, name, None, SUBJECT_IDLE, gap.file, gap.line, gap.text, gap.seconds, labels)


def _idle_rows(capture: str, names: list[str], gaps: list[Gap]) -> pa.RecordBatch:
    seconds, at, lines, texts, files, before_lines, before_texts, before_files = zip(*gaps, strict=True)
    lengths_ms = np.rint(np.array(seconds) * 1000).astype(np.int64)
    since = np.datetime_as_string((np.array(at, np.int64) - lengths_ms).astype("datetime64[ms]")).tolist()
    masked = {name: mask(name) for name in set(before_files)}
    labels = {
        "since": [f"{moment}+00:00" for moment in since],
        "before_line": list(map(str, before_lines)),
        "before_text": mask_all(before_texts),
        "before_file": [masked[name] for name in before_files],
    }
    columns = ColumnarEvents(
        capture=capture,
        source=None,
        name=SUBJECT_IDLE,
        file=files,
        at=at,
        subjects=names,
        lines=np.array(lines, np.int64),
        texts=mask_all(texts),
        values=seconds,
        labels=labels,
    )
    return from_columns(columns)
