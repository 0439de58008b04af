"""A stream that is read by splits has the same events as one that is read as a whole."""

from __future__ import annotations

import gzip
import pickle
import random
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman import modes
from leadsman import vocabulary as names
from leadsman.pipeline.events import EventRow, batches
from leadsman.pipeline.idle_gaps.spans import SpanEnd
from leadsman.pipeline.idle_gaps.writers import SubjectActivity
from leadsman.pipeline.read import blocks, splits
from leadsman.pipeline.read.split_reading import SplitState, read_split, remaining_events
from leadsman.pipeline.read.splits import split_stream, split_streams
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files
from leadsman.pipeline.spark.event_frames import cores, read_events

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

START = datetime(2026, 2, 16, 12, 0, tzinfo=UTC)
CREATED = (
    "INFO org.apache.kafka.clients.producer.ProducerConfig - ProducerConfig values:\n"
    "\tacks = {k}\n\tretries = 0\n\tconnections.max.idle.ms = {k}0000"
)
EXPIRED = (
    "ERROR com.acme.Orders - Publish {n} failed\n"
    "org.apache.kafka.common.errors.TimeoutException: Expiring {k} record(s) for orders-1:120000 ms has passed since\n"
    "\tat com.acme.Orders.publish(Orders.java:77)\nCaused by: java.io.IOException: No space left on device"
)
UNKNOWN = (
    "ERROR com.acme.Mails - Mail {n} failed: password=hunter{n}\n"
    "java.lang.IllegalStateException: mailbox {k} is full\n\tat com.acme.Mails.send(Mails.java:{k})"
)
INVOCATION = (
    "INFO START RequestId: 0a1b2c3d-0000-4000-8000-00000000000{k} Version: 7\n"
    "END RequestId: 0a1b2c3d-0000-4000-8000-00000000000{k}\n"
    "REPORT RequestId: 0a1b2c3d-0000-4000-8000-00000000000{k}\tDuration: {n}.5 ms\t"
)
NOT_CONNECTED = "Connection to node {k} (b-{k}/10.0.0.{k}:9092) could not be established. Broker may not be available."
MESSAGES = (
    CREATED,
    EXPIRED,
    UNKNOWN,
    INVOCATION,
    f"WARN orders: [Producer clientId=p-{{k}}] {NOT_CONNECTED}",
    "INFO orders: Handled order {n} as usual",
    "INFO orders: [Producer clientId=p-{k}] Cluster ID: MkU3OEVBNTcwNTJENDM2Q{k}",
    "INFO orders: [AdminClient clientId=adminclient-{k}] Node {k} disconnected.",
    "ERROR com.acme.Bank{k} - Transfer {n} was refused",
    "INFO [QuorumController id={k}] handleBrokerFenced: changing {k} partition(s) (leader)",
    "ERROR [QuorumController id={k}] Renouncing the leadership because of an unexpected problem {n}",
    "INFO orders: caf\u00e9 {n} \u2713",
)
ORDERS = {
    "in order": lambda times, _: times,
    "newest first": lambda times, _: times[::-1],
    "back and forth": lambda times, chance: chance.sample(times, len(times)),
    "a little back": lambda times, chance: [at + chance.randrange(0, 3000) for at in times],
    "one log after another": lambda times, _: [*times[::2], *times[1::2]],
}


def read_to_end(reported: Iterable[EventRow | pa.RecordBatch]) -> list[str]:
    """Return the events as texts, sorted: they may come in any order."""
    return sorted(str(row) for batch in batches(reported) for row in batch.to_pylist())


def read_by_splits(folder: Path, bytes_each: int) -> tuple[int, list[str]]:
    """Return how many splits a folder's only stream has, and its events."""
    (stream,) = list_files(str(folder)).streams
    whole = split_stream(stream, UTC, bytes_each)
    if whole is None:
        return 1, read_to_end(read(stream, UTC))
    reported = [each for split in whole.splits for each in read_split(split, UTC)]
    states = [pickle.loads(pickle.dumps(each)) for each in reported if isinstance(each, SplitState)]
    events = [each for each in reported if not isinstance(each, SplitState)]
    return len(whole.splits), read_to_end([*events, *remaining_events(whole, states)])


