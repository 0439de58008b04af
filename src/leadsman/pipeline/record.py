"""Turns one log record, a line with the lines that continue it, into events."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from leadsman.pipeline.error_groups import ErrorGroups
from leadsman.pipeline.events import Row
from leadsman.redaction import mask
from leadsman.telemetry.line import LONGEST, LONGEST_MESSAGE, error_kind, normalised, parts
from leadsman.telemetry.source import every_signature, is_of_cluster
from leadsman.vocabulary import ERROR, LIFE, SETTING, SHOWS, STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from leadsman.telemetry.source import Signature, Source

QUOTE_LENGTH = 1000
"""Characters of a line that are quoted: a whole ordinary line; of a longer one the part around what was found."""

KEY_LENGTH = 200
"""Characters before the quoted part in which the key of a secret is looked for."""

LINES_TOLD_BY = 20
"""Lines with errors in one record by which its kind is remembered: more than there are causes of causes."""

NO_REASON = frozenset({SETTING, *LIFE, *STATE})
"""Events of ordinary life: an exception that has no time of its own belongs to whichever line stands above it."""

DIGITS = str.maketrans("123456789", "0" * 9)
"""Two lines that differ in digits only are one message."""

REQUEST = re.compile(r"(?<![\w.$-])(?=[\d-]*[a-f])[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}(?![\w.$-])", re.ASCII)
WITH_REQUEST = re.compile(r"-[\da-f]{4}-[\da-f]{4}-", re.ASCII)
"""What each id holds, and is found at once."""
ANY_REQUEST = "a0000000-0000-0000-0000-000000000000"
"""So are two that differ in a request's id. One of digits alone might be taken for a date, and stays."""

LAMBDA = re.compile(r"\](?=[a-f]*\d)(?=\d*[a-f])[\da-f]{32}(?![\w.$-])", re.ASCII)
ANY_LAMBDA = "]a0000000000000000000000000000000"
"""Or in the worker that `aws logs tail` writes before them: `2026/11/17/[$LATEST]9ff9...`."""

MESSAGES_KEPT = 2000
"""Lines whose kind and message are remembered: taking a line apart costs more than reading it did."""


class Hit(NamedTuple):
    """A line on which signatures were found, the first near character `near` of `raw`.

    `text` is what they are matched on, `raw` what stands in the file.
    """

    line: int
    text: str
    raw: str
    near: int
    signatures: tuple[int, ...]

    @property
    def quote(self) -> str:
        """What is shown of the line. Secrets are masked where rows become a batch: many lines at once cost less."""
        return self.raw if len(self.raw) <= QUOTE_LENGTH else around(self.raw, self.near)


class Head(NamedTuple):
    """The first line of a record: what a stack trace belongs to. `at` is in milliseconds since 1970 UTC."""

    at: int | None
    text: str
    subject: str


