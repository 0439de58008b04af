"""Takes the lines out of Kafka records: what shippers wrap is unwrapped by the readers of wrapped formats.

A record is one of three. Text is the line itself (or several), and key or headers name its writer. JSON of a shipper
names writer and time beside the line. OTLP, JSON or protobuf, holds many records, or metrics.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from leadsman.telemetry.json_records import documents, json_fields, line_reader, otlp
from leadsman.telemetry.timestamps.parsers import iso_or_epoch_parser
from leadsman.watch.outputs import OutputEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

OPENING_BRACE, OPENING_BRACKET, NEWLINE = 0x7B, 0x5B, 0x0A
"""First bytes of JSON; and of OTLP in protobuf, whose first field is number 1, a message."""

WRAPPED_FIRST_BYTES = frozenset({OPENING_BRACE, OPENING_BRACKET, NEWLINE, ord("#")})
"""Any other first byte is that of a line; `# HELP` and `# TYPE` begin metrics."""

DOCUMENT_PATHS = tuple(".".join(path) for path in sorted(documents.RECORD_ARRAYS.arrays) if path)
"""Where a document of several records has them."""
DOCUMENT_KEYS = frozenset(path.partition(".")[0] for path in DOCUMENT_PATHS)

POD_KEYS = ("kubernetes.pod.name", "kubernetes.pod_name")
CONTAINER_KEYS = ("kubernetes.container.name", "kubernetes.container_name")
HOST_KEYS = ("host.name", "host.hostname", "agent.hostname", "hostname", "host")

NUL = 0
"""No text holds it. An integer is looked for five times as fast in bytes as a byte string."""

MAX_KEY_LENGTH = 200
"""A longer key is no name."""

MANY_KEYS = 1000
KEYS_A_RECORD = 0.5
"""So many distinct keys, and more than this share of the records, are ids of requests: they name no writer."""


class LineEntry(NamedTuple):
    """A line: its text, and what stands before the text where the line has no time of its own (`[ERROR] `).

    `at` is the time of the record (ms since 1970), in case the line has none. `file_offset` is where the line
    stands in its file, as the shipper says it: lines of one millisecond in several partitions have an order by it.
    """

    at: int
    text: bytes
    level: bytes = b""
    file_offset: int = 0


class UnreadableRecord(NamedTuple):
    """A record that could not be read, and why; or lines of a `writer` on which a parser failed."""

    partition: int
    offset: int
    why: str
    value: bytes
    writer: str = ""


class NotReadable(Exception):
    """The value of a record is neither text nor OTLP."""


@dataclass(slots=True)
class RecordLines:
    """The lines of some records by writer and partition, their metrics, and records that could not be read.

    The writer None stands for records that name nobody.
    """

    lines: dict[str | None, dict[int, list[LineEntry]]] = field(default_factory=dict)
    outputs: list[OutputEntry] = field(default_factory=list)
    set_aside: list[UnreadableRecord] = field(default_factory=list)

    def add(self, writer: str | None, partition: int, entry: LineEntry) -> None:
        """Add a line of a writer."""
        self.entries(writer, partition).append(entry)

    def entries(self, writer: str | None, partition: int) -> list[LineEntry]:
        """Return the lines of a writer in a partition, to which others are appended."""
        if writer not in self.lines:
            self.lines[writer] = defaultdict(list)
        return self.lines[writer][partition]

    @property
    def is_spread(self) -> bool:
        """Whether lines of one writer are in several partitions."""
        return any(len(of_partition) > 1 for of_partition in self.lines.values())

    def newest(self) -> dict[int, int]:
        """Return the latest time of the lines of each partition."""
        newest: dict[int, int] = {}
        for of_partition in self.lines.values():
            for partition, entries in of_partition.items():
                newest[partition] = max(newest.get(partition, 0), *(each.at for each in entries))
        return newest

    def put_before(self, earlier: RecordLines) -> RecordLines:
        """Return these lines with those of `earlier` before them, in each partition."""
        joined = RecordLines(outputs=self.outputs, set_aside=self.set_aside)
        for lines in (earlier.lines, self.lines):
            for writer, of_partition in lines.items():
                for partition, entries in of_partition.items():
                    joined.entries(writer, partition).extend(entries)
        return joined

    def split_at(self, at: int) -> tuple[RecordLines, RecordLines]:
        """Return the lines before a time, and the others: in each partition, from the first one on that is not."""
        before, after = RecordLines(outputs=self.outputs, set_aside=self.set_aside), RecordLines()
        for writer, of_partition in self.lines.items():
            for partition, entries in of_partition.items():
                index = next((index for index, each in enumerate(entries) if each.at >= at), len(entries))
                for lines, part in ((before, entries[:index]), (after, entries[index:])):
                    if part:
                        lines.entries(writer, partition).extend(part)
        return before, after

    def in_order(self) -> Iterator[tuple[str | None, list[LineEntry]]]:
        """Yield the lines of each writer in the order in which they were written.

        That is the order of the partition. Where a writer's records are in several partitions, as most shippers spread
        them, it is the order of their times, and within one partition still that of the partition.
        """
        for writer, of_partition in self.lines.items():
            if len(of_partition) == 1:
                yield writer, next(iter(of_partition.values()))
            else:
                yield writer, _merged([of_partition[number] for number in sorted(of_partition)])


def _merged(partitions: Iterable[Sequence[LineEntry]]) -> list[LineEntry]:
    timed: list[tuple[int, LineEntry]] = []
    for entries in partitions:
        latest = 0
        for entry in entries:
            latest = max(latest, entry.at)
            timed.append((latest, entry))
    # The sort is stable: equal times stay in the order of their partition.
    timed.sort(key=lambda pair: (pair[0], pair[1].file_offset))
    return [entry for _, entry in timed]


class RecordReader:
    """Reads records of one topic. `zone` is that of times that name none."""

    def __init__(self, topic: str, zone: tzinfo, *, keys_name_writers: bool = True) -> None:
        self._topic = topic
        self._parse_time = iso_or_epoch_parser(zone)
        self._keys_name_writers = keys_name_writers
        self._writers: dict[bytes, str | None] = {}

    def read(self, records: Mapping[int, Iterable[Any]]) -> RecordLines:
        """Return the lines in the records of each partition."""
        found = RecordLines()
        for partition, messages in records.items():
            for message in self._without_plain_lines(messages, partition, found):
                try:
                    self._read(message, partition, found)
                except (NotReadable, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
                    why = str(error) if isinstance(error, NotReadable) else f"{type(error).__name__}: {error}"
                    found.set_aside.append(UnreadableRecord(partition, message.offset(), why, message.value()))
        return found

    def _without_plain_lines(self, messages: Iterable[Any], partition: int, found: RecordLines) -> Iterator[Any]:
        """Add the lines that are the values themselves, most of many topics, and yield all other records."""
        add: dict[bytes | None, Callable[[LineEntry], None]] = {}
        make = tuple.__new__  # the named tuple's own constructor takes five times as long
        for message in messages:
            value = message.value()
            if not value or value[0] in WRAPPED_FIRST_BYTES or NUL in value or message.headers() is not None:
                yield message
                continue
            key = message.key()
            if key not in add:
                add[key] = found.entries(self._writer_of(message), partition).append
            entry = make(LineEntry, (message.timestamp()[1], value.rstrip(b"\r\n"), b"", 0))
            add[key](entry)

    def _read(self, message: Any, partition: int, found: RecordLines) -> None:  # noqa: ANN401 - the library has no types
        value = message.value()
        if value is None:
            return  # a tombstone of a compacted topic
        first = value[0] if value else 0
        if first in (OPENING_BRACE, OPENING_BRACKET) and self._read_json(value, message, partition, found):
            return
        if first == NEWLINE and self._read_protobuf(value, message, partition, found):
            return
        if NUL in value:
            raise NotReadable("neither text nor OTLP: a binary format, or one of a schema registry")
        text = value.rstrip(b"\r\n")
        if text.startswith((b"# HELP ", b"# TYPE ")):
            found.outputs.append(OutputEntry(self._writer_of(message) or self._topic, _time_of(message), value))
        else:
            found.add(self._writer_of(message), partition, LineEntry(_time_of(message), text))

    def _read_json(self, value: bytes, message: Any, partition: int, found: RecordLines) -> bool:  # noqa: ANN401 - the library has no types
        """Read a JSON value; return whether it is one."""
        text = value.decode("utf-8", "replace")
        try:
            document = documents.DECODER.decode(text)
        except (ValueError, RecursionError):
            return False
        if isinstance(document, dict) and document.get("status") == "success" and "data" in document:
            found.outputs.append(OutputEntry(self._writer_of(message) or self._topic, _time_of(message), value))
        elif isinstance(document, dict) and ("resourceLogs" in document or "resourceMetrics" in document):
            self._read_otlp(document, message, partition, found)
        elif isinstance(document, dict) and not _is_document(document):
            self._add_record(json_fields.unwrap(document), text, message, partition=partition, found=found)
        else:
            self._read_document(text, message, partition, found)
        return True

    def _read_document(self, text: str, message: Any, partition: int, found: RecordLines) -> None:  # noqa: ANN401 - the library has no types
        """Read a document of several records: Loki's push, a subscription of CloudWatch, an array."""
        count = 0
        for record in documents.parse_records([text], self._parse_time):
            at = _time_of(message) if record.at is None else record.at
            writer = record.subject or self._writer_of(message)
            found.add(writer, partition, LineEntry(at, record.text.encode("utf-8", "replace")))
            count += 1
        if not count and len(text) > len("[{}]"):
            raise NotReadable("a JSON document in which no record was found")

    def _read_otlp(self, document: Mapping[str, Any], message: Any, partition: int, found: RecordLines) -> None:  # noqa: ANN401 - the library has no types
        for resource in document.get("resourceLogs") or ():
            for record in otlp.log_records(resource):
                self._add_record(record, record["message"], message, partition=partition, found=found)
        for resource in document.get("resourceMetrics") or ():
            lines = list(otlp.exposition(resource))
            attributes = next(otlp.log_records({**resource, "scopeLogs": [{"logRecords": [{}]}]}))
            writer = _writer_of_record(attributes) or self._writer_of(message) or self._topic
            if lines:
                found.outputs.append(OutputEntry(writer, _time_of(message), "\n".join(lines).encode() + b"\n"))

    def _read_protobuf(self, value: bytes, message: Any, partition: int, found: RecordLines) -> bool:  # noqa: ANN401 - the library has no types
        """Read OTLP in protobuf; return whether it is that."""
        document = otlp_document(value)
        if document is None:
            return False
        self._read_otlp(document, message, partition, found)
        return True

    def _add_record(
        self,
        record: dict[str, Any],
        raw: str,
        message: Any,  # noqa: ANN401 - the library has no types
        *,
        partition: int,
        found: RecordLines,
    ) -> None:
        joined, texts = line_reader.message_text(record)
        bare = "\n".join(text.rstrip("\n") for text in texts)
        level = joined[: len(joined) - len(bare)] if texts else ""
        at = record.get("time_ms") or documents.record_time(record, self._parse_time) or _time_of(message)
        writer = self._writer_of_wrapped(record, message)
        is_empty = not texts and any(record.get(key) == "" for key in json_fields.MESSAGE_KEYS)
        text = (bare if bare or is_empty else raw).encode("utf-8", "replace")
        found.add(writer, partition, LineEntry(at, text, level.encode("utf-8", "replace"), _file_offset(record)))

    def _writer_of_wrapped(self, record: dict[str, Any], message: Any) -> str | None:  # noqa: ANN401 - the library has no types
        """Return the writer that a JSON record names; with what its key names, where it names its host alone."""
        writer, outside = _writer_of_record(record), self._writer_of(message)
        if writer is None or outside is None or json_fields.text_at(record, json_fields.FLEET_KEYS):
            return writer or outside
        is_host = writer in (json_fields.text_at(record, (name,)) for name in json_fields.LOCAL_KEYS)
        return f"{writer}/{outside}" if is_host and writer != outside else writer

    def _writer_of(self, message: Any) -> str | None:  # noqa: ANN401 - the library has no types
        """Return the writer that headers or key of a record name."""
        headers = message.headers()
        if headers and (writer := _writer_of_headers(headers)):
            return writer
        key = message.key()
        if not key or not self._keys_name_writers:
            return None
        if key not in self._writers:
            self._writers[key] = _writer_of_key(key)
        return self._writers[key]


