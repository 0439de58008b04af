"""Runs the campaign on all cores: `python -m leadsman.lab.fuzzing [--minutes 60] [--seed N]`; exits 1 after a fault."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import click

from leadsman.catalogue import every_mode
from leadsman.collect.numbers import FiniteNumber
from leadsman.lab.fuzzing.campaign import FuzzCounts, run
from leadsman.run_folder import memory_folder

STRETCH_SECONDS = 60.0
"""After so long the counts of a process are printed, and it goes on with another seed."""


def corpus(root: Path) -> list[Path]:
    """Return the files that are damaged: those of all recordings, and the samples of every format below `root`."""
    folders = [mode.folder / "recorded" for mode in every_mode()]
    folders += [path for path in (root / "tests" / "telemetry", root / "tests" / "across_modes") if path.is_dir()]
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".py")


@click.command(help=__doc__)
@click.option("--minutes", type=FiniteNumber(0), default=60.0, show_default=True, help="How long it runs.")
@click.option("--seed", type=int, default=None, help="Of the inputs; by default the time.")
@click.option("--processes", type=int, default=os.cpu_count() or 1, help="By default one for each core.")
def main(minutes: float, seed: int | None, processes: int) -> None:
    """Run the campaign and print its counts as JSON."""
    files = corpus(Path.cwd())
    first = int(time.time()) if seed is None else seed
    counts = FuzzCounts()
    until = time.monotonic() + 60 * minutes
    with suppress(KeyboardInterrupt):  # the counts so far are worth keeping
        _run_until(until, files, counts, processes=processes, first=first)
    click.echo(json.dumps({"files": len(files), "seed": first, **counts.document()}, indent=2))
    sys.exit(bool(counts.escaped or counts.over_budget))


def _run_until(until: float, files: list[Path], counts: FuzzCounts, *, processes: int, first: int) -> None:
    """Run stretch after stretch; print the counts after each, and each kind of fault when it is first seen."""
    number = 0
    with (
        tempfile.TemporaryDirectory(prefix="leadsman-fuzz-", dir=memory_folder()) as scratch,
        ProcessPoolExecutor(processes, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool,
    ):
        while time.monotonic() < until:
            seconds = min(STRETCH_SECONDS, until - time.monotonic())
            futures = []
            for _ in range(processes):
                number += 1
                folder = Path(scratch, str(number))
                folder.mkdir()
                futures.append(pool.submit(run, files, folder, seed=first + number, seconds=seconds))
            for future in futures:
                seen = set(counts.examples)
                counts.merge(future.result())
                for kind in set(counts.examples) - seen:
                    click.echo(f"fault: {kind}: {counts.examples[kind]}", err=True)
            click.echo(f"{counts.inputs:,} inputs, {counts.bytes >> 20:,} MB", err=True)


if __name__ == "__main__":
    main()
