"""Each folder of `samples` holds one file and, in expected.json, what is to be read out of it."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

SAMPLES = sorted(Path(__file__).with_name("samples").iterdir())
BY_RECORDS = [sample for sample in SAMPLES if json.loads((sample / "expected.json").read_text())["one_by_one"]]


def file_in(sample):
    return next(path for path in sample.iterdir() if path.name != "expected.json")


def written(at):
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_format_is_read_as_expected(read, sample):
    expected = json.loads((sample / "expected.json").read_text())

    reading = read(file_in(sample).read_bytes())

    assert expected == {
        "format": list(reading.form.names),
        "zoned": reading.form.zoned,
        "one_by_one": reading.form.records is not None,
        "records": sum(record.head is None for record in reading.records),
        "first": written(reading.times[0]) if reading.times else None,
        "last": written(reading.times[-1]) if reading.times else None,
        "subjects": reading.subjects,
        "events": reading.events,
    }


def text_lines(data):
    coding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return data.decode(coding, "replace").split("\n")


@pytest.mark.parametrize("sample", BY_RECORDS, ids=lambda sample: sample.name)
def test_a_quote_stands_on_its_line_of_the_file(read, sample):
    data = file_in(sample).read_bytes()

    records = read(data).records

    assert [record for record in records if record.quote not in text_lines(data)[record.line - 1]] == []


@pytest.mark.parametrize("sample", BY_RECORDS, ids=lambda sample: sample.name)
def test_records_do_not_depend_on_where_blocks_end(read, sample):
    data = file_in(sample).read_bytes()
    reading = read(data)

    in_pieces = list(reading.form.records(data[at : at + 7] for at in range(0, len(data), 7)))

    assert in_pieces == reading.records


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_default_zone_moves_exactly_the_times_without_one(read, sample):
    data = file_in(sample).read_bytes()
    here, elsewhere = read(data), read(data, timezone(timedelta(hours=9)))

    moved = [left != right for left, right in zip(here.times, elsewhere.times, strict=True)]

    assert any(moved) == (bool(here.times) and not here.form.zoned)


def test_times_in_a_default_zone_follow_its_summer(read):
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - this test alone needs the database of zones

    data = b"2021-02-16 12:00:00,000 a\n2021-05-16 12:00:00,000 b\n"

    assert [written(at) for at in read(data, ZoneInfo("Europe/Berlin")).times] == [
        "2021-02-16T11:00:00.000Z",
        "2021-05-16T10:00:00.000Z",
    ]
