"""Lets a watch follow a day of services in some minutes: `python -m leadsman.lab.soaking [--minutes 24]`.

Each hour of that day it measures memory, times and disk, and writes them to docs/watch.md. The retention is shorter
than the day, so that events expire. Exits 1 where the last third of the day takes more than the middle third, or where
a failure was not opened and resolved once.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from leadsman.collect.numbers import FiniteNumber
from leadsman.errors import LabError
from leadsman.lab.killing.killed_watch import KilledWatch
from leadsman.lab.processes.ports import ADDRESS, free_ports
from leadsman.lab.soaking.service_day import HOURS, ServiceDay
from leadsman.lab.soaking.table import BEGIN, END, render
from leadsman.lab.soaking.usage import UsageMeter, WatchUsage
from leadsman.lab.survival.table import replace_between
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITES_EVERY_SECONDS = 0.5
RETENTION_HOURS = 6
IDLE_TIME = "30m"
READY_TIMEOUT = timedelta(minutes=3)
END_TIMEOUT = timedelta(minutes=3)
HOUR_TIMEOUT = timedelta(hours=1)
QUOTED_CHARACTERS = 2000

GROWTH_ALLOWED = {
    "driver_mb": 1.15,
    "workers_mb": 1.15,
    "heap_mb": 1.15,
    "batch_seconds": 1.5,
    "round_seconds": 1.5,
}
"""How many times the median of the middle third of the day that of the last third may be. Not of the state: what its
tables replaced stays for an hour of the clock, which is longer than the run."""

RESULTS, PAGE = Path("docs/soaking.json"), Path("docs/watch.md")
"""In a clone of leadsman, where this program runs."""


@click.command(help=__doc__)
@click.option("--minutes", type=FiniteNumber(0), default=24.0, show_default=True, help="How long the day takes.")
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, show_default=True, help="For the figures.")
@click.option("--page", type=click.Path(path_type=Path), default=PAGE, show_default=True, help="For the table.")
def main(minutes: float, results: Path, page: Path) -> None:
    """Run the day, and write what was measured."""
    usages, day, output, faults_of_watch = _run(minutes)
    faults = [*_grown(usages), *_wrong_finding_changes(output, day), *faults_of_watch]
    figures = {
        "day": datetime.now(UTC).date().isoformat(),
        "minutes": minutes,
        "retention_hours": RETENTION_HOURS,
        "lines": day.lines,
        "failures": len(day.failures),
        "looks": [asdict(each) for each in usages],
        "faults": faults,
    }
    results.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    page.write_text(replace_between(text, (BEGIN, END), render(figures)), encoding="utf-8")
    for each in faults:
        click.echo(each, err=True)
    sys.exit(bool(faults))


def _run(minutes: float) -> tuple[list[WatchUsage], ServiceDay, str, list[str]]:
    """Return what was measured each hour, the day, what the watch printed, and what went wrong with its processes."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-soaking-")))
        address = f"{ADDRESS}:{free_ports(1)[0]}"
        day = ServiceDay.ending_now(folder / "files")
        day.folder.mkdir()
        times = ("--retention", f"{RETENTION_HOURS}h", "--resolved-after", IDLE_TIME)
        watch = KilledWatch((str(day.folder), "--to", str(folder / "state"), "--serve", address, *times), folder)
        stack.callback(watch.stop)
        watch.start()
        day.write_until(day.begins + timedelta(minutes=1))
        meter = UsageMeter(f"http://{address}/", folder / "state")
        wait_for(meter.is_ready, timeout=READY_TIMEOUT, what="the watch to be ready", error=LabError)
        with _writing(day, minutes):
            usages = list(_hourly_usages(watch, day, meter))
            _wait_for_end(watch, day)
        watch.stop()
        return usages, day, watch.output, [f"{what}: {text}" for what, text in watch.faults.items()]


@contextmanager
def _writing(day: ServiceDay, minutes: float) -> Iterator[None]:
    """Let a thread write the day until the end of the block."""
    over, began, speed = threading.Event(), time.monotonic(), HOURS * 60 / minutes

    def write() -> None:
        while not over.wait(WRITES_EVERY_SECONDS):
            day.write_until(day.begins + (time.monotonic() - began) * speed * timedelta(seconds=1))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _hourly_usages(watch: KilledWatch, day: ServiceDay, meter: UsageMeter) -> Iterator[WatchUsage]:
    for hour in range(1, HOURS + 1):
        wait_for(
            lambda: day.at >= day.begins + timedelta(hours=hour) or not watch.is_running,  # noqa: B023 - called here
            timeout=HOUR_TIMEOUT,
            what=f"the telemetry of hour {hour}",
            error=LabError,
        )
        if not watch.is_running:
            raise LabError(f"The watch has ended in hour {hour}: {watch.output[-QUOTED_CHARACTERS:]}")
        usage = meter.measure(hour, watch.processes, watch.pid)
        click.echo(f"hour {hour}: {json.dumps(asdict(usage))}", err=True)
        yield usage


def _wait_for_end(watch: KilledWatch, day: ServiceDay) -> None:
    """Wait until the last finding is resolved, which the last hour of the day allows."""
    wait_for(
        lambda: _count(watch.output, "RESOLVED") >= len(day.failures),
        timeout=END_TIMEOUT,
        what="the last finding to be resolved",
        error=LabError,
    )


def _count(output: str, life: str) -> int:
    return len(re.findall(rf"^\S+ {life} ", output, re.MULTILINE))


def _grown(usages: list[WatchUsage]) -> list[str]:
    third = len(usages) // 3
    faults = []
    for name, allowed in GROWTH_ALLOWED.items():
        middle, last = (
            median(getattr(each, name) for each in part) for part in (usages[third:-third], usages[-third:])
        )
        if middle and last > allowed * middle:
            faults.append(f"{name} grew from {middle:.3g} to {last:.3g}")
    return faults


def _wrong_finding_changes(output: str, day: ServiceDay) -> list[str]:
    counts = {life: _count(output, life) for life in ("OPENED", "RESOLVED", "REOPENED")}
    expected = {"OPENED": len(day.failures), "RESOLVED": len(day.failures), "REOPENED": 0}
    return [
        f"{expected[life]} findings were to be {life}, {counts[life]} were"
        for life in expected
        if counts[life] != expected[life]
    ]


if __name__ == "__main__":
    main()
