"""What Spark's executors get from us: this package as a zip, and on request an archive of the Python packages it needs.

The zip always goes along, so an executor never runs another version. The archive is for clusters whose Python has
nothing but its own standard library; `leadsman setup --executors FILE` makes it.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
import tarfile
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.errors import SparkError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

PACKAGE = Path(__file__).parent.parent

LEFT_OUT = frozenset({"__pycache__", "programs", "recorded", "scaffold", "schema", "templates"})
"""Folders that only the command itself reads: recordings, what pages are made from, the lab's programs."""

SHIPPED = frozenset({".py", ".json"})

NATIVE = ("numpy",)
"""What an executor cannot do without. Hyperscan and isal are only faster."""

PACKAGES = (
    "numpy",
    "pyarrow",
    "pandas",  # PySpark refuses Arrow without it
    "pysail",
    "hyperscan",
    "google-re2",
    "isal",
    "google-crc32c",
    "grpcio",  # the engine in the tasks speaks Spark Connect to its own process
    "grpcio-status",
    "googleapis-common-protos",
    "zstandard",
)
"""What an archive holds, with what these depend on, in the versions of this installation."""

FOLDER = "leadsman-python"
"""Where an executor finds the archive's content, below its working folder."""

LAUNCHER = """#!/bin/sh
# Runs this machine's Python {version} with the packages of this archive. LEADSMAN_PYTHON names another one.
here=$(cd "$(dirname "$0")/.." && pwd)
python=${{LEADSMAN_PYTHON:-python{version}}}
if ! command -v "$python" >/dev/null; then
  echo "leadsman: $(hostname) has no $python, for which the archive of --executors was made" >&2
  exit 127
fi
PYTHONPATH="$PYTHONPATH:$here/lib" exec "$python" "$@"
"""


def packed() -> Path:
    """Return our package as one zip for the executors, made anew whenever a file of it has changed."""
    files = list(_shipped())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    target = Path(tempfile.gettempdir(), f"leadsman-{os.getuid()}-{digest}.zip")
    if not target.exists():
        part = target.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.write(path, Path("leadsman", path.relative_to(PACKAGE)))
        part.replace(target)
    return target


def _shipped() -> list[Path]:
    found = (path for path in PACKAGE.rglob("*") if path.suffix in SHIPPED)
    return sorted(path for path in found if not LEFT_OUT.intersection(path.relative_to(PACKAGE).parts))


def make_archive(target: Path) -> int:
    """Write the archive of Python packages for executors; return its size in bytes."""
    launcher = LAUNCHER.format(version=_version()).encode()
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with tarfile.open(part, "w:gz", compresslevel=1) as archive:
            archive.addfile(_launcher_entry(launcher), io.BytesIO(launcher))
            for name, path in sorted(_installed(PACKAGES)):
                archive.add(path, f"lib/{name}", recursive=False)
        part.replace(target)
    except OSError as error:
        raise UsageError(f"Cannot write {target}: {error.strerror}. Give a file in a folder that is there.") from error
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def _launcher_entry(content: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo("bin/python")
    entry.size, entry.mode = len(content), 0o755
    return entry


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _installed(names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the files of installed packages and of what these depend on, by their paths below site-packages."""
    left, seen = list(names), set()
    while left:
        name = re.sub(r"[-_.]+", "-", left.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # optional here, so optional there
        left += _required(package)
        yield from _files(package)


def _required(package: metadata.Distribution) -> Iterator[str]:
    for requirement in package.requires or ():
        if "extra ==" not in requirement and (name := re.match(r"[\w.-]+", requirement)):
            yield name[0]


def _files(package: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    for file in package.files or ():
        path = Path(str(file.locate()))
        if not {"..", "__pycache__", "tests"}.intersection(file.parts) and path.is_file():
            yield file.as_posix(), path


def ship(spark: SparkSession, archive: str | None) -> None:
    """Give the executors our package, and the archive of Python packages if there is one; check that both will do."""
    if archive is not None and not Path(archive).is_file():
        raise UsageError(f"No archive at {archive}. Make it: leadsman setup --executors {archive}")
    if is_connect(spark):
        spark.addArtifacts(str(packed()), pyfile=True)
        if archive is not None:
            spark.addArtifacts(f"{Path(archive).resolve()}#{FOLDER}", archive=True)
    else:
        spark.sparkContext.addPyFile(str(packed()))
        if archive is not None:
            spark.sparkContext.addArchive(f"{Path(archive).resolve()}#{FOLDER}")
    if archive is not None:
        spark.conf.set("spark.sql.execution.pyspark.python", f"{FOLDER}/bin/python")
    check(spark)


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is a client of Spark Connect, which has no SparkContext."""
    return "connect" in type(spark).__module__


def check(spark: SparkSession) -> None:
    """Run one row through an executor's Python. Raises SparkError that names what is missing there."""
    wanted = NATIVE

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        from importlib.util import find_spec  # noqa: PLC0415 - runs on the executor

        import pyarrow as pa  # noqa: PLC0415 - Spark itself says so where this one is missing

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"missing": [name for name in wanted if find_spec(name) is None]})

    way_out = "Send the packages along: leadsman setup --executors FILE.tar.gz, then --executors FILE.tar.gz"
    try:
        missing = [row["missing"] for row in spark.range(1).mapInArrow(look, "missing string").collect()]
    except Exception as error:
        raise SparkError(f"The cluster's Python cannot run leadsman: {brief(error)}. {way_out}") from error
    if missing:
        raise SparkError(f"The cluster's Python lacks {', '.join(missing)}. {way_out}; or install it there.")


def brief(error: Exception) -> str:
    """Return the line of a long Spark error that says what happened: the Python error in it, else its first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    python = [line for line in lines if re.match(r"(?:\w+\.)*\w*(?:Error|Exception): ", line)]
    return (python or lines or [type(error).__name__])[0][:300]
