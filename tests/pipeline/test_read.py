"""From bytes to events: line numbers, heads of records, gaps, groups of unknown errors."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from leadsman import vocabulary as names
from leadsman.pipeline.read.records import QUOTE_LENGTH, quote_around
from leadsman.pipeline.request import find_input, read_small_input

LOST = (
    "[Producer clientId=producer-1] Received invalid metadata error in produce request on partition orders-0 due to "
    "org.apache.kafka.common.errors.NetworkException: The server disconnected before a response was received.. "
    "Going to request metadata update now"
)


def test_an_event_is_quoted_with_its_line_number(rows, log_of, tmp_path: Path):
    (tmp_path / "worker.log").write_text(log_of([(0, "one"), (1, "two"), (2, LOST), (3, "four")]))

    (lost,) = [row for row in rows(tmp_path) if row.name == names.CONNECTION_LOST]

    assert lost.line == 3
    assert lost.text == (tmp_path / "worker.log").read_text().splitlines()[2]
    assert lost.labels["client_id"] == "producer-1"


def test_line_numbers_go_on_over_blocks(rows, log_of, tmp_path: Path):
    text = log_of([(i / 1000, "Handling an event of the usual length") for i in range(30_000)] + [(40, LOST)])
    (tmp_path / "worker.log").write_text(text)

    (lost,) = [row for row in rows(tmp_path) if row.name == names.CONNECTION_LOST]

    assert lost.line == 30_001


def test_a_stack_trace_belongs_to_its_event(rows, log_of, tmp_path: Path):
    trace = "org.apache.kafka.common.errors.NetworkException: The server disconnected before a response was received.\n"
    (tmp_path / "worker.log").write_text(log_of([(0, "one"), (7, "Event 4 failed")]) + trace + "\tat a.b.C(D.java:7)\n")

    (lost,) = [row for row in rows(tmp_path) if row.name == names.RECORD_FAILED]

    assert lost.line == 3
    assert lost.at == 1_771_243_207_000


def test_a_quiet_gap_is_quoted_at_both_edges(rows, log_of, tmp_path: Path):
    (tmp_path / "worker.log").write_text(log_of([(0, "one"), (0.2, "two"), (611, "three")]))

    (gap,) = [row for row in rows(tmp_path) if row.name == names.SUBJECT_IDLE]

    assert gap.value == 610.8
    assert (gap.line, gap.labels["before_line"]) == (3, "2")
    assert "two" in gap.labels["before_text"]


def test_a_gap_between_two_rotated_files_is_seen(rows, log_of, tmp_path: Path):
    (tmp_path / "worker.log.1.gz").write_bytes(gzip.compress(log_of([(0, "one"), (0.5, "two")]).encode()))
    (tmp_path / "worker.log").write_text(log_of([(700, "three")]))

    (gap,) = [row for row in rows(tmp_path) if row.name == names.SUBJECT_IDLE]

    assert gap.value == 699.5
    assert (gap.labels["before_file"], gap.file) == ("worker.log.1.gz", "worker.log")


def test_many_small_steps_are_no_gap(rows, log_of, tmp_path: Path):
    (tmp_path / "worker.log").write_text(log_of([(i / 2, "tick") for i in range(5000)]))

    assert Counter(row.name for row in rows(tmp_path))[names.SUBJECT_IDLE] == 0


def test_unknown_errors_are_counted_by_their_text(rows, tmp_path: Path):
    lines = [f"2026-02-16 12:00:0{i},000 ERROR orders: Order {i} is on fire\n" for i in range(5)]
    (tmp_path / "worker.log").write_text("".join(lines))

    (group,) = [row for row in rows(tmp_path) if row.name == names.ERROR]

    assert group.value == 5
    assert group.line == 1


def test_writers_that_share_a_file_are_distinguished(rows, tmp_path: Path):
    lines = ["worker-1  | 2026-02-16T12:00:00.000Z INFO one", "worker-2  | 2026-02-16T12:00:00.500Z INFO busy"]
    lines += [f"worker-2  | 2026-02-16T12:{i // 60:02}:{i % 60:02}.000Z INFO busy" for i in range(1, 660)]
    lines += ["worker-1  | 2026-02-16T12:11:00.000Z INFO two"]
    (tmp_path / "compose.log").write_text("\n".join(lines) + "\n")

    gaps = {row.subject: row.value for row in rows(tmp_path) if row.name == names.SUBJECT_IDLE and row.value > 2}

    assert gaps == {"worker-1": 660.0}


def test_what_was_read_is_counted(rows, log_of, tmp_path: Path):
    text = log_of([(0, "one"), (1, "two"), (2, "three")])
    (tmp_path / "worker.log").write_text(text.rstrip("\n"))

    (read,) = [row for row in rows(tmp_path) if row.name == names.FILE_READ]

    assert read.value == 3
    assert read.labels["bytes"] == str(len(text) - 1)


@pytest.mark.parametrize(
    "line",
    [
        "failed with password=hunter2 in it",
        "x" * 2000 + " failed with password=hunter2 in it",
    ],
)
def test_a_secret_never_leaves_the_reader(line: str, tmp_path: Path):
    (tmp_path / "worker.log").write_text(f"2026-02-16 12:00:00,000 ERROR orders: {line}\n")

    events = read_small_input(find_input([str(tmp_path)])).events

    assert events is not None
    assert events.num_rows > 1
    assert "hunter2" not in str(events.to_pylist())


@pytest.mark.parametrize("cut", range(22))
def test_a_secret_is_masked_where_its_key_is_cut_off(cut: int):
    line = "a password=hunter2 " + "x" * 3000

    quoted = quote_around(line, QUOTE_LENGTH // 2 + cut)

    assert "nter" not in quoted
    assert "x" * (QUOTE_LENGTH - len("a password=hunter2 ")) in quoted


def test_a_file_that_is_not_understood_is_reported(rows, tmp_path: Path):
    (tmp_path / "core").write_bytes(bytes(range(256)) * 64)

    (row,) = rows(tmp_path)

    assert row.name == names.FILE_NOT_UNDERSTOOD


def test_invocations_are_an_event_once_a_stream(rows, tmp_path: Path):
    start = "2020-12-20T08:00:{:02}.000Z START RequestId: 5b3e0c1a-0000-4000-8000-0000000000{:02} Version: $LATEST\n"
    (tmp_path / "[$LATEST]8f3c").write_text("".join(start.format(i, i) for i in range(50)))

    found = rows(tmp_path)

    assert [row.line for row in found if row.name == names.INVOCATION_STARTED] == [1]
    assert [row.labels["sources"] for row in found if row.name == names.FILE_READ] == ["serverless"]


JOINED = "[Producer clientId=producer-{}] Cluster ID: {}"
EAST, WEST = "stqwfmvfRzeBrk7eRGCzkA", "2kR3c9SxTmy0jmRTBGPQAw"


def test_a_cluster_is_an_event_once_a_stream_of_any_source_and_names_no_client(rows, log_of, tmp_path: Path):
    (tmp_path / "worker.log").write_text(log_of([(n, JOINED.format(n, EAST)) for n in range(9)]))

    reported = [row for row in rows(tmp_path) if row.name == names.SETTING]

    assert [(row.line, dict(row.labels)) for row in reported] == [
        (1, {"key": "cluster.id", "owner": "cluster", "value": EAST})
    ]


def test_a_log_of_two_clusters_names_both(rows, log_of, tmp_path: Path):
    (tmp_path / "mirror.log").write_text(log_of([(0, JOINED.format(1, EAST)), (1, JOINED.format(2, WEST))]))

    assert [row.labels["value"] for row in rows(tmp_path) if row.name == names.SETTING] == [EAST, WEST]


def test_a_brokers_meta_properties_name_its_cluster(rows, tmp_path: Path):
    text = f"#\n#Sat Nov 21 15:01:40 UTC 2026\ncluster.id={EAST}\nversion=1\nnode.id=1\n"
    (tmp_path / "meta.properties").write_text(text)

    (reported,) = [row for row in rows(tmp_path) if row.name == names.SETTING and row.labels["key"] == "cluster.id"]

    assert (reported.labels["value"], reported.line) == (EAST, 3)


def test_a_setting_explains_no_error_that_follows_without_a_time(rows, log_of, tmp_path: Path):
    (tmp_path / "worker.log").write_text(
        log_of([(0, JOINED.format(1, EAST))]) + "java.lang.IllegalStateException: no\n"
    )

    (error,) = [row for row in rows(tmp_path) if row.name == names.ERROR]

    assert error.line == 2
