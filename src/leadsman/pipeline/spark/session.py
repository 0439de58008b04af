"""Opens one Spark session: the active one, a Connect server's, a cluster's, or one in a JVM of our own."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import socket
import sys
import threading
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from leadsman.daemon import server
from leadsman.errors import SparkError
from leadsman.pipeline.spark.environment import NO_CONNECT, TABLE_FOLDER, environment
from leadsman.pipeline.spark.executors import is_connect, send_package, summarize_error
from leadsman.pipeline.spark.pyspark_startup import postponed_pandas
from leadsman.run_folder import memory_folder, run_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from leadsman.pipeline.spark.jvm import Gateway

SETTINGS = {
    "spark.ui.enabled": "false",  # 0.7 s of start-up
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # users read findings, not Spark's log
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",  # few events are left after the reader
    "spark.sql.adaptive.enabled": "false",  # re-planning takes longer than it saves on small tables
    # With either of these two, Spark clones the session for each frame that it caches, and a Connect server sends the
    # clone all artifacts again: an archive of packages is unpacked once more.
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false",
    "spark.sql.adaptive.applyFinalStageShuffleOptimizations": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(32 << 20),  # pieces of remote files are megabytes each
}

STATUS = {
    "spark.ui.liveUpdate.period": "-1",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "20",
}
"""How much Spark keeps of what has run, for its UI, which is off: by default plans and tasks of 1,000 queries, half of
the JVM's memory."""

LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.codegen.wholeStage": "false",  # compiling Java for a few thousand rows takes longer than the rows
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",  # the default formats every plan for a page of the UI
    "spark.sql.dataFrameQueryContext.enabled": "false",  # it captures a stack trace at each call, for error messages
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # each broadcast would be a job of its own
    "spark.sql.optimizer.maxIterations": "40",
    "spark.python.daemon.module": "leadsman.pipeline.spark.worker_daemon",
}

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",  # a megabyte for each join, however few its rows
}


TASK_TRIES = 4
"""A task of a long-lived session is tried so often, as on a cluster (`spark.task.maxFailures`), where a local Spark
gives up after one failure: in an hour of small batches a task was once seen to fail while it was deserialized."""

CONNECT_PORT = 15002
"""Spark Connect's default port."""

CONNECT_TIMEOUT_SECONDS = 10

GATEWAY_PORT = "PYSPARK_GATEWAY_PORT"
"""The variable by which PySpark knows its JVM. spark-submit sets it for the program that it starts."""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The requested session. `delta` loads Delta Lake; `conf` overrides all settings of this module.

    One that `is_long_lived` runs for more than a minute: its JVM compiles to faster code. `executors` is an archive of
    Python packages for a cluster whose Python has none. `dump_archive` writes the JVM's class archive at the end.
    """

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    delta: bool = False
    is_long_lived: bool = False
    dump_archive: bool = False
    executors: str | None = None


@contextmanager
def session(options: SessionOptions = SessionOptions()) -> Iterator[SparkSession]:
    """Yield a session; stop what was started for it. Raises SparkError where no session can be opened."""
    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark prints each error as JSON before raising it
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise workers take `python3` from PATH
    if server.IS_DAEMON and (options.remote or options.master or options.conf or options.delta or options.executors):
        raise server.NeedsOwnProcess
    if options.remote:
        yield from _remote(options)
    elif active := _active():
        with _errors_of_jvm_reported(active):
            yield active
    else:
        with environment(NO_CONNECT):
            yield from _own(options)


def _own(options: SessionOptions) -> Iterator[SparkSession]:
    is_submitted = GATEWAY_PORT in os.environ
    if is_submitted and options.master:
        raise SparkError("spark-submit decides on the master: give --master to it, before the file.")
    is_cluster = is_submitted or (options.master and not options.master.startswith("local"))
    yield from _cluster(options) if is_cluster else _local(options)


def _active() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:
        return None  # then no session is active; the import takes half a second and runs while our JVM starts
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _remote(options: SessionOptions) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    _check_reachable(str(options.remote))
    try:
        with postponed_pandas():
            spark = SparkSession.builder.remote(str(options.remote)).getOrCreate()
        spark.version  # noqa: B018 - the first call is what reaches the server
    except Exception as error:
        raise SparkError(f"No Spark Connect server answers at {options.remote}: {summarize_error(error)}") from error
    _retry_for_a_minute(spark)
    try:
        _set_remotely(spark, {**_runtime_settings(), **options.conf})
        send_package(spark, options.executors)
        yield spark
    finally:
        remote: Any = spark
        remote.release_session_on_close = is_usable(spark)  # otherwise a server that is gone is asked for a minute
        spark.stop()


def _retry_for_a_minute(spark: SparkSession) -> None:
    """Give up on a server that does not answer within 40 s to 50 s. PySpark's own clients wait for ten minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # the error that follows says it
    remote: Any = spark
    remote.client.set_retry_policies([DefaultPolicy(max_retries=8, max_backoff=10_000)])


