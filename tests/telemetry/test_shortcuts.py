"""What is looked at first, because it costs less, rules out nothing that the full look would find."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman.telemetry.json_records.line_reader import decode_string, decode_string_at
from leadsman.telemetry.outputs.parser import HeadLinePattern, any_head_line
from leadsman.telemetry.source import all_sources
from leadsman.telemetry.timestamps import json_times
from leadsman.telemetry.timestamps.line_timestamps import AS_ZERO, UNUSED_ZONE, all_timestamp_formats
from leadsman.telemetry.timestamps.timestamp_format import BEGINNING_BYTES, TimeDefaults, TimestampContext

HERE = Path(__file__).parent
DEFAULTS = TimeDefaults(UTC, datetime(2026, 11, 23, tzinfo=UTC))
SAMPLES = [
    pytest.param(path.read_bytes(), id=path.relative_to(HERE).as_posix())
    for folder in ("samples", "outputs", "host", "cloud")
    for path in sorted((HERE / folder).rglob("*"))
    if path.is_file()
]
HEAD_LINE_PATTERNS = [
    source.parser.matches
    for source in all_sources()
    if source.parser is not None and isinstance(source.parser.matches, HeadLinePattern)
]


@pytest.mark.parametrize("data", SAMPLES)
def test_a_format_reads_no_time_on_a_line_whose_beginning_it_rules_out(data: bytes) -> None:
    lines = data.split(b"\n")[:400]
    context = TimestampContext(DEFAULTS, lines, data, json_times.time_keys(lines, data))

    parsers = [(each, each.parser(context)) for each in all_timestamp_formats()]

    assert [
        (each.name, line)
        for each, parse in parsers
        for line in lines
        if parse is not None
        and line[:1]
        and line[0] in each.first_bytes
        and parse(line, 0, len(line)) is not None
        and not each.begins.match(line[:BEGINNING_BYTES].translate(AS_ZERO))
    ] == []


@pytest.mark.parametrize("data", SAMPLES)
def test_one_pattern_finds_the_outputs_that_announce_themselves_on_a_line(data: bytes) -> None:
    found = any_head_line(HEAD_LINE_PATTERNS)(data)

    assert found or not any(matches(data) for matches in HEAD_LINE_PATTERNS)


@given(st.text(), st.booleans())
def test_a_string_is_decoded_where_it_stands_as_it_is_by_itself(text: str, ascii_only: bool) -> None:  # noqa: FBT001 - drawn
    raw = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    line = f'{{"message": "{raw}", "level": "INFO"}}'

    decoded = decode_string_at(line, len('{"message": "'), len('{"message": "') + len(raw))

    assert decoded == decode_string(raw) == text


TIMES = (
    "2026-11-23T08:00:00.123Z",
    "2026-11-23 08:00:00,123+01:00",
    "2026-11-23T08:00:00.123",
    "2026-11-23T08:00:00.1234567Z",
    "2026-13-23T08:00:00Z",
    "1763885000123",
    "",
)


@given(st.lists(st.tuples(st.sampled_from(TIMES), st.sampled_from(TIMES)), min_size=1, max_size=6))
def test_json_lines_whose_times_all_name_their_zone_have_the_same_times_in_any_zone(
    times: list[tuple[str, str]],
) -> None:
    lines = [json.dumps({"time": time, "ts": ts, "log": "a"}).encode() for time, ts in times]
    keys = json_times.time_keys(lines, b"\n".join(lines))

    if json_times.have_zoned_times(lines, keys):
        parsers = [json_times.json_timestamp(keys, zone) for zone in (UTC, UNUSED_ZONE)]
        in_utc, in_other_zone = ([parse(line, 0, len(line)) for line in lines] for parse in parsers)
        assert in_utc == in_other_zone


def test_times_of_json_lines_name_their_zone_or_do_not() -> None:
    keys = (b'"time": "',)
    zoned, unzoned = (json.dumps({"time": time}).encode() for time in (TIMES[0], TIMES[2]))

    assert json_times.have_zoned_times([zoned, zoned], keys)
    assert not json_times.have_zoned_times([zoned, unzoned], keys)
