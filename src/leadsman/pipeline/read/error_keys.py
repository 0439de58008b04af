"""Names the errors on many lines at once: kind and message of each, which its group is found by.

Where every line says something else, nearly all of the time of reading goes into this. So the parts of a message that
vary are replaced in all messages at once, and only a line of a rare layout is taken apart by itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.log_line import (
    AFTER_LEVEL,
    LEVEL,
    MAX_MESSAGE,
    VARIABLE_PARTS,
    level_of,
    match_layout,
    one_line_error,
    one_line_kind,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leadsman.pipeline.read.error_groups import ErrorKind

DIGITS = str.maketrans("123456789", "0" * 9)
"""Two lines that differ in digits only are one message."""

DIGIT = re.compile(r"\d")

UUID = re.compile(r"-(?<=(?<![\w.$-])[\da-f]{8}-)(?:[\da-f]{4}-){3}[\da-f]{12}(?![\w.$-])", re.ASCII)
"""Such an id from its first dash on: dashes are few, and a search for them is fast."""
UUID_FIRST_DIGITS = 8
UUID_PLACEHOLDER = "a0000000-0000-0000-0000-000000000000"
UUID_OF_DIGITS = UUID_PLACEHOLDER.replace("a", "0")
"""Two lines that differ in a request id only are one message. An id of digits alone might be a date, and stays."""

LAMBDA_STREAM_ID = re.compile(r"\](?=[a-f]*\d)(?=\d*[a-f])[\da-f]{32}(?![\w.$-])", re.ASCII)
LAMBDA_STREAM_HINT = re.compile(r"\][\da-f]{32}", re.ASCII)
LAMBDA_STREAM_PLACEHOLDER = "]a0000000000000000000000000000000"
"""So are two lines that differ only in the worker before them, as `aws logs tail` writes it: `[$LATEST]9ff9...`."""

USUAL = re.compile(
    rf"\d[!-~]* +(?:\d[!-~]* +)?(?:\[[^\]\n]{{0,80}}\] +)?(?P<level>{LEVEL}) +(?:[0-9A-Za-z_$.]+ +[:-] +|{AFTER_LEVEL})"
)
"""What comes before the message on a line of ASCII text: `2021-02-16 12:36:02.123 [thread] ERROR logger - `, or such a
beginning up to the level and what `GENERIC` knows behind it. Such a line has no layout but `GENERIC`: all of the others
have a level, or one of the texts in `RARE`, where this has a time, a thread or a space."""

RARE = ("%", "\t", "level=")
"""Texts of which each line has one that begins as `USUAL` but has another layout."""

_, ANY_UUID, UUID_TEXT = VARIABLE_PARTS[0]
OTHER_PARTS = VARIABLE_PARTS[1:-1]
NUMBER_TEXT = VARIABLE_PARTS[-1][2]
PART_OF_UUID = re.compile(r"-[0-9a-fA-F]{4}-")
NUMBER = re.compile(r"00*(?:[.,]00*)*")
"""A number of zeros. It begins with a text, not with a class of characters: that is found five times as fast."""


def blank_record(lines: Sequence[str]) -> str:
    """Return the lines with digits and ids blanked: these make no two messages different. Long lines keep their ids."""
    blank = "\n".join(lines).translate(DIGITS)
    return _without_ids(blank) if "-" in blank and all(len(line) <= MAX_MESSAGE for line in lines) else blank


def blank_lines(lines: Sequence[str]) -> list[str]:
    """Return what `blank_record` makes of each of these lines by itself. None of them is longer than MAX_MESSAGE."""
    return _without_ids("\n".join(lines).translate(DIGITS)).split("\n") if lines else []


def _without_ids(blank: str) -> str:
    """Return a text, of whose digits only zeros are left, with its ids replaced by others of their length."""
    blank = _without_uuids(blank)
    return LAMBDA_STREAM_ID.sub(LAMBDA_STREAM_PLACEHOLDER, blank) if LAMBDA_STREAM_HINT.search(blank) else blank


def _without_uuids(blank: str) -> str:
    parts: list[str] = []
    since = 0
    for match in UUID.finditer(blank):
        begin, end = match.start() - UUID_FIRST_DIGITS, match.end()
        if blank[begin:end] != UUID_OF_DIGITS:
            parts += (blank[since:begin], UUID_PLACEHOLDER)
            since = end
    return "".join((*parts, blank[since:])) if parts else blank


def has_digit(text: str) -> bool:
    """Whether a text has a digit of any script."""
    return DIGIT.search(text) is not None if text.isascii() else any(map(str.isdigit, text))


def keys_of_lines(
    lines: Sequence[str], known: Mapping[str, ErrorKind]
) -> tuple[list[tuple[ErrorKind, str | None]], dict[str, ErrorKind]]:
    """Return kind and message of the error on each line, and its level where that was found with them.

    `known` are those of lines by what `blank_record` makes of the line; also returned are the ones to add to these. No
    line is longer than MAX_MESSAGE.
    """
    blanks = blank_lines(lines)
    first: dict[str, int] = {}
    for index, blank in enumerate(blanks):
        if blank not in known:
            first.setdefault(blank, index)
    found = one_line_errors([lines[index] for index in first.values()], list(first))
    new = {
        blank: key
        for blank, (key, _) in zip(first, found, strict=True)
        if key[1].startswith(key[0]) or not has_digit(key[0])
    }
    if len(found) == len(lines):
        return list(found), new
    errors = dict(zip(first.values(), found, strict=True))
    keys: list[tuple[ErrorKind, str | None]] = []
    for index, blank in enumerate(blanks):
        key = known.get(blank) or new.get(blank)
        keys.append(errors.get(index) or ((key, None) if key else _by_itself(lines[index])))
    return keys, new


def one_line_errors(texts: Sequence[str], blanks: Sequence[str]) -> list[tuple[ErrorKind, str]]:
    """Return kind, message and level of the error on each line: those of `one_line_error`.

    No line is longer than MAX_MESSAGE, or holds a newline. `blanks` are what `blank_lines` makes of them.
    """
    matches = _matches(texts, blanks)
    parts = zip(matches, blanks, strict=True)
    normalised = iter(_without_variable_parts([_message(match, blank) for match, blank in parts if match]))
    return [
        _by_itself(text)
        if match is None or (message := next(normalised)) is None
        else ((one_line_kind(text, message), message), match["level"].upper() if match.re is USUAL else level_of(match))
        for text, match in zip(texts, matches, strict=True)
    ]


def _matches(texts: Sequence[str], blanks: Sequence[str]) -> list[re.Match[str] | None]:
    """Return the match of the layout of each line, or of its beginning; None for one to be taken apart by itself."""
    joined = "\n".join(blanks)
    rare = [each for each in RARE if each[-1] in joined and each in joined]
    if joined.isascii() and not rare:
        return [USUAL.match(text) or match_layout(text) for text in texts]
    return [
        None
        if not text.isascii()
        else (None if any(each in text for each in rare) else USUAL.match(text)) or match_layout(text)
        for text in texts
    ]


def _message(match: re.Match[str], blank: str) -> str:
    """Return the message in what is left of a line without its digits and ids: these are as long as what is there."""
    begin, end = (match.end(), len(blank)) if match.re is USUAL else match.span("message")
    return blank[begin:end].strip()


def _by_itself(text: str) -> tuple[ErrorKind, str]:
    kind, message, level = one_line_error(text)
    return (kind, message), level


def _without_variable_parts(blanks: Sequence[str]) -> list[str | None]:
    """Return the messages without their variable parts. Digits are zeros already, and all characters are ASCII.

    None where a zero can be another digit of `2x4`, which only looks like the beginning of a hexadecimal number.
    """
    if not blanks:
        return []
    joined = "\n".join(blanks)
    without = joined.replace(UUID_PLACEHOLDER, UUID_TEXT)
    joined = ANY_UUID.sub(UUID_TEXT, joined) if PART_OF_UUID.search(without) else without
    for can_match, pattern, replacement in OTHER_PARTS:
        if can_match(joined):
            lines = joined.split("\n")
            joined = "\n".join(pattern.sub(replacement, line) if can_match(line) else line for line in lines)
    messages: list[str | None] = [*NUMBER.sub(NUMBER_TEXT, joined).split("\n")]
    if "0x" in without:
        return [None if "0x" in blank else message for blank, message in zip(blanks, messages, strict=True)]
    return messages
