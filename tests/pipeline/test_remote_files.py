"""A capture is read in the same way from any file system that Spark reads."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import Mode, every_mode
from leadsman.errors import CaptureError
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.scope.remote_files import list_remote_files
from leadsman.pipeline.scope.streams import TASK_BYTES, File, Stream, task_count
from leadsman.pipeline.spark.event_frames import event_frame

NOW = datetime(2026, 2, 16, tzinfo=UTC)
BROKEN = Mode("idle_disconnect").folder / "recorded" / "broken-java-2.7.2"


@pytest.mark.spark
def test_a_url_is_diagnosed_as_a_path_is(diagnosed):
    here, remote = diagnosed([BROKEN, BROKEN.as_uri()])

    assert remote.verdicts == here.verdicts
    assert remote.findings[0].figures == here.findings[0].figures
    assert (remote.files, remote.bytes, remote.lines) == (here.files, here.bytes, here.lines)
    assert remote.findings[0].chain[0].evidence[0].file == here.findings[0].chain[0].evidence[0].file


@pytest.mark.spark
def test_no_character_of_a_url_is_a_wildcard(diagnosed, tmp_path: Path):
    folder = tmp_path / "[$LATEST]8f3c" / "day {1}"
    folder.mkdir(parents=True)
    (folder / "worker*.log").write_text("2026-02-16 12:00:00,000 INFO orders: one\n")

    (diagnosis,) = diagnosed([f"file://{tmp_path}/[$LATEST]8f3c"])

    assert diagnosis.lines == 1


@pytest.mark.spark
def test_a_url_without_files_is_an_error(diagnosed, tmp_path: Path):
    with pytest.raises(CaptureError, match="No capture at"):
        diagnosed([(tmp_path / "nothing").as_uri()])


@pytest.mark.spark
def test_files_of_a_url_are_distributed_among_tasks(spark: SparkSession, tmp_path: Path):
    for number in range(40):
        (tmp_path / f"worker-a{number}.log").write_text("2026-02-16 12:00:00,000 INFO orders: one\n")
    inputs = list_remote_files(spark, read_small_input(find_input([tmp_path.as_uri()])), 2)

    assert event_frame(spark, inputs).rdd.getNumPartitions() == min(40, spark.sparkContext.defaultParallelism * 2)


def test_tasks_are_sized_by_bytes_where_there_is_more_than_two_for_each_core():
    files = [File(f"{number}", f"{number}", TASK_BYTES * 4, NOW) for number in range(10)]
    streams = [Stream("capture", file.name, (file,)) for file in files]

    assert (task_count(streams, 2), task_count(streams[:1], 8)) == (40, 16)


@pytest.mark.spark
def test_a_missing_or_shortened_file_is_reported_and_the_others_are_read(spark: SparkSession, tmp_path: Path):
    for name in ("gone.log", "shorter.log", "there.log"):
        (tmp_path / name).write_text("2026-02-16 12:00:00,000 INFO orders: one\n" * 3)
    inputs = list_remote_files(spark, read_small_input(find_input([tmp_path.as_uri()])), 2)
    (tmp_path / "gone.log").unlink()
    (tmp_path / "shorter.log").write_text("2026-02-16 12:00:00,000 INFO orders: one\n")

    (diagnosis,) = diagnose(spark, inputs, DiagnosisRequest(modes=every_mode()))

    assert {each.file: each.why for each in diagnosis.not_understood} == {
        "gone.log": "not read: there is no such file or folder",
        "shorter.log": "not read: the file is shorter than when it was listed: it has changed since",
    }
    assert (diagnosis.files, diagnosis.lines) == (1, 3)


@pytest.mark.spark
def test_copies_are_found_as_on_disk(spark: SparkSession, tmp_path: Path):
    text = "".join(f"2026-02-16 12:00:{second:02},000 INFO orders: event {second}\n" for second in range(60))
    (tmp_path / "app.log").write_text(text)
    (tmp_path / "app (1).log").write_text(text)
    (tmp_path / "other.log").write_text(text.replace("event", "thing"))
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "app.log.gz").write_bytes(gzip.compress(text.encode()))
    for number in (1, 2):
        (tmp_path / f"host-{number}.log").write_text("2026-02-16 12:00:00,000 INFO orders: started\n")
    here = read_small_input(find_input([str(tmp_path)])).captures[str(tmp_path)]

    remote = list_remote_files(spark, read_small_input(find_input([tmp_path.as_uri()])), 2).captures[tmp_path.as_uri()]

    assert remote.copies == here.copies
    assert [each.file for each in here.copies] == ["app (1).log", "old/app.log.gz"]


@pytest.mark.long
@pytest.mark.spark
def test_a_file_of_more_than_two_gigabytes_is_read_in_pieces(diagnosed, tmp_path: Path):
    line = b"2026-02-16 12:00:00,000 INFO orders: a line of an ordinary length, of which there are very many\n"
    lines = 23_000_000
    with (tmp_path / "large.log").open("wb") as file:
        for _ in range(lines // 10_000):
            file.write(line * 10_000)

    (diagnosis,) = diagnosed([tmp_path.as_uri()])

    assert (diagnosis.lines, diagnosis.bytes) == (lines, lines * len(line))
    assert diagnosis.bytes > 1 << 31
