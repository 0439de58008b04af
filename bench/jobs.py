"""The jobs: leadsman, ripgrep, Polars and DuckDB on the same files with the same cores."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.measure import PythonMemory
from bench.peers import patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
SMALL = ROOT / "src/leadsman/modes/idle_disconnect/recorded/broken-confluent-kafka"

STOCK = """
import sys
from pyspark.sql import SparkSession
from leadsman.cli.commands.diagnose import command
spark = SparkSession.builder.master("local[" + sys.argv[2] + "]").getOrCreate()
code = command.main([sys.argv[1], "--format", "json"], standalone_mode=False)
jvm = spark.sparkContext._gateway.proc
spark.stop()
jvm.stdin.close()
jvm.wait()
sys.exit(code)
"""
"""The same diagnosis in a session that Spark itself started, with its own launcher and settings."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What all jobs share. `work` is a folder for what they write."""

    logs: Path
    work: Path
    cores: int


def parse(spark: SparkSession, bench: Bench) -> Mapping[str, Any]:
    """Read every event, with all signatures, and count them."""
    return {"events": _events(spark, bench).count()}


def scan(bench: Bench) -> Mapping[str, Any]:
    """Pass over all bytes once, in one process, on one core: the least that reading can take."""
    from leadsman.pipeline.read.blocks import blocks  # Arrow is loaded when needed
    from leadsman.pipeline.read.scanner import scanner

    _, find_all = scanner()
    files = (path for path in bench.logs.rglob("*") if path.is_file())
    return {"matches": sum(len(find_all(block.data[: block.end])) for path in files for block in blocks(path))}


def ripgrep(bench: Bench) -> Mapping[str, Any]:
    """Count the lines that any signature's pattern matches, the way ripgrep is fastest."""
    listed = bench.work / "patterns"
    listed.write_text("\n".join(patterns()) + "\n")
    command = [
        ripgrep_program(),
        "--count",
        "--no-ignore",
        "--hidden",
        "--text",
        "--no-unicode",
        "--threads",
        str(bench.cores),
    ]
    output = subprocess.run(
        [*command, "--file", str(listed), str(bench.logs)], capture_output=True, text=True, check=True
    ).stdout
    return {"lines": sum(int(line.rpartition(":")[2]) for line in output.splitlines())}


def ripgrep_version() -> str:
    """Return what ripgrep calls itself: it comes from the system, not from the lock."""
    output = subprocess.run([ripgrep_program(), "--version"], capture_output=True, text=True, check=True).stdout
    return " ".join(output.split()[:2])


def ripgrep_program() -> str:
    beside = Path(sys.executable).with_name("rg")
    return str(beside) if beside.exists() else str(shutil.which("rg"))


def full(spark: SparkSession, bench: Bench) -> Mapping[str, Any]:
    """Write the event table (times, fields, quiet gaps) to Parquet; count events a minute and kind."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    target = str(bench.work / "events")
    _events(spark, bench).write.mode("overwrite").parquet(target)
    counts = spark.read.parquet(target).groupBy(F.date_trunc("minute", "at"), "name").count()
    counts.write.mode("overwrite").parquet(str(bench.work / "counts"))
    return {}


def memory(spark: SparkSession, bench: Bench) -> Mapping[str, Any]:
    """Do the full job once more and look at memory meanwhile, which takes time of its own."""
    with PythonMemory() as watch:
        full(spark, bench)
    return {"python_bytes": watch.peak}


def _events(spark: SparkSession, bench: Bench) -> Any:  # noqa: ANN401 - a DataFrame
    from leadsman.pipeline.request import find_input  # Spark is loaded when needed
    from leadsman.pipeline.spark.event_frames import read_events  # Spark is loaded when needed

    return read_events(spark, find_input([str(bench.logs)]).streams, UTC)


def peer(name: str, bench: Bench) -> Mapping[str, Any]:
    """Do the full job in another engine, in a process of its own; its imports are not counted."""
    out = bench.work / name
    out.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "bench.peers", name, str(bench.logs), str(out), str(bench.cores)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    found: Mapping[str, Any] = json.loads(output)
    return found


@contextmanager
def staying(cores: int) -> Iterator[SparkSession]:
    """Yield a session such as one has that stays, in a notebook or behind Spark Connect: as Spark itself starts it."""
    from pyspark.sql import SparkSession  # Spark is loaded when needed

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    spark = builder.master(f"local[{cores}]").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def cold(path: Path, bench: Bench) -> Mapping[str, Any]:
    """Diagnose from nothing: a new Python, a new JVM."""
    return _verdicts(_diagnose(path, bench))


def _diagnose(path: Path, bench: Bench) -> list[Any]:
    words = [sys.executable, "-m", "leadsman", "diagnose", "--format", "json"]
    return [*words, "--master", f"local[{bench.cores}]", path]


def first(path: Path, bench: Bench) -> Mapping[str, Any]:
    """Diagnose from nothing, and look when the finding is there: Spark's end takes a while longer."""
    started = time.perf_counter()
    with subprocess.Popen(
        _diagnose(path, bench), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        seconds = time.perf_counter() - started
        process.stdout.read()
    return {"exit": process.returncode, "seconds": seconds}


def cold_stock(path: Path, bench: Bench) -> Mapping[str, Any]:
    """Do the same in Spark's own start."""
    return _verdicts([sys.executable, "-c", STOCK, path, str(bench.cores)])


def _verdicts(command: list[Any]) -> Mapping[str, Any]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, "NO_COLOR": "1"}
    )
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"leadsman ended with code {done.returncode}: {done.stderr[-2000:]}")
    return {"exit": done.returncode}
