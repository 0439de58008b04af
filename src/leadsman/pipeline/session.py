"""One Spark session from whatever there is: a running one, a Connect server, a cluster, or a JVM of our own."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from leadsman.errors import SparkError
from leadsman.pipeline.executors import brief, ship
from leadsman.pipeline.lean import without_pandas
from leadsman.resident import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",  # 0.7 s of start-up
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # a reader of a finding is not a reader of Spark's log
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",  # what is left after the reader is small
    "spark.sql.adaptive.enabled": "false",  # re-planning costs more than it saves on small tables
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(32 << 20),  # pieces of remote files are megabytes each
}

LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.codegen.wholeStage": "false",  # compiling Java for a few thousand rows takes longer than the rows
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",  # every plan is written out for a page that nobody opens
    "spark.sql.dataFrameQueryContext.enabled": "false",  # it takes a stack trace for each call, to be shown in errors
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # each broadcast would be a job of its own
    "spark.sql.optimizer.maxIterations": "40",
}

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}


CONNECT_PORT = 15002
"""Spark Connect's default."""

REACH_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Wanted:
    """What kind of session is asked for. `delta` loads Delta Lake; `conf` overrides everything set here.

    `executors` is an archive of Python packages for a cluster whose Python has none.
    """

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    delta: bool = False
    dump_archive: bool = False
    executors: str | None = None


@contextmanager
def session(wanted: Wanted = Wanted()) -> Iterator[SparkSession]:
    """Yield a session; end what was started for it. Raises SparkError where none can be had."""
    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark prints each error as JSON before raising it
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise workers take `python3` from PATH
    if server.IS_DAEMON and (wanted.remote or wanted.master or wanted.conf or wanted.delta or wanted.executors):
        raise server.NotHere
    if wanted.remote:
        yield from _remote(wanted)
    elif active := _active():
        yield active
    elif wanted.master and not wanted.master.startswith("local"):
        yield from _cluster(wanted)
    else:
        yield from _local(wanted)


def _active() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:
        return None  # then there is none, and the half second of importing it passes while our JVM starts
    from pyspark.sql import SparkSession  # noqa: PLC0415

    return SparkSession.getActiveSession()


def _remote(wanted: Wanted) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    _reach(str(wanted.remote))
    try:
        spark = SparkSession.builder.remote(str(wanted.remote)).getOrCreate()
        spark.version  # noqa: B018 - the first call is what reaches the server
    except Exception as error:
        raise SparkError(f"No Spark Connect server answers at {wanted.remote}: {brief(error)}") from error
    for key, value in {**_settable(), **wanted.conf}.items():
        spark.conf.set(key, value)
    ship(spark, wanted.executors)
    try:
        yield spark
    finally:
        spark.stop()


def _reach(url: str) -> None:
    """Raise SparkError at once where nothing listens: the client itself would try on for ten minutes."""
    parts = urlsplit(url)
    if parts.scheme != "sc" or not parts.hostname:
        raise SparkError(f"--remote takes a Spark Connect address such as sc://host:15002, not {url!r}.")
    try:
        socket.create_connection((parts.hostname, parts.port or CONNECT_PORT), REACH_SECONDS).close()
    except OSError as error:
        raise SparkError(f"No Spark Connect server answers at {url}: {error}. Is it running?") from error


def _settable() -> dict[str, str]:
    """Return the settings that a running session takes."""
    return {key: value for key, value in SETTINGS.items() if key.startswith("spark.sql.")}


def _cluster(wanted: Wanted) -> Iterator[SparkSession]:
    settings = {**SETTINGS, **(DELTA if wanted.delta else {}), **wanted.conf}
    try:
        spark = _build(str(wanted.master), settings)
    except Exception as error:
        raise SparkError(f"No Spark cluster answers at {wanted.master}: {brief(error)}") from error
    ship(spark, wanted.executors)
    try:
        yield spark
    finally:
        spark.stop()


def _local(wanted: Wanted) -> Iterator[SparkSession]:
    settings = {**SETTINGS, **LOCAL, **(DELTA if wanted.delta else {}), **wanted.conf}
    master = wanted.master or f"local[{os.cpu_count() or 2}]"
    spark, stop = _own_jvm(master, settings, wanted)
    try:
        yield spark
    finally:
        _stop(spark)
        _let_go(spark)
        stop()


def _stop(spark: SparkSession) -> None:
    """Stop the session. Nobody waits for PySpark's accumulators, whose server looks once a second whether to end."""
    context: Any = spark.sparkContext
    server, context._accumulatorServer = context._accumulatorServer, None  # noqa: SLF001 - PySpark has no other way
    server.handle_error = lambda *_: None  # the JVM that it listens to may end before it looks
    threading.Thread(target=server.shutdown, daemon=True).start()
    spark.stop()


def _let_go(spark: SparkSession) -> None:
    """Tell py4j that its JVM is about to end: to let go of objects there it would call it still, and log an error."""
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - PySpark gives no other way to it
    gateway._gateway_client.is_connected = False  # noqa: SLF001 - nor py4j


def _own_jvm(master: str, settings: Mapping[str, str], wanted: Wanted) -> tuple[SparkSession, Callable[[], object]]:
    """Start our own JVM, and Spark's stock start if that fails for any reason."""
    from leadsman import java  # noqa: PLC0415 - only where a JVM is started
    from leadsman.pipeline import jvm  # noqa: PLC0415

    executable = java.find()
    jars = _delta_jars() if wanted.delta else ()
    archive = jvm.archive_of(executable, jvm.class_path(jars))
    heap_mb = _heap_mb(settings)
    attempts = [{"dump": archive}] if wanted.dump_archive else [{"archive": archive}] if jvm.usable(archive) else []
    for attempt in [*attempts, {}]:
        try:
            gateway = jvm.launch(executable, jars, heap_mb=heap_mb, conf=settings, **attempt)
        except (SparkError, OSError):
            if "archive" in attempt:
                archive.unlink(missing_ok=True)
            continue
        with _environment(PYSPARK_GATEWAY_PORT=str(gateway.port), PYSPARK_GATEWAY_SECRET=gateway.secret):
            try:
                return _build(master, settings), gateway.stop
            except BaseException:
                gateway.stop()
                raise
    return _build(master, {**settings, "spark.driver.memory": f"{heap_mb}m"}), lambda: None


def _delta_jars() -> tuple[Path, ...]:
    from leadsman.jars import fetch  # noqa: PLC0415

    return tuple(fetch("spark-4.2"))


def _heap_mb(settings: Mapping[str, str]) -> int:
    asked = settings.get("spark.driver.memory", "1g").lower()
    units = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1 << 20}
    try:
        return int(float(asked.rstrip("bkmgt")) * units.get(asked.rstrip("b")[-1], 1))
    except ValueError as error:
        raise SparkError(f"spark.driver.memory takes a size such as 2g, not {asked!r}.") from error


def _build(master: str, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder: Any = SparkSession.builder
    builder = builder.master(master).appName("leadsman")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _own_interrupt(), without_pandas():
        spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keep Ctrl-C ours: PySpark's handler calls into the JVM in the middle of another call, and fails at length."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
