"""leadsman as one file: run by Python, and by spark-submit, where no leadsman is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman import __version__, modes
from leadsman.java import runtime
from leadsman.pipeline.spark.application_file import make_application
from leadsman.pipeline.spark.jvm import spark_home
from leadsman.report.json_documents.findings import findings_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.model import Diagnosis

CAPTURE = Path(next(iter(modes.__path__)), "producer_id_leak", "recorded", "broken-java")


@pytest.fixture
def application(tmp_path: Path) -> Path:
    target = tmp_path / "leadsman.py"
    make_application(target)
    return target


def run(command: list[str], python: Path) -> subprocess.CompletedProcess[str]:
    java = Path(runtime.find_java()).resolve().parents[1]
    own = {"PYTHONPATH": "", "SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": str(python), "JAVA_HOME": str(java)}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=400, check=False, env={**os.environ, **own, "NO_COLOR": "1"}
    )


def test_the_file_runs_without_an_installed_leadsman_and_leaves_nothing(
    tmp_path: Path, application: Path, plain_python: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    done = run([str(plain_python), str(application), "--version"], plain_python)

    assert (done.returncode, done.stdout) == (0, f"leadsman, version {__version__}\n"), done.stderr
    assert list((tmp_path / "temporary").glob("leadsman-application-*")) == []


@pytest.mark.spark
@pytest.mark.long
def test_spark_submit_runs_a_watch_of_the_file(
    tmp_path: Path, application: Path, plain_python: Path, diagnosed: Callable[..., list[Diagnosis]]
):
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]", str(application)]
    watch = ["watch", "--replay", str(CAPTURE), "--until-end", "--format", "json", "--to", str(tmp_path / "state")]

    done = run([*submit, *watch], plain_python)

    assert done.stdout == findings_json(diagnosed([CAPTURE])) + "\n", done.stderr
    assert done.returncode == 1