def read_whole(folder: Path) -> list[str]:
    (stream,) = list_files(str(folder)).streams
    return read_to_end(read(stream, UTC))


def log(chance: random.Random, *, order: str, newline: str = "\n", lines: int = 400) -> str:
    """Make up a log: traces, settings, errors of all kinds, lines without a time, at times of one order."""
    step = chance.choice((10, 900, 1500, 60_000))
    times: list[int] = []
    for _ in range(lines):
        times.append((times[-1] if times else 0) + chance.randrange(0, 2 * step))
    kinds = chance.sample(MESSAGES, chance.randrange(1, len(MESSAGES)))
    text = ""
    for n, at in enumerate(ORDERS[order](times, chance)):
        stamp = f"{START + timedelta(milliseconds=at):%Y-%m-%d %H:%M:%S.%f}"[:-3]
        text += f"{stamp} {chance.choice(kinds).format(n=n, k=chance.randrange(1, 5))}\n"
        if chance.random() < 0.02:
            text += "\n".join(["\tat com.acme.Deep.call(Deep.java:1)"] * chance.choice((3, 30, 500))) + "\n"
        if chance.random() < 0.005:
            text += (
                f"{stamp} INFO [QuorumController id=1] " + "x" * chance.choice((2000, 20_000)) + " Cluster ID: abc\n"
            )
    return text.replace("\n", newline)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 16))])
