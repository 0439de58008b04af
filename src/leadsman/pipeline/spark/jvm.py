"""Starts the JVM that Spark runs in, three times as fast as spark-submit does.

There is no launcher JVM, only the C1 compiler, the serial collector, and a class-data-sharing archive of the classes
that a diagnosis loads: 4.0 s to a first result, 12.8 s with Spark's own start (docs/decisions.md). C1 suffices because
the bytes are scanned outside the JVM; a long-lived session has both compilers. After any error here, the caller falls
back to Spark's own start.
"""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import SparkError
from leadsman.interrupt import defer_interrupts
from leadsman.java import class_archives
from leadsman.java.class_archives import DUMP_TIMEOUT, publish
from leadsman.java.runtime import java_build
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OPENED_PACKAGES = [
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
]
"""Packages that Spark accesses by reflection; the list of org.apache.spark.launcher.JavaModuleOptions in 4.2.0."""

FLAGS = (
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED_PACKAGES),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",  # Arrow's allocator, on Java 24 and later
    "--enable-native-access=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-XX:+IgnoreUnrecognizedVMOptions",  # the two flags above are unknown to Java 17
    "-XX:+UseSerialGC",
    "-Xlog:disable",
)

FAST_START = "-XX:TieredStopAtLevel=1"
"""Java's quick compiler alone. In a long-lived session the optimizing one saves a third of the CPU time from the
third batch on: a batch of the account-linking tables took 18 s with this flag, 12 s without."""

START_TIMEOUT = timedelta(seconds=60)
KILLS = (signal.SIGKILL, signal.SIGTERM)
"""By other signals a JVM ends itself when it crashes, as of a broken archive."""

ENDED_HINT = (
    "Where nobody ended it: `dmesg` says whether the kernel killed it because there was no memory. Start leadsman "
    "again; a watch goes on where it was."
)

STOP_TIMEOUT = timedelta(seconds=10)
END_TIMEOUT = timedelta(seconds=1)
"""So long after a connection to the JVM broke it may still be ending."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running JVM whose gateway waits for PySpark."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str
    archive: Path | None = None

    def end(self) -> str | None:
        """Say how the JVM ended, such as "was killed by SIGKILL"; None: it runs."""
        try:
            return _end(self.process.wait(END_TIMEOUT.total_seconds()))  # its connections end before it does
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """Stop the JVM by closing its standard input; kill it where it does not exit in time."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait((DUMP_TIMEOUT if self.archive else STOP_TIMEOUT).total_seconds())
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.archive:
            publish(self.archive, self.process.returncode)


class JvmKilled(SparkError):
    """A user or the kernel ended the JVM: whether another one is started is up to the user."""


def _end(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def spark_home() -> Path:
    """Return the folder of the installed PySpark, which holds its jars."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


EXCLUDED_JARS = ("spark-mllib_",)
"""Jars of Spark that are left off the class path: MLlib's registers two functions in each session by Scala's
reflection, which takes a second of each start."""


def class_path(jars: Sequence[Path] = ()) -> str:
    """Return Spark's class path and the `jars` after it; each by name and sorted, so that a class archive fits."""
    home = spark_home()
    own = sorted(jar for jar in (home / "jars").glob("*.jar") if not jar.name.startswith(EXCLUDED_JARS))
    return os.pathsep.join([f"{home}/conf/", *map(str, own), *map(str, sorted(jars))])


def archive_path(java: Path) -> Path:
    """Return the path of this Java's class archive of Spark. It serves every class path that begins with Spark's."""
    return class_archives.archive_path(java_build(java), class_path())


def launch(
    java: Path,
    jars: Sequence[Path] = (),
    *,
    heap_mb: int = 1024,
    conf: Mapping[str, str] | None = None,
    archive: Path | None = None,
    dump: Path | None = None,
    scratch: Path | None = None,
    is_long_lived: bool = False,
    java_options: Sequence[str] = (),
) -> Gateway:
    """Start a JVM with Spark's gateway, with the class `archive`, or to write one to `dump` when the JVM exits.

    `scratch` is the folder for temporary files of the JVM, and of the Python workers that it starts. One that
    `is_long_lived` compiles to faster code, at the cost of a slower start. `java_options` override ours.
    """
    sharing = [class_archives.read_option(archive)] if archive else []
    if dump:
        sharing = [class_archives.write_option(dump)]
    scratch_option = [f"-Djava.io.tmpdir={scratch}"] if scratch else []
    settings = [word for key, value in (conf or {}).items() for word in ("--conf", f"{key}={value}")]
    options = [*FLAGS, *([] if is_long_lived else [FAST_START]), *scratch_option, *sharing, *java_options]
    command = [str(java), "-cp", class_path(jars), f"-Xmx{heap_mb}m", *options]
    process, port, secret = _start(
        [*command, "org.apache.spark.deploy.SparkSubmit", *settings, "pyspark-shell"], scratch
    )
    return Gateway(process, port, secret, dump)


def _start(command: Sequence[str], scratch: Path | None) -> tuple[subprocess.Popen[bytes], int, str]:
    """Start the JVM; return it with its gateway's port and secret. A session of its own keeps Ctrl-C from the JVM."""
    with tempfile.TemporaryDirectory(prefix="leadsman-jvm-", dir=scratch) as folder:
        connection_file = Path(folder, "gateway")
        process = subprocess.Popen(
            [*_ends_with_us(), *command],
            env=_environment(connection_file) | ({"TMPDIR": str(scratch)} if scratch else {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process, *_parse_connection(_wait_for_gateway(process, connection_file))
        except BaseException:  # Ctrl-C too: a JVM without a client would run for ever
            process.kill()
            process.wait()
            raise


def _ends_with_us() -> list[str]:
    """Return the words before a command with which the kernel ends it when this process ends, however that ends.

    The kernel's signal comes at the end of the thread that started the command: a thread of ours can end before us.
    """
    setpriv = shutil.which("setpriv")
    is_main = threading.current_thread() is threading.main_thread()
    return [setpriv, "--pdeathsig", "TERM"] if setpriv and is_main else []


def _wait_for_gateway(process: subprocess.Popen[bytes], connection_file: Path) -> bytes:
    """Return the content of the connection file, which the JVM writes once its gateway is open."""
    with defer_interrupts():
        import_module("pyspark.sql")  # half a second that passes while the JVM starts
    wait_for(
        lambda: connection_file.exists() or process.poll() is not None,
        timeout=START_TIMEOUT,
        what="Spark's JVM to open its gateway",
        every=timedelta(milliseconds=10),
    )
    if not connection_file.exists():
        if -process.returncode in KILLS:
            raise JvmKilled(f"Spark's JVM {_end(process.returncode)} before it was ready. {ENDED_HINT}")
        raise SparkError(f"Spark's JVM {_end(process.returncode)} before it was ready.")
    return connection_file.read_bytes()


def _environment(connection_file: Path) -> dict[str, str]:
    """Return the JVM's environment, which is also that of its Python workers.

    Without SPARK_HOME they import PySpark from where it is installed. With it they import `pyspark.zip`, which holds no
    compiled modules: compiling them took 0.7 s of CPU at each start.
    """
    removed = {"SPARK_HOME", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"}  # the options would not match the archive's
    return {
        **{key: value for key, value in os.environ.items() if key not in removed},
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection_file),
        "SPARK_CONF_DIR": os.environ.get("SPARK_CONF_DIR", str(spark_home() / "conf")),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def _parse_connection(content: bytes) -> tuple[int, str]:
    port, length = struct.unpack("!ii", content[:8])
    return port, content[8 : 8 + length].decode()
