# ruff: noqa: E501, ISC004 - rows of a table
"""Measures a census of ten million producer ids: leadsman's reading of snapshots against kafka-dump-log, same files.

python -m bench.census             10 million ids, three runs each: ten minutes; writes a section of docs/performance.md
python -m bench.census --smoke     1 million ids, one run, the table on the screen only
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import tempfile
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import google_crc32c
import numpy as np
from bench import page
from bench.measure import Job, cpu_ratio, in_turn, machine, ratios

from leadsman.java import jars, runtime
from leadsman.pipeline.events import EventRow
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files
from leadsman.telemetry.producer_state.snapshot_file import CHECKSUM_START, ENTRY, HEADER, VERSION
from leadsman.vocabulary import PRODUCERS_COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator

KAFKA = "4.3.1"
TOOL = "org.apache.kafka.tools.DumpLogSegments"

IDS = {"smoke": 1_000_000, "full": 10_000_000}
IDS_A_FILE = 100_000
"""A partition that was written to for weeks: 4.6 MB."""

RUNS = {"smoke": 1, "full": 3}
LEAST = 10
OURS, THEIRS = "census: leadsman", "census: kafka-dump-log"
NEWEST_MS = 1_700_000_000_000


def main() -> None:
    """Generate, measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.census", description="A census of producer ids.")
    parser.add_argument("--smoke", action="store_true", help="1 million ids and one run: does it work?")
    parser.add_argument("--runs", type=int, help="how often each runs")
    options = parser.parse_args()
    size = "smoke" if options.smoke else "full"
    about = machine()
    with tempfile.TemporaryDirectory(prefix="leadsman-census-") as folder:
        files = generate(Path(folder), IDS[size])
        jobs = measured(files, options.runs or RUNS[size])
    section = text(jobs, ids=IDS[size], about=", ".join(f"{key}: {value}" for key, value in about.items()))
    print(section)
    if size == "full":
        page.put("census", section)


def generate(folder: Path, ids: int) -> list[Path]:
    """Write snapshots as brokers do: one batch an id, spread over a week, in folders of partitions."""
    random = np.random.default_rng(1)
    files = []
    for number, first in enumerate(range(0, ids, IDS_A_FILE)):
        entries = np.zeros(min(IDS_A_FILE, ids - first), ENTRY)
        entries["producer_id"] = np.arange(first, first + len(entries))
        entries["last_offset"] = np.arange(len(entries))
        entries["timestamp"] = NEWEST_MS - random.integers(0, 604_800_000, len(entries))
        entries["coordinator_epoch"] = -1
        entries["current_transaction"] = -1
        path = folder / f"orders-{number}" / f"{len(entries):020}.snapshot"
        path.parent.mkdir(parents=True)
        path.write_bytes(_snapshot(entries))
        files.append(path)
    return files


def _snapshot(entries: np.ndarray[Any, Any]) -> bytes:
    body = struct.pack(">i", len(entries)) + entries.tobytes()
    return HEADER.pack(VERSION, google_crc32c.value(body), len(entries))[:CHECKSUM_START] + body


def measured(files: list[Path], runs: int) -> list[Job]:
    """Run both turn by turn, after a first run of each on one file: caches and imports are not what is compared."""
    jobs = [Job(OURS, partial(ours, files[0].parent.parent)), Job(THEIRS, partial(theirs, files))]
    ours(files[0].parent)
    theirs(files[:1])
    in_turn(jobs, runs, lambda message: print(message, flush=True))
    return jobs


def ours(folder: Path) -> dict[str, int]:
    """Count as a diagnosis does: find, recognise, check, add up, each partition with its tenths and single batches."""
    counted = [row for row in _rows(folder) if row.name == PRODUCERS_COUNTED]
    return {
        "ids": int(sum(row.value or 0 for row in counted)),
        "single": sum(int(row.labels["single"]) for row in counted),
    }


def _rows(folder: Path) -> Iterator[EventRow]:
    for stream in list_files(str(folder)).streams:
        yield from (each for each in read(stream, UTC) if isinstance(each, EventRow))


def theirs(files: list[Path]) -> dict[str, int]:
    """Have Kafka's own tool print them, as its script starts it, and count the lines of ids."""
    class_path = ":".join(map(str, jars.fetch_jars(f"kafka-{KAFKA}")))
    command = [
        str(runtime.find_java()),
        "-Xmx256M",
        "-server",
        "-cp",
        class_path,
        TOOL,
        "--files",
        ",".join(map(str, files)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tool:
        assert tool.stdout is not None
        ids = sum(block.count(b"producerId: ") for block in _whole_lines(tool.stdout))
    if tool.returncode:
        raise RuntimeError(f"kafka-dump-log ended with {tool.returncode}")
    return {"ids": ids}


def _whole_lines(pipe: Any) -> Iterator[bytes]:  # noqa: ANN401 - a pipe of subprocess has no better type
    rest = b""
    while block := pipe.read(1 << 20):
        whole, newline, rest = (rest + block).rpartition(b"\n")
        yield whole + newline
    yield rest


def text(jobs: list[Job], *, ids: int, about: str) -> str:
    """Return the section."""
    mine, kafka = jobs
    middle, low, high = ratios(mine, kafka)
    reached = "yes" if middle >= LEAST else "**no**"
    rows = [
        f"| {job.name} | {job.seconds:.2f} ({min(job.wall):.2f} to {max(job.wall):.2f}) | {sorted(job.cpu)[len(job.cpu) // 2]:.1f} "
        f"| {max(job.others):.1f} | {', '.join(f'{key} {value:,}' for key, value in job.facts.items())} |"
        for job in jobs
    ]
    return "\n".join(
        [
            f"{ids:,} ids in {-(-ids // IDS_A_FILE)} snapshots, runs of each, turn by turn: {len(mine.wall)}, one process each, medians, "
            f"smallest and largest in brackets. kafka-dump-log of Kafka {KAFKA} prints every id, and its lines are counted; leadsman "
            f"checks the checksum and adds up what a diagnosis needs. Machine: {about}.",
            "",
            "| target | goal | measured | by CPU time | reached |",
            "|---|---|---|---|---|",
            f"| census: leadsman against kafka-dump-log | {LEAST} x | {middle:.0f} x ({low:.0f} to {high:.0f}) | "
            f"{cpu_ratio(mine, kafka):.0f} x | {reached} |",
            "",
            "| job | wall, s | CPU, s | other programs, cores | result |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )


if __name__ == "__main__":
    main()