def _set_remotely(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Set what a client may set. Raises SparkError where the server has to be started with a setting."""
    for key, value in settings.items():
        try:
            spark.conf.set(key, value)
        except Exception as error:
            raise SparkError(f"The Spark Connect server refuses {key}={value}: {summarize_error(error)}") from error


def _check_reachable(url: str) -> None:
    """Raise SparkError at once where no server listens: the client itself would retry for ten minutes."""
    parts = urlsplit(url)
    if parts.scheme != "sc" or not parts.hostname:
        raise SparkError(f"--remote takes a Spark Connect address such as sc://host:15002, not {url!r}.")
    try:
        socket.create_connection((parts.hostname, parts.port or CONNECT_PORT), CONNECT_TIMEOUT_SECONDS).close()
    except OSError as error:
        raise SparkError(f"No Spark Connect server answers at {url}: {error}. Is it running?") from error


def _runtime_settings() -> dict[str, str]:
    """Return the settings that a running session accepts."""
    return {key: value for key, value in SETTINGS.items() if key.startswith("spark.sql.")}


def _cluster(options: SessionOptions) -> Iterator[SparkSession]:
    """Yield a session on a cluster, or that of the driver which spark-submit has started, and which has its master."""
    settings = {**SETTINGS, **STATUS, **(DELTA if options.delta else {}), **options.conf}
    try:
        spark = _build(options.master, settings)
    except Exception as error:
        where = f"No Spark cluster answers at {options.master}" if options.master else "spark-submit's driver is gone"
        raise SparkError(f"{where}: {summarize_error(error)}") from error
    send_package(spark, options.executors)
    try:
        with _errors_of_jvm_reported(spark):
            yield spark
    finally:
        spark.stop()


def _local(options: SessionOptions) -> Iterator[SparkSession]:
    settings: dict[str, str] = {**SETTINGS, **STATUS, **LOCAL, **(DELTA if options.delta else {}), **options.conf}
    master = options.master or _local_master(options)
    with run_folder() as scratch, run_folder(memory_folder()) as tables, environment({TABLE_FOLDER: str(tables)}):
        settings.setdefault("spark.local.dir", str(scratch))
        spark, gateway = _own_jvm(master, settings, options, scratch)
        try:
            with _errors_of_jvm_reported(spark, gateway):
                yield spark
        finally:
            if is_usable(spark):
                _stop(spark)
            _disconnect(spark)
            if gateway:
                gateway.stop()


def is_usable(spark: SparkSession) -> bool:
    """Whether a session's JVM runs, and its context was not stopped; of Spark Connect, whether its server listens."""
    from py4j.protocol import Py4JError

    session: Any = spark
    try:
        if is_connect(spark):
            host, _, port = session.client._builder.endpoint.rpartition(":")  # noqa: SLF001 - PySpark has it nowhere else
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_SECONDS).close()
            return True
        return not session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - its own state does not know that the JVM ended
    except (OSError, Py4JError):
        return False


@contextmanager
def _errors_of_jvm_reported(spark: SparkSession, gateway: Gateway | None = None) -> Iterator[None]:
    """Raise SparkError where a call fails because the JVM has ended, and where an error is the JVM's own.

    py4j asks the JVM for the text of such an error, and the JVM runs as long as the block alone.
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    from leadsman.pipeline.spark.jvm import ENDED_HINT

    try:
        yield
    except (OSError, Py4JError) as error:
        if is_usable(spark):
            if isinstance(error, Py4JJavaError):
                raise SparkError(f"Spark failed: {summarize_error(error)}") from error
            raise
        end = (gateway and gateway.end()) or "closed its connections"
        raise SparkError(f"Spark's JVM {end}. {ENDED_HINT}") from error


def _local_master(options: SessionOptions) -> str:
    threads = os.cpu_count() or 2
    return f"local[{threads}, {TASK_TRIES}]" if options.is_long_lived else f"local[{threads}]"


def _stop(spark: SparkSession) -> None:
    """Stop the session without waiting for PySpark's accumulator server, which checks once a second whether to stop."""
    context: Any = spark.sparkContext
    server, context._accumulatorServer = context._accumulatorServer, None  # noqa: SLF001 - PySpark has no other way
    threading.Thread(target=server.shutdown, daemon=True).start()
    spark.stop()


