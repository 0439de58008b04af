"""Reads what was appended to a topic between two query offsets, in a task: the events of each of its writers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from leadsman.errors import StateError
from leadsman.pipeline.garbage_collection import rare_garbage_collection
from leadsman.redaction import mask
from leadsman.telemetry.format import NotText
from leadsman.telemetry.recognise import recognise
from leadsman.watch.expired_streams import expired_writers
from leadsman.watch.kafka.record_lines import LineEntry, RecordLines, RecordReader, UnreadableRecord, keys_name_writers
from leadsman.watch.kafka.topic_consumer import OffsetRange, TooLarge, consumer_of, split_ranges
from leadsman.watch.kafka.topic_totals import TopicTotals
from leadsman.watch.kafka.writer_lines import HEAD_BYTES, WriterLines
from leadsman.watch.messages import SourceMessages
from leadsman.watch.outputs import moment, packed_outputs
from leadsman.watch.positions import PositionChange, TopicPosition
from leadsman.watch.stream_changes import FACTS, SUMMARY, ChangedEvents
from leadsman.watch.stream_states import StreamStates
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

    import pyarrow as pa

    from leadsman.watch.kafka.listing import TopicsRequest
    from leadsman.watch.outputs import OutputEntry

STEP_BYTES = 32 << 20
"""Bytes of records that are in memory at once, by the size of the records before."""

MAX_STEP_BYTES = 4 * STEP_BYTES
"""Where they are larger than before, up to so many bytes; then the step is halved."""

UNKNOWN_RECORD_BYTES = 4 << 10

MAX_EARLY = 500_000
"""Lines that wait for partitions that are behind. With more of them the order of times is given up."""

KEPT_VALUE_BYTES = 64 << 10
"""Of a record that is set aside."""

REPORTED_EACH = 10
"""Records set aside of one topic in one trigger that are named one by one."""


@dataclass(slots=True)
class TopicIndex:
    """What was learnt from a topic so far: its writers, each with the query offset in which it wrote last.

    `unnamed` are the first lines that name no writer: they show whether each line names one itself, as syslog's do.
    Where lines of a writer are spread over partitions, `early` are those that are later than what was read of a
    partition that is behind; `newest` has the latest time that was read of each. The states of the `forgotten` are
    removed in the next trigger: until then a restart can need them.
    """

    writers: dict[str, int] = field(default_factory=dict)
    totals: TopicTotals = field(default_factory=TopicTotals)
    unnamed: bytes = b""
    keys_name_writers: bool = True
    records: int = 0
    is_spread: bool = False
    newest: dict[int, int] = field(default_factory=dict)
    early: RecordLines = field(default_factory=RecordLines)
    forgotten: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TopicChange(PositionChange[TopicPosition]):
    """A topic in which records were appended: what to read, and the query offset in which it had changed before."""

    request: TopicsRequest
    previous_offset: int

    @property
    def query_offset(self) -> int:
        """The query offset in which to read it."""
        return self.position.changed_in

    @property
    def ranges(self) -> list[OffsetRange]:
        """The offsets to read."""
        return [OffsetRange(each.number, each.begin, each.end) for each in self.position.partitions]

    @property
    def bytes(self) -> int:
        """Bytes to read, about."""
        return sum(each.end - each.begin for each in self.ranges) * UNKNOWN_RECORD_BYTES


def read_topic_change(change: TopicChange, folder: Path, zone: tzinfo) -> Iterator[pa.RecordBatch]:
    """Yield the packed events of what was appended to a topic. `folder` has the states of its writers."""
    reading = TopicReading(change, StreamStates(folder), zone)
    with rare_garbage_collection():
        for ranges in reading.steps():
            reading.read(ranges)
    yield from reading.finish()


class TopicReading:
    """The reading of one topic in one trigger. Events are kept to its end: the reading of a writer can begin again."""

    def __init__(self, change: TopicChange, states: StreamStates, zone: tzinfo) -> None:
        self._change = change
        self._states = states
        self._zone = zone
        self._index = self._load_index()
        self._writers: dict[str, WriterLines] = {}
        self._facts: dict[str, list[pa.RecordBatch]] = {}
        self._metrics: dict[str, list[OutputEntry]] = {}
        self._set_aside: list[UnreadableRecord] = []
        self._records = self._bytes = 0
        self._newest: int | None = None
        request = change.request
        self._consumer = consumer_of(request.bootstrap, change.name, request.settings_file)

    def steps(self) -> list[list[OffsetRange]]:
        """Return the ranges to read one after the other, each with its share of every partition."""
        ranges = [each for each in self._change.ranges if each.begin < each.end]
        total = sum(each.end - each.begin for each in ranges)
        known = self._index.totals
        each_bytes = known.last_bytes // known.last_records if known.last_records else UNKNOWN_RECORD_BYTES
        return split_ranges(ranges, max(1, -(-total * max(1, each_bytes) // STEP_BYTES))) if ranges else []

    def read(self, ranges: Sequence[OffsetRange]) -> None:
        """Read some offsets; in two halves where their records take too much memory."""
        is_small = all(each.end - each.begin <= 1 for each in ranges)
        try:
            records = self._consumer.read(
                ranges, max_bytes=1 << 62 if is_small else MAX_STEP_BYTES, report=self._report
            )
        except TooLarge:
            for half in split_ranges(ranges, 2):
                self.read(half)
            return
        self._count(records)
        self._index.keys_name_writers = self._index.keys_name_writers and keys_name_writers(
            records, known=len(self._index.writers), seen=self._index.records
        )
        found = RecordReader(self._change.name, self._zone, keys_name_writers=self._index.keys_name_writers).read(
            records
        )
        self._set_aside += found.set_aside
        for each in found.outputs:
            self._metrics.setdefault(each.writer, []).append(each)
        for writer, entries in self._by_writer(self._without_early(found, ranges)):
            self._append(writer, entries)

    def _without_early(self, found: RecordLines, ranges: Sequence[OffsetRange]) -> RecordLines:
        """Return the lines whose turn it is; the others wait for partitions that are behind."""
        index = self._index
        for partition, at in found.newest().items():
            index.newest[partition] = max(at, index.newest.get(partition, at))
        index.is_spread = index.is_spread or found.is_spread
        if not index.is_spread:
            return found
        found = found.put_before(index.early)
        behind = self._behind(ranges)
        if not behind or sum(map(len, _every_list(found))) > MAX_EARLY:
            index.early = RecordLines()
            return found
        found, index.early = found.split_at(min(index.newest.get(each, 0) for each in behind))
        return found

    def _behind(self, ranges: Sequence[OffsetRange]) -> set[int]:
        """Return the partitions that hold more records than what is read with these ranges."""
        read = {each.partition: each.end for each in ranges}
        return {
            each.number
            for each in self._change.position.partitions
            if each.is_behind or read.get(each.number, each.end) < each.end
        }

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield the events of all writers, and write their states."""
        for name, writer in self._writers.items():
            stream = self._stream(name, writer.begun_in)
            summary = writer.summary()
            self._states.save(
                self._key(name), self._change.query_offset, writer, made_from=self._index.writers.get(name, 0)
            )
            yield from stream.packed(FACTS, self._facts[name])
            yield from stream.packed(SUMMARY, summary)
        for name, entries in self._metrics.items():
            yield from packed_outputs(self._stream(f"{name} metrics", 1), name, entries, self._zone)
        self._save_index()

    def _by_writer(self, found: RecordLines) -> Iterator[tuple[str, list[LineEntry]]]:
        """Yield the lines of each writer; those that name none by what each line says, else as the topic's own."""
        for writer, entries in found.in_order():
            if writer is not None:
                yield writer, entries
                continue
            split: dict[str, list[LineEntry]] = {}
            for name, entry in self._unnamed(entries):
                split.setdefault(name or self._change.name, []).append(entry)
            yield from split.items()

    def _unnamed(self, entries: Sequence[LineEntry]) -> Iterator[tuple[str | None, LineEntry]]:
        """Yield lines that came without a writer, each with the writer that it names itself, if it does."""
        text = b"\n".join(each.text for each in entries) + b"\n"
        if len(self._index.unnamed) < HEAD_BYTES:
            self._index.unnamed += text[: text.find(b"\n", HEAD_BYTES) + 1 or len(text)]
        form = recognise(self._index.unnamed, zone=self._zone, latest=moment(entries[-1].at))
        if isinstance(form, NotText) or form.records is None:
            yield from ((None, each) for each in entries)
            return
        at = [each.at for each in entries for _ in range(each.text.count(b"\n") + 1)]
        for record in form.records([text]):
            own = record.at if record.at is not None else at[min(record.line, len(at)) - 1]
            yield record.subject, LineEntry(own, record.text.encode("utf-8", "replace"))

    def _append(self, name: str, entries: Sequence[LineEntry]) -> None:
        writer = self._writers.get(name)
        if writer is None:
            writer = self._writers[name] = self._load_writer(name)
            self._facts[name] = []
        try:
            is_void, facts = writer.append(entries, self._change.query_offset, self._zone)
        except Exception as error:  # noqa: BLE001 - whatever a parser raises costs these lines, and not the watch
            self._leave_out(name, entries, f"{type(error).__name__}: {error}")
            return
        if is_void:
            self._facts[name] = []
        self._facts[name] += facts

    def _leave_out(self, name: str, entries: Sequence[LineEntry], why: str) -> None:
        """Set the lines of a writer aside; it is read on from its last written state, or from its next lines."""
        self._set_aside.append(UnreadableRecord(-1, 0, why, b"\n".join(each.text for each in entries), name))
        if name in self._index.writers:
            self._writers[name] = self._load_writer(name)
        else:
            del self._writers[name], self._facts[name]

    def _count(self, records: Mapping[int, Sequence[Any]]) -> None:
        for messages in records.values():
            self._records += len(messages)
            self._bytes += sum(map(len, messages))
            if messages:
                at = messages[-1].timestamp()[1]
                self._newest = max(at, self._newest or at)
        self._index.records += sum(map(len, records.values()))

    def _save_index(self) -> None:
        query_offset = self._change.query_offset
        self._index.writers.update(dict.fromkeys(self._writers, query_offset))
        self._forget_expired()
        self._index.totals = self._index.totals.after(self._records, self._bytes, len(self._set_aside), self._newest)
        self._states.save(self._key(""), query_offset, self._index, made_from=self._change.previous_offset)
        self._write_set_aside()
        self._index.totals.write(self._change.request.sources_folder, self._change.name)

    def _forget_expired(self) -> None:
        """Forget the writers of whom no event is kept, unless they wrote since; remove the states of those before."""
        index = self._index
        for name in index.forgotten:
            if name not in index.writers:
                self._states.remove(self._key(name))
        expired = expired_writers(Path(self._change.request.folder), self._change.capture, self._change.name)
        index.forgotten = [name for name, until in expired if index.writers.get(name, until + 1) <= until]
        for name in index.forgotten:
            del index.writers[name]

    def _write_set_aside(self) -> None:
        """Write the records that could not be read to a file of this trigger, and report where they are."""
        if not self._set_aside:
            return
        folder = self._change.request.sources_folder / "set_aside"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._change.query_offset}.{self._change.position.name}.jsonl"
        is_new = not path.exists()
        path.write_text("".join(_set_aside_line(self._change.name, each) for each in self._set_aside), encoding="utf-8")
        if is_new:
            self._report_set_aside(path)

    def _report_set_aside(self, path: Path) -> None:
        for each in self._set_aside[:REPORTED_EACH]:
            lines = f"lines of {each.writer} in {self._change.name}"
            where = lines if each.writer else f"{self._change.name}/{each.partition} offset {each.offset}"
            self._report(f"Set aside {where}: {each.why[:200]}. It is in {path}.")
        if (more := len(self._set_aside) - REPORTED_EACH) > 0:
            self._report(f"Set aside {count(more, 'more record')} of {self._change.name}: see {path}.")

    def _report(self, text: str) -> None:
        SourceMessages(self._change.request.sources_folder).report(text)

    def _load_index(self) -> TopicIndex:
        if not self._change.previous_offset:
            return TopicIndex()
        index = self._states.load(self._key(""), self._change.previous_offset)
        return index if isinstance(index, TopicIndex) else self._raise_unreadable("index")

    def _load_writer(self, name: str) -> WriterLines:
        last_written_in = self._index.writers.get(name)
        if last_written_in is None:
            return WriterLines.begin(self._change.capture, name, self._file(name), self._change.query_offset)
        writer = self._states.load(self._key(name), last_written_in)
        return writer if isinstance(writer, WriterLines) else self._raise_unreadable(name)

    def _raise_unreadable(self, what: str) -> NoReturn:
        raise StateError(
            f"The state of {what} in the topic {self._change.name} cannot be read: it is damaged, or was written by "
            "another version of leadsman, or with other sources of events. Its records cannot be read again from the "
            "beginning. Start with another --to folder."
        )

    def _key(self, name: str) -> tuple[str, str]:
        return self._change.capture, self._file(name)

    def _file(self, name: str) -> str:
        return f"{self._change.name}/{name}"

    def _stream(self, name: str, begun_in: int) -> ChangedEvents:
        return ChangedEvents(self._change.capture, self._file(name), self._change.query_offset, begun_in)


def _every_list(found: RecordLines) -> Iterator[list[LineEntry]]:
    for of_partition in found.lines.values():
        yield from of_partition.values()


def _set_aside_line(topic: str, each: UnreadableRecord) -> str:
    """Return a record as a line of JSON, with its secrets masked. Bytes that are no text are replaced."""
    value = mask((each.value or b"")[:KEPT_VALUE_BYTES].decode("utf-8", "replace"))
    origin = {"writer": each.writer} if each.writer else {"partition": each.partition, "offset": each.offset}
    record = {"topic": topic, **origin, "why": mask(each.why), "value": value}
    return json.dumps(record) + "\n"
