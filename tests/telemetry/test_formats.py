"""Each folder of `samples` has one file and, in expected.json, what is read from it."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

SAMPLES = sorted(Path(__file__).with_name("samples").iterdir())
BY_RECORDS = [sample for sample in SAMPLES if json.loads((sample / "expected.json").read_text())["one_by_one"]]


def file_in(sample):
    return next(path for path in sample.iterdir() if path.name != "expected.json")


def iso_time(at):
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_format_is_read_as_expected(read, sample):
    expected = json.loads((sample / "expected.json").read_text())

    result = read(file_in(sample).read_bytes())

    assert expected == {
        "format": list(result.form.names),
        "zoned": result.form.zoned,
        "one_by_one": result.form.records is not None,
        "records": sum(record.record_start is None for record in result.records),
        "first": iso_time(result.times[0]) if result.times else None,
        "last": iso_time(result.times[-1]) if result.times else None,
        "subjects": result.subjects,
        "events": result.events,
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
    result = read(data)

    in_pieces = list(result.form.records(data[at : at + 7] for at in range(0, len(data), 7)))

    assert in_pieces == result.records


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_default_zone_moves_exactly_the_times_without_one(read, sample):
    data = file_in(sample).read_bytes()
    utc, tokyo = read(data), read(data, timezone(timedelta(hours=9)))

    moved = [left != right for left, right in zip(utc.times, tokyo.times, strict=True)]

    assert any(moved) == (bool(utc.times) and not utc.form.zoned)


def test_times_in_a_default_zone_follow_its_summer(read):
    from zoneinfo import ZoneInfo  # this test alone needs the database of zones

    data = b"2021-02-16 12:00:00,000 a\n2021-05-16 12:00:00,000 b\n"

    assert [iso_time(at) for at in read(data, ZoneInfo("Europe/Berlin")).times] == [
        "2021-02-16T11:00:00.000Z",
        "2021-05-16T10:00:00.000Z",
    ]
