"""The kinds and messages of errors on many lines at once are those of each line by itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from leadsman.pipeline.read import error_keys
from leadsman.pipeline.read.error_keys import blank_lines, keys_of_lines, one_line_errors
from leadsman.telemetry.log_line import (
    EXCEPTION,
    MAX_MESSAGE,
    VARIABLE_PARTS,
    error_kind,
    first_exception,
    normalise,
    split_line,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.pipeline.read.error_groups import ErrorKind

BEGINNINGS = (
    "2026-11-17 00:35:38.395 [main] ",
    "2026-11-17 00:35:38,395 ",
    "2026-11-17T00:35:38.395Z  ",
    "12:36:02 [kafka-producer-network-thread | producer-1]  ",
    "12:36:02 [a [nested] thread] ",
    f"12:36:02 [{'long ' * 20}] ",
    "[2026-11-17 00:35:38,395] ",
    "[2026-11-17 00:35:38,395] [main] ",
    "%3|1613433600.123|FAIL|rdkafka#producer-1| ",
    "1613433600 %3|1613433600.123|FAIL|rdkafka#producer-1| ",
    "2026-11-17 00:35:38,395 - kafka.conn - ",
    "2026-11-17T00:35:38.395Z\t0f3c9a51-5b1c-4e2f-9a77-000000000001\t",
    "2026-11-17 00:35:38 5 more words here ",
    "ts=2026-11-17 ",
    "1 level=error msg=",
    "{",
    "\tat ",
    "٣ ",
    "",
)
LEVELS = ("ERROR ", "ERROR  ", "WARNING ", "warn ", "Error ", "[ERROR] ", "ERROR: ", "ERROR:", "ERROR\t", "TRACE ", "")
LOGGERS = (
    "com.acme.Store - ",
    "com.acme.Store  : ",
    "com.acme.Store: ",
    "com..Store - ",
    "Store - ",
    "Store -",
    "Store : - ",
    "1 --- [main] com.acme.Store : ",
    "1 --- com.acme.Store : ",
    "[main] com.acme.Store - ",
    "com.acme:Store - ",
    "7 - ",
    "12 --- ",
    "kafka.conn - ERROR - ",
    "",
)
WORDS = (
    "entry {n} was refused",
    "0f3c9a51-5b1c-4e2f-9a77-{n:012x}",
    "0F3C9A51-5B1C-4E2F-9A77-{n:012x}",
    "00000000-0000-0000-0000-{n:012d}",
    "b0000000-0000-0000-0000-0000a0000000-0000-0000-0000-000000000000",
    "xa0000000-0000-0000-0000-000000000000y",
    "[$LATEST]0123456789abcdef0123456789abcde{n}",
    "2x4",
    "0x{n}",
    "1920x1080",
    "@3f{n:04x}",
    "deadbeef{n}",
    "feedface",
    "1613433600{n:03}",
    "10.0.0.{n}:9092",
    "kafka-{n}.prod:9092",
    "'{n}'",
    '"it is {n}"',
    "'unclosed",
    "1,234.5{n}..6",
    "{n}.{n},{n}",
    "٣٤",
    "²",
    "java.lang.IllegalStateException: {n}",
    "Error{n}Exception",
    "java.lang.RuntimeException: no entry {n}",
    "KafkaError{{code=_TRANSPORT,val={n}}}",
    "ErrorHandler",
    "(kafka.server.Broker{n})",
    "(kafka.server.Broker)",
    "50%",
    "%4|1.2|FAIL|rd| message",
    "a\tb",
    "level=warn msg={n}",
    "\x1c",
    "\x85",
    "\r",
    " ",
    "ERROR",
    "-",
)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line of a usual layout, or nearly so: parts of layouts, some characters of it changed, left out or put in."""
    words = draw(st.lists(st.sampled_from(WORDS), max_size=6))
    message = " ".join(word.format(n=draw(st.integers(0, 12))) for word in words)
    line = "".join(draw(st.sampled_from(parts)) for parts in (BEGINNINGS, LEVELS, LOGGERS)) + message
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 3)))):
        place = draw(st.integers(0, len(line)))
        put_in = draw(st.sampled_from(("", " ", "-", "[", "]", "0", "x", ":", ".", "%", "\t", "a", "é", "  ", "'")))
        line = line[:place] + put_in + line[place + draw(st.integers(0, 1)) :]
    return line.replace("\n", "")[:MAX_MESSAGE]


@settings(max_examples=600, deadline=None)
@given(
    text=st.lists(st.sampled_from(("Exception", "Error", "Handler", "a.b.", "B", "$", ".", " ", "é", "c", ":", "7")))
)
def test_the_first_exception_is_found_where_trying_each_character_finds_it(text: list[str]) -> None:
    found, expected = first_exception("".join(text)), EXCEPTION.search("".join(text))

    assert (found and found.span(1)) == (expected and expected.span(1))


@settings(max_examples=300, deadline=None)
@given(line=lines())
def test_no_part_that_varies_is_ruled_out_where_it_stands(line: str) -> None:
    assert all(can_match(line) for can_match, pattern, _ in VARIABLE_PARTS if pattern.search(line))


