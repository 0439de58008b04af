"""JSON lines of several writers: Filebeat and Kibana exports, journald, Loki, Docker."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadsman.telemetry.format import Record
from leadsman.telemetry.formats import jsons, streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.telemetry.formats.stamps import Stamp

DECODER = json.JSONDecoder(strict=False)
WAYS_TO_WRITE = ('"{}"'.format, json.JSONEncoder(ensure_ascii=False).encode, json.JSONEncoder().encode)
"""The usual ones. Another writer may escape a slash."""

STRING = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
ENOUGH_OF_ALL = 0.5


def subject_path(sample: Sequence[dict[str, Any]]) -> str | None:
    """Where these records name their writer; None where the file has one writer only.

    A key that collectors write counts even when the sample shows one value: another writer may come later.
    """
    records = [jsons.flat(record) for record in sample]
    for path in jsons.commonest_paths(records, (*jsons.FLEET_KEYS, *jsons.LOCAL_KEYS), ENOUGH_OF_ALL):
        values = [value for record in records if isinstance(value := jsons.at_path(record, path), str | int)]
        if len(values) < ENOUGH_OF_ALL * len(records):
            continue
        if path in jsons.FLEET_KEYS or len(set(values)) > 1:
            return path
    return _label_path(records)


def _label_path(records: Sequence[dict[str, Any]]) -> str | None:
    """Loki's labels, as logcli writes them."""
    has_labels = sum(isinstance(record.get("labels"), dict) and "line" in record for record in records)
    return "labels" if records and has_labels >= ENOUGH_OF_ALL * len(records) else None


LABELS = ("filename", "container_id", "pod", "container", "instance", "host", "hostname", "node", "job", "app")


def label_subject(labels: dict[str, Any]) -> str | None:
    """Name the worker that a set of labels names: container within pod, or whichever there is."""
    if labels.get("pod") and labels.get("container"):
        return f"{labels['pod']}/{labels['container']}"
    return next((str(labels[name]) for name in LABELS if labels.get(name)), None)


def subject_of(record: dict[str, Any], path: str | None) -> str | None:
    """Who wrote this record, under the path that `subject_path` found."""
    value = jsons.at_path(record, path) if path else None
    if isinstance(value, dict):
        return label_subject(value)
    return str(value) if isinstance(value, str | int) and value != "" else None


def text_of(record: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the record as one text, and the texts that stand in the file for it (message, stack trace)."""
    message = jsons.text_at(record, jsons.MESSAGE_KEYS) or ""
    stack = jsons.text_at(record, jsons.STACK_KEYS)
    level = jsons.text_at(record, jsons.LEVEL_KEYS)
    texts = [text for text in (message, stack) if text]
    whole = "\n".join(text.rstrip("\n") for text in texts)
    return (f"[{level.upper()}] {whole}" if level else whole), texts


def raw_span(raw: str, texts: list[str]) -> tuple[int, int]:
    """From where to where the texts stand in `raw`, in the escapes of the file. All of `raw` where they do not."""
    spans = [span for text in texts if (span := _raw_one(raw, text))]
    return (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else (0, len(raw))


def _raw_one(raw: str, text: str) -> tuple[int, int] | None:
    for written in WAYS_TO_WRITE:
        value = written(text)
        plain = raw.find(value)
        if plain >= 0:
            return plain + 1, plain + len(value) - 1
    for found in re.finditer(STRING, raw):
        if "\\" in found[1] and unescaped(found[1]) == text:
            return found.span(1)
    return None


def unescaped(raw: str) -> str | None:
    """Decode a JSON string, given what stands between its quotes."""
    try:
        return str(DECODER.decode(f'"{raw}"'))
    except ValueError:
        return None


def read(line: bytes, number: int, path: str | None, time_at: Stamp) -> Record:
    """One line as a record; a line that is no JSON is a record of nobody."""
    raw = streams.decoded(line)
    record = jsons.as_record(line)
    if record is None:
        return Record(number, time_at(line, 0, len(line)), None, raw, raw)
    record = jsons.flat(record)
    text, texts = text_of(record)
    begin, end = raw_span(raw, texts)
    at = time_at(line, 0, len(line))
    return Record(number, at, subject_of(record, path), text, raw[begin:end])


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads a file of JSON lines, whose writers are named under `path`."""

    path: str
    time_at: Stamp

    def __call__(self, blocks: Iterable[bytes]) -> Iterator[Record]:
        """Yield the records line by line."""
        lines = ((number, line) for number, line in streams.numbered_lines(blocks) if line.strip())
        yield from streams.with_heads(read(line, number, self.path, self.time_at) for number, line in lines)


def docker_reader(time_at: Stamp) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Docker cuts lines at 16 KiB: a record goes on while `log` does not end with a newline."""

    def pieces(blocks: Iterable[bytes]) -> Iterator[tuple[Record, str, bool]]:
        for number, line in streams.numbered_lines(blocks):
            record = jsons.as_record(line) or {}
            log = record.get("log")
            if isinstance(log, str):
                raw = streams.decoded(line)
                begin, end = raw_span(raw, [log])
                at = time_at(line, 0, len(line))
                yield (
                    Record(number, at, None, log.rstrip("\n"), raw[begin:end]),
                    str(record.get("stream")),
                    log[-1:] != "\n",
                )

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        yield from streams.with_heads(streams.joined(pieces(blocks)))

    return records
