"""What is measured, each in a process of its own: leadsman's reading of a folder, and peers on the same bytes.

python -m bench.forms.peers NAME FOLDER prints what it took. All but the other engines use one thread; what counts is
processor time. A peer does as little as anybody can who wants to know what is in the bytes: it parses JSON, splits
lines into words, looks for a few patterns, walks from record to record.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.forms import walks
from bench.jobs import ripgrep_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DOCUMENT, LINES, TEXT = "json.loads", "json.loads of lines", "ripgrep"
GZIP, ZSTD, WORDS = "gzip -dc, ripgrep", "zstd -dc, ripgrep", "str.split of lines"
PACKETS, ENTRIES, INSTANCES = "struct, packet by packet", "struct, entry by entry", "struct, object by object"
ONE_FILE, DUCKDB, POLARS = "leadsman, one file", "DuckDB", "Polars"
LEADSMAN = "leadsman"

PATTERNS = ("ERROR", "START RequestId", "Connection reset|timed out", "Cluster ID: ")
"""What ripgrep looks for: a few of what signatures know."""

ABOUT_READING = frozenset({"file.read", "file.not_understood", "subject.active"})
"""Rows that every file has, whatever is found in it: they are not counted."""

FILES_AT_ONCE = 1_000
ENGINE_MEMORY = "4GB"
Facts = dict[str, Any]


def leadsman(folder: Path) -> Facts:
    """Find, recognise and read all below a folder, as a task does."""
    import leadsman as package  # of the source tree that is compared; not for the peers' processes
    from leadsman.pipeline.events import EventRow, batches
    from leadsman.pipeline.read.scanner import scanner
    from leadsman.pipeline.read.stream import read
    from leadsman.pipeline.scope.streams import list_files
    from leadsman.vocabulary import FILE_NOT_UNDERSTOOD

    refused: list[str] = []
    about_reading = 0

    def rows() -> Iterator[Any]:
        nonlocal about_reading
        for stream in list_files(str(folder)).streams:
            for row in read(stream, UTC):
                if isinstance(row, EventRow) and row.name in ABOUT_READING:
                    about_reading += 1
                    if row.name == FILE_NOT_UNDERSTOOD:
                        refused.append(f"{row.file}: {row.text}")
                yield row

    scanner()
    started = time.process_time()
    events = sum(batch.num_rows for batch in batches(rows())) - about_reading
    seconds = time.process_time() - started
    code = str(Path(str(package.__file__)).parent.parent)
    return {"seconds": seconds, "events": events, "refused": refused, "peak_mb": _peak_mb(), "code": code}


def _peak_mb() -> float:
    """Return this program's largest resident size. That of `getrusage` begins with what the forking process had."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def timed(work: Callable[[Path], object]) -> Callable[[Path], Facts]:
    """Measure a peer that works in this process."""

    def measured(folder: Path) -> Facts:
        started = time.process_time()
        work(folder)
        return {"seconds": time.process_time() - started}

    return measured


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _document(folder: Path) -> None:
    for path in files(folder):
        data = path.read_bytes()
        json.loads(data[min(at for at in (data.find(b"{"), data.find(b"[")) if at >= 0) :])


def _each_line(folder: Path) -> None:
    for line in _lines(folder):
        json.loads(line)


def _words(folder: Path) -> None:
    for line in _lines(folder):
        line.split()


def _lines(folder: Path) -> Iterator[bytes]:
    for path in files(folder):
        with path.open("rb") as file:
            yield from file


def each_file(walk: Callable[[Path], object]) -> Callable[[Path], None]:
    """Do it with every file of a folder."""

    def all_files(folder: Path) -> None:
        for path in files(folder):
            walk(path)

    return all_files


def _ripgrep(folder: Path) -> Facts:
    _run([*_ripgrep_command(), str(folder)])
    return _of_children()


def _decompressed(*program: str) -> Callable[[Path], Facts]:
    def measured(folder: Path) -> Facts:
        every = files(folder)
        for first in range(0, len(every), FILES_AT_ONCE):
            some = map(str, every[first : first + FILES_AT_ONCE])
            with subprocess.Popen([*program, *some], stdout=subprocess.PIPE) as source:
                _run(_ripgrep_command(), source.stdout)
        return _of_children()

    return measured


def _ripgrep_command() -> list[str]:
    patterns = [part for pattern in PATTERNS for part in ("-e", pattern)]
    return [ripgrep_program(), "--count", "--threads", "1", "--no-ignore", "--text", *patterns]


def _run(command: list[str], source: Any = subprocess.DEVNULL) -> None:  # noqa: ANN401 - a pipe, or none
    done = subprocess.run(command, stdin=source, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):  # 1: no line matches
        raise subprocess.CalledProcessError(done.returncode, command)


def _of_children() -> Facts:
    took = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": took.ru_utime + took.ru_stime}


def _duckdb(folder: Path) -> Facts:
    import duckdb

    engine = duckdb.connect(config={"threads": 1, "memory_limit": ENGINE_MEMORY})
    largest = max(path.stat().st_size for path in files(folder))
    statement = f"CREATE TABLE logs AS FROM read_json($files, maximum_object_size={largest + 1})"
    return timed(lambda _: engine.execute(statement, {"files": _every_file(folder)}))(folder)


def _polars(folder: Path) -> Facts:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl  # of the group `bench`; reads the variable above

    return timed(lambda _: pl.scan_ndjson(_every_file(folder), infer_schema_length=1_000).collect())(folder)


def _every_file(folder: Path) -> str:
    """Return a pattern. A list of names would be patterns too, and there are brackets in names."""
    return f"{folder}/**/*"


MEASURES: dict[str, Callable[[Path], Facts]] = {
    LEADSMAN: leadsman,
    ONE_FILE: leadsman,
    DOCUMENT: timed(_document),
    LINES: timed(_each_line),
    WORDS: timed(_words),
    PACKETS: timed(each_file(walks.packets)),
    ENTRIES: timed(each_file(walks.entries)),
    INSTANCES: timed(each_file(walks.instances)),
    TEXT: _ripgrep,
    GZIP: _decompressed("gzip", "-dc"),
    ZSTD: _decompressed("zstd", "-dcq"),
    DUCKDB: _duckdb,
    POLARS: _polars,
}


def main(arguments: Iterable[str]) -> None:
    name, folder = arguments
    print(json.dumps(MEASURES[name](Path(folder))))


if __name__ == "__main__":
    main(sys.argv[1:])
