"""A file that is in a capture twice is read once; a file that only resembles another is read too."""

import bz2
import gzip
import shutil
from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import pyarrow as pa
import pytest

from leadsman.pipeline.scope.copies import LocalFileMeasures, drop_duplicate_files
from leadsman.pipeline.scope.streams import DuplicateFile, list_files

NEIGHBOURS = "10.0.0.{} dev eth0 lladdr 02:00:00:00:00:0{} REACHABLE\n"


@pytest.fixture
def log(log_of) -> bytes:
    return str(log_of([(each, f"Handled order {each}") for each in range(500)])).encode()


def zstd(content: bytes) -> bytes:
    return bytes(memoryview(pa.compress(content, codec="zstd", asbytes=True)))


def copies(folder: Path) -> list[DuplicateFile]:
    return list(drop_duplicate_files({"": list_files(str(folder))}, LocalFileMeasures(UTC))[""].copies)


PACKED: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstd}


@pytest.mark.parametrize("name", ["other.log", "backup/app.log", "app.log.1"])
def test_a_log_under_another_name_is_a_copy(name: str, log: bytes, tmp_path: Path):
    (tmp_path / "app.log").write_bytes(log)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    shutil.copy(tmp_path / "app.log", tmp_path / name)

    assert copies(tmp_path) == [DuplicateFile(name, "app.log")]
    assert [
        file.name
        for each in drop_duplicate_files({"": list_files(str(tmp_path))}, LocalFileMeasures(UTC))[""].streams
        for file in each.files
    ] == ["app.log"]


@pytest.mark.parametrize("kind", PACKED)
def test_a_compressed_log_beside_itself_is_a_copy(kind: str, log: bytes, tmp_path: Path):
    (tmp_path / "app.log").write_bytes(log)
    (tmp_path / f"app.log.{kind}").write_bytes(PACKED[kind](log))

    assert copies(tmp_path) == [DuplicateFile(f"app.log.{kind}", "app.log")]


def test_two_logs_of_one_length_that_differ_at_their_ends_are_read(log: bytes, tmp_path: Path):
    (tmp_path / "app.log").write_bytes(log)
    (tmp_path / "other.log").write_bytes(log[:-2] + b"!\n")
    (tmp_path / "other.log.gz").write_bytes(gzip.compress(log[:-2] + b"?\n"))

    assert copies(tmp_path) == []


def test_equal_outputs_of_two_hosts_are_both_read(tmp_path: Path):
    output = "".join(NEIGHBOURS.format(each, each) for each in range(1, 9))
    for host in ("east", "west"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "neigh.txt").write_text(output)
    (tmp_path / "neigh.20261121T075849Z.txt").write_text(output)
    (tmp_path / "neigh.20261121T085849Z.txt").write_text(output)

    assert copies(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["neigh (1).txt", "neigh - Copy.txt", "neigh.txt.bak", "copy-of-neigh.txt", "neigh.txt.gz"]
)
def test_an_output_is_a_copy_where_its_name_marks_one(name: str, tmp_path: Path):
    output = "".join(NEIGHBOURS.format(each, each) for each in range(1, 9)).encode()
    (tmp_path / "neigh.txt").write_bytes(output)
    (tmp_path / name).write_bytes(gzip.compress(output) if name.endswith("gz") else output)

    assert [each.file for each in copies(tmp_path)] in ([name], ["neigh.txt"])


def test_a_line_that_many_workers_write_in_one_second_is_read_from_each(tmp_path: Path):
    for worker in range(20):
        (tmp_path / f"worker-{worker}.log").write_text("2026-11-21 07:58:49 ERROR Connection to node 1 was lost\n")

    assert copies(tmp_path) == []


def test_a_broken_file_is_no_copy_and_raises_no_error(log: bytes, tmp_path: Path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(log)[:500])
    (tmp_path / "b.gz").write_bytes(gzip.compress(log)[:500])
    (tmp_path / "c.zst").write_bytes(b"\x28\xb5\x2f\xfd")

    assert copies(tmp_path) == []
