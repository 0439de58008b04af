"""Streams of Loki read in columns give the records that are read one by one."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.telemetry.document_readers import (
    DIGITS,
    EXAMPLES,
    LAYOUTS,
    LINES,
    MARKS,
    NANOSECONDS,
    assert_all_same,
    assert_same,
    damaged,
    read_singly,
    texts,
)

from leadsman.telemetry.json_records import stream_columns

LABELS: tuple[dict[str, Any], ...] = (
    {"app": "orders", "pod": "orders-1", "container": "orders"},
    {"app": "orders", "pod": "orders-2", "container": "orders"},
    {"app": "bill\u00e9", "x": '{}[]"\\'},
    {"app": "\ud83d"},
    {},
    {"level": "info"},
    {"app": DIGITS, "pod": "p"},
    {"app": f'"{DIGITS}', "pod": "p"},
    {"app": 5},
    {"app": {"nested": 1}},
)  # fmt: skip
ODD_ELEMENTS: tuple[Any, ...] = (
    {"stream": {"app": "a"}, "values": []},
    {"stream": {"app": "a"}},
    {"values": [[DIGITS, "values first"]], "stream": {"app": "a"}},
    {"stream": {"app": "a"}, "values": [[DIGITS, "x"]], "more": {"app": "y"}},
    {"stream": {"app": "a"}, "values": [[DIGITS[:16], "micros"], [DIGITS + "0", "too long"], ["1", "short"]]},
    {"stream": {"app": "a"}, "values": [[NANOSECONDS, "a number"], [DIGITS, None], [DIGITS], [DIGITS, "x", "y", "z"]]},
    {"stream": {"app": "a"}, "values": [[DIGITS, "x", {"trace": "1"}], [DIGITS, DIGITS, {}]]},
    {"stream": {"app": "a"}, "values": [[DIGITS, f'"{DIGITS}', "y"], [DIGITS, "x"]]},
    {"stream": {"app": "a"}, "values": [[DIGITS, "x"], {"a": "b"}, DIGITS, "x"]},
    {"stream": {"app": "a"}, "values": [[DIGITS, DIGITS, "x"], [DIGITS, "y"]]},
    {"stream": {"app": "a"}, "values": [[DIGITS, "x"], ["y"], ["z"], [DIGITS, "w"]]},
    {"stream": {"app": "a"}, "values": [[DIGITS, DIGITS, DIGITS, "x"]]},
    {"stream": {"app": "a"}, "values": [[DIGITS, "x", DIGITS, "y"], [DIGITS, "x"], ["y"]]},
    {"stream": None, "values": [[DIGITS, "no labels"]]},
    {"metric": {"app": "a"}, "value": [1, "2"]},
    {"message": "no time"},
    {"timestamp": 1794875737795, "message": "another record", "pod": "\ud83d"},
    [], [[DIGITS, "x"]], "text", 5, None,
)  # fmt: skip


@st.composite
def streams(draw: st.DrawFn) -> dict[str, Any]:
    at = NANOSECONDS
    step = draw(st.sampled_from((-1_000_000, 1_000_000, 400_000_000_000)))
    values = []
    for _ in range(draw(st.integers(1, 8))):
        at += step * draw(st.integers(0, 2))
        values.append([str(at), draw(texts)])
    return {"stream": draw(st.sampled_from(LABELS[: draw(st.sampled_from((2, len(LABELS))))])), "values": values}


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Return an answer of `query_range`, as it is, with odd streams, damaged, or cut off."""
    result: list[Any] = draw(st.lists(streams(), min_size=1, max_size=6))
    for place, odd in draw(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(ODD_ELEMENTS)), max_size=2)):
        result.insert(place, odd)
    data = {"resultType": "streams", "result": result, **draw(st.sampled_from(({}, {"stats": {"summary": {"n": 1}}})))}
    answer = draw(
        st.sampled_from(
            ({"status": "success", "data": data}, {"streams": result}, {"logStream": "of the document", "data": data})
        )
    )
    text = json.dumps(answer, **draw(st.sampled_from(LAYOUTS)))
    return draw(damaged(text))


@settings(max_examples=EXAMPLES)
@given(
    data=answers(),
    block_bytes=st.sampled_from((40, 300, 1000, 1 << 20)),
    window=st.sampled_from((100, 1000, 1 << 25)),
    blocks=st.sampled_from((None, None, 1, 2, 5)),
)
def test_an_answer_is_read_in_columns_as_it_is_read_record_by_record(data, block_bytes, window, blocks):
    assert_same(data, block_bytes, window=window, blocks=blocks)


def answer(*elements: Any, **layout: Any) -> bytes:
    document = {"status": "success", "data": {"resultType": "streams", "result": elements}}
    return json.dumps(document, **({"separators": (",", ":")} | layout)).encode("utf-8", "surrogatepass")


