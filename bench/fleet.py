"""Measures a diagnosis of a large cluster's capture at three sizes, and writes it into docs/performance.md.

python -m bench.fleet                       a sixteenth, a quarter, and all of 100 brokers; each is deleted afterwards
python -m bench.fleet --share 0.01          other sizes, the figures on the screen only
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import cluster, page
from bench.measure import machine
from bench.process_sampler import ProcessSampler
from bench.reference import MachineSpeed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leadsman" / "bench" / "fleet"
SHARES = (1 / 16, 1 / 4, 1.0)
COMPLETE_SECONDS = 180
"""The goal for the complete cluster."""


@dataclass(frozen=True, slots=True)
class FleetResult:
    """One diagnosis, a whole process from nothing: what was read, how long it took, and the most memory it held."""

    size: cluster.ClusterSize
    files: int
    bytes: int
    lines: int
    wall: float
    cpu: float
    python_bytes: int
    java_bytes: int
    verdicts: dict[str, str]
    stale: int


def main() -> None:
    """Generate, measure, delete; size by size. The page is written after each, so that a large one can fail alone."""
    arguments = _arguments()
    measured: list[FleetResult] = []
    speed = MachineSpeed()
    for share in arguments.share or SHARES:
        speed.measure()
        measured.append(_measured(cluster.of(share)))
        speed.measure()
        table = "\n".join([*_table(measured), *_goal(measured, speed)])
        print(table, flush=True)
        if arguments.page or not arguments.share:
            page.put("fleet", table)
    shutil.rmtree(CACHE)


def _goal(measured: Sequence[FleetResult], speed: MachineSpeed) -> Iterator[str]:
    yield f"\n{speed.explained()}"
    yield from (
        speed.verdict("the complete cluster", COMPLETE_SECONDS, each.wall)
        for each in measured
        if each.size == cluster.of(1.0)
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description="Measure a large cluster's diagnosis.")
    parser.add_argument("--share", type=float, nargs="+", help="these sizes, as shares of 100 brokers and 10,000 hosts")
    parser.add_argument("--page", action="store_true", help="write the page for these sizes too")
    return parser.parse_args()


def _measured(size: cluster.ClusterSize) -> FleetResult:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="capture-", dir=CACHE) as folder:
        capture = cluster.make(Path(folder) / "capture", size, CACHE / "logs")
        return _diagnosed(capture, size)


def _diagnosed(capture: Path, size: cluster.ClusterSize) -> FleetResult:
    command = [sys.executable, "-m", "leadsman", "diagnose", "--format", "json", str(capture)]
    started = time.perf_counter()
    quietly = {**os.environ, "NO_COLOR": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quietly)
    with process, ProcessSampler(process.pid) as sampler:
        printed, _ = process.communicate()
    wall = time.perf_counter() - started
    (document,) = json.loads(printed)["captures"]
    return FleetResult(
        size,
        document["files"],
        document["bytes"],
        document["lines"],
        wall,
        sampler.cpu,
        sampler.python,
        sampler.java,
        document["verdicts"],
        _stale(document),
    )  # fmt: skip - in the order of the fields


def _stale(document: Any) -> int:  # noqa: ANN401 - JSON
    return next(
        (found["subjects"]["affected_count"] for found in document["findings"] if found["mode"] == "stale_neighbour"), 0
    )


def _table(measured: Sequence[FleetResult]) -> Iterator[str]:
    about = ", ".join(f"{key}: {value}" for key, value in machine().items())
    yield (
        "`leadsman diagnose` over the capture of a generated cluster, a whole cold process; `python -m bench.fleet` "
        f"writes this. {os.cpu_count()} cores. {about}. Memory is the largest use at one time. "
        "CPU time is sampled 4 times a second, so up to a quarter of a second before the end is not counted.\n"
    )
    yield "| brokers | hosts | partitions | ids | input | lines | wall, s | CPU, s | s a GB | Python | Java | found |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for each in measured:
        present = [mode for mode, verdict in each.verdicts.items() if verdict == "PRESENT"]
        yield (
            f"| {each.size.brokers} | {each.size.hosts:,} | {each.size.partitions:,} | {each.size.ids:,} | "
            f"{each.bytes / 1e9:.2f} GB in {each.files:,} files | {each.lines:,} | {each.wall:.0f} | {each.cpu:.0f} | "
            f"{each.wall / each.bytes * 1e9:.1f} | {each.python_bytes / 1e9:.2f} GB | {each.java_bytes / 1e9:.2f} GB | "
            f"{', '.join(present)}; {each.stale} stale pairs |"
        )


if __name__ == "__main__":
    main()
