"""Measures the timeline of a large cluster's leaders, and writes its table into docs/performance.md.

python -m bench.leaders             1,000,000 partitions on 100 brokers
python -m bench.leaders --smoke     10,000 partitions, the table on the screen only

The capture is that of a recorded incident, whose clients and controller stay as they are. Around their loss of a broker
it holds `kafka-topics --describe` of a large cluster before and after it, and each broker's state-change log of the
partitions that it took over.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import psutil
from bench import page
from bench.cpu_time import cpu_seconds, process_tree
from bench.jobs import ROOT
from bench.reference import MachineSpeed

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = ROOT / "src/leadsman/modes/leaderless_partition/recorded/broken-java-4.3.1"
LOST = 3
"""The broker that the recording's controller gave up."""

GOAL_SECONDS = 40
PARTITIONS = {"smoke": 10_000, "full": 1_000_000}
BROKERS, REPLICAS, PER_TOPIC = 100, 3, 50
ELECTION_SECONDS = 3.0
"""Seconds over which a controller hands out the leaders of a lost broker; made up, as is their spread."""

SEED = 20201220


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: its topic and number, its replicas, the leader first."""

    topic: str
    number: int
    replicas: tuple[int, ...]

    def led(self, *, lost: int | None) -> int:
        """Return who leads it, with a broker gone or with all of them."""
        return next(each for each in self.replicas if each != lost)

    def described(self, *, lost: int | None) -> str:
        """Return its line of `kafka-topics --describe`."""
        replicas = ",".join(map(str, self.replicas))
        isr = ",".join(str(each) for each in self.replicas if each != lost)
        at = f"\tTopic: {self.topic}\tPartition: {self.number}\tLeader: {self.led(lost=lost)}"
        return f"{at}\tReplicas: {replicas}\tIsr: {isr}\tElr: \tLastKnownElr: \n"

    def taken_over(self, at: datetime) -> str:
        """Return the line of its new leader's state-change log."""
        leader = self.led(lost=LOST)
        isr = ",".join(str(each) for each in self.replicas if each != LOST)
        when = at.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        return (
            f"[{when}] INFO [Broker id={leader}] Leader {self.topic}-{self.number} with topic id "
            "Some(uDGFWPtnROCz1Zk7dxet7w) starts at leader epoch 1 from offset 85 with partition epoch 1, high "
            f"watermark 85, ISR [{isr}], adding replicas [] and removing replicas [] . Previous leader Some({LOST}) "
            "and previous leader epoch was 0. (state.change.logger)\n"
        )


def partitions(count: int) -> Iterator[Partition]:
    """Make up partitions, spread over all brokers as Kafka would."""
    dice = random.Random(SEED)
    for number in range(count):
        replicas = tuple(dice.sample(range(1, BROKERS + 1), REPLICAS))
        yield Partition(
            f"team-{number // PER_TOPIC % 97:02d}-events-{number // PER_TOPIC:05d}", number % PER_TOPIC, replicas
        )


def generate(folder: Path, count: int) -> int:
    """Write the capture and return its bytes."""
    shutil.copytree(RECORDED, folder, dirs_exist_ok=True)
    (folder / "manifest.json").unlink()
    fenced = _fenced()
    listed = list(partitions(count))
    with (folder / "kafka" / "topics.txt").open("w") as file:
        for at, lost in ((fenced - timedelta(seconds=30), None), (fenced + timedelta(seconds=10), LOST)):
            when = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            file.write(f"### leadsman {when} lab kafka/topics.txt $ kafka-topics --describe\n")
            file.writelines(_described(listed, lost))
            file.write("\n### leadsman exit 0\n")
    _take_over(folder, [each for each in listed if each.replicas[0] == LOST], fenced)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _fenced() -> datetime:
    """Return when the recording's controller gave the broker up."""
    text = (RECORDED / "brokers" / "101" / "controller.log").read_text()
    found = re.search(rf"\[([\d :,-]+)\] INFO [^\n]*Fencing broker {LOST} ", text)
    assert found is not None
    return datetime.fromisoformat(found[1].replace(",", ".") + "+00:00")


