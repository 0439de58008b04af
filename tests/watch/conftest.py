"""The embedded engine for tests that need detectors and no Spark, and what short watches need."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.pipeline.spark.embedded import embedded_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture
def embedded() -> Iterator[SparkSession]:
    """The process's one engine; PySpark is in Connect mode for the time of one test only."""
    with embedded_session() as session:
        yield session


@pytest.fixture
def plain_python(tmp_path: Path) -> Path:
    """A Python with all packages of this one but leadsman: what a cluster can have."""
    library = tmp_path / "without-leadsman" / "lib"
    library.mkdir(parents=True)
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "leadsman" not in path.name and path.suffix != ".pth":
            (library / path.name).symlink_to(path)
    base = Path(sys.base_prefix, "bin", f"python{sysconfig.get_python_version()}")
    program = library.parent / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{library}" exec "{base}" -s "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def quick_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch of a minute spends a third of its CPU time on code for the hours that follow."""
    monkeypatch.setenv("LEADSMAN_WATCH_SPARK_CONF", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1")
