"""Measures one, two and four executors with a core each on one capture, and projects to many; writes docs/scale.md.

python -m bench.scale             1 GB of logs by a file:// URL, which executors read as any remote files
python -m bench.scale --smoke     40 MB, one and two executors, the table on the screen only

Everything comes out of Spark's event log: what tasks took, what was shuffled, and the time in which no task ran,
which is the driver's. More executors than cores share these: then a task takes longer, and the sum of all tasks tells
nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import page
from bench.generate import generate
from bench.measure import machine

from leadsman.lab.spark.cluster import spark_cluster
from leadsman.pipeline.diagnose_in_tasks import MAX_TASK_EVENTS
from leadsman.pipeline.scope.streams import TASK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "scale.md"
MEGABYTES, WRITERS = 1000, 40
EXECUTORS = (1, 2, 4)
FAR_EXECUTORS, FAR_BYTES = 100, 10e12
OBJECT_BYTES = 100e6
"""What an object of the projected capture has. Firehose and Fluent Bit write such by default or on request."""

LISTED_A_REQUEST, REQUEST_SECONDS = 1000, 0.2
"""S3 lists so many objects at once; such a request takes 0.1 to 0.3 s."""


@dataclass(frozen=True, slots=True)
class DiagnosisRun:
    """One diagnosis: seconds of wall time, of tasks, and of the driver alone; bytes read and shuffled."""

    executors: int
    bytes: int
    events: int
    wall: float
    start: float
    reading: float
    others: float
    cpu: float
    alone: float
    wait: float
    shuffled: int
    tasks: int
    jobs: int
    delay: float
    elapsed_reading: float


def main() -> None:
    """Run each, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="Small and short; nothing is written.")
    smoke = parser.parse_args().smoke
    with tempfile.TemporaryDirectory(prefix="leadsman-scale-") as name:
        logs = generate(Path(name) / "logs", 40 if smoke else MEGABYTES, WRITERS)
        few = generate(Path(name) / "few", 10 if smoke else MEGABYTES // 4, WRITERS)
        less = _run(few, 1, Path(name) / "less")
        runs = [_run(logs, executors, Path(name)) for executors in (EXECUTORS[:2] if smoke else EXECUTORS)]
    text = "\n\n".join([_circumstances(runs[0].bytes), _table([less, *runs]), _projection(less, runs[0])])
    print(text)
    if not smoke:
        page.put("scale", text, page=PAGE)


def _run(logs: Path, executors: int, work_folder: Path) -> DiagnosisRun:
    folder = work_folder / f"cluster-{executors}"
    (folder / "events").mkdir(parents=True)
    settings = {
        "eventLog.enabled": "true",
        "eventLog.dir": (folder / "events").as_uri(),
        "eventLog.rolling.enabled": "false",
        "eventLog.compress": "false",
        "executor.memory": "600m",
        "driver.memory": "800m",
        "scheduler.minRegisteredResourcesRatio": "1.0",
        "cores.max": str(executors),
    }
    with spark_cluster(folder, workers=executors, memory_mb=800) as cluster:
        words = [sys.executable, "-m", "leadsman", "diagnose", logs.as_uri(), "--format", "json"]
        words += ["--master", cluster.url]
        words += [word for key, value in settings.items() for word in ("--spark-conf", f"spark.{key}={value}")]
        started = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ)
        wall = time.perf_counter() - started
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"leadsman ended with code {done.returncode}: {done.stderr[-2000:]}")
    (log,) = (folder / "events").iterdir()
    size = sum(path.stat().st_size for path in logs.rglob("*") if path.is_file())
    return _measured([json.loads(line) for line in log.read_text().splitlines()], executors, wall=wall, size=size)


