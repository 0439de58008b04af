"""Measures what a watch costs while nothing is written, and how soon a line opens a finding; writes docs/watch.md.

python -m bench.watch_delay             a minute of nothing, then twenty failures among 5,000 lines/s of Kafka
python -m bench.watch_delay --smoke     some seconds and three failures, the table on the screen only

`leadsman watch` runs as users start it. Each failure is the recorded log of three clients of a cluster of its own, with
its times as if it were written now; it counts from the delivery of its last line to the line OPENED on the output.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import psutil
from bench.cpu_time import cpu_seconds
from bench.generate import generate
from bench.measure import machine

from leadsman.catalogue import Mode
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.processes.ports import free_ports
from leadsman.lab.survival.table import replace_between
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE = Path(__file__).parent.parent / "docs" / "watch.md"
MARKS = ("<!-- written by python -m bench.watch_delay; do not edit -->", "<!-- until here, of delays -->")
TOPIC, PARTITIONS, WRITERS, MEGABYTES = "logs", 4, 20, 20
FAILURES, LINES_PER_SECOND, IDLE_SECONDS = 20, 5000, 60.0
SECONDS_BETWEEN = 4.7
"""No multiple of a trigger's second: else all failures would come at one moment of a trigger, a good or a bad one."""
CAPTURE = Mode("idle_disconnect").folder / "recorded" / "broken-java" / "clients"
CLUSTER_ID = re.compile(r"Cluster ID: (\S+)")
TIME = re.compile(r"^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", re.MULTILINE)
WAIT = timedelta(minutes=4)
METRIC = re.compile(r"^leadsman_watch_(\w+)(?:\{.*\})? ([0-9.e+-]+)$", re.MULTILINE)


@dataclass(slots=True)
class WatchProcess:
    """A watch, its page, and when each cluster's finding was opened."""

    process: subprocess.Popen[str]
    url: str
    opened: dict[str, float] = field(default_factory=dict)

    def read_lines(self) -> None:
        """Note when findings are opened, until the output ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if match := re.search(r" OPENED .*\(cluster (\S+)\)", line):
                self.opened.setdefault(match[1], time.monotonic())

    def metrics(self) -> dict[str, float]:
        """Return the metrics without labels; none before the page is there."""
        try:
            with urlopen(f"{self.url}metrics", timeout=10) as response:
                return {name: float(value) for name, value in METRIC.findall(response.read().decode())}
        except OSError:
            return {}

    def cpu_seconds(self) -> float:
        """Return the CPU time of the watch and all that it started."""
        return cpu_seconds(psutil.Process(self.process.pid))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="Small and short; nothing is written.")
    smoke = parser.parse_args().smoke
    about = machine()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-bench-delay-")))
        logs = generate(folder / "generated", 2 if smoke else MEGABYTES, WRITERS)
        idle = _idle(logs, folder, 10.0 if smoke else IDLE_SECONDS)
        delays = _delays(logs, folder, 3 if smoke else FAILURES)
    table = "\n".join(_table(idle, delays, about))
    print(table)
    if not smoke:
        PAGE.write_text(replace_between(PAGE.read_text(encoding="utf-8"), MARKS, table), encoding="utf-8")


@contextmanager
def _watching(state: Path, *sources: str) -> Iterator[WatchProcess]:
    """Run a watch until its first round is over, and then the block."""
    address = f"127.0.0.1:{free_ports(1)[0]}"
    command = [sys.executable, "-m", "leadsman", "watch", *sources, "--to", str(state), "--serve", address]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    watch = WatchProcess(process, f"http://{address}/")
    threading.Thread(target=watch.read_lines, daemon=True).start()
    try:
        wait_for(lambda: watch.metrics().get("round_seconds_count", 0) > 0, timeout=WAIT, what="the first round")
        yield watch
    finally:
        process.terminate()
        process.wait(60)


def _idle(logs: Path, folder: Path, seconds: float) -> tuple[float, list[float]]:
    """Return cores used, and seconds of triggers, while a watch has nothing to read."""
    with _watching(folder / "idle", str(logs)) as watch:
        _wait_until_read(watch)
        began, used = time.monotonic(), watch.cpu_seconds()
        triggers: list[float] = []
        while time.monotonic() - began < seconds:
            triggers.append(watch.metrics()["trigger_seconds"])
            time.sleep(1.0)  # reason: the pause between two looks
        return (watch.cpu_seconds() - used) / (time.monotonic() - began), triggers


def _wait_until_read(watch: WatchProcess) -> None:
    """Wait until the number of batches stays the same for the time of a full round and more."""
    last, since = -1.0, time.monotonic()
    while time.monotonic() - since < 75:  # noqa: PLR2004 - all modes run once a minute
        if (count := watch.metrics()["batch_seconds_count"]) != last:
            last, since = count, time.monotonic()
        time.sleep(1.0)  # reason: the pause between two looks


def _delays(logs: Path, folder: Path, failures: int) -> list[float]:
    """Return the seconds from the delivery of a failure's last line to its opened finding."""
    from confluent_kafka import Producer

    over = threading.Event()
    with Cluster(ClusterPlan()) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS, config={"retention.ms": "-1"})
        steady, failing = (Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 5}) for _ in range(2))
        thread = threading.Thread(target=_produce_steadily, args=(steady, logs, over), daemon=True)
        thread.start()
        delivered: dict[str, float] = {}
        try:
            with _watching(folder / "delays", "--kafka", cluster.bootstrap, "--topic", TOPIC) as watch:
                for number in range(failures):
                    name = f"bench{number:017d}"
                    delivered[name] = _produce_failure(failing, name)
                    time.sleep(SECONDS_BETWEEN)  # reason: failures at a steady rate are what is measured
                wait_for(lambda: watch.opened.keys() >= delivered.keys(), timeout=WAIT, what="all findings")
        finally:
            over.set()
            thread.join()
    return [watch.opened[name] - at for name, at in delivered.items()]


