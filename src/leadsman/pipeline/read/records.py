"""Turns one log record, a line with the lines that continue it, into events."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from leadsman.pipeline.events import TIMES, EventRow
from leadsman.pipeline.read.error_groups import ErrorGroups
from leadsman.pipeline.read.error_keys import blank_record, has_digit, keys_of_lines
from leadsman.redaction import can_hold_secret, mask, mask_range
from leadsman.telemetry.log_line import MAX_LENGTH, error_kind, normalise, split_line
from leadsman.telemetry.source import all_signatures, is_cluster_setting, once_signatures
from leadsman.vocabulary import ERROR, LIFECYCLE, SETTING, SHOWS, STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from leadsman.pipeline.read.error_groups import ErrorKind, ErrorLine
    from leadsman.telemetry.source import Signature, Source

QUOTE_LENGTH = 1000
"""Characters of a line that are quoted: an ordinary line as a whole; of a longer one the part around the match."""

MAX_TOKEN = 4000
"""Characters behind the quoted part up to which a token that it cuts can go on."""

MAX_KEY_LINES = 20
"""Error lines of one record that make the key of its kind: stack traces have fewer nested causes."""

NORMAL_OPERATION = frozenset({SETTING, *LIFECYCLE, *STATE})
"""Events of normal operation. They explain no exception, although one without a time belongs to the line above it."""

MESSAGES_KEPT = 2000
"""Lines whose kind and message are cached: parsing a line costs more than reading it."""


Setting = tuple[str, frozenset[tuple[str, str]]]
"""The key of a setting: its subject, and its labels without the value."""


class Hit(NamedTuple):
    """A line with matches of signatures, the first of them near character `near` of `raw`.

    `text` is what the signatures are matched on, `raw` is the line in the file.
    """

    line: int
    text: str
    raw: str
    near: int
    signatures: tuple[int, ...]

    @property
    def quote(self) -> str:
        """The part of the line that is shown. Secrets are masked later, in batches of rows: that costs less."""
        return self.raw if len(self.raw) <= QUOTE_LENGTH else quote_around(self.raw, self.near)


class RecordStart(NamedTuple):
    """The first line of a record, to which the lines of a stack trace belong. `at`: milliseconds since 1970 UTC."""

    at: int | None
    text: str
    subject: str


@dataclass(slots=True)
class EventExtractor:
    """Extracts the events from the records of one stream. Errors that no signature knows are grouped."""

    capture: str
    sources: set[str] = field(default_factory=set)
    shows: set[str] = field(default_factory=set)
    """What the lines prove that this stream can show, in the words of `SHOWS`."""
    errors: ErrorGroups = field(default_factory=ErrorGroups)
    messages: dict[str, ErrorKind] = field(default_factory=dict)
    reported_once: set[int] = field(default_factory=set)
    """Signatures that are events once per stream, and have been."""
    settings: dict[Setting, str] = field(default_factory=dict)
    """The last value of each setting, by subject and labels."""
    is_partial: bool = False
    """Whether another task reads the lines above. Events that depend on them are then left open (`split_reading`)."""
    first_settings: list[tuple[Setting, str, EventRow]] = field(default_factory=list)
    """Events of settings, which count unless the lines above set the same value."""
    open_records: list[tuple[RecordStart, Sequence[Hit], str]] = field(default_factory=list)
    """Records with signatures that are events once per stream, with their file: the lines above may hold the first."""

    def extract(self, start: RecordStart, hits: Sequence[Hit], file: str) -> list[EventRow]:
        """Return the events of one record: each event name once, but every setting."""
        start, hits = without_secrets(start, hits)
        is_open = self.is_partial and self._is_ambiguous(hits)
        return self._leave_open(start, hits, file) if is_open else self._events(start, hits, file)

    def _events(self, start: RecordStart, hits: Iterable[Hit], file: str) -> list[EventRow]:
        signatures = all_signatures()
        rows: list[EventRow] = []
        reported: set[str] = set()
        unknown: list[Hit] = []
        for hit in hits:
            for index in hit.signatures:
                event = signatures[index][1].event
                if event == ERROR:
                    unknown.append(hit)
                elif event == SETTING:
                    rows += self._settings(index, start, hit, file)
                elif event not in reported and index not in self.reported_once:
                    row = self._event(index, start, hit, file)
                    if row is not None:
                        reported.add(event)
                        rows.append(row)
        if unknown and not _explained(rows, unknown):
            self.group(start, unknown, file)
        return rows

    def _is_ambiguous(self, hits: Iterable[Hit]) -> bool:
        """Whether a signature that is an event once per stream is the first here, but perhaps not in the stream."""
        left = once_signatures() - self.reported_once
        return any(not left.isdisjoint(hit.signatures) for hit in hits)

    def _leave_open(self, start: RecordStart, hits: Iterable[Hit], file: str) -> list[EventRow]:
        """Keep a record until the states are merged; return the events of its settings.

        `reported_once` also takes the signatures that this record reports, whatever the lines above hold.
        """
        settings, others = _split_settings(hits)
        own = EventExtractor(self.capture, reported_once=set(self.reported_once))
        own._events(start, others, file)
        self.reported_once |= own.reported_once
        self.open_records.append((start, others, file))
        return self._events(start, settings, file)

    def _event(self, index: int, start: RecordStart, hit: Hit, file: str) -> EventRow | None:
        """Return the event of one signature on a line; None where the signature does not match there."""
        source, signature, pattern = all_signatures()[index]
        match = signature.search(pattern, hit.text)
        read = None if match is None else signature.read(match, _first_line(signature, start, hit))
        if read is None:
            return None
        self.note_source(source, signature)
        if signature.once:
            self.reported_once.add(index)
        labels, value = read
        columns = (self.capture, start.at, start.subject, source.name, signature.event, file, hit.line, hit.quote)
        return EventRow(*columns, value, labels)

    def note_source(self, source: Source, signature: Signature) -> None:
        """Note which program wrote the line, and what the stream can show because of it."""
        if signature.names_source:
            self.sources.add(source.name)
        if shown := SHOWS.get(signature.event):
            self.shows.add(shown)

    def _settings(self, index: int, start: RecordStart, hit: Hit, file: str) -> list[EventRow]:
        """Return the settings on a line that are new or have changed: a JSON line holds many settings."""
        source, signature, pattern = all_signatures()[index]
        first_line = _first_line(signature, start, hit)
        read = [signature.read(match, first_line) for match in pattern.finditer(hit.text)]
        found = [parsed for parsed in read if parsed is not None]
        if found and signature.names_source:
            self.sources.add(source.name)
        columns = (self.capture, start.at, start.subject, source.name, signature.event, file, hit.line, hit.quote)
        return [row for labels, value in found if self._is_news(row := EventRow(*columns, value, labels))]

    def _is_news(self, row: EventRow) -> bool:
        """Whether a setting is new or has changed: every new client prints all its settings."""
        subject = "" if is_cluster_setting(row.labels) else row.subject or ""
        key = subject, frozenset(pair for pair in row.labels.items() if pair[0] != "value")
        value = row.labels.get("value", "")
        known = self.settings.get(key)
        self.settings[key] = value
        if known is None and self.is_partial:
            self.first_settings.append((key, value, row))
            return False
        return known != value

    def unknown_errors(self) -> Iterator[EventRow]:
        """Yield one event for each group of errors that no signature knows."""
        return self.errors.rows(iso)

    def group(self, start: RecordStart, hits: Sequence[Hit], file: str) -> None:
        """Count an error that no signature knows."""
        hit = hits[0]
        kind, message = key = self._message([each.text[:MAX_LENGTH] for each in hits])

        def row() -> EventRow:
            labels = {"kind": kind, "message": message, "level": split_line(hit.text[:MAX_LENGTH]).level}
            return EventRow(self.capture, start.at, start.subject, None, ERROR, file, hit.line, hit.quote, 0.0, labels)

        self.errors.add(key, start.at, row, file=file, line=hit.line)

    def group_lines(self, lines: Sequence[ErrorLine], *, subject: str, file: str) -> None:
        """Count errors that no signature knows, in their order: each on one line of MAX_MESSAGE characters at most."""
        keys, new = keys_of_lines([text for _, _, text, _ in lines], self.messages)

        def row(error: ErrorLine, kind: ErrorKind, level: str | None) -> EventRow:
            at, line, text, _ = error
            level = split_line(text).level if level is None else level
            labels = {"kind": kind[0], "message": kind[1], "level": level}
            return EventRow(self.capture, at, subject, None, ERROR, file, line, text, 0.0, labels)

        self.errors.add_lines(lines, keys, row, file=file)
        self._keep_messages(new)

    def _message(self, lines: Sequence[str]) -> ErrorKind:
        """Return kind and normalised message of an error on the lines of one record."""
        blank = blank_record(lines[:MAX_KEY_LINES])
        key = self.messages.get(blank)
        if key is None:
            key = error_kind(lines), normalise(lines[0])
            self._keep_messages({} if has_digit(key[0]) else {blank: key})
        return key

    def _keep_messages(self, keys: Mapping[str, ErrorKind]) -> None:
        """Cache kinds and messages by what `blank_record` makes of their lines."""
        if len(self.messages) + len(keys) > MESSAGES_KEPT:
            self.messages.clear()
        self.messages.update(keys)


def without_secrets(start: RecordStart, hits: Sequence[Hit]) -> tuple[RecordStart, list[Hit]]:
    """Return a record with its secrets masked: no label, quote or state is made from another text."""
    texts = dict.fromkeys((start.text, *(hit.raw for hit in hits), *(hit.text for hit in hits)))
    if not can_hold_secret("\n".join(texts)):
        return start, list(hits)
    return start._replace(text=mask(start.text)), [_masked(hit) for hit in hits]


def _masked(hit: Hit) -> Hit:
    """Return a hit with its secrets masked. `near` moves with the text before it."""
    raw = mask(hit.raw)
    if raw == hit.raw:
        return hit if hit.text is hit.raw else hit._replace(text=mask(hit.text))
    near = min(len(raw), len(mask(hit.raw[: hit.near])))
    offset = 0 if hit.text == hit.raw else hit.raw.find(hit.text)
    text = mask(hit.text) if offset < 0 else mask_range(hit.raw, offset, offset + len(hit.text))
    return hit._replace(text=text, raw=raw, near=near)


def _split_settings(hits: Iterable[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the hits of settings, and all other hits."""
    signatures = all_signatures()
    settings: list[Hit] = []
    others: list[Hit] = []
    for hit in hits:
        of_settings = tuple(index for index in hit.signatures if signatures[index][1].event == SETTING)
        rest = tuple(index for index in hit.signatures if index not in of_settings)
        settings += [hit._replace(signatures=of_settings)] if of_settings else []
        others += [hit._replace(signatures=rest)] if rest else []
    return settings, others