def _is_document(value: dict[str, Any]) -> bool:
    """Whether a value holds records, and is none itself: an application may call anything `events`."""
    if DOCUMENT_KEYS.isdisjoint(value):
        return False
    has_records = any(isinstance(json_fields.value_at(value, path), list) for path in DOCUMENT_PATHS)
    return has_records and not line_reader.message_text(value)[1]


def otlp_document(value: bytes) -> dict[str, Any] | None:
    """Return OTLP logs or metrics in protobuf as JSON; None where the bytes are neither."""
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    for kind, is_one in ((LogsData, _has_log_records), (MetricsData, _has_metrics)):
        try:
            message = kind.FromString(value)
        except DecodeError:
            continue
        if is_one(message):
            return dict(MessageToDict(message))
    return None


def _has_log_records(message: Any) -> bool:  # noqa: ANN401 - generated classes
    records = [
        each for resource in message.resource_logs for scope in resource.scope_logs for each in scope.log_records
    ]
    return any(each.time_unix_nano or each.observed_time_unix_nano or each.HasField("body") for each in records)


def _has_metrics(message: Any) -> bool:  # noqa: ANN401 - generated classes
    metrics = [
        each for resource in message.resource_metrics for scope in resource.scope_metrics for each in scope.metrics
    ]
    return any(each.name and each.WhichOneof("data") for each in metrics)