def _measured(events: Sequence[dict[str, Any]], executors: int, *, wall: float, size: int) -> DiagnosisRun:
    tasks = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    infos, metrics = [event["Task Info"] for event in tasks], [event.get("Task Metrics") or {} for event in tasks]
    spans = [(info["Launch Time"], info["Finish Time"]) for info in infos]
    first, last = (_time(events, f"SparkListenerApplication{which}") for which in ("Start", "End"))
    reading = _longest_stage(tasks)
    in_stage = [event for event in tasks if event["Stage ID"] == reading]
    read = sum(_milliseconds(event["Task Metrics"]) for event in in_stage) / 1000
    ran = sum(map(_milliseconds, metrics)) / 1000
    span_seconds = sum(end - begin for begin, end in spans) / 1000
    return DiagnosisRun(
        executors=executors,
        bytes=size,
        events=_most_shuffled(tasks),
        wall=wall,
        start=wall - (last - first) / 1000,
        reading=read,
        others=ran - read,
        cpu=sum(each.get("Executor CPU Time", 0) for each in metrics) / 1e9,
        alone=(last - first - _covered(spans)) / 1000,
        wait=sum(each.get("Shuffle Read Metrics", {}).get("Fetch Wait Time", 0) for each in metrics) / 1000,
        shuffled=sum(each.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0) for each in metrics),
        tasks=len(tasks),
        jobs=sum(event["Event"] == "SparkListenerJobEnd" for event in events),
        delay=(span_seconds - ran) / max(1, len(tasks)),
        elapsed_reading=_covered([(e["Task Info"]["Launch Time"], e["Task Info"]["Finish Time"]) for e in in_stage])
        / 1000,
    )


def _milliseconds(metrics: dict[str, Any]) -> int:
    return int(metrics.get("Executor Run Time", 0))


def _longest_stage(tasks: Iterable[dict[str, Any]]) -> int:
    """Return the stage that took most: the one that reads, by far."""
    took: dict[int, int] = {}
    for event in tasks:
        took[event["Stage ID"]] = took.get(event["Stage ID"], 0) + _milliseconds(event.get("Task Metrics") or {})
    return max(took, key=lambda stage: took[stage])


def _most_shuffled(tasks: Iterable[dict[str, Any]]) -> int:
    """Return the rows of the largest shuffle: the events, on their way to the task that diagnoses."""
    rows: dict[int, int] = {}
    for event in tasks:
        written = (event.get("Task Metrics") or {}).get("Shuffle Write Metrics", {}).get("Shuffle Records Written", 0)
        rows[event["Stage ID"]] = rows.get(event["Stage ID"], 0) + written
    return max(rows.values())


def _time(events: Iterable[dict[str, Any]], name: str) -> int:
    return next(int(event["Timestamp"]) for event in events if event["Event"] == name)


