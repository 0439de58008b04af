"""Files made of sections come apart as they were put together, wherever blocks end."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from leadsman.sections import Section, exit_line, has_sections, read_sections, section_line

FIRST = Section(datetime(2026, 11, 21, 12, 0, tzinfo=UTC), "broker-1", "kafka/topics.txt", "kafka-topics --describe")
SECOND = Section(datetime(2026, 11, 21, 12, 0, 10, tzinfo=UTC), "broker-1", "host/sockets.txt", "ss -tan")
TEXT = (
    "a prompt\n"
    + section_line(FIRST)
    + "one\ntwo\n"
    + exit_line(0)
    + "$ a prompt\n"
    + section_line(SECOND)
    + "ss: not found\n\n"
    + exit_line(127)
).encode()


def taken_apart(blocks: list[bytes]) -> list[tuple[Section, int, bytes, int | None]]:
    return [(part.section, part.line, b"".join(part.body), part.exit) for part in read_sections(blocks)]


def test_sections_come_with_their_lines_and_exit_codes() -> None:
    found = taken_apart([TEXT])

    assert found == [(FIRST, 3, b"one\ntwo\n", 0), (SECOND, 8, b"ss: not found\n\n", 127)]


@pytest.mark.parametrize("lines", [1, 2, 3, 5])
def test_it_does_not_matter_where_blocks_end(lines: int) -> None:
    every = TEXT.splitlines(keepends=True)
    blocks = [b"".join(every[at : at + lines]) for at in range(0, len(every), lines)]

    assert taken_apart(blocks) == taken_apart([TEXT])


def test_a_section_that_breaks_off_has_no_exit_code() -> None:
    found = taken_apart([TEXT[: TEXT.index(b"two")]])

    assert found == [(FIRST, 3, b"one\n", None)]


def test_a_body_without_a_reader_is_passed_over() -> None:
    assert [part.section for part in read_sections([TEXT])] == [FIRST, SECOND]


def test_a_mark_within_a_line_is_none() -> None:
    text = (section_line(FIRST) + "grep found: ### leadsman exit 3\n" + exit_line(0)).encode()

    assert taken_apart([text]) == [(FIRST, 2, b"grep found: ### leadsman exit 3\n", 0)]


def test_a_mark_with_a_number_that_is_no_exit_code_is_none() -> None:
    line = exit_line(0).replace("0", "8" * 8000)
    text = (section_line(FIRST) + line + exit_line(0)).encode()

    assert taken_apart([text]) == [(FIRST, 2, line.encode(), 0)]


@pytest.mark.parametrize(
    ("head", "answer"),
    [(TEXT, True), (b"2026-11-21 12:00:00 INFO ### leadsman exit 0\n", False), (b"", False), (b"### leadsman", False)],
)
def test_a_sectioned_file_is_recognised_by_its_first_mark(head: bytes, answer: bool) -> None:  # noqa: FBT001 - a table's column
    assert has_sections(head) is answer