def _explained(rows: Sequence[EventRow], unknown: Sequence[Hit]) -> bool:
    """Whether an event of the record explains its errors; an event of normal operation, on the same line only."""
    lines = {hit.line for hit in unknown}
    return any(row.name not in NORMAL_OPERATION or (row.name != SETTING and lines == {row.line}) for row in rows)


def _first_line(signature: Signature, start: RecordStart, hit: Hit) -> str:
    """Return the record's first line where the signature can learn from it: on another line than the first itself."""
    return start.text if signature.within or start.text != hit.text else ""


def quote_around(line: str, near: int) -> str:
    """Return the part of an overlong line around character `near`, secrets masked, also one whose key is cut off."""
    start = max(0, min(near - QUOTE_LENGTH // 2, len(line) - QUOTE_LENGTH))
    return mask_range(line, start, start + QUOTE_LENGTH)


def quote_beginning(line: str) -> str:
    """Return the line's beginning, secrets masked, also one that the end cuts."""
    return mask_range(line[: QUOTE_LENGTH + MAX_TOKEN], 0, QUOTE_LENGTH)


def iso(at: int) -> str:
    """Return milliseconds since 1970 as ISO 8601 in UTC; the nearest time of `events.TIMES` for one out of range."""
    clamped = min(max(at, TIMES.start), TIMES.stop - 1)
    return datetime.fromtimestamp(clamped / 1000, UTC).isoformat(timespec="milliseconds")
