"""Starts the JVM that Spark runs in, three times as fast as spark-submit does.

No launcher JVM, the C1 compiler alone, the serial collector, and a class-data-sharing archive of the classes that a
diagnosis loads (12.8 s to a first result in stock form, 4.0 s so; see docs/decisions.md). C1 fits because the bytes
are scanned outside the JVM. Whatever goes wrong here, the caller falls back to Spark's own start.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import SparkError
from leadsman.interrupt import undisturbed
from leadsman.java import build_of
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OPENED = [
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
"""Packages that Spark reaches into; the list of org.apache.spark.launcher.JavaModuleOptions in 4.2.0."""

FLAGS = (
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",  # Arrow's allocator, on Java 24 and later
    "--enable-native-access=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-XX:+IgnoreUnrecognizedVMOptions",  # the two flags above are unknown to Java 17
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xlog:disable",
)

START = timedelta(seconds=60)
STOP = timedelta(seconds=10)
DUMP = timedelta(minutes=5)
"""Writing the archive took 6 s on two quiet cores and 70 s on two crowded ones."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running JVM that waits for PySpark."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str
    archive: Path | None = None

    def stop(self) -> None:
        """End the JVM: it dies when its standard input closes; a stubborn one is killed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait((DUMP if self.archive else STOP).total_seconds())
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.archive:
            _publish(_part(self.archive), self.archive, self.process.returncode)


def _part(archive: Path) -> Path:
    return archive.with_name(f".{archive.name}.{os.getpid()}")


def _publish(part: Path, archive: Path, code: int) -> None:
    """Let a finished archive appear by one rename, its size noted before it."""
    if code == 0 and part.exists():
        archive.with_suffix(".json").write_text(json.dumps({"bytes": part.stat().st_size}))
        part.replace(archive)
    part.unlink(missing_ok=True)


def spark_home() -> Path:
    """Return the folder of the installed PySpark, which holds its jars."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


LEFT_OUT = ("spark-mllib_",)
"""Jars of Spark that we start without: the one of MLlib registers two functions in each session by Scala's reflection,
a second of each start."""


def class_path(jars: Sequence[Path]) -> str:
    """Return Spark's class path: each jar by name and in order, because an archive fits one class path only."""
    home = spark_home()
    own = sorted(jar for jar in (home / "jars").glob("*.jar") if not jar.name.startswith(LEFT_OUT))
    return os.pathsep.join([f"{home}/conf/", *map(str, own), *map(str, sorted(jars))])


def archive_of(java: Path, classes: str) -> Path:
    """Return where the archive for this Java and these classes is kept."""
    name = hashlib.sha256((build_of(java) + classes).encode()).hexdigest()[:24]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "leadsman" / "cds" / f"{name}.jsa"


def usable(archive: Path) -> bool:
    """Say whether the archive is whole. A truncated one kills the JVM with SIGBUS, so its size is kept beside it."""
    try:
        return bool(json.loads(archive.with_suffix(".json").read_text())["bytes"] == archive.stat().st_size)
    except (OSError, ValueError, KeyError):
        return False


def launch(
    java: Path,
    jars: Sequence[Path] = (),
    *,
    heap_mb: int = 1024,
    conf: Mapping[str, str] | None = None,
    archive: Path | None = None,
    dump: Path | None = None,
) -> Gateway:
    """Start a JVM with Spark's gateway in it, with the class `archive`, or to make one at `dump` when it ends."""
    sharing = [f"-XX:SharedArchiveFile={archive}"] if archive else []
    if dump:
        dump.parent.mkdir(parents=True, exist_ok=True)
        sharing = [f"-XX:ArchiveClassesAtExit={_part(dump)}"]
    settings = [word for key, value in (conf or {}).items() for word in ("--conf", f"{key}={value}")]
    machine = [str(java), "-cp", class_path(jars), f"-Xmx{heap_mb}m", *FLAGS, *sharing]
    process, port, secret = _started([*machine, "org.apache.spark.deploy.SparkSubmit", *settings, "pyspark-shell"])
    return Gateway(process, port, secret, dump)


def _started(command: Sequence[str]) -> tuple[subprocess.Popen[bytes], int, str]:
    """Start the JVM; return it once it has said where its gateway listens. Ctrl-C is not for it: it ends with us."""
    with tempfile.TemporaryDirectory(prefix="leadsman-jvm-") as folder:
        told = Path(folder, "gateway")
        process = subprocess.Popen(
            command,
            env=_environment(told),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process, *_read_told(_told(process, told))
        except BaseException:  # Ctrl-C too: a JVM that had nobody to tell its port to would stay for ever
            process.kill()
            process.wait()
            raise


def _told(process: subprocess.Popen[bytes], at: Path) -> bytes:
    """Return what the JVM says once its gateway is open."""
    with undisturbed():
        import_module("pyspark.sql")  # half a second that passes while the JVM starts
    wait_for(
        lambda: at.exists() or process.poll() is not None,
        within=START,
        what="Spark's JVM to open its gateway",
        every=timedelta(milliseconds=10),
    )
    if not at.exists():
        raise SparkError(f"The JVM that Spark runs in ended with code {process.returncode} before it was ready.")
    return at.read_bytes()


def _environment(told: Path) -> dict[str, str]:
    dropped = {"JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"}  # they would change what the archive was made for
    return {
        **{key: value for key, value in os.environ.items() if key not in dropped},
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
        "SPARK_HOME": str(spark_home()),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def _read_told(told: bytes) -> tuple[int, str]:
    port, length = struct.unpack("!ii", told[:8])
    return port, told[8 : 8 + length].decode()