def test_splits_have_the_events_of_the_whole_file(
    seed: int, order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{seed} {order}")
    monkeypatch.setattr(blocks, "BLOCK_BYTES", chance.choice((256, 512, 1000, 2048)))
    text = log(chance, order=order, newline=chance.choice(("\n", "\r\n"))).encode()
    (tmp_path / "app.log").write_bytes(text if seed % 2 else text.rstrip())

    _, rows = read_by_splits(tmp_path, len(text) // chance.randrange(2, 9))

    assert rows == read_whole(tmp_path)


RECORDINGS = sorted(
    (path for path in Path(modes.__path__[0]).glob("*/recorded/**/*.log*") if path.stat().st_size > 20_000),
    key=lambda path: -path.stat().st_size,
)[:20]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: "/".join(path.parts[-3:]))
def test_recordings_have_the_same_events_by_splits(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2048)
    (tmp_path / "app.log").write_bytes(b"".join(block.data[: block.end] for block in blocks.blocks(recording)))

    _, rows = read_by_splits(tmp_path, 10_000)

    assert rows == read_whole(tmp_path)


def test_rotated_files_are_splits_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 512)
    lines = log(random.Random(5), order="in order", lines=900).splitlines(keepends=True)
    pieces = [
        "".join(lines[since : since + len(lines) // 3 + 1]) for since in range(0, len(lines), len(lines) // 3 + 1)
    ]
    (tmp_path / "app.log.2.gz").write_bytes(gzip.compress(pieces[0].encode()))
    (tmp_path / "app.log.1").write_text(pieces[1])
    (tmp_path / "app.log").write_text(pieces[2])
    (tmp_path / "app.log.3").write_bytes(b"")

    count, rows = read_by_splits(tmp_path, len(pieces[1]) // 3)

    assert count > 4
    assert rows == read_whole(tmp_path)


def test_a_stream_with_a_file_of_another_kind_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "app.log.1").write_text(log(random.Random(5), order="in order"))
    (tmp_path / "app.log").write_text(
        '{"events": [\n{"timestamp": 1771243200000, "message": "Handled", "logStreamName": "a"},\n'
        '{"timestamp": 1771243201000, "message": "Handled", "logStreamName": "b"}]}\n'
    )
    (stream,) = list_files(str(tmp_path)).streams

    assert split_stream(stream, UTC, 4096) is None


def test_a_file_without_times_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("no line of this has a time\n" * 50_000)
    (stream,) = list_files(str(tmp_path)).streams

    assert split_stream(stream, UTC, 100_000) is None


@pytest.mark.parametrize(
    ("sizes", "cores", "split"), [([9, 1], 2, ["a"]), ([5, 5], 2, []), ([9, 1], 1, []), ([], 4, [])]
)
def test_only_what_would_keep_one_core_at_work_is_split(
    sizes: list[int], cores: int, split: list[str], tmp_path: Path
) -> None:
    for name, size in zip("abc", sizes, strict=False):
        (tmp_path / f"{name}").write_text("2026-02-16 12:00:00.000 INFO orders: Handled\n" * 20_000 * size)
    streams = list_files(str(tmp_path)).streams

    found = split_streams(streams, UTC, cores=cores, min_bytes=1 << 20)

    assert [each.stream.name for each in found] == split


def test_a_file_that_is_another_one_by_now_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 512)
    (tmp_path / "app.log").write_text("2026-02-16 12:00:00.000 INFO orders: Handled\n" * 2000)
    (stream,) = list_files(str(tmp_path)).streams
    whole = split_stream(stream, UTC, 4096)
    assert whole is not None

    (tmp_path / "app.log").write_bytes(bytes(100_000))
    states = [each for split in whole.splits for each in read_split(split, UTC) if isinstance(each, SplitState)]
    reported = [row for row in remaining_events(whole, states) if isinstance(row, EventRow)]

    assert [row.text for row in reported if row.name == names.FILE_NOT_UNDERSTOOD] == ["was changed while it was read"]


Noted = tuple[int, int]
"""Two times between which there is no silence, in the order of their lines."""


def noted(subject: SubjectActivity, stretches: Sequence[tuple[int, Noted]]) -> SubjectActivity:
    """Return the subject after it noted these stretches, each with the line that it begins at."""
    for line, (left, right) in stretches:
        subject.note_adjacent_lines(SpanEnd(left, line, "", "app.log"), SpanEnd(right, line + 1, "", "app.log"))
    return subject


STRETCHES = st.lists(st.tuples(st.integers(0, 60_000), st.integers(-900, 900)), max_size=40)


@given(STRETCHES, st.lists(st.integers(0, 40), max_size=4))
def test_what_a_writer_did_is_the_same_in_pieces(stretches: list[tuple[int, int]], cuts: list[int]) -> None:
    every = [(2 * place, (at, at + length)) for place, (at, length) in enumerate(stretches, 1)]
    whole = noted(SubjectActivity("worker"), every)

    merged = SubjectActivity("worker")
    borders = [0, *sorted(cuts), len(every)]
    for since, until in pairwise(borders):
        merged.merge(noted(SubjectActivity("worker"), every[since:until]))

    assert (merged.forwards, merged.backwards) == (whole.forwards, whole.backwards)
    assert (merged.first, merged.until, merged.last_at) == (whole.first, whole.until, whole.last_at)
    assert merged.idle_gaps() == whole.idle_gaps()


@given(
    st.lists(st.integers(0, 5), min_size=30, max_size=200),
    st.lists(st.integers(0, 200), max_size=4),
    st.sampled_from((1, -1)),
)
def test_the_longest_silences_are_the_same_in_pieces(steps: list[int], cuts: list[int], direction: int) -> None:
    times = [1000 * each for each in accumulate(steps)]
    every = [(2 * place, (at, at)) for place, at in enumerate(times[::direction])]
    whole = noted(SubjectActivity("worker", kept=5), every)

    merged = SubjectActivity("worker", kept=5)
    for since, until in pairwise([0, *sorted(cuts), len(every)]):
        merged.merge(noted(SubjectActivity("worker", kept=5), every[since:until]))

    # Of several lines of the time at which a gap begins or ends, another may be quoted (`Subject.merge`).
    assert [gap[:2] for gap in merged.idle_gaps()] == [gap[:2] for gap in whole.idle_gaps()]
    assert merged.floor_ms == whole.floor_ms


def test_tasks_of_spark_have_the_events_of_one_task(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "SPLIT_BYTES", 1 << 18)
    (tmp_path / "app.log").write_text(log(random.Random(7), order="in order", lines=20_000))
    (tmp_path / "other.log").write_text(log(random.Random(8), order="newest first", lines=50))
    streams = list_files(str(tmp_path)).streams

    whole = read_events(spark, streams, UTC)
    split = read_events(spark, streams, UTC, split_from_bytes=1 << 18)

    (of_splits,) = split_streams(streams, UTC, cores=cores(spark), min_bytes=1 << 18)
    assert len(of_splits.splits) > 1
    assert split_streams(streams, UTC, cores=cores(spark)) == []
    assert sorted(map(str, split.collect())) == sorted(map(str, whole.collect()))
