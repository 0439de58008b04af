"""Sends executors this package as a zip and, on request, an archive of the Python packages that it needs.

The zip is always sent, so an executor never runs another version. The archive is for clusters whose Python has only the
standard library; `leadsman setup --executors FILE` creates it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import tempfile
import zipfile
from contextlib import contextmanager
from importlib import metadata
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import leadsman_clients
from leadsman.errors import SparkError, UsageError
from leadsman.pipeline.spark.pyspark_startup import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

PACKAGE = Path(__file__).parents[2]
CLIENTS = Path(str(leadsman_clients.__file__)).parent

EXCLUDED_FOLDERS = frozenset({"__pycache__", "programs", "recorded", "scaffold", "schema", "templates"})
"""Folders that only the driver reads: recordings, templates of pages, the lab's programs."""

INCLUDED_SUFFIXES = frozenset({".py", ".json"})

REQUIRED_MODULES = ("numpy",)
"""The packages that an executor must have. Hyperscan and isal are optional: they are only faster."""

PACKAGES = (
    "numpy",
    "pyarrow",
    "pandas",  # PySpark requires it for Arrow
    "pysail",
    "hyperscan",
    "google-re2",
    "isal",
    "google-crc32c",
    "grpcio",  # tasks call the embedded engine by Spark Connect
    "grpcio-status",
    "googleapis-common-protos",
    "zstandard",
    "confluent-kafka",  # tasks of `watch` read topics
    "opentelemetry-proto",
)
"""The packages in an archive, besides their dependencies, in the versions of this installation."""

DRIVER_PACKAGES = (
    "click",
    "pyyaml",
    "rich",
    "jinja2",
    "matplotlib",
    "deltalake",
    "prometheus-client",
    "starlette",
    "uvicorn",
)
"""What the archive has besides where a driver on the cluster runs with it: `spark-submit --deploy-mode cluster`."""

FOLDER = "leadsman-python"
"""The folder below an executor's working folder with the archive's content."""

WRAPPER = re.compile("PythonException: An exception was thrown|An error occurred while calling")
"""What PySpark says of any error of a worker or of the JVM; the error follows."""

CAUSED_BY = "Caused by: "

LAUNCHER = """#!/bin/sh
# Runs this machine's Python {version} with the packages of this archive. LEADSMAN_PYTHON names another Python.
here=$(cd "$(dirname "$0")/.." && pwd)
python=${{LEADSMAN_PYTHON:-python{version}}}
if ! command -v "$python" >/dev/null; then
  echo "leadsman: $(hostname) has no $python, for which the archive of --executors was made" >&2
  exit 127
fi
PYTHONPATH="$PYTHONPATH:$here/lib" exec "$python" "$@"
"""


def package_zip() -> Path:
    """Return leadsman and the clients' package as one zip for the executors, rebuilt whenever a file has changed."""
    files = _package_files()
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files.values())).hexdigest()[:16]
    target = Path(tempfile.gettempdir(), f"leadsman-{os.getuid()}-{digest}.zip")
    if not target.exists():
        part = target.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in files.items():
                archive.write(path, name)
        part.replace(target)
    return target


def _package_files() -> dict[str, Path]:
    """Return the files of leadsman and of the clients' package, whose table of hops the modes read."""
    files = ((folder, path) for folder in (PACKAGE, CLIENTS) for path in sorted(folder.rglob("*")))
    return {
        path.relative_to(folder.parent).as_posix(): path
        for folder, path in files
        if path.suffix in INCLUDED_SUFFIXES and not EXCLUDED_FOLDERS.intersection(path.relative_to(folder).parts)
    }


def make_archive(target: Path, *, driver: bool = False) -> int:
    """Write the archive of Python packages for executors, and for a driver; return its size in bytes."""
    launcher = LAUNCHER.format(version=_version()).encode()
    with complete_file(target) as part, _gzip(part) as file, tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(_launcher_entry(launcher), io.BytesIO(launcher))
        for name, path in sorted(_installed((*PACKAGES, *(DRIVER_PACKAGES if driver else ())))):
            archive.add(path, f"lib/{name}", recursive=False)
    return target.stat().st_size


