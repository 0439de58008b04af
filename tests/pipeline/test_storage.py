"""Captures on real HDFS and a real S3 server are diagnosed as they are on disk, by executors that list and read."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leadsman.catalogue import Mode
from leadsman.java import jars
from leadsman.lab.processes.program import SOURCES
from leadsman.lab.spark.cluster import connect_server, small_executors, spark_cluster
from leadsman.lab.spark.storage import BUCKET, S3, hdfs, put_into_hdfs, put_into_s3, s3
from leadsman.model import Diagnosis
from leadsman.report.json_documents.findings import findings_json

BROKEN = Mode("idle_disconnect").folder / "recorded" / "broken-confluent-kafka"
MANY = 10_000


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording as it is, compressed, rotated, and with copies and files that cannot be read."""
    folder = tmp_path_factory.mktemp("captures")
    for name in ("plain", "packed", "rotated", "spoilt"):
        shutil.copytree(BROKEN, folder / name)
    for path in (folder / "packed").rglob("*.log"):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    for path in (folder / "rotated").rglob("*.log"):
        lines = path.read_bytes().splitlines(keepends=True)
        path.with_name(f"{path.name}.1").write_bytes(b"".join(lines[: len(lines) // 2]))
        path.write_bytes(b"".join(lines[len(lines) // 2 :]))
    for path in list((folder / "spoilt").rglob("*.log")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    (folder / "spoilt" / "cut.log.gz").write_bytes(gzip.compress(b"2026-11-21 09:04:00,000 INFO a: b\n" * 999)[:60])
    (folder / "spoilt" / "empty.log").write_bytes(b"")
    (folder / "spoilt" / "_hidden.log").write_text("2026-11-21 09:04:00,000 INFO a: b\n")
    (folder / "spoilt" / "odd [name] {1}*.log").write_text("2026-11-21 09:04:00,000 INFO a: b\n")
    return folder


@pytest.fixture(scope="module")
def alone(captures: Path, diagnosed: Callable[..., list[Diagnosis]]) -> list[dict[str, object]]:
    """What is found on disk."""
    return without_paths(findings_json(diagnosed(sorted(captures.iterdir()))))


@pytest.fixture(scope="module")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3(tmp_path_factory.mktemp("s3")) as server:
        yield server


def answers(paths: list[str], *options: str, code: int = 1) -> list[dict[str, object]]:
    """Return the answers without the paths, which differ."""
    words = [sys.executable, "-m", "leadsman", "diagnose", *paths, "--format", "json", *options]
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    finished = subprocess.run(words, capture_output=True, text=True, timeout=280, check=False, env=around)
    assert finished.returncode == code, finished.stderr
    return without_paths(finished.stdout)


def without_paths(document: str) -> list[dict[str, object]]:
    return [{**each, "path": ""} for each in json.loads(document)["captures"]]


def of_s3(server: S3) -> list[str]:
    settings = {**server.settings, "spark.jars": ",".join(map(str, jars.fetch_jars("s3")))}
    return [word for key, value in settings.items() for word in ("--spark-conf", f"{key}={value}")]


@pytest.mark.long
@pytest.mark.spark
def test_hdfs_is_read_as_the_disk_is(tmp_path: Path, captures: Path, alone: list[dict[str, object]]):
    with hdfs(tmp_path) as root:
        put_into_hdfs(root, captures, "/captures")

        assert answers([f"{root}/captures/{path.name}" for path in sorted(captures.iterdir())]) == alone


@pytest.mark.spark
def test_s3_is_read_as_the_disk_is(s3_server: S3, captures: Path, alone: list[dict[str, object]]):
    put_into_s3(s3_server, captures, "day-1")

    urls = [f"s3a://{BUCKET}/day-1/{path.name}" for path in sorted(captures.iterdir())]
    assert answers(urls, *of_s3(s3_server)) == alone


@pytest.mark.long
@pytest.mark.spark
def test_a_folder_of_captures_on_s3_is_each_of_them(s3_server: S3, captures: Path, alone: list[dict[str, object]]):
    put_into_s3(s3_server, captures, "day-2")

    assert answers([f"s3a://{BUCKET}/day-2"], *of_s3(s3_server)) == answers([str(captures)])


@pytest.mark.spark
def test_a_wrong_key_is_an_error(s3_server: S3):
    options = [*of_s3(s3_server), "--spark-conf", "spark.hadoop.fs.s3a.secret.key=wrong"]
    words = [sys.executable, "-m", "leadsman", "diagnose", f"s3a://{BUCKET}/day-1", *options]
    finished = subprocess.run(words, capture_output=True, text=True, timeout=280, check=False)

    assert finished.returncode == 2
    assert f"No capture at s3a://{BUCKET}/day-1" in finished.stderr
    assert "Check the address, the credentials, and Hadoop's settings of s3a://" in finished.stderr


@pytest.mark.long
@pytest.mark.spark
def test_ten_thousand_objects_on_s3_are_read_as_the_disk_is(tmp_path: Path, s3_server: S3):
    folder = tmp_path / "many"
    shutil.copytree(BROKEN, folder)
    for number in range(MANY):
        place = folder / "functions" / f"worker-{number // 10:04d}"
        place.mkdir(parents=True, exist_ok=True)
        text = f"2026-11-21 09:{number % 10:02d}:00,000 INFO orders: Handling event {number}\n".encode()
        packed = number % 2
        (place / f"{number % 10:06d}{'.gz' if packed else ''}").write_bytes(gzip.compress(text) if packed else text)
    put_into_s3(s3_server, folder, "many")

    assert answers([f"s3a://{BUCKET}/many"], *of_s3(s3_server)) == answers([str(folder)])


@pytest.mark.long
@pytest.mark.spark
def test_a_cluster_reads_s3_as_the_disk_is(
    tmp_path: Path, s3_server: S3, captures: Path, alone: list[dict[str, object]]
):
    put_into_s3(s3_server, captures, "day-3")
    urls = [f"s3a://{BUCKET}/day-3/{path.name}" for path in sorted(captures.iterdir())]
    small = [word for key, value in small_executors().items() for word in ("--spark-conf", f"{key}={value}")]

    with spark_cluster(tmp_path) as cluster:
        assert answers(urls, "--master", cluster.url, *small, *of_s3(s3_server)) == alone


@pytest.mark.long
@pytest.mark.spark
def test_a_connect_server_reads_s3_with_the_key_of_the_session(
    tmp_path: Path, s3_server: S3, captures: Path, alone: list[dict[str, object]]
):
    put_into_s3(s3_server, captures, "day-4")
    urls = [f"s3a://{BUCKET}/day-4/{path.name}" for path in sorted(captures.iterdir())]
    settings = [word for key, value in s3_server.settings.items() for word in ("--spark-conf", f"{key}={value}")]

    with connect_server(tmp_path, conf={"spark.jars": ",".join(map(str, jars.fetch_jars("s3")))}) as address:
        assert answers(urls, "--remote", address, *settings) == alone