def _covered(spans: Iterable[tuple[int, int]]) -> int:
    """Return the milliseconds in which any task ran."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return sum(end - begin for begin, end in joined)


def _circumstances(size: int) -> str:
    about = ", ".join(f"{name}: {value}" for name, value in machine().items())
    return (
        f"{size / 1e6:,.0f} MB of mixed logs by {WRITERS} writers, read in the same way as remote files. {about}; "
        f"load when it ended: {os.getloadavg()[1]:.1f}, mean of five minutes. `python -m bench.scale` measures it."
    )


def _table(runs: Sequence[DiagnosisRun]) -> str:
    head = [
        "| executors, one core each | " + " | ".join(str(run.executors) for run in runs) + " |",
        "|---|" + "---:|" * len(runs),
    ]
    rows: list[tuple[str, list[str]]] = [
        ("read", [f"{run.bytes / 1e6:,.0f} MB" for run in runs]),
        ("events", [f"{run.events:,}" for run in runs]),
        ("wall time of the command", [f"{run.wall:.1f} s" for run in runs]),
        ("of it before and after the Spark application", [f"{run.start:.1f} s" for run in runs]),
        ("of it with no task running: the driver's share", [f"{run.alone:.1f} s" for run in runs]),
        ("reading, from the first task to the last", [f"{run.elapsed_reading:.1f} s" for run in runs]),
        ("reading, sum of the tasks", [f"{run.reading:.1f} s" for run in runs]),
        ("reading, a core", [f"{run.bytes / 1e6 / run.reading:.0f} MB/s" for run in runs]),
        ("all other tasks, sum", [f"{run.others:.1f} s" for run in runs]),
        ("CPU time of executors' JVMs (without Python)", [f"{run.cpu:.1f} s" for run in runs]),
        ("shuffled", [f"{run.shuffled / 1e6:.2f} MB" for run in runs]),
        ("waited for a shuffle", [f"{run.wait:.2f} s" for run in runs]),
        ("jobs, tasks", [f"{run.jobs}, {run.tasks}" for run in runs]),
        ("to hand out a task and take it back", [f"{run.delay * 1000:.0f} ms" for run in runs]),
    ]
    return "\n".join([*head, *(f"| {name} | {' | '.join(values)} |" for name, values in rows)])


def _projection(less: DiagnosisRun, one: DiagnosisRun) -> str:
    """Say what the figures of one executor come to: it shares its core with nobody.

    What grows with the bytes is told from what does not by the two sizes.
    """
    rate = one.bytes / one.reading
    tasks, objects = FAR_BYTES / TASK_BYTES, FAR_BYTES / OBJECT_BYTES
    read = FAR_BYTES / (rate * FAR_EXECUTORS)
    handed = tasks * one.delay / FAR_EXECUTORS
    listing = objects / LISTED_A_REQUEST * REQUEST_SECONDS
    grows = max(0.0, (one.others - less.others) / (one.bytes - less.bytes))
    others = grows * FAR_BYTES / FAR_EXECUTORS
    fixed = one.start + one.alone + one.others - grows * one.bytes
    whole = fixed + listing + read + handed + others
    events, shuffled = one.events / one.bytes, one.shuffled / one.bytes
    steps = [
        (
            f"listing: {objects:,.0f} objects of {OBJECT_BYTES / 1e6:.0f} MB, {LISTED_A_REQUEST:,} a request of "
            f"{REQUEST_SECONDS} s, one after another: {listing:.0f} s (assumed, not measured here)"
        ),
        f"reading: 10 TB / ({FAR_EXECUTORS} cores x {rate / 1e6:.0f} MB/s): {read / 60:.0f} min",
        (
            f"handing out: {tasks:,.0f} tasks of {TASK_BYTES >> 20} MiB x {one.delay * 1000:.0f} ms / {FAR_EXECUTORS}: "
            f"{handed:.0f} s"
        ),
        _growth(grows, others),
        f"what does not grow (start, driver, first use of everything): {fixed:.0f} s",
        (
            f"shuffled: {shuffled * 1e9 / 1e6:.1f} MB a GB read: {shuffled * FAR_BYTES / 1e9:.0f} GB, "
            f"{shuffled * FAR_BYTES / FAR_EXECUTORS / 1e9:.1f} GB an executor"
        ),
    ]
    limit = MAX_TASK_EVENTS / events
    return "\n".join(
        [
            (
                f"**Projected to {FAR_EXECUTORS} executors with a core each and 10 TB in captures of up to "
                f"{limit / 1e9:,.0f} GB: {whole / 60:.0f} min**, {read / whole:.0%} of it reading. Arithmetic on the "
                "two columns of one executor, not a measurement, and holds for storage that is as fast as this disk:"
            ),
            "",
            *(f"- {step}" for step in steps),
            "",
            (
                f"These logs give {events * 1e9:,.0f} events a GB, so that **a single capture leaves the one task that "
                f"diagnoses it at {limit / 1e9:,.0f} GB** ({MAX_TASK_EVENTS:,} events). As one capture, 10 TB are "
                f"{events * FAR_BYTES / 1e6:,.0f} million events for Spark SQL, not measured at that size: that is "
                "the first limit, long before the driver's."
            ),
        ]
    )


def _growth(grows: float, others: float) -> str:
    if not grows:
        return "all other tasks: no growth between the two sizes, or less than the noise"
    return (
        f"all other tasks: {grows * 1e9:.1f} s of a core for each GB more, shared by all cores: {others / 60:.0f} min"
    )


if __name__ == "__main__":
    main()