def stream(*lines: str, app: str = "orders") -> dict[str, Any]:
    return {
        "stream": {"app": app},
        "values": [[str(NANOSECONDS + 1_000_000 * n), line] for n, line in enumerate(lines)],
    }


USUAL = stream("first", "second", "third")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block_bytes", [700, 1 << 20])
def test_usual_streams_are_read_in_columns(layout, block_bytes):
    data = answer(*[stream(*LINES, app=f"app-{n}") for n in range(20)], **layout)

    found = assert_same(data, block_bytes)

    assert len(found) == 20 * len(LINES)
    assert read_singly(data, block_bytes) == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_streams_of_one_line_each_are_read_in_columns(layout):
    data = answer(stream("x"), stream(DIGITS), stream("y\n"), USUAL, **layout)

    found = assert_same(data, 1 << 20)

    assert len(found) == 6
    assert read_singly(data) == 0


@pytest.mark.parametrize("element", ODD_ELEMENTS)
def test_after_an_odd_stream_the_next_one_is_read_as_it_is_record_by_record(element):
    data = answer(USUAL, element, stream("last", app="b"))

    assert_same(data, 1 << 20)


@pytest.mark.parametrize("labels", LABELS)
def test_labels_name_the_same_writer(labels):
    data = answer(USUAL, {"stream": labels, "values": [[DIGITS, "x"]]}, USUAL)

    assert_same(data, 1 << 20)


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("width", [0, 1])
def test_damage_at_any_place_is_read_as_it_is_record_by_record(mark, width):
    data = answer(stream("a\tb", '"c"'), stream("d"), stream("e", "f"), stream("g"))

    assert_all_same((data[:place] + mark + data[place + width :] for place in range(len(data))), 1 << 20)


@pytest.mark.parametrize("cut_in", [1, 2])
def test_a_document_cut_at_any_place_is_read_as_it_is_record_by_record(cut_in):
    data = answer(stream("a\tb \u00e9", '"c"'), stream("d"), stream("e \ud83d\ude00", "f"), indent=cut_in)

    assert_all_same((data[:length] for length in range(len(data))), 50)


def test_only_the_odd_streams_of_a_document_are_read_singly():
    odd = {"stream": {"app": "a"}, "values": [[DIGITS, "x", {"trace": "1"}]]}
    data = answer(USUAL, odd, USUAL, odd, *[USUAL] * 20)

    assert_same(data, 1 << 20)
    assert read_singly(data) == 2


def test_a_document_of_odd_streams_is_read_singly_to_its_end():
    odd = {"stream": {"app": "a"}, "values": [[DIGITS, "x", {"trace": "1"}]]}
    data = answer(USUAL, *[odd] * 100, *[USUAL] * 50)

    assert_same(data, 1 << 20)
    assert read_singly(data) == 150


def test_a_stream_of_many_blocks_is_read_in_columns():
    data = answer(stream(*["a line of the log"] * 3000), stream("x" * 100_000), USUAL)

    found = assert_same(data, 5000)

    assert len(found) == 3004
    assert read_singly(data, 5000) == 0


def test_streams_larger_than_a_window_are_sorted_in_the_same_windows():
    made = [stream(*[f"{LINES[n % 9]} {n}" for n in range(200)], app=f"app-{n}") for n in range(10)]

    assert_same(answer(*made), 5000, window=7000)


def test_a_broken_escape_ends_the_document_where_it_ends_record_by_record():
    data = answer(USUAL, stream("at", "b\tc"), USUAL)

    found = assert_same(data.replace(b"\\t", b"\\q"), 1 << 20)

    assert len(found) == 3


def test_a_large_stream_is_read_singly():
    data = answer(USUAL, stream("x" * 5000, "y"), USUAL)

    with patch.object(stream_columns, "MAX_UNREAD", 1000):
        found = assert_same(data, 200)

        assert read_singly(data, 200) == 2
    assert len(found) == 8


def test_columns_go_on_after_many_odd_streams_where_they_gained_more():
    odd = {"stream": {"app": "a"}, "values": [[DIGITS, "x", {"trace": "1"}]]}
    data = answer(stream(*["a line of the log"] * 2000), *[odd] * 30, *[USUAL] * 5)

    assert_same(data, 1 << 20)
    assert read_singly(data) == 30


@pytest.mark.parametrize(("old", "new"), [(b"\\t", b"\\q"), (b'"values"', b'"values"x'), (b"second", b'seco"nd')])
def test_a_file_is_not_read_beyond_a_broken_stream(old, new):
    broken = answer(stream("first \t", "second", *["long " * 200] * 20)).replace(old, new)

    assert_same(answer(USUAL)[:-3] + b"," + broken[broken.index(b'{"stream"') :], 500, blocks=4)