def _described(listed: list[Partition], lost: int | None) -> Iterator[str]:
    for each in listed:
        if each.number == 0:
            yield f"Topic: {each.topic}\tTopicId: uDGFWPtnROCz1Zk7dxet7w\tPartitionCount: {PER_TOPIC}\tReplicationFactor: {REPLICAS}\tConfigs: \n"  # noqa: E501 - a line as it is
        yield each.described(lost=lost)


def _take_over(folder: Path, led: list[Partition], fenced: datetime) -> None:
    by_broker: dict[int, list[str]] = {}
    for index, each in enumerate(led):
        at = fenced + timedelta(seconds=ELECTION_SECONDS * index / max(len(led), 1))
        by_broker.setdefault(each.led(lost=LOST), []).append(each.taken_over(at))
    for broker, lines in by_broker.items():
        own = folder / "brokers" / str(broker)
        own.mkdir(parents=True, exist_ok=True)
        with (own / "state-change.log").open("a") as file:
            file.writelines(lines)


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """One run of a whole process: seconds, CPU seconds of it and all it started, and its largest memory."""

    wall: float
    processor: float
    peak: int


def diagnosed(capture: Path, out: Path, cores: int) -> ProcessUsage:
    """Diagnose the capture as a user would, from nothing, with the page. The verdict must be that of the recording."""
    words = [
        "diagnose",
        str(capture),
        "--out",
        str(out),
        "--master",
        f"local[{cores}]",
    ]
    began = time.monotonic()
    process = psutil.Popen([sys.executable, "-m", "leadsman", *words], stdout=subprocess.DEVNULL)
    used_cpu_seconds, peak = 0.0, 0
    while process.poll() is None:
        used_cpu_seconds = max(used_cpu_seconds, cpu_seconds(process))
        peak = max(peak, sum(map(_rss_bytes, process_tree(process))))
        with_deadline = partial(process.wait, timeout=0.2)
        try:
            with_deadline()
        except psutil.TimeoutExpired:
            continue
    if process.returncode != 1:
        raise RuntimeError(f"leadsman ended with code {process.returncode}, and the finding was not PRESENT.")
    return ProcessUsage(time.monotonic() - began, used_cpu_seconds, peak)


def _rss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def main() -> None:
    """Generate, measure, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.leaders", description="Time the timeline of a large cluster."
    )
    parser.add_argument("--smoke", action="store_true", help="10,000 partitions and one run: does everything work?")
    parser.add_argument("--runs", type=int, default=0, help="how often it is diagnosed")
    arguments = parser.parse_args()
    runs = arguments.runs or 1
    if arguments.smoke:
        print(_table(PARTITIONS["smoke"], runs)[0])
        return
    speed = MachineSpeed()
    speed.measure()
    table, seconds = _table(PARTITIONS["full"], runs)
    speed.measure()
    section = f"{table}\n\n{speed.explained()} {speed.verdict('a million partitions', GOAL_SECONDS, seconds)}"
    print(section)
    page.put("leaders", section)


def _table(count: int, runs: int) -> tuple[str, float]:
    """Return the table, and the median of the wall times in seconds."""
    cores = os.cpu_count() or 2
    with tempfile.TemporaryDirectory(prefix="leadsman-bench-") as scratch:
        capture = Path(scratch) / "capture"
        size = generate(capture, count)
        each = [diagnosed(capture, Path(scratch) / f"page-{run}", cores) for run in range(runs)]
    walls = [one.wall for one in each]
    what = f"{count:,} partitions on {BROKERS} brokers, two snapshots and state-change logs"
    table = (
        f"| {what} | {size / 1e6:.0f} MB |\n|---|---|\n"
        f"| `leadsman diagnose --out`, a whole process, {cores} cores, {runs} runs | {median(walls):.1f} s "
        f"({min(walls):.1f} to {max(walls):.1f}) |\n"
        f"| CPU time | {median(one.processor for one in each):.1f} s |\n"
        f"| memory, JVM and all | {max(one.peak for one in each) / 1e9:.1f} GB |"
    )
    return table, median(walls)


if __name__ == "__main__":
    main()
