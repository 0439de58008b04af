"""What is measured, each in a process of its own: leadsman's reading of a folder, and peers on the same bytes.

python -m bench.forms.peers NAME FOLDER SOURCE... prints what it took. All but the other engines use one thread; what
counts is CPU time. A peer does the work that anybody has to do who wants the same from the bytes: it parses JSON,
makes a dictionary of each row or packet, looks for the same patterns. `FOUR` does the least that tells anything.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Collection
from contextlib import contextmanager
from datetime import UTC
from math import ceil
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from bench.cpu_time import ended_children_cpu_seconds, own_cpu_seconds
from bench.forms import walks
from bench.jobs import ripgrep_program
from bench.peers import patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DOCUMENT, LINES, TEXT = "json.loads", "json.loads of lines", "ripgrep"
FOUR = "ripgrep, four patterns"
GZIP, ZSTD, WORDS = "gzip -dc, ripgrep", "zstd -dc, ripgrep", "a dictionary a line"
SAMPLES = "prometheus_client"
PACKETS, ENTRIES, INSTANCES = "a dictionary a packet", "struct, entry by entry", "struct, object by object"
ONE_FILE, DUCKDB, POLARS = "leadsman, one file", "DuckDB", "Polars"
LEADSMAN = "leadsman"

PATTERNS = ("ERROR", "START RequestId", "Connection reset|timed out", "Cluster ID: ")
"""A few of what signatures know."""

COLUMNS = tuple(f"column_{number}" for number in range(64))
"""Names of a table's columns: every program has its own, and they cost the same."""

ABOUT_READING = frozenset({"file.read", "file.not_understood", "subject.active"})
"""Rows that every file has, whatever is found in it: they are not counted."""

FILES_AT_ONCE = 1_000
LONG_READ_BYTES = 200_000_000
"""Bytes from which on the tenth of a second for compiling 300 patterns does not count."""

ENGINE_MEMORY = "4GB"
Facts = dict[str, Any]
Measure = Callable[[Path, Collection[str]], Facts]
"""Measures work on a folder whose files these sources can have written."""


def leadsman(folder: Path, _sources: Collection[str]) -> Facts:
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
    started = own_cpu_seconds()
    events = sum(batch.num_rows for batch in batches(rows())) - about_reading
    seconds = own_cpu_seconds() - started
    code = str(Path(str(package.__file__)).parent.parent)
    return {"seconds": seconds, "events": events, "refused": refused, "peak_mb": _peak_mb(), "code": code}


def _peak_mb() -> float:
    """Return this program's largest resident size. That of `getrusage` begins with what the forking process had."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def timed(work: Callable[[Path], object]) -> Measure:
    """Measure a peer that works in this process."""

    def measured(folder: Path, _sources: Collection[str] = ()) -> Facts:
        started = own_cpu_seconds()
        work(folder)
        return {"seconds": own_cpu_seconds() - started}

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


def _table(folder: Path) -> None:
    """Make a list of dictionaries of each file, which is let go with the file."""
    for path in files(folder):
        with path.open(encoding="utf-8") as file:
            _ = [dict(zip(COLUMNS, line.split(), strict=False)) for line in file]


def _samples(path: Path) -> None:
    from prometheus_client.parser import text_string_to_metric_families as parsed

    deque((family.samples for family in parsed(path.read_text())), maxlen=0)


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


def _ripgrep(folder: Path, sources: Collection[str]) -> Facts:
    times = _repeats(folder)
    with _patterns_of(sources) as listed:
        _run([*_ripgrep_command(listed), *[str(folder)] * times])
    return {"seconds": _of_children()["seconds"] / times}


def _repeats(folder: Path) -> int:
    """Return how often to read a small folder in one call, so that compiling the patterns takes no visible share.

    leadsman's patterns are compiled before its time begins.
    """
    return max(1, ceil(LONG_READ_BYTES / sum(path.stat().st_size for path in files(folder))))


def _four(folder: Path, _sources: Collection[str]) -> Facts:
    patterns = [part for pattern in PATTERNS for part in ("-e", pattern)]
    _run([*_ripgrep_command(), *patterns, str(folder)])
    return _of_children()


def _decompressed(*program: str) -> Measure:
    def measured(folder: Path, sources: Collection[str]) -> Facts:
        times = _repeats(folder)
        every = files(folder) * times
        with _patterns_of(sources) as listed:
            for first in range(0, len(every), FILES_AT_ONCE):
                some = map(str, every[first : first + FILES_AT_ONCE])
                with subprocess.Popen([*program, *some], stdout=subprocess.PIPE) as source:
                    _run(_ripgrep_command(listed), source.stdout)
        return {"seconds": _of_children()["seconds"] / times}

    return measured


@contextmanager
def _patterns_of(sources: Collection[str]) -> Iterator[str]:
    """Yield the name of a file that holds the signatures of these sources."""
    with NamedTemporaryFile("w", suffix=".patterns") as listed:
        listed.write("\n".join(patterns(sources)) + "\n")
        listed.flush()
        yield listed.name


def _ripgrep_command(listed: str = "") -> list[str]:
    command = [ripgrep_program(), "--count", "--threads", "1", "--no-ignore", "--text", "--no-unicode"]
    return [*command, "--file", listed] if listed else command


def _run(command: list[str], source: Any = subprocess.DEVNULL) -> None:  # noqa: ANN401 - a pipe, or none
    done = subprocess.run(command, stdin=source, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):  # 1: no line matches
        raise subprocess.CalledProcessError(done.returncode, command)


def _of_children() -> Facts:
    return {"seconds": ended_children_cpu_seconds()}


def _duckdb(folder: Path, _sources: Collection[str]) -> Facts:
    import duckdb

    engine = duckdb.connect(config={"threads": 1, "memory_limit": ENGINE_MEMORY})
    largest = max(path.stat().st_size for path in files(folder))
    statement = f"CREATE TABLE logs AS FROM read_json($files, maximum_object_size={largest + 1})"
    return timed(lambda _: engine.execute(statement, {"files": _every_file(folder)}))(folder, ())


def _polars(folder: Path, _sources: Collection[str]) -> Facts:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl  # of the group `bench`; reads the variable above

    return timed(lambda _: pl.scan_ndjson(_every_file(folder), infer_schema_length=1_000).collect())(folder, ())


def _every_file(folder: Path) -> str:
    """Return a pattern. A list of names would be patterns too, and there are brackets in names."""
    return f"{folder}/**/*"


MEASURES: dict[str, Measure] = {
    LEADSMAN: leadsman,
    ONE_FILE: leadsman,
    DOCUMENT: timed(_document),
    LINES: timed(_each_line),
    WORDS: timed(_table),
    SAMPLES: timed(each_file(_samples)),
    PACKETS: timed(each_file(walks.packets)),
    ENTRIES: timed(each_file(walks.entries)),
    INSTANCES: timed(each_file(walks.instances)),
    TEXT: _ripgrep,
    FOUR: _four,
    GZIP: _decompressed("gzip", "-dc"),
    ZSTD: _decompressed("zstd", "-dcq"),
    DUCKDB: _duckdb,
    POLARS: _polars,
}


def main(arguments: Sequence[str]) -> None:
    name, folder, *sources = arguments
    print(json.dumps(MEASURES[name](Path(folder), sources)))


if __name__ == "__main__":
    main(sys.argv[1:])
