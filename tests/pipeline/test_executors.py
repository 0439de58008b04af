"""Executors are sent this package as a zip, and Python packages where a cluster has none."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leadsman.catalogue import Mode
from leadsman.lab.processes.program import SOURCES
from leadsman.lab.spark.cluster import SHORT_LIVED, connect_server, small_executors
from leadsman.model import Diagnosis
from leadsman.pipeline.spark.executors import make_archive
from leadsman.report.json_documents.findings import findings_json

BROKEN = Mode("producer_id_leak").folder / "recorded" / "broken-java"
"""Its detector reads the table of defaults, a file that is no Python."""

PROGRAM = """
import json, logging, sys
from leadsman.catalogue import every_mode
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.spark.session import SessionOptions, session

failed = []
class Failed(logging.Handler):
    def emit(self, record):
        failed.append(record.getMessage())
logging.getLogger("leadsman.pipeline.diagnose_in_tasks").setLevel(logging.INFO)
logging.getLogger("leadsman.pipeline.diagnose_in_tasks").addHandler(Failed())

def where(batches):
    import leadsman, pyarrow
    for _ in batches:
        yield pyarrow.RecordBatch.from_pydict({"leadsman": [leadsman.__file__], "pyarrow": [pyarrow.__file__]})

with session(SessionOptions(**json.loads(sys.argv[2]))) as spark:
    from leadsman.pipeline.diagnose import diagnose
    from leadsman.report.json_documents.findings import findings_json
    source = read_small_input(find_input([sys.argv[1]]))
    answer = json.loads(findings_json(diagnose(spark, source, DiagnosisRequest(modes=every_mode()))))
    places = spark.range(1).mapInArrow(where, "leadsman string, pyarrow string").collect()[0].asDict()
print(json.dumps({"captures": answer["captures"], "failed": failed, **places}))
"""
"""A diagnosis; what tasks failed on and left to Spark SQL; and where an executor has its packages from."""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with no package at all, not even this one: what a cluster may have."""
    program = tmp_path_factory.mktemp("bare") / "python"
    base = Path(sys.base_prefix, "bin", f"python{sysconfig.get_python_version()}")
    program.write_text(f'#!/bin/sh\nexec "{base}" -s "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with all packages but leadsman."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "lib").mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "leadsman" not in path.name and path.suffix != ".pth":
            (folder / "lib" / path.name).symlink_to(path)
    base = Path(sys.base_prefix, "bin", f"python{sysconfig.get_python_version()}")
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{folder}/lib" exec "{base}" -s "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture(scope="module")
def connect_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def connect(connect_folder: Path, bare: Path) -> Iterator[str]:
    environment = {"PYTHONPATH": "", "PYSPARK_PYTHON": str(bare)}
    with connect_server(connect_folder, environment=environment) as address:
        yield address


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("archive") / "executors.tar.gz"
    make_archive(target)
    return str(target)


@pytest.fixture(scope="module")
def alone(diagnosed: Callable[..., list[Diagnosis]]) -> object:
    """What one machine finds."""
    return json.loads(findings_json(diagnosed([BROKEN.as_uri()])))["captures"]


def answer_of(requested: dict[str, object], python: Path | None = None) -> dict[str, Any]:
    """Diagnose the recording by its URL, so that executors read it; `python` is theirs."""
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, BROKEN.as_uri(), json.dumps(requested)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env=environment(python),
    )
    assert finished.returncode == 0, finished.stderr
    return dict(json.loads(finished.stdout))


def environment(python: Path | None) -> dict[str, str]:
    own = {"PYTHONPATH": str(SOURCES), "NO_COLOR": "1", "SPARK_SUBMIT_OPTS": SHORT_LIVED}
    return {**os.environ, **own, **({"PYSPARK_PYTHON": str(python)} if python else {})}


@pytest.mark.long  # a watch on such a cluster is among the short tests
@pytest.mark.spark
def test_a_cluster_with_packages_runs_the_zip_without_a_fallback(standalone: str, plain: Path, alone: object):
    answer = answer_of({"master": standalone, "conf": small_executors()}, plain)

    assert (answer["captures"], answer["failed"]) == (alone, [])
    assert ".zip/leadsman" in answer["leadsman"]


@pytest.mark.long
@pytest.mark.spark
def test_a_connect_server_with_packages_runs_the_zip_without_a_fallback(connect: str, plain: Path, alone: object):
    answer = answer_of({"remote": connect, "conf": {"spark.sql.execution.pyspark.python": str(plain)}})

    assert (answer["captures"], answer["failed"]) == (alone, [])
    assert ".zip/leadsman" in answer["leadsman"]


@pytest.mark.long
@pytest.mark.spark
def test_a_cluster_without_packages_is_sent_the_archive(standalone: str, bare: Path, archive: str, alone: object):
    answer = answer_of({"master": standalone, "conf": small_executors(), "executors": archive}, bare)

    assert (answer["captures"], answer["failed"]) == (alone, [])
    assert "leadsman-python/lib/pyarrow" in answer["pyarrow"]


@pytest.mark.spark
def test_a_connect_server_without_packages_is_sent_the_archive(
    connect: str, connect_folder: Path, archive: str, alone: object
):
    """The server unpacks it once, and not again for each frame that Spark caches."""
    answer = answer_of({"remote": connect, "executors": archive})

    log = (connect_folder / "connect.log").read_text(errors="replace")
    assert (answer["captures"], answer["failed"]) == (alone, [])
    assert "leadsman-python/lib/pyarrow" in answer["pyarrow"]
    assert log.count("SparkContext: Unpacking an archive") == 1


@pytest.mark.spark
def test_a_connect_server_without_packages_raises_an_error_with_the_remedy(connect: str):
    words = [sys.executable, "-m", "leadsman", "diagnose", str(BROKEN), "--remote", connect]
    finished = subprocess.run(words, capture_output=True, text=True, timeout=280, check=False, env=environment(None))

    assert finished.returncode == 2
    assert "leadsman setup --executors" in finished.stderr