def _disconnect(spark: SparkSession) -> None:
    """Tell py4j that its JVM is about to end: otherwise py4j calls the JVM to release objects, and logs an error."""
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - PySpark gives no other way to it
    gateway._gateway_client.is_connected = False  # noqa: SLF001 - nor has py4j


def _own_jvm(
    master: str, settings: Mapping[str, str], options: SessionOptions, scratch: Path
) -> tuple[SparkSession, Gateway | None]:
    """Start our own JVM; where that fails for any reason Spark's own launcher starts one, which has no gateway here."""
    from leadsman.java import runtime  # only where a JVM is started
    from leadsman.java.class_archives import is_archive_complete
    from leadsman.pipeline.spark import jvm

    executable = runtime.find_java()
    jars = _delta_jars() if options.delta else ()
    archive = jvm.archive_path(executable)
    heap_mb = _heap_mb(settings)
    java_options = shlex.split(settings.get("spark.driver.extraJavaOptions", ""))  # SparkSubmit comes too late for them
    attempts = (
        [{"dump": archive}] if options.dump_archive else [{"archive": archive}] if is_archive_complete(archive) else []
    )
    suspect: Path | None = None
    for attempt in [*attempts, {}]:
        try:
            gateway = jvm.launch(
                executable,
                jars,
                heap_mb=heap_mb,
                conf=settings,
                scratch=scratch,
                is_long_lived=options.is_long_lived,
                java_options=java_options,
                **attempt,
            )
        except jvm.JvmKilled:
            raise
        except (SparkError, OSError):
            suspect = attempt.get("archive")
            continue
        if suspect and not java_options:  # without the archive it starts, so the archive is what is wrong
            suspect.unlink(missing_ok=True)
        with environment({GATEWAY_PORT: str(gateway.port), "PYSPARK_GATEWAY_SECRET": gateway.secret}):
            try:
                _forget_gateway()
                return _build(master, settings), gateway
            except Exception as error:
                failure = _start_failure(error, gateway)
                gateway.stop()  # from here on, an error of the JVM has no text
                raise failure from error
            except BaseException:
                gateway.stop()
                raise
    loaded = {"spark.jars": ",".join(map(str, jars))} if jars else {}
    try:
        return _build(master, {**settings, **loaded, "spark.driver.memory": f"{heap_mb}m"}), None
    except Exception as error:
        raise _start_failure(error) from error


def _forget_gateway() -> None:
    """Let PySpark connect to our JVM. It keeps the gateway of an earlier session, whose JVM has ended."""
    from pyspark import SparkContext

    context: Any = SparkContext
    if context._active_spark_context is None:  # noqa: SLF001 - PySpark has no other way
        context._gateway = context._jvm = None  # noqa: SLF001 - nor here


def _start_failure(error: Exception, gateway: Gateway | None = None) -> SparkError:
    from leadsman.pipeline.spark.jvm import ENDED_HINT

    if gateway and (end := gateway.end()):
        return SparkError(f"Spark's JVM {end} before it was ready. {ENDED_HINT}")
    return SparkError(f"Spark did not start: {summarize_error(error)}")


def _delta_jars() -> tuple[Path, ...]:
    from leadsman.java.jars import fetch_jars

    return tuple(fetch_jars("spark-4.2"))


def _heap_mb(settings: Mapping[str, str]) -> int:
    memory = settings.get("spark.driver.memory", "1g").lower()
    units = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1 << 20}
    try:
        return int(float(memory.rstrip("bkmgt")) * units.get(memory.rstrip("b")[-1], 1))
    except ValueError as error:
        raise SparkError(f"spark.driver.memory takes a size such as 2g, not {memory!r}.") from error


def _build(master: str | None, settings: Mapping[str, str]) -> SparkSession:
    """Return a session on a master, or on that of the driver that spark-submit has started."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    builder = (builder.master(master) if master else builder).appName("leadsman")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _keep_interrupt_handler(), postponed_pandas():
        spark: SparkSession = builder.getOrCreate()
    context: Any = spark.sparkContext
    context.setLogLevel("OFF")
    context._accumulatorServer.handle_error = lambda *_: None  # noqa: SLF001 - a JVM that ends is no news of this server
    return spark


@contextmanager
def _keep_interrupt_handler() -> Iterator[None]:
    """Restore our handler of Ctrl-C: PySpark's calls the JVM amid another call, and fails with a long trace."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)
