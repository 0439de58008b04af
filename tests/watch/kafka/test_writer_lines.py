"""The lines of a writer in batches of any size have the events of the file in which they stand."""

from __future__ import annotations

import pickle
import random
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leadsman import modes
from leadsman.pipeline.events import batches
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files
from leadsman.watch.kafka.record_lines import LineEntry
from leadsman.watch.kafka.writer_lines import WriterLines

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

MODES = Path(next(iter(modes.__path__)))
LOGS = sorted(path for mode in sorted(MODES.glob("*/recorded")) for path in min(mode.glob("broken-*")).rglob("*.log"))
AT = 1_771_243_831_000
BANNER = ("  .   ____          _", " /\\\\ / ___'_ __ _ _(_)_ __", " :: Spring Boot ::", "")


def rows_of(events: Sequence[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in events for row in batch.to_pylist()]


def comparable(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(str({**row, "labels": [pair for pair in row["labels"] if pair[0] != "bytes"]}) for row in rows)


def in_batches(name: str, entries: Sequence[LineEntry], chance: random.Random) -> list[dict[str, Any]]:
    """The events after reading batch by batch; the state goes through a file between any two."""
    writer = WriterLines.begin("capture", name, name, 1)
    facts: list[pa.RecordBatch] = []
    begin, number = 0, 0
    while begin < len(entries):
        end, number = begin + chance.choice([1, 2, 7, 50, 400]), number + 1
        is_void, found = writer.append(entries[begin:end], number, UTC)
        facts = [*([] if is_void else facts), *found]
        writer = pickle.loads(pickle.dumps(writer))
        begin = end
    return rows_of([*facts, *writer.summary()])


@pytest.mark.parametrize("log", LOGS, ids=lambda path: "/".join(path.parts[-4:]))
def test_batches_of_a_recorded_log_have_the_events_of_the_file(log: Path):
    (stream,) = list_files(str(log)).streams
    entries = [LineEntry(AT, line) for line in log.read_bytes().splitlines()]

    in_pieces = in_batches(stream.name, entries, random.Random(str(log)))

    expected = [{**row, "capture": "capture"} for row in rows_of(list(batches(read(stream, UTC))))]
    assert comparable(in_pieces) == comparable(expected)


def test_a_banner_without_times_above_the_log_does_not_decide_its_format():
    lines = [*BANNER, *(f"2026-02-16 12:00:{second:02d}.000 ERROR Mail{second} failed" for second in range(20))]

    rows = in_batches("app", [LineEntry(AT, line.encode()) for line in lines], random.Random(1))

    found = [row["at"].isoformat() for row in rows if row["name"] == "error"]
    assert found == ["2026-02-16T12:00:00+00:00"]


def test_lines_without_times_keep_their_stack_traces_together():
    texts = ["ERROR Mail failed", "java.lang.IllegalStateException: full", "\tat Mails.send(Mails.java:1)", "INFO ok"]
    entries = [LineEntry(AT + place, text.encode()) for place, text in enumerate(texts)]

    rows = in_batches("app", entries, random.Random(3))

    assert {row["value"] for row in rows if row["name"] == "subject.active"} == {4.0}
    assert next(row["text"] for row in rows if row["name"] == "error").startswith(
        "2026-02-16T12:10:31.000+00:00 ERROR Mail"
    )


def test_a_level_that_stands_beside_the_message_is_put_before_it():
    entries = [LineEntry(AT + place * 1000, b"Mail failed: full", b"[ERROR] ") for place in range(3)]

    rows = in_batches("app", entries, random.Random(3))

    (error,) = [row for row in rows if row["name"] == "error"]
    assert dict(error["labels"])["level"] == "ERROR"
    assert dict(error["labels"])["message"] == "Mail failed: full"
