"""The gate's speed: files per second over a repository that is written for it. `python -m bench.gate`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from leadsman.catalogue import every_mode

RUNS = 3
UNRELATED = "def area(width, height):\n    return width * height\n\n" * 40


def samples() -> list[Path]:
    """All samples of programs and configuration: what a repository with Kafka clients consists of."""
    return sorted(
        file for mode in every_mode() for file in (mode.folder / "samples").glob("*/*.*") if file.suffix != ".txt"
    )


def write_repository(folder: Path, count: int, one_in: int) -> None:
    for number, sample in enumerate(islice(cycle(samples()), count)):
        file = folder / f"part_{number % 20}" / f"{number}_{sample.name}"
        file.parent.mkdir(exist_ok=True)
        text = sample.read_text(encoding="utf-8")
        file.write_text(text if number % one_in == 0 else UNRELATED, encoding="utf-8")


def seconds(count: int, one_in: int) -> float:
    """Wall time of the command in a new process, the best of some runs."""
    with tempfile.TemporaryDirectory() as name:
        write_repository(Path(name), count, one_in)
        return min(_timed(name) for _ in range(RUNS))


def _timed(folder: str) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "leadsman", "check", "program", "--format", "json", folder]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begun


def main() -> None:
    for count in (30, 1000):
        for one_in in (1, 10):
            took = seconds(count, one_in)
            print(f"| {count} files, one in {one_in} mentions Kafka | {took:.2f} s | {count / took:,.0f} files/s |")


if __name__ == "__main__":
    main()
