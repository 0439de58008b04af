"""A standalone Spark cluster and a Spark Connect server on this machine, from the installed PySpark."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.java.class_archives import is_archive_complete, read_option
from leadsman.java.runtime import find_java
from leadsman.lab.processes.program import LOOPBACK, Program
from leadsman.pipeline.spark.jvm import FLAGS, archive_path, class_path, spark_home
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

START_TIMEOUT = timedelta(minutes=2)
STOP_TIMEOUT = timedelta(seconds=30)

DAEMON_MB = 600
"""Heap of a master, a worker and a Connect server, which refuses less than 450 MB."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of JVMs that live for a minute: the optimizing compiler takes half of such a JVM's CPU time."""


@dataclass(frozen=True, slots=True)
class SparkCluster:
    """A running master and its workers; each worker starts executors with one core."""

    url: str
    folder: Path
    workers: Mapping[int, Program] = field(default_factory=dict)


@cache
def shared_classes() -> tuple[str, ...]:
    """Return Java's options for the class archive that leadsman keeps of Spark; none where there is none.

    It serves JVMs whose class path begins with Spark's.
    """
    archive = archive_path(find_java())
    return (read_option(archive),) if is_archive_complete(archive) else ()


@cache
def small_executors() -> Mapping[str, str]:
    """Return settings of a session whose executors share a machine of two cores with all else, and end soon."""
    return {
        "spark.executor.memory": "500m",
        "spark.driver.memory": "500m",
        "spark.executor.extraClassPath": class_path(),  # comes first, so that the class archive fits
        "spark.executor.extraJavaOptions": " ".join((SHORT_LIVED, *shared_classes())),
    }


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@contextmanager
def spark_cluster(
    folder: Path, *, workers: int = 2, memory_mb: int = 700, environment: Mapping[str, str] | None = None
) -> Iterator[SparkCluster]:
    """Run a master and workers with one core each until the block ends. Logs and work folders are in `folder`."""
    deploy, port = "org.apache.spark.deploy", free_port()
    host_options, url = ["--host", LOOPBACK, "--webui-port", "0"], f"spark://{LOOPBACK}:{port}"
    with ExitStack() as stack:
        words = [f"{deploy}.master.Master", *host_options, "--port", str(port)]
        master = stack.enter_context(_daemon("master", words, folder, environment))
        _wait_for_text("Starting Spark master", master, folder)
        running = {}
        for number in range(1, workers + 1):
            words = [f"{deploy}.worker.Worker", *host_options, "--cores", "1", "--memory", f"{memory_mb}m"]
            words += ["--work-dir", str(folder / f"work-{number}"), url]
            running[number] = stack.enter_context(_daemon(f"worker-{number}", words, folder, environment))
        for worker in running.values():  # they start beside one another
            _wait_for_text("Successfully registered with master", worker, folder)
        yield SparkCluster(url, folder, running)


@contextmanager
def connect_server(
    folder: Path,
    *,
    master: str = "local[2]",
    conf: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Run a Spark Connect server until the block ends; yield its address."""
    port = free_port()
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": LOOPBACK,
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
        **(conf or {}),
    }
    words = ["org.apache.spark.deploy.SparkSubmit", "--master", master]
    words += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    words += [
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]  # its name for "no jar"
    with _daemon("connect", words, folder, environment) as server:
        _wait_for_text("Spark Connect server started", server, folder)
        yield f"sc://{LOOPBACK}:{port}"


@contextmanager
def _daemon(name: str, words: Sequence[str], folder: Path, environment: Mapping[str, str] | None) -> Iterator[Program]:
    """Run one of Spark's daemons until the block ends. Its log is in `folder`."""
    log = folder / f"{name}.log"
    around = {
        "SPARK_HOME": str(spark_home()),
        "SPARK_SCALA_VERSION": "2.13",  # or a worker looks for a build of Spark beside its jars
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
        **(environment or {}),
    }
    options = [*FLAGS, *SHORT_LIVED.split(), *shared_classes()]
    command = [str(find_java()), "-cp", class_path(), f"-Xmx{DAEMON_MB}m", *options, *words]
    with Program.start(name, command, folder=folder, errors=log, output=log, environment=around) as program:
        yield program
        program.stop(timeout=STOP_TIMEOUT)


def _wait_for_text(text: str, program: Program, folder: Path) -> None:
    log = folder / f"{program.name}.log"
    wait_until_ready(lambda: text in log.read_text(errors="replace"), program, log)


def wait_until_ready(is_ready: Callable[[], bool], program: Program, log: Path) -> None:
    """Wait until a program is ready. Raises LabError where it ends, or takes longer than START_TIMEOUT."""
    wait_for(
        lambda: is_ready() or not program.is_running,
        timeout=START_TIMEOUT,
        what=f"{program.name} to be ready",
        error=LabError,
    )
    if not program.is_running:
        raise LabError(
            f"{program.name} ended with code {program.popen.returncode} at its start. The reason is in {log}."
        )