def _gzip(target: Path) -> Any:  # noqa: ANN401 - two libraries' writers, alike but for their types
    try:
        from isal import igzip  # a third of zlib's time at the same size, but not on every machine
    except ImportError:
        return gzip.GzipFile(target, "wb", compresslevel=1)
    return cast("Any", igzip).open(target, "wb", compresslevel=2)


@contextmanager
def complete_file(target: Path) -> Iterator[Path]:
    """Yield the path of a file that is `target` after the block. Raises UsageError where it cannot be written."""
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield part
        part.replace(target)
    except OSError as error:
        raise UsageError(f"Cannot write {target}: {error.strerror}. Give a file in an existing folder.") from error
    finally:
        part.unlink(missing_ok=True)


def _launcher_entry(content: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo("bin/python")
    entry.size, entry.mode = len(content), 0o755
    return entry


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _installed(names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the files of installed packages and of their dependencies, by their paths below site-packages."""
    remaining, seen = list(names), set()
    while remaining:
        name = re.sub(r"[-_.]+", "-", remaining.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # optional in the driver, so optional on executors
        remaining += _dependencies(package)
        yield from _files(package)


def _dependencies(package: metadata.Distribution) -> Iterator[str]:
    for requirement in package.requires or ():
        if "extra ==" not in requirement and (name := re.match(r"[\w.-]+", requirement)):
            yield name[0]


def _files(package: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the files of a package, each module with what Python compiled of it: an import compiles for a second."""
    for file in package.files or ():
        path = Path(str(file.locate()))
        if {"..", "__pycache__", "tests"}.intersection(file.parts) or not path.is_file():
            continue
        yield file.as_posix(), path
        if path.suffix == ".py" and (compiled := Path(cache_from_source(path))).is_file():
            yield (file.parent / compiled.relative_to(path.parent)).as_posix(), compiled


def send_package(spark: SparkSession, archive: str | None) -> None:
    """Send the executors this package and the archive, where given; check that the executors can run the package."""
    if archive is not None and not Path(archive).is_file():
        raise UsageError(f"No archive at {archive}. Create it: leadsman setup --executors {archive}")
    if is_connect(spark):
        spark.addArtifacts(str(package_zip()), pyfile=True)
        if archive is not None:
            spark.addArtifacts(f"{Path(archive).resolve()}#{FOLDER}", archive=True)
    else:
        spark.sparkContext.addPyFile(str(package_zip()))
        if archive is not None:
            spark.sparkContext.addArchive(f"{Path(archive).resolve()}#{FOLDER}")
    if archive is not None:
        spark.conf.set("spark.sql.execution.pyspark.python", f"{FOLDER}/bin/python")
    check_executors(spark)


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is a client of Spark Connect, which has no SparkContext."""
    return "connect" in type(spark).__module__


def check_executors(spark: SparkSession) -> None:
    """Run one row through an executor's Python. Raises SparkError that names the modules that are missing there."""
    required = REQUIRED_MODULES

    def find_missing(batches: Iterator[Any]) -> Iterator[Any]:
        from importlib.util import find_spec

        import pyarrow as pa  # without it Spark raises an error of its own

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"missing": [name for name in required if find_spec(name) is None]})

    remedy = "Send the packages along: leadsman setup --executors FILE.tar.gz, then --executors FILE.tar.gz"
    try:
        missing = [row["missing"] for row in map_in_arrow(spark.range(1), find_missing, "missing string").collect()]
    except Exception as error:
        raise SparkError(f"The cluster's Python cannot run leadsman: {summarize_error(error)}. {remedy}") from error
    if missing:
        raise SparkError(f"The cluster's Python lacks {', '.join(missing)}. {remedy}; or install it there.")


def summarize_error(error: Exception) -> str:
    """Return the most useful line of a long Spark error: the Python error in it, or Java's first cause, or a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not WRAPPER.search(line)] or lines
    python_errors = [line for line in lines if re.match(r"(?:\w+\.)*\w*(?:Error|Exception): ", line)]
    causes = [line.removeprefix(CAUSED_BY) for line in reversed(lines) if line.startswith(CAUSED_BY)]
    return (python_errors or causes or lines or [type(error).__name__])[0].removeprefix(": ")[:300]
