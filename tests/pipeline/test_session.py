"""The same code on a standalone cluster and over Spark Connect, and a start that survives a broken archive."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import Mode
from leadsman.errors import SparkError
from leadsman.java.class_archives import is_archive_complete, remove_unused_archives
from leadsman.java.runtime import find_java
from leadsman.lab.spark.cluster import connect_server, small_executors
from leadsman.pipeline.spark.embedded import embedded_session
from leadsman.pipeline.spark.environment import CONNECT_MODE, TABLE_FOLDER
from leadsman.pipeline.spark.jvm import archive_path
from leadsman.pipeline.spark.session import session
from leadsman.waiting import wait_for

MINUTES_2 = timedelta(minutes=2)
BROKEN = Mode("idle_disconnect").folder / "recorded" / "broken-confluent-kafka"
PADDING_BYTES = 20 << 20
"""More than is read in the driver, so that executors have to."""


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The broken recording with a busy service beside it whose log is too large to be read in the driver."""
    folder = tmp_path_factory.mktemp("large")
    (folder / "broken").symlink_to(BROKEN)
    (folder / "capture").mkdir()
    for path in sorted(BROKEN.rglob("*.log")):
        (folder / "capture" / path.name).write_bytes(path.read_bytes())
    line = "2026-11-21 09:04:{:02}.{:03},000 INFO orders: Handling an event of the usual length, and telling of it\n"
    lines = "".join(line.format(i // 1000 % 60, i % 1000).replace(",000", "", 1) for i in range(60_000))
    (folder / "capture" / "busy-2.log").write_text(lines * (PADDING_BYTES // len(lines) + 1))
    return folder / "capture"


def diagnosed(capture: Path, *options: str) -> dict[str, object]:
    command = [sys.executable, "-m", "leadsman", "diagnose", str(capture), "--format", "json", *options]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert finished.returncode == 1, finished.stderr
    (answer,) = json.loads(finished.stdout)["captures"]
    return dict(answer)


@pytest.fixture(scope="module")
def alone(large: Path) -> dict[str, object]:
    """What one machine finds."""
    return diagnosed(large)


@pytest.mark.long
@pytest.mark.spark
def test_a_standalone_cluster_finds_what_one_machine_finds(standalone: str, large: Path, alone: dict[str, object]):
    small = [word for key, value in small_executors().items() for word in ("--spark-conf", f"{key}={value}")]

    assert diagnosed(large, "--master", standalone, *small) == alone


@pytest.mark.long
@pytest.mark.spark
def test_a_connect_server_finds_what_one_machine_finds(connect: str, large: Path, alone: dict[str, object]):
    assert diagnosed(large, "--remote", connect) == alone


@pytest.mark.parametrize("later", [0.0, 0.3, 1.2], ids=["JVM", "gateway", "session"])
def test_a_start_that_is_interrupted_leaves_no_jvm(later: float) -> None:
    words = [sys.executable, "-m", "leadsman", "diagnose", str(BROKEN)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        parent = psutil.Process(process.pid)
        wait_for(lambda: bool(parent.children()), timeout=MINUTES_2, what="the JVM to be started")
        (machine,) = parent.children()
        with suppress(subprocess.TimeoutExpired):
            process.wait(later)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)

    assert b"interrupted" in errors
    psutil.wait_procs([machine], timeout=20)
    assert not machine.is_running()


PROGRAM = """
import json, os, sys
from pathlib import Path
from leadsman.pipeline.events import text_table
from leadsman.pipeline.spark.environment import TABLE_FOLDER
from leadsman.pipeline.spark.pyspark_startup import create_frame
from leadsman.pipeline.spark.session import SessionOptions, session

found = {}
options = {"spark.driver.extraJavaOptions": "-Dleadsman.a='two words' -Dleadsman.b=1"}
with session(SessionOptions(conf=options, delta=True)) as spark:  # the second must know nothing of Delta
    rows = create_frame(spark, text_table({"name": ["a", None]})).selectExpr("count(name)").collect()
    found["rows"], found["imports_pandas"] = rows[0][0], "pandas" in sys.modules
    properties = spark.sparkContext._jvm.System
    found["properties"] = [properties.getProperty("leadsman.a"), properties.getProperty("leadsman.b")]
    tables = Path(os.environ[TABLE_FOLDER])
    (of_worker,) = spark.sparkContext.parallelize([0], 1).map(lambda _: os.environ[TABLE_FOLDER]).collect()
    found["tables_are_there"], found["tables_of_worker"] = tables.is_dir(), of_worker == str(tables)
found["tables_are_there_after"], found["tables_are_set_after"] = tables.exists(), TABLE_FOLDER in os.environ

with session() as spark:
    found["rows_of_second"] = spark.range(5).count()

import pandas
found["sum_by_pandas"] = int(pandas.Series([1, 2]).sum())
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def two_sessions() -> dict[str, object]:
    """What a program finds that opens one session after another. It prints nothing else, also no complaint."""
    outside = {name: value for name, value in os.environ.items() if name != TABLE_FOLDER}  # a session may be open here
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=outside)
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout))


@pytest.mark.spark
def test_a_session_and_its_first_frame_do_not_import_pandas_which_stays_importable(two_sessions: dict[str, object]):
    assert (two_sessions["rows"], two_sessions["imports_pandas"]) == (1, False)
    assert two_sessions["sum_by_pandas"] == 3


@pytest.mark.spark
def test_tables_of_workers_lie_in_a_folder_that_the_driver_removes(two_sessions: dict[str, object]):
    assert (two_sessions["tables_are_there"], two_sessions["tables_of_worker"]) == (True, True)
    assert (two_sessions["tables_are_there_after"], two_sessions["tables_are_set_after"]) == (False, False)


@pytest.mark.spark
def test_java_options_of_the_driver_reach_its_jvm(two_sessions: dict[str, object]):
    assert two_sessions["properties"] == ["two words", "1"]


@pytest.mark.spark
def test_one_process_can_open_a_session_after_another(two_sessions: dict[str, object]):
    assert (two_sessions["rows"], two_sessions["rows_of_second"]) == (1, 5)


@pytest.mark.parametrize(
    "variable",
    [
        "SPARK_CONNECT_MODE_ENABLED=1",
        pytest.param("SPARK_REMOTE=sc://127.0.0.1:1", marks=pytest.mark.long),
        pytest.param("SPARK_API_MODE=connect", marks=pytest.mark.long),
    ],
)
def test_a_shell_of_a_notebook_on_spark_connect_gets_the_same_findings(variable: str) -> None:
    name, _, value = variable.partition("=")
    words = [sys.executable, "-m", "leadsman", "diagnose", str(BROKEN)]

    finished = subprocess.run(words, capture_output=True, timeout=280, check=False, env={**os.environ, name: value})

    assert finished.returncode == 1, finished.stderr


def test_the_embedded_engine_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs started later would otherwise ask for a Connect server."""
    monkeypatch.delenv(CONNECT_MODE, raising=False)
    before = dict(os.environ)

    with embedded_session() as session:
        rows = session.sql("SELECT 1").collect()

    assert [tuple(row) for row in rows] == [(1,)]
    assert {name for name in os.environ if name not in before} <= {"RUST_LOG"}


def test_archives_that_were_not_used_for_a_month_are_removed(tmp_path: Path) -> None:
    now, day = 1_700_000_000, 24 * 3600
    for name, days in (("used", 29), ("unused", 31)):
        for path in (tmp_path / f"{name}.jsa", tmp_path / f"{name}.json"):
            path.write_bytes(b"")
            os.utime(path, (now - days * day, now - 40 * day))

    remove_unused_archives(tmp_path, now=now)

    assert sorted(each.name for each in tmp_path.iterdir()) == ["used.jsa", "used.json"]


JVM_KILLED = """
import logging, os
from leadsman.errors import SparkError
from leadsman.lab.processes.families import descendants
from leadsman.lab.processes.marked import process_name
from leadsman.pipeline.spark.session import session
logging.getLogger().addHandler(logging.NullHandler())  # as the command does: py4j complains there
try:
    with session() as spark:
        (jvm,) = (each for each in descendants(os.getpid()) if process_name(each) == "java")
        jvm.kill()
        spark.range(3).count()
except SparkError as error:
    print(error)
"""


@pytest.mark.spark
def test_a_killed_jvm_is_an_error_with_that_reason():
    done = subprocess.run([sys.executable, "-c", JVM_KILLED], capture_output=True, text=True, timeout=280, check=False)

    assert "was killed by SIGKILL" in done.stdout
    assert "dmesg" in done.stdout
    assert done.stderr == ""


@pytest.mark.spark
def test_an_error_of_the_jvm_is_read_while_the_jvm_runs(spark: SparkSession):
    jvm: Any = spark.sparkContext._jvm

    with pytest.raises(SparkError, match=r"Spark failed: java.io.FileNotFoundException: /nowhere"), session():
        jvm.java.io.FileInputStream("/nowhere")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--spark-conf", "spark.driver.port=abc", r"Spark did not start: .*INVALID_CONF_VALUE.*spark\.driver\.port"),
        ("--spark-conf", "spark.executor.memory=nonsense", r"Spark did not start: .*JAVA_GATEWAY_EXITED"),
        ("--master", "spark://nowhere", r"No Spark cluster answers at spark://nowhere: .*Invalid master URL"),
    ],
)
def test_a_setting_with_which_spark_does_not_start_is_named(option: str, value: str, why: str):
    command = [sys.executable, "-m", "leadsman", "diagnose", str(BROKEN), option, value]

    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)

    assert done.returncode == 2
    assert re.search(why, done.stderr)
    assert "internal error" not in done.stderr
    assert is_archive_complete(archive_path(find_java()))  # the setting is wrong, not the archive


@pytest.mark.spark
def test_a_broken_archive_is_removed_and_spark_starts_without_it(tmp_path: Path):
    archive = archive_path(find_java())
    broken = tmp_path / "leadsman" / "cds" / archive.name
    broken.parent.mkdir(parents=True)
    shutil.copyfile(archive, broken)
    os.truncate(broken, half := broken.stat().st_size // 2)
    broken.with_suffix(".json").write_text(json.dumps({"bytes": half}))
    program = "from leadsman.pipeline.spark.session import session\nwith session() as s: print(s.range(5).count())"

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,  # for the report of the JVM that crashes
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )

    assert (done.stdout, done.stderr) == ("5\n", "")
    assert not broken.exists()


JVM_KILLED_AT_ITS_START = """
import os, sys, threading, time
from leadsman.errors import SparkError
from leadsman.lab.processes.families import descendants
from leadsman.lab.processes.marked import process_name
from leadsman.pipeline.spark.session import session
def kill():
    while not (java := [each for each in descendants(os.getpid()) if process_name(each) == "java"]):
        time.sleep(0.01)
    time.sleep(float(sys.argv[1]))
    java[0].kill()
threading.Thread(target=kill, daemon=True).start()
try:
    with session():
        time.sleep(60)
except SparkError as error:
    print(error)
"""


@pytest.mark.spark
@pytest.mark.parametrize("seconds", [0.0, pytest.param(1.0, marks=pytest.mark.long)])
def test_a_jvm_that_is_killed_at_its_start_is_not_started_again(seconds: float):
    command = [sys.executable, "-c", JVM_KILLED_AT_ITS_START, str(seconds)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=True)

    assert "was killed by SIGKILL before it was ready" in done.stdout
    assert done.stderr == ""