@dataclass(slots=True)
class Listener:
    """Collects what the records of one stream say: events one by one, unknown errors grouped."""

    capture: str
    sources: set[str] = field(default_factory=set)
    shows: set[str] = field(default_factory=set)
    """What the lines are known to tell of, as `SHOWS` has it."""
    errors: ErrorGroups = field(default_factory=ErrorGroups)
    messages: dict[str, tuple[str, str]] = field(default_factory=dict)
    heard_out: set[int] = field(default_factory=set)
    """Signatures that are told once a stream, and have been."""
    settings: dict[tuple[str, frozenset[tuple[str, str]]], str] = field(default_factory=dict)
    """What each setting was told to be last, by subject and labels."""

    def hear(self, head: Head, hits: Iterable[Hit], file: str) -> list[Row]:
        """Return the record's events, each kind once, settings apart."""
        signatures = every_signature()
        rows: list[Row] = []
        said: set[str] = set()
        unknown: list[Hit] = []
        for hit in hits:
            for index in hit.signatures:
                event = signatures[index][1].event
                if event == ERROR:
                    unknown.append(hit)
                elif event == SETTING:
                    rows += self._settings(index, head, hit, file)
                elif event not in said and index not in self.heard_out:
                    row = self._told(index, head, hit, file)
                    if row is not None:
                        said.add(event)
                        rows.append(row)
        if unknown and not _explained(rows, unknown):
            self._group(head, unknown, file)
        return rows

    def _told(self, index: int, head: Head, hit: Hit, file: str) -> Row | None:
        """Return the event that one signature finds on a line."""
        source, signature, pattern = every_signature()[index]
        match = signature.search(pattern, hit.text)
        read = None if match is None else signature.read(match, _first_line(signature, head, hit))
        if read is None:
            return None
        self.note(source, signature)
        if signature.once:
            self.heard_out.add(index)
        labels, value = read
        quoted = hit.quote
        return Row(
            self.capture, head.at, head.subject, source.name, signature.event, file, hit.line, quoted, value, labels
        )

    def note(self, source: Source, signature: Signature) -> None:
        """Keep whose line this is, and what it tells of."""
        if signature.names_source:
            self.sources.add(source.name)
        if shown := SHOWS.get(signature.event):
            self.shows.add(shown)

    def _settings(self, index: int, head: Head, hit: Hit, file: str) -> list[Row]:
        """Return the settings that one signature finds on a line, as far as they are news: a JSON line holds many."""
        source, signature, pattern = every_signature()[index]
        first_line = _first_line(signature, head, hit)
        read = [signature.read(match, first_line) for match in pattern.finditer(hit.text)]
        found = [told for told in read if told is not None]
        if found and signature.names_source:
            self.sources.add(source.name)
        said = (self.capture, head.at, head.subject, source.name, signature.event, file, hit.line, hit.quote)
        return [Row(*said, value, labels) for labels, value in found if self._is_news(head.subject, labels)]

    def _is_news(self, subject: str, labels: Mapping[str, str]) -> bool:
        """Say whether a setting is new or has changed: clients print all of theirs whenever one is created."""
        subject = "" if is_of_cluster(labels) else subject
        whose = subject, frozenset(pair for pair in labels.items() if pair[0] != "value")
        value = labels.get("value", "")
        if self.settings.get(whose) == value:
            return False
        self.settings[whose] = value
        return True

    def unknown_errors(self) -> Iterator[Row]:
        """Yield one event a group of errors that no signature knows."""
        return self.errors.rows(iso)

    def _group(self, head: Head, hits: Sequence[Hit], file: str) -> None:
        hit = hits[0]
        kind, message = key = self._message([each.text[:LONGEST] for each in hits])

        def row() -> Row:
            labels = {"kind": kind, "message": message, "level": parts(hit.text[:LONGEST]).level}
            return Row(self.capture, head.at, head.subject, None, ERROR, file, hit.line, hit.quote, 0.0, labels)

        self.errors.add(key, head.at, row)

    def _message(self, lines: Sequence[str]) -> tuple[str, str]:
        """Return kind and normalised message, in which no digit is left; a kind can be called Error404Exception."""
        text = lines[0]
        blank = _blank(lines[:LINES_TOLD_BY])
        key = self.messages.get(blank)
        if key is None:
            key = error_kind(lines), normalised(text)
            if not any(map(str.isdigit, key[0])):
                if len(self.messages) >= MESSAGES_KEPT:
                    self.messages.clear()
                self.messages[blank] = key
        return key


def _blank(lines: Sequence[str]) -> str:
    """Return lines without what tells no two messages apart. Of longer ones an id may be cut in half."""
    blank = "\n".join(lines)
    if "-" in blank and all(len(line) <= LONGEST_MESSAGE for line in lines):
        blank = REQUEST.sub(ANY_REQUEST, blank) if WITH_REQUEST.search(blank) else blank
        blank = LAMBDA.sub(ANY_LAMBDA, blank)
    return blank.translate(DIGITS)


def _explained(rows: Sequence[Row], unknown: Sequence[Hit]) -> bool:
    """Say whether an event of the record says what its errors say: none of ordinary life does, but on the same line."""
    lines = {hit.line for hit in unknown}
    return any(row.name not in NO_REASON or (row.name != SETTING and lines == {row.line}) for row in rows)


def _first_line(signature: Signature, head: Head, hit: Hit) -> str:
    """Return the record's first line. On that line itself there is nothing more to learn from it."""
    return head.text if signature.within or head.text != hit.text else ""


def around(line: str, near: int) -> str:
    """Return the part of an overlong line around character `near`, secrets masked, also one whose key is cut off."""
    start = max(0, min(near - QUOTE_LENGTH // 2, len(line) - QUOTE_LENGTH))
    return mask(line[max(0, start - KEY_LENGTH) : start + QUOTE_LENGTH])[-QUOTE_LENGTH:]


def quote(line: str) -> str:
    """Return the line's beginning, secrets masked."""
    return mask(line[:QUOTE_LENGTH])


def iso(at: int) -> str:
    """Return milliseconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