@settings(max_examples=300, deadline=None)
@given(line=lines())
def test_a_kind_is_the_same_where_its_message_is_known(line: str) -> None:
    assert error_kind([line], normalise(line)) == error_kind([line])


def of_each(texts: Sequence[str]) -> list[tuple[ErrorKind, str]]:
    return [((error_kind([text]), normalise(text)), split_line(text).level) for text in texts]


@settings(max_examples=600, deadline=None)
@given(texts=st.lists(lines(), max_size=6))
@example(texts=[])
@example(texts=[""])
def test_errors_of_many_lines_are_those_of_each_line(texts: list[str]) -> None:
    assert one_line_errors(texts, blank_lines(texts)) == of_each(texts)


@settings(max_examples=300, deadline=None)
@given(runs=st.lists(st.lists(lines(), min_size=1, max_size=6), min_size=1, max_size=3))
def test_what_is_known_of_lines_above_makes_no_other_kind(runs: list[list[str]]) -> None:
    assume(not any(re.search(r"\dx", text) for run in runs for text in run))
    known: dict[str, ErrorKind] = {}

    for run in runs:
        keys, new = keys_of_lines(run, known)
        known |= new

        assert [
            (key, split_line(text).level if level is None else level)
            for (key, level), text in zip(keys, run, strict=True)
        ] == (of_each(run))


USUAL = "2026-11-17 00:35:38.395 [main] ERROR com.acme.Store - "


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("%3|1.2|FAIL|rd| closed", id="librdkafka's"),
        pytest.param("\t0f3c9a51-5b1c-4e2f-9a77-000000000001\tclosed", id="tabs"),
        pytest.param("level=warn msg=closed", id="logfmt"),
        pytest.param("a ٣ of a kind", id="digits of another script"),
        pytest.param("2x4 is no hexadecimal number", id="a digit before an x"),
        pytest.param("b0000000-0000-0000-0000-0000a0000000-0000-0000-0000-000000000000", id="ids in one another"),
        pytest.param("0F3C9A51-5B1C-4E2F-9A77-00000000000A", id="id in capitals"),
        pytest.param("at 10.0.0.1", id="address"),
        pytest.param("at kafka-1.prod:9092", id="name with a port"),
        pytest.param("no 'text' there", id="quoted text"),
        pytest.param("object @3f2a1b", id="hexadecimal"),
        pytest.param("took 1,234.5.6 s", id="number with marks"),
        pytest.param("java.lang.IllegalStateException: 1", id="exception"),
        pytest.param("AssertionError: 1", id="Python's exception"),
        pytest.param("", id="no message"),
    ],
)
def test_a_line_with_what_is_rare_has_the_kind_that_it_has_by_itself(text: str) -> None:
    texts = [f"{USUAL}entry 1 was refused", text and f"{USUAL}{text}", f"7 {text} ERROR com.acme.Store - {text}"]

    assert one_line_errors(texts, blank_lines(texts)) == of_each(texts)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("12:36:02 INFO ERROR com.acme.Store - closed", id="two levels"),
        pytest.param("2026-11-17T00:35:38,395 - ERROR - INFO - closed", id="a level as the logger"),
        pytest.param("12:36:02 ERROR Store- closed", id="a dash without a space"),
        pytest.param("12:36:02 ERROR " + "long " * 40, id="a long message"),
        pytest.param("12:36:02 ERROR ", id="a level alone"),
        pytest.param("12:36:02 ERROR Store - AssertionError: 1", id="an error that is no exception"),
    ],
)
def test_a_line_that_begins_nearly_as_usual_has_the_kind_that_it_has_by_itself(text: str) -> None:
    assert one_line_errors([text], blank_lines([text])) == of_each([text])


def test_a_kind_with_a_digit_is_not_that_of_another_line() -> None:
    texts = [f"{USUAL}Broken{number}Exception" for number in (1, 2, 1)]

    keys, new = keys_of_lines(texts, {})

    assert [kind for (kind, _), _ in keys] == ["Broken1Exception", "Broken2Exception", "Broken1Exception"]
    assert new == {}


def test_lines_of_any_layout_are_taken_apart_together() -> None:
    texts = [
        f"{USUAL}entry 1 was refused",
        "2026-11-17T00:35:38.395Z ERROR 1 --- [main] com.acme.Store : entry 2 was refused",
        "2026-11-17 00:35:38,395 WARN entry 3 was refused",
        "2026-11-17 00:35:38,395 - kafka.conn - ERROR - entry 3 was refused",
        "[ERROR]\t2026-11-17T00:35:38.395Z\t0f3c9a51-5b1c-4e2f-9a77-000000000001\tentry 3 was refused",
        "[2026-11-17 00:35:38,395] ERROR entry 4 was refused (kafka.server.Broker)",
    ]

    with patch.object(error_keys, "one_line_error") as by_itself:
        keys = one_line_errors(texts, blank_lines(texts))

    assert [message for (_, message), _ in keys] == ["entry <n> was refused"] * len(texts)
    assert not by_itself.called
