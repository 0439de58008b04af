"""Reads a file as the pipeline does, but simply: every pattern on every line, with Python's regular expressions."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leadsman.telemetry.format import RecognisedFormat
from leadsman.telemetry.recognise import recognise
from leadsman.telemetry.record import Record
from leadsman.telemetry.source import all_signatures
from leadsman.vocabulary import ERROR, SETTING

LATEST = datetime(2021, 6, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ReadFile:
    form: RecognisedFormat
    records: list[Record]

    @property
    def times(self):
        return [record.at for record in self.records if record.at is not None]

    @property
    def subjects(self):
        return sorted({record.subject for record in self.records if record.subject})

    @property
    def events(self):
        starts = [index for index, record in enumerate(self.records) if record.record_start is None]
        names = [name for record in self.records for name in events_of(record)]
        return dict(sorted(Counter(names).items())) if starts or names else {}


def events_of(record):
    """Each event once a record; errors only where nothing else is known."""
    names = {}
    for _, signature, pattern in all_signatures():
        for match in pattern.finditer(record.text):
            event = signature.read(match, record.first_line)
            if event is not None:
                key = (signature.event, event[0]["key"]) if signature.event == SETTING else signature.event
                names[key] = signature.event
    known_errors = [name for name in names.values() if name != ERROR]
    return known_errors or list(names.values())


def lines_of(form, data):
    """The records of a file of plain lines: a line with a time starts one, a line without a time continues it."""
    start = None
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        text = line.decode("utf-8", "replace")
        at = form.time_at(line, 0, len(line))
        if at is not None or start is None:
            start = text
            yield Record(number, at, None, text, text)
        else:
            yield Record(number, None, None, text, text, start)


def read_bytes(data, zone=UTC):
    form = recognise(data[: 1 << 20], zone=zone, latest=LATEST)
    assert isinstance(form, RecognisedFormat), form
    records = form.records([data]) if form.records else lines_of(form, data)
    return ReadFile(form, list(records))


@pytest.fixture(scope="session")
def read():
    return read_bytes


@pytest.fixture(scope="session")
def samples():
    return Path(__file__).parent / "samples"
