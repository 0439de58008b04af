"""A capture is read alike from any file system that Spark reads."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import Mode, every_mode
from leadsman.errors import CaptureError
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.inputs import events_of
from leadsman.pipeline.question import Question, look, read_small
from leadsman.pipeline.remote_files import listed
from leadsman.pipeline.streams import TASK_BYTES, File, Stream, tasks_for

NOW = datetime(2026, 2, 16, tzinfo=UTC)
BROKEN = Mode("idle_disconnect").folder / "recorded" / "broken-java-2.7.2"


@pytest.mark.spark
def test_a_url_finds_what_a_path_finds(diagnosed):
    here, elsewhere = diagnosed([BROKEN, BROKEN.as_uri()])

    assert elsewhere.verdicts == here.verdicts
    assert elsewhere.findings[0].figures == here.findings[0].figures
    assert (elsewhere.files, elsewhere.bytes, elsewhere.lines) == (here.files, here.bytes, here.lines)
    assert elsewhere.findings[0].chain[0].evidence[0].file == here.findings[0].chain[0].evidence[0].file


@pytest.mark.spark
def test_no_character_of_a_url_is_a_wildcard(diagnosed, tmp_path: Path):
    folder = tmp_path / "[$LATEST]8f3c" / "day {1}"
    folder.mkdir(parents=True)
    (folder / "worker*.log").write_text("2026-02-16 12:00:00,000 INFO orders: one\n")

    (diagnosis,) = diagnosed([f"file://{tmp_path}/[$LATEST]8f3c"])

    assert diagnosis.lines == 1


@pytest.mark.spark
def test_a_url_with_nothing_behind_it_is_said(diagnosed, tmp_path: Path):
    with pytest.raises(CaptureError, match="No capture at"):
        diagnosed([(tmp_path / "nothing").as_uri()])


@pytest.mark.spark
def test_files_of_a_url_are_shared_out_among_tasks(spark: SparkSession, tmp_path: Path):
    for number in range(40):
        (tmp_path / f"worker-a{number}.log").write_text("2026-02-16 12:00:00,000 INFO orders: one\n")
    source = listed(spark, read_small(look([tmp_path.as_uri()])), 2)

    assert events_of(spark, source).rdd.getNumPartitions() == min(40, spark.sparkContext.defaultParallelism * 2)


def test_tasks_are_sized_by_bytes_where_there_is_more_than_two_for_each_core():
    files = [File(f"{number}", f"{number}", TASK_BYTES * 4, NOW) for number in range(10)]
    streams = [Stream("capture", file.name, (file,)) for file in files]

    assert (tasks_for(streams, 2), tasks_for(streams[:1], 8)) == (40, 16)


@pytest.mark.spark
def test_what_is_gone_or_shorter_when_it_is_read_is_listed_and_the_rest_is_read(spark: SparkSession, tmp_path: Path):
    for name in ("gone.log", "shorter.log", "there.log"):
        (tmp_path / name).write_text("2026-02-16 12:00:00,000 INFO orders: one\n" * 3)
    source = listed(spark, read_small(look([tmp_path.as_uri()])), 2)
    (tmp_path / "gone.log").unlink()
    (tmp_path / "shorter.log").write_text("2026-02-16 12:00:00,000 INFO orders: one\n")

    (diagnosis,) = diagnose(spark, source, Question(modes=every_mode()))

    assert {each.file: each.why for each in diagnosis.not_understood} == {
        "gone.log": "not read: there is no such file or folder",
        "shorter.log": "not read: it is shorter than when it was listed: it was changed meanwhile",
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
    here = read_small(look([str(tmp_path)])).found[str(tmp_path)]

    elsewhere = listed(spark, read_small(look([tmp_path.as_uri()])), 2).found[tmp_path.as_uri()]

    assert elsewhere.copies == here.copies
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