def _produce_steadily(producer: object, logs: Path, over: threading.Event) -> None:
    """Produce lines without failures at a steady rate, with the time of now, until it is over."""
    lines = [line for path in sorted(logs.rglob("*.log")) for line in path.read_bytes().splitlines() if b"INFO" in line]
    began = time.monotonic()
    for number, line in enumerate(line for _ in iter(int, 1) for line in lines):
        text = TIME.sub(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}", line.decode("utf-8", "replace"))
        producer.produce(TOPIC, text, f"steady-{number % WRITERS}.log")  # type: ignore[attr-defined]  # confluent_kafka's
        producer.poll(0)  # type: ignore[attr-defined]  # confluent_kafka's
        if over.wait(max(0.0, began + number / LINES_PER_SECOND - time.monotonic())):
            return


def _produce_failure(producer: object, name: str) -> float:
    """Produce the logs of a failure of one cluster; return when its last line was delivered.

    The producer writes nothing else: `flush` waits for all that it was given meanwhile.
    """
    texts = {path.name: CLUSTER_ID.sub(f"Cluster ID: {name}", path.read_text()) for path in CAPTURE.glob("*.log")}
    last = max(_time(each) for text in texts.values() for each in TIME.finditer(text))
    shift = datetime.now(UTC).replace(microsecond=0) - last
    for file, text in texts.items():
        moved = TIME.sub(lambda match: f"{_time(match) + shift:%Y-%m-%d %H:%M:%S}", text)
        for line in moved.splitlines():
            producer.produce(TOPIC, line, f"{name}/{file}")  # type: ignore[attr-defined]  # confluent_kafka's
    producer.flush()  # type: ignore[attr-defined]  # confluent_kafka's
    return time.monotonic()


def _time(match: re.Match[str]) -> datetime:
    return datetime.fromisoformat(match[0]).replace(tzinfo=UTC)


def _table(idle: tuple[float, list[float]], delays: Sequence[float], about: dict[str, str]) -> Iterator[str]:
    used, triggers = idle
    yield (
        f"{len(delays)} failures, {SECONDS_BETWEEN:g} s apart, among {LINES_PER_SECOND:,} lines/s; {os.cpu_count()} "
        f"cores with the broker and the producer on them, {datetime.now(UTC):%Y-%m-%d}, load at the start "
        f"{about['load at the start']}.\n"
    )
    ordered = sorted(delays)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
    yield "| | |"
    yield "|---|---|"
    yield f"| a line's way from `produce` to an opened finding, median | {statistics.median(ordered):.1f} s |"
    yield f"| the same, 99th percentile of {len(ordered)} | {p99:.1f} s |"
    yield f"| a watch with nothing to read, cores | {used:.2f} |"
    yield f"| its trigger, median and longest | {statistics.median(triggers):.2f} s, {max(triggers):.2f} s |"


if __name__ == "__main__":
    main()
