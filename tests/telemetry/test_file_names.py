"""The time in a file's name, and where it is used."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from leadsman import vocabulary as names
from leadsman.sections import Section, exit_line, section_line
from leadsman.telemetry.timestamps.file_names import NameTime, time_in_name

AT = 1_795_247_929_000
"""2026-11-21T07:58:49Z."""

ZONED = [
    "metrics.20261121T075849Z.prom",
    "metrics-2026-11-21T07-58-49Z.prom.gz",
    "metrics_2026-11-21T07:58:49Z",
    "metrics.2026-11-21T08-58-49+0100.prom",
    "histo_20261121T075849.123Z.txt",
    "metrics-epoch1795247929.prom",
    "metrics.ts=1795247929000.prom",
    "heap@1795247929",
    "looks/2026-11-21T07-58-49Z/topics.txt",
]
UNZONED = [
    "ss_2026-11-21_08-58-49.txt",
    "topics-20261121-085849.txt",
    "topics.20261121_085849-0001.txt",
    "20261121T085849.prom",
    "2026_11_21_08_58_49/neigh.txt",
]
NONE = [
    "metrics.prom",
    "server.log.2026-11-21-07",
    "topics-2026-11-21.txt",
    "topics-2026-11-21_01-02.txt",
    "metrics.1795247929.prom",
    "metrics.20261121075849.prom",
    "00000000000000000202.snapshot",
    "topics-20261321T075849Z.txt",
    "from-2026-11-20T00-00-00Z-to-2026-11-21T00-00-00Z.txt",
    "2026/11/21/[$LATEST]8f3c/000000.gz",
    "incident-of-2026-11-21T07-58-49Z/topics.txt",
]

SCRAPE = "# TYPE kafka_server_replicamanager_produceridcount gauge\nkafka_server_replicamanager_produceridcount {}\n"
HISTOGRAM = """ num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:           900         123456  org.apache.kafka.storage.internals.log.ProducerStateEntry
Total           900         123456
"""


@pytest.mark.parametrize("name", ZONED)
def test_a_time_with_a_zone_is_taken_as_it_is_written(name: str):
    assert time_in_name(name, ZoneInfo("Asia/Tokyo")) == NameTime(AT, zoned=True)


@pytest.mark.parametrize("name", UNZONED)
def test_a_time_without_a_zone_is_in_the_one_that_was_named(name: str):
    assert time_in_name(name, ZoneInfo("Europe/Berlin")) == NameTime(AT, zoned=False)


@pytest.mark.parametrize("name", NONE)
def test_what_may_be_no_time_or_another_one_is_none(name: str):
    assert time_in_name(name, UTC) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [("metrics.20261121T075849Z.prom", SCRAPE.format(700)), ("histo-20261121T075849Z.txt", HISTOGRAM)],
)
def test_an_output_without_times_is_of_the_time_in_its_name(name: str, content: str, rows, tmp_path: Path):
    (tmp_path / name).write_text(content)

    found = rows(tmp_path)

    (counted,) = [row for row in found if row.name == names.PRODUCERS_COUNTED]
    (read,) = [row for row in found if row.name == names.FILE_READ]
    assert counted.at == AT
    assert (read.labels["dated_by"], read.labels["zoned"]) == ("name", "true")


def test_a_time_in_the_content_counts_before_the_one_in_the_name(rows, tmp_path: Path):
    (tmp_path / "metrics.20261121T075849Z.prom").write_text(SCRAPE.format("700 1795000000000"))

    found = rows(tmp_path)

    assert {row.at for row in found if row.name == names.PRODUCERS_COUNTED} == {1_795_000_000_000}
    assert not any("dated_by" in row.labels for row in found)


def test_a_time_above_a_section_counts_before_the_one_in_the_name(rows, tmp_path: Path):
    head = section_line(Section(datetime(2026, 11, 20, tzinfo=UTC), "broker-1", "jvm/histo.txt", "jcmd"))
    (tmp_path / "histo-20261121T075849Z.txt").write_text(head + HISTOGRAM + exit_line(0))

    (counted,) = [row for row in rows(tmp_path) if row.name == names.PRODUCERS_COUNTED]

    assert counted.at == round(datetime(2026, 11, 20, tzinfo=UTC).timestamp() * 1000)


def test_lines_of_a_log_are_not_of_the_time_in_its_name(rows, tmp_path: Path):
    (tmp_path / "app-20261121T075849Z.log").write_text("ERROR it is on fire\njava.io.IOException: no\n")

    assert {row.at for row in rows(tmp_path)} == {None}
