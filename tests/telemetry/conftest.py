"""Reads a file as the pipeline does, but simply: every line, every pattern, Python's own regular expressions."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leadsman.telemetry.format import Format, Record
from leadsman.telemetry.recognise import recognise
from leadsman.telemetry.source import every_signature
from leadsman.vocabulary import ERROR, SETTING

LATEST = datetime(2021, 6, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Reading:
    form: Format
    records: list[Record]

    @property
    def times(self):
        return [record.at for record in self.records if record.at is not None]

    @property
    def subjects(self):
        return sorted({record.subject for record in self.records if record.subject})

    @property
    def events(self):
        heads = [index for index, record in enumerate(self.records) if record.head is None]
        known = [name for record in self.records for name in events_of(record)]
        return dict(sorted(Counter(known).items())) if heads or known else {}


def events_of(record):
    """Each event once a record; errors only where nothing else is known."""
    names = {}
    for _, signature, pattern in every_signature():
        for match in pattern.finditer(record.text):
            read = signature.read(match, record.first_line)
            if read is not None:
                key = (signature.event, read[0]["key"]) if signature.event == SETTING else signature.event
                names[key] = signature.event
    known = [name for name in names.values() if name != ERROR]
    return known or list(names.values())


def lines_of(form, data):
    """What the fast way sees: records from lines with a time, continued by those without."""
    head = None
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        text = line.decode("utf-8", "replace")
        at = form.time_at(line, 0, len(line))
        if at is not None or head is None:
            head = text
            yield Record(number, at, None, text, text)
        else:
            yield Record(number, None, None, text, text, head)


def read_bytes(data, zone=UTC):
    form = recognise(data[: 1 << 20], zone=zone, latest=LATEST)
    assert isinstance(form, Format), form
    records = form.records([data]) if form.records else lines_of(form, data)
    return Reading(form, list(records))


@pytest.fixture(scope="session")
def read():
    return read_bytes


@pytest.fixture(scope="session")
def samples():
    return Path(__file__).parent / "samples"
