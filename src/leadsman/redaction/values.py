"""Where the value after a key begins and ends: in quotes at any depth of escaping, in a map, a sentence, a line."""

from __future__ import annotations

import re
from typing import NamedTuple

from leadsman.redaction.harmless import MASK

QUOTE = re.compile(
    r"(?:[bru]{1,2}(?=[\"']))?(?:(?P<escapes>\\*)(?P<quote>[\"'`])|(?P<entity>&quot;|&\#34;|&\#39;|&apos;|%22|\\+u002[27]))"
)
"""How a quoted value begins: also as Python's bytes, in HTML, in a URL, in JSON with escaped quotes."""

_QUOTES = {quote: re.compile(rf"(\\*){quote}") for quote in "\"'`"}
MAX_APOSTROPHES = 200
"""Characters behind the first quote within which a better one is looked for."""

_AFTER_QUOTE = frozenset(" \t\r,;:)}]>|&.\\\"'/+")
_NEXT_PAIR = re.compile(
    r"(?:[,;&]|%(?:25)?26|&amp;)[ \t]*\\*[\"']?[\w.\-$]{1,100}\\*[\"']?[ \t]*(?:=|:|%(?:25)?3[AaDd])", re.ASCII
)
_NEXT_ASSIGNMENT = re.compile(r"[ \t][\w.\-$]{1,100}=[^\s=]", re.ASCII)
_CLOSERS = {opener: re.compile(rf"\{closer}(?=[\s,;:.)}}\]\"'\\]|$)") for opener, closer in ("{}", "()", "[]")}
_SPACE = re.compile(r"\s")
_TAG = re.compile("<")
_HTML_END = re.compile("&quot;|&lt;")
_END_OF_STRING = re.compile(r"\\*\"|\\+[nrt](?![a-z])|&quot;")
_END_OF_QUOTE = re.compile(r"\\*'(?=[\s,;:)}\]]|$)")
_OPENED_BY = {"}": "{", ")": "(", "]": "["}
_COMMAND = re.compile(
    r"[ \t](?:psql|pg_\w+|mysql\w*|java|python3?|kcat|kafka-[\w-]+|docker|sudo|\./\S+|/\S+)(?=[ \t]|$)"
)
_TRAILING = ".,;:!?\"'`"


class Line(NamedTuple):
    """A line, and what was found in it: looked for once, however many keys the line holds."""

    text: str
    first: dict[str, int]
    found: dict[re.Pattern[str], tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> Line:
        """Return a line with the places where brackets and quotes first stand in it."""
        return cls(text, {mark: offset for mark in "{([\"'<" if (offset := text.find(mark)) >= 0}, {})

    def opens(self, mark: str, before: int) -> bool:
        """Whether a bracket or a quote stands before a place."""
        return self.first.get(mark, before) < before

    def next(self, pattern: re.Pattern[str], start: int) -> int:
        """Return where a pattern matches next; the line's length where it does not."""
        since, offset = self.found.get(pattern, (1, 0))
        if not since <= start <= offset:
            match = pattern.search(self.text, start)
            offset = match.start() if match else len(self.text)
            self.found[pattern] = start, offset
        return offset


def quoted_end(text: str, opening: re.Match[str]) -> int:
    """Return the end of a value in quotes: at the quote with as many escapes; at the line's end where none follows.

    A quote that a letter follows is an apostrophe.
    """
    if entity := opening["entity"]:
        end = text.find(entity, opening.end())
        return len(text) if end < 0 else end
    depth, quote = len(opening["escapes"]), opening["quote"]
    last = -1
    for match in _QUOTES[quote].finditer(text, opening.end()):
        escapes = len(match[1])
        if escapes > depth and escapes % (2 * depth + 2) != depth:
            continue
        end = match.start() + (escapes - depth if escapes > depth else 0)
        if match.end() == len(text) or text[match.end()] in _AFTER_QUOTE:
            return end
        if last < 0:
            last = end
        if match.end() - last > MAX_APOSTROPHES:
            return last
    return len(text) if last < 0 else last


def unquoted_end(line: Line, start: int, *, key: int, before: str, whole_line: bool) -> int:
    """Return the end of a value without quotes.

    `key` is where its key begins, after the character `before`. The value of an assignment that begins its line goes
    to the line's end.
    """
    text = line.text
    limit = _limit(line, start, key)
    pair = line.next(_NEXT_PAIR, start)
    if whole_line:
        end = min(limit, pair, line.next(_NEXT_ASSIGNMENT, start), line.next(_COMMAND, start))
        return start + len(text[start:end].rstrip().rstrip(",;"))
    end = min(limit, pair)
    closed = min(end, _closer(line, start, key))
    if before in "{([,;" and (closed < end or pair < limit):
        return _trimmed(line, start, closed, key)
    if before == ";" and text[key - 1] == ";":
        return _trimmed(line, start, end, key)
    return _trimmed(line, start, min(end, line.next(_SPACE, start)), key)


def _limit(line: Line, start: int, key: int) -> int:
    """Return where the string around the key ends, if it stands in one."""
    limit = line.next(_HTML_END, start)
    if line.opens('"', key):
        limit = min(limit, line.next(_END_OF_STRING, start))
    elif line.opens("'", key):
        limit = min(limit, line.next(_END_OF_QUOTE, start))
    if line.opens("<", key):
        limit = min(limit, line.next(_TAG, start))
    return limit


def _closer(line: Line, start: int, key: int) -> int:
    return min(
        (line.next(closer, start) for opener, closer in _CLOSERS.items() if line.opens(opener, key)),
        default=len(line.text),
    )


def _trimmed(line: Line, start: int, end: int, key: int) -> int:
    """Return the end without punctuation, and without closing brackets that were opened before the key."""
    text = line.text
    while end > start + 1:
        last = text[end - 1]
        closes = last in _OPENED_BY and line.opens(_OPENED_BY[last], key) and not text.endswith(MASK, 0, end)
        if not (last in _TRAILING or last.isspace() or closes):
            break
        end -= 1
    return end
