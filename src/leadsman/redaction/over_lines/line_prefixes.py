"""Takes the prefix off each line of a writer: what a log repeats before every line, and the JSON string around it."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Span = tuple[int, int]

MAX_PREFIX = 400
"""Characters before a line's own text within which a prefix ends: time, level, thread, logger, pod."""

MIN_PREFIX = 3
"""Characters of a prefix, digits of one number as one: an indentation is none."""

MAX_PREFIXES = 4
"""Prefixes that are tried for one line: lines of other writers below it share the beginning of its prefix."""

MAX_OTHER_LINES = 50
"""Lines of other writers that can stand between two lines of one writer."""

MAX_LINES_AFTER = 400
"""Lines of a writer below the last one that can begin a secret: a private key has fewer."""

MAX_PIECES = 20_000
"""Lines and escaped letters of one JSON string that are looked at."""

_NUMBER = re.compile(r"\d+")
_SPACES = re.compile(r"[ \t]{2,}")
_VARIABLE = re.compile(r"\d+|[ \t]{2,}")
_LOGGER_BEHIND = re.compile(r"[ \t]+\((?:[\w$\-]{1,80}\.){1,12}[\w$\-]{1,80}\)[ \t\r]*$", re.ASCII)
"""`[2026-11-21 09:49:00,000] ERROR text (kafka.server.KafkaServer)`: the broker's log has the logger at the end."""

_OPENING = " \t\"'\\{[<("
_JSON_STRING = re.compile(
    r'"(?:log|message|msg|@message|text|body|line|content|stringValue)"[ \t]*:[ \t]*"', re.IGNORECASE
)
_PIECE = re.compile(r'[^"\\]+|\\u[0-9a-fA-F]{4}|\\.')
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class OwnText(NamedTuple):
    """What of a line its writer wrote: `text`, which begins at `start` of line `line`.

    `offsets` says where each of its characters stands, and the end, where the line has it escaped.
    """

    line: int
    text: str
    start: int
    offsets: Sequence[int] | None = None

    def span(self, span: Span) -> Span:
        """Return where a part of the text stands in the line."""
        if self.offsets is None:
            return span[0] + self.start, span[1] + self.start
        return self.offsets[span[0]], self.offsets[span[1]]


def without_logger(line: str) -> str:
    """Return a line without the name of a logger at its end."""
    match = _LOGGER_BEHIND.search(line, max(0, len(line) - MAX_PREFIX)) if line.rstrip().endswith(")") else None
    return line[: match.start()] if match else line


def json_texts(lines: Sequence[str], first: int, candidates: Iterable[int]) -> list[OwnText]:
    """Return the lines that JSON strings hold, from line `first` on, as long as candidates are near."""
    following = set(candidates)
    texts: list[OwnText] = []
    since = 0
    for index in range(first, len(lines)):
        since = 0 if index in following else since + 1
        if since > MAX_LINES_AFTER:
            break
        texts += _lines_in_json(lines[index], index)
    return texts


def is_json_string(line: str) -> bool:
    """Whether a line holds the text of a record as a JSON string."""
    return _JSON_STRING.search(line) is not None


def _lines_in_json(line: str, index: int) -> Iterator[OwnText]:
    opening = _JSON_STRING.search(line)
    if opening is None:
        return
    text: list[str] = []
    offsets: list[int] = []
    offset = opening.end()
    for _ in range(MAX_PIECES):
        piece = _PIECE.match(line, offset)
        if piece is None:
            break
        if piece[0] == "\\n":
            yield OwnText(index, "".join(text), 0, [*offsets, offset])
            text, offsets = [], []
        elif piece[0][0] == "\\":
            text.append(_unescaped(piece[0]))
            offsets.append(offset)
        else:
            text.append(piece[0])
            offsets += range(offset, piece.end())
        offset = piece.end()
    if text:
        yield OwnText(index, "".join(text), 0, [*offsets, offset])


def _unescaped(escape: str) -> str:
    code = escape[len("\\u") :]
    return chr(int(code, base=16)) if code else _ESCAPED.get(escape[1], escape[1])


def texts_behind_prefixes(lines: Sequence[str], triggers: dict[int, int]) -> Iterator[list[OwnText]]:
    """Yield the lines of one writer without their prefix, for each line in `triggers` and each prefix that it can have.

    `triggers` holds by the index of a line where what begins a secret begins: a prefix ends before it.
    """
    covered: dict[str, int] = {}
    for index, offset in triggers.items():
        if offset > 0:
            for prefix in _prefixes(lines, index, offset):
                if covered.get(prefix, -1) < index:
                    texts = list(_of_writer(lines, index, prefix, triggers))
                    covered[prefix] = texts[-1].line
                    yield texts


def _prefixes(lines: Sequence[str], index: int, offset: int) -> list[str]:
    """Return what a line has in common with lines near it, up to `offset`; the longest first."""
    own = _shape(lines[index][: min(offset, MAX_PREFIX)])
    whole = own.rstrip(_OPENING)
    found: dict[str, None] = {}
    near = (*range(index + 1, index + 1 + MAX_OTHER_LINES), *range(index - 1, index - 4, -1))
    for number in near:
        if 0 <= number < len(lines):
            prefix = _common(own, _shape(lines[number][: MAX_PREFIX + MAX_PREFIX])).rstrip(_OPENING)
            if len(prefix) >= MIN_PREFIX and (len(found) < MAX_PREFIXES or prefix == whole):
                found[prefix] = None
                if prefix == whole:
                    break
    return sorted(found, key=len, reverse=True)


def _common(one: str, other: str) -> str:
    if other.startswith(one):
        return one
    return one[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))]


def _shape(text: str) -> str:
    """Return a text with each number as 0 and each run of blanks as one."""
    return _SPACES.sub(" ", _NUMBER.sub("0", text))


def _of_writer(lines: Sequence[str], index: int, prefix: str, triggers: dict[int, int]) -> Iterator[OwnText]:
    """Yield the lines with this prefix around a line, until no line of the writer is near, or none begins a secret."""
    above: list[OwnText] = []
    others = 0
    for number in range(index - 1, max(-1, index - MAX_LINES_AFTER), -1):
        text = _own_text(lines[number], number, prefix)
        others = 0 if text else others + 1
        if text:
            above.append(text)
        if others > MAX_OTHER_LINES:
            break
    yield from reversed(above)
    others = since = 0
    for number in range(index, len(lines)):
        text = _own_text(lines[number], number, prefix)
        others = 0 if text else others + 1
        since = 0 if number in triggers else since + 1
        if text:
            yield text
        if others > MAX_OTHER_LINES or since > MAX_LINES_AFTER:
            return


def _own_text(line: str, index: int, prefix: str) -> OwnText | None:
    beginning = line[: MAX_PREFIX + MAX_PREFIX]
    if not _shape(beginning).startswith(prefix):
        return None
    start = _end_of_head(beginning, len(prefix))
    return OwnText(index, without_logger(line)[start:], start)


def _end_of_head(line: str, length: int) -> int:
    """Return where a prefix of `length` characters ends in a line whose numbers and blanks are longer."""
    longer = 0
    for match in _VARIABLE.finditer(line):
        if match.start() - longer >= length:
            break
        longer += match.end() - match.start() - 1
    return length + longer
