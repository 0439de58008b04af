"""Rows of CloudWatch Insights read in columns give the records that are read one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.telemetry.document_readers import (
    EXAMPLES,
    LAYOUTS,
    LINES,
    assert_all_same,
    assert_same,
    damaged,
    read_singly,
    texts,
)


def row(message: str, at: str = "2026-11-17 01:31:40.535", **fields: str) -> list[dict[str, str]]:
    """Return a row of CloudWatch Insights. Fields are named without the sign before them."""
    named = {"timestamp": at, "message": message, "logStream": "2026/11/17/[$LATEST]c3ac", "ptr": "Cmk0123"} | fields
    return [{"field": f"@{name}", "value": value} for name, value in named.items()]


ODD_ROWS: tuple[Any, ...] = (
    [], {}, "text", [5], None, {"timestamp": 1794875737795, "message": "an event"},
    row("another time", "2026-11-17 01:31:40"), row("no such day", "2026-02-30 01:31:40.535"),
    row("a zone", "2026-11-17T01:31:40.535Z"), row("no time", ""), row("digits", "2026-11-17 01:31:4x.535"),
    row("a level", level="x"), row("an escape elsewhere", ptr="a\\tb"), row("no writer", logStream=""),
    [*row("a level of its own"), {"field": "level", "value": "error"}], row("a writer in escapes", logStream="\u00e9"),
    row("reversed")[::-1], row("fewer")[:2], [*row("a message twice", ptr="x"), {"field": "@message", "value": "b"}],
    [{"value": cell["value"], "field": cell["field"]} for cell in row("turned")],
    [{"field": "@timestamp", "value": "2026-11-17 01:31:40.535"}, {"field": "@message", "value": None}],
    [{**cell, "more": ""} for cell in row("more members")],
    [{"field": "@timestamp", "value": 1794875737795}, {"field": "@message", "value": "a number"}],
)  # fmt: skip
ROW_LINES = (
    *LINES,
    "Cmk0123",
    "2026-11-17 01:31:40.535",
    "2026/11/17/[$LATEST]c3ac",
    "@timestamp",
    "field",
    ', "value": ',
)


@st.composite
def insights(draw: st.DrawFn) -> bytes:
    """Return an answer of CloudWatch Insights, as it is, with odd rows, damaged, or cut off."""
    kept = draw(st.sampled_from((4, 4, 3, 2)))
    streams = ("2026/11/17/[$LATEST]c3ac", "2026/11/17/[$LATEST]ffff", "\u00e9")
    found: list[Any] = []
    for _ in range(draw(st.integers(1, 20))):
        at = f"2026-11-{draw(st.integers(16, 18))} 01:{draw(st.integers(0, 59)):02d}:40.535"
        message = draw(st.one_of(st.sampled_from(ROW_LINES), texts)) + draw(st.sampled_from(("", "\n", "\n\n")))
        found.append(row(message, at, logStream=draw(st.sampled_from(streams)))[:kept])
    for place, odd in draw(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(ODD_ROWS)), max_size=2)):
        found.insert(place, odd)
    head = draw(st.sampled_from(({}, {"logStream": "of the document"})))
    text = json.dumps({**head, "results": found, "status": "Complete"}, **draw(st.sampled_from(LAYOUTS)))
    return draw(damaged(text))


@settings(max_examples=EXAMPLES)
@given(
    data=insights(),
    block_bytes=st.sampled_from((40, 300, 1000, 1 << 20)),
    window=st.sampled_from((100, 1000, 1 << 25)),
    blocks=st.sampled_from((None, None, 1, 2, 5)),
)
def test_rows_of_insights_are_read_in_columns_as_they_are_read_record_by_record(data, block_bytes, window, blocks):
    assert_same(data, block_bytes, window=window, blocks=blocks)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block_bytes", [1500, 1 << 20])
def test_usual_rows_of_insights_are_read_in_columns(layout, block_bytes):
    lines = [f"a line of the log \t {line}" for line in LINES if line.isascii()]
    data = json.dumps({"results": [row(line) for line in lines * 5]}, **layout).encode()

    found = assert_same(data, block_bytes)

    assert len(found) == 5 * len(lines)
    assert read_singly(data, block_bytes) == 0


@pytest.mark.parametrize("odd", ODD_ROWS)
@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_an_odd_row_of_insights_is_read_as_it_is_record_by_record(odd, place):
    found: list[Any] = [row(f"a line of the log {number}") for number in range(6)]
    found.insert(place, odd)

    assert_same(json.dumps({"results": found}).encode(), 1 << 20)


@pytest.mark.parametrize("message", ROW_LINES)
@pytest.mark.parametrize("turned", [1, -1])
def test_the_quote_of_a_message_that_stands_in_another_field_too_is_the_same(message, turned):
    found = [row(each, requestId="a value of another field")[::turned] for each in ("first line", message, "last line")]

    assert_same(json.dumps({"results": found}).encode(), 1 << 20)


@pytest.mark.parametrize(
    "message",
    [
        'field":"@requestId',
        'a value/b"},{"field',
        "a value/b",
        "a valu",
        'requestId","value":"a value/b',
        "@requestId",
        ',"value":"a value/b',
        '},{"field":"@message',
        ':"@requestId',
        '"',
        '""',
    ],
)
@pytest.mark.parametrize(("old", "new"), [("/", "\\/"), ("v", "\\u0076"), ("@", "\\u0040"), ("", "")])
def test_the_quote_of_a_message_that_is_written_with_escapes_is_the_same(message, old, new):
    rows_before = [row(f"line {number} of the log", requestId="a value/b")[::-1] for number in range(2)]
    text = json.dumps({"results": [*rows_before, row("MESSAGE", requestId="a value/b")[::-1]]}, separators=(",", ":"))
    written = json.dumps(message)[1:-1]

    assert_same(text.replace("MESSAGE", written.replace(old, new) if old else written).encode(), 1 << 20)


def test_all_rows_like_the_odd_one_are_read_as_they_are_record_by_record():
    assert_all_same((json.dumps({"results": [odd] * 4}).encode() for odd in ODD_ROWS), 1 << 20)
