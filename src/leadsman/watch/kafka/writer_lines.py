"""The lines of one writer as a growing log: the same reader as for files, and the same events.

Which times the lines carry is learnt from the first of them, and learnt anew while these are few. Lines without times
of their own get the time of their record in front, as `docker logs --timestamps` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from leadsman.pipeline.events import batches
from leadsman.pipeline.read.blocks import BLOCK_BYTES
from leadsman.pipeline.read.growing import FileRange, GrowingStream, NotGrowing, line_times, plain_form
from leadsman.pipeline.read.records import iso
from leadsman.pipeline.scope.streams import File, Stream
from leadsman.telemetry.line_records.text_lines import CONTINUES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    import pyarrow as pa

    from leadsman.telemetry.format import RecognisedFormat
    from leadsman.watch.kafka.record_lines import LineEntry

HEAD_BYTES = 16 << 10
"""Bytes of the first lines by which the format is recognised: a hundred lines and more."""

STAMPED_EXAMPLE = b"2026-01-01T00:00:00.000+00:00 text\n"


@dataclass(slots=True)
class WriterLines:
    """What was read of one writer's lines. `begun_in` is the query offset in which the reading began.

    `head` holds the first lines, `head_bytes` of them; `recognised` is how many of them the format was recognised by.
    """

    capture: str
    name: str
    file: str
    growing: GrowingStream
    head: list[LineEntry] = field(default_factory=list)
    head_bytes: int = 0
    recognised: int = 0
    is_stamped: bool = False
    end: int = 0

    @classmethod
    def begin(cls, capture: str, name: str, file: str, query_offset: int) -> WriterLines:
        """Return the state of a writer of which nothing was read yet."""
        return cls(capture, name, file, GrowingStream.begin(Stream(capture, name, ()), query_offset))

    @property
    def begun_in(self) -> int:
        """The query offset in which the reading began, or began again."""
        return self.growing.version

    def append(
        self, entries: Sequence[LineEntry], query_offset: int, zone: tzinfo
    ) -> tuple[bool, list[pa.RecordBatch]]:
        """Return the events of further lines, and whether the reading began again: earlier events are void then."""
        read = list(self.head) if self.is_in_head else []
        before = self._form(zone) if self.recognised else None
        was_stamped = self.is_stamped
        self._extend_head(entries)
        form = self._learn(zone)
        is_changed = (
            before is not None
            and bool(read)
            and (self.is_stamped != was_stamped or self._reads_otherwise(read, before, form))
        )
        if is_changed:
            self.growing = GrowingStream.begin(Stream(self.capture, self.name, ()), query_offset)
            self.end = 0
            entries = [*read, *entries]
        data = self._text(entries, has_record=bool(self.end))
        self.end += len(data)
        changed = datetime.fromtimestamp(max(each.at for each in entries) / 1000, UTC)
        file = FileRange(File("", self.file, self.end, changed), "")
        return is_changed, list(batches(self.growing.read_pieces(file, form, _pieces(data))))

    def summary(self) -> list[pa.RecordBatch]:
        """Return the events that further lines can change."""
        return list(batches(self.growing.summary()))

    @property
    def is_in_head(self) -> bool:
        """Whether all lines so far are among the first, so that they can be read again."""
        return self.head_bytes < HEAD_BYTES

    def _extend_head(self, entries: Sequence[LineEntry]) -> None:
        for entry in entries:
            if not self.is_in_head:
                return
            self.head.append(entry)
            self.head_bytes += len(entry.text) + 1

    def _learn(self, zone: tzinfo) -> RecognisedFormat:
        """Recognise the format, anew where there are twice as many of the first lines, or all of them."""
        is_final = not self.is_in_head and self.recognised < len(self.head)
        if is_final or len(self.head) >= 2 * self.recognised:
            self.recognised = len(self.head)
            self.is_stamped = _has_no_times(self._head_text(stamped=False), zone, self._latest)
        return self._form(zone)

    def _form(self, zone: tzinfo) -> RecognisedFormat:
        return _form_of(self._head_text(stamped=self.is_stamped), zone, self._latest)

    def _head_text(self, *, stamped: bool) -> bytes:
        return _joined(self.head[: self.recognised], stamped=stamped, has_record=False)

    @property
    def _latest(self) -> datetime:
        return datetime.fromtimestamp(max(each.at for each in self.head[: self.recognised]) / 1000, UTC)

    def _reads_otherwise(self, read: Sequence[LineEntry], before: RecognisedFormat, form: RecognisedFormat) -> bool:
        """Whether the format reads other times on the lines that were read before."""
        text = self._text(read, has_record=False)
        return line_times(text, before) != line_times(text, form)

    def _text(self, entries: Sequence[LineEntry], *, has_record: bool) -> bytes:
        return _joined(entries, stamped=self.is_stamped, has_record=has_record)


def _joined(entries: Sequence[LineEntry], *, stamped: bool, has_record: bool) -> bytes:
    """Return the lines as a log's text. `has_record`: a line that continues a record may be the first."""
    if not stamped:
        return b"".join([each.text + b"\n" for each in entries])
    return b"".join(_stamped(entries, has_record=has_record))


def _stamped(entries: Sequence[LineEntry], *, has_record: bool) -> Iterator[bytes]:
    for index, each in enumerate(entries):
        if (index or has_record) and CONTINUES.match(each.text[:80].decode("utf-8", "replace")):
            yield each.text + b"\n"
        else:
            yield iso(each.at).encode() + b" " + each.level + each.text + b"\n"


def _has_no_times(head: bytes, zone: tzinfo, latest: datetime) -> bool:
    try:
        plain_form(head, zone, latest)
    except NotGrowing:
        return True
    return False


@lru_cache(maxsize=4000)
def _form_of(head: bytes, zone: tzinfo, latest: datetime) -> RecognisedFormat:
    """Return the format of a writer's lines. A process keeps those of many writers: recognising takes milliseconds."""
    try:
        return plain_form(head, zone, latest)
    except NotGrowing:
        return replace(plain_form(STAMPED_EXAMPLE, zone, latest), names=("undated text",))


def _pieces(data: bytes) -> Iterator[bytes]:
    """Yield whole lines, one block at most where the lines are no longer than that."""
    begin = 0
    while begin < len(data):
        end = data.rfind(b"\n", begin, begin + BLOCK_BYTES) + 1 or data.find(b"\n", begin) + 1
        yield data[begin:end]
        begin = end