def keys_name_writers(records: Mapping[int, Iterable[Any]], *, known: int, seen: int) -> bool:
    """Whether the keys are few enough to name writers. `known` keys were met in `seen` records before."""
    keys = {message.key() for messages in records.values() for message in messages}
    count = sum(1 for messages in records.values() for _ in messages)
    return known + len(keys) <= MANY_KEYS or known + len(keys) <= KEYS_A_RECORD * (seen + count)


def _writer_of_record(record: dict[str, Any]) -> str | None:
    """Return the writer that a shipper's record names. A file is of one host: every host has the same paths."""
    name = documents.record_writer(record)
    if name is not None and (container := json_fields.text_at(record, CONTAINER_KEYS)):
        return f"{name}/{container}" if name == json_fields.text_at(record, POD_KEYS) else name
    path = json_fields.text_at(record, ("log.file.path",)) or _file_of_vector(record)
    host = json_fields.text_at(record, HOST_KEYS) if path else None
    if path and name in (None, path, host):
        return f"{host}/{path.lstrip('/')}" if host else path
    return name or otlp.writer_of(record)


def _file_offset(record: Mapping[str, Any]) -> int:
    """Return the offset of a line in its file, as Filebeat and Vector say it; 0 where nothing does."""
    offset = json_fields.value_at(record, "log.offset")
    offset = record.get("offset") if offset is None else offset
    return offset if isinstance(offset, int) else 0


def _file_of_vector(record: Mapping[str, Any]) -> str | None:
    """Return the file that Vector has read. In records of others a `file` is one of source code."""
    name = record.get("file")
    return name if isinstance(name, str) and "source_type" in record else None


def _writer_of_headers(headers: Iterable[tuple[str, bytes | None]]) -> str | None:
    texts = {name: value.decode("utf-8", "replace") for name, value in headers if isinstance(value, bytes)}
    return _writer_of_record(dict(texts)) or line_reader.writer_of_labels(texts)


def _writer_of_key(key: bytes) -> str | None:
    """Return the name in a key; None for one that is binary or long."""
    if len(key) > MAX_KEY_LENGTH:
        return None
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    if text[:1] == "{":
        try:
            record = json.loads(text)
        except ValueError:
            return None
        return _writer_of_record(record) if isinstance(record, dict) else None
    return text if text.isprintable() and text.strip() else None


def _time_of(message: Any) -> int:  # noqa: ANN401 - the library has no types
    """Return the time of a Kafka record (ms since 1970): its creation's, or its arrival's, as the topic is set."""
    at: int = message.timestamp()[1]
    return at
