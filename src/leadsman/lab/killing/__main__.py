"""Kills a watch at random moments: `python -m leadsman.lab.killing [--times 200] [--seed N]`.

What is killed (`kill -9`): the driver, the JVM, a Python worker, all of them, the broker. Or the disk fills up.
Meanwhile clients of one cluster after another fail, in a topic and in a folder of growing files. After every twenty
kills, when everything was read, events, findings, history and messages are compared with what was written. Exits 1
where anything is lost, or is there twice, or a process is left.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import click

from leadsman.collect.numbers import FiniteNumber
from leadsman.errors import LabError
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.killing.failing_clients import FailingClients
from leadsman.lab.killing.kept_state import Expected, differences
from leadsman.lab.killing.killed_watch import KilledWatch, Killers, LimitedDisk, pause_in
from leadsman.lab.processes.webhook_receiver import receiving
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.lab.processes.webhook_receiver import WebhookReceiver

KILLS_PER_STATE = 20
"""Then the state is compared, and the next one begins: a start with the findings of many clusters takes longer."""

WEIGHTS = {"driver": 5, "JVM": 3, "worker": 4, "all": 4, "broker": 2, "disk": 2}
MAX_PAUSE_SECONDS = 20.0
"""Between two kills. A start takes half of it."""

COMPARE_TIMEOUT = timedelta(minutes=8)
COMPARED_EVERY = timedelta(seconds=3)
ERRORS = 2
"""The level of syslog from which librdkafka reports: that a broker cannot be reached is no news here."""

TOPIC, PARTITIONS = "logs", 3


@dataclass(slots=True)
class KillCounts:
    """How often what was killed, and what was wrong."""

    kills: Counter[str] = field(default_factory=Counter)
    starts: int = 0
    states: int = 0
    failures: int = 0
    events: int = 0
    faults: dict[str, str] = field(default_factory=dict)

    def add_kill(self, state: KilledState, names: Sequence[str]) -> None:
        """Kill something of a state once."""
        self.kills[state.kill_once(f"killing{self.failures:015d}", names)] += 1
        self.failures += 1
        self.faults |= state.watch.faults

    def add_state(self, state: KilledState) -> None:
        """Compare a state."""
        events, found = state.compare()
        self.events += events
        self.starts += state.watch.starts
        self.states += 1
        self.faults |= {**state.watch.faults, **found}


@click.command(help=__doc__)
@click.option("--times", type=click.IntRange(min=1), default=200, show_default=True, help="How many kills.")
@click.option("--minutes", type=FiniteNumber(0), default=None, help="End after so long, whatever was reached.")
@click.option("--seed", type=int, default=None, help="Of what is killed and when; by default the time.")
@click.option("--only", multiple=True, type=click.Choice(list(WEIGHTS)), help="Kill only this; may be repeated.")
def main(times: int, minutes: float | None, seed: int | None, only: tuple[str, ...]) -> None:
    """Run the campaign and print its counts as JSON."""
    seed = int(time.time()) if seed is None else seed
    until = time.monotonic() + 60 * minutes if minutes else None
    counts = KillCounts()
    dice = Random(seed)  # noqa: S311 - no secret
    with suppress(KeyboardInterrupt):  # what was counted until then is printed
        while counts.kills.total() < times and (until is None or time.monotonic() < until):
            with _empty_state(dice) as state:
                for _ in range(min(KILLS_PER_STATE, times - counts.kills.total())):
                    counts.add_kill(state, only or tuple(WEIGHTS))
                counts.add_state(state)
            so_far = f"{counts.kills.total()} of {times} kills, {len(counts.faults)} faults"
            click.echo("\n  ".join([so_far, *(f"{what}: {text}" for what, text in counts.faults.items())]), err=True)
    document = {"seed": seed, "kills": dict(counts.kills), "starts": counts.starts, "states": counts.states}
    document |= {"failures": counts.failures, "events": counts.events, "faults": counts.faults}
    click.echo(json.dumps(document, indent=2))
    sys.exit(bool(counts.faults))


@dataclass(slots=True)
class KilledState:
    """A watch that begins with an empty state, what it watches, and what it sent."""

    watch: KilledWatch
    killers: Killers
    clients: FailingClients
    receiver: WebhookReceiver
    dice: Random
    folder: Path
    clusters: list[str] = field(default_factory=list)
    last: str = ""

    def kill_once(self, cluster: str, names: Sequence[str]) -> str:
        """Let the clients of one more cluster fail, and kill something within the next seconds. Return what."""
        self.clusters.append(cluster)
        self.clients.begin(cluster, in_topic=bool(len(self.clusters) % 2))
        self.watch.start()
        pause_in(self.dice.uniform(0.0, MAX_PAUSE_SECONDS))
        if self.last == "disk":
            self.watch.note_end_unless_disk_was_full()
        else:
            self.watch.note_end(f"by itself, some time after {self.last or 'the start'}")
        self.watch.start()
        (name,) = self.dice.choices(names, [WEIGHTS[each] for each in names])
        self.killers.by_name()[name]()
        self.last = name
        return name

    def compare(self) -> tuple[int, dict[str, str]]:
        """Wait until everything is written and read. Return how many events that is, and what differs at last."""
        wait_for(self.clients.is_written, timeout=COMPARE_TIMEOUT, what="all telemetry to be written", error=LabError)
        expected = Expected.of(self.clients, self.clusters)
        found: dict[str, str] = {}

        def is_equal() -> bool:
            nonlocal found
            self.watch.start()
            with suppress(OSError):  # a file of the table is replaced meanwhile
                found = differences(self.folder, expected, topic=TOPIC, received=self.receiver.accepted)
            return not found

        with suppress(LabError):
            wait_for(is_equal, timeout=COMPARE_TIMEOUT, every=COMPARED_EVERY, what="the state", error=LabError)
        self.watch.stop()
        return len(expected.files) + len(expected.topic), found


@contextmanager
def _empty_state(dice: Random) -> Iterator[KilledState]:
    """Run a broker, clients and a receiver, with an empty state, until the end of the block."""
    from confluent_kafka import Producer

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-kills-")))
        cluster = stack.enter_context(Cluster(ClusterPlan()))
        cluster.create_topic(TOPIC, partitions=PARTITIONS, config={"retention.ms": "-1"})
        disk = stack.enter_context(LimitedDisk(folder / "disk"))
        receiver = stack.enter_context(receiving())
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": ERRORS})
        clients = FailingClients(folder / "files", folder / "reference", TOPIC, producer, dice)
        stack.enter_context(clients)
        state = disk.folder / "state"
        sources = (str(clients.files), "--kafka", cluster.bootstrap, "--topic", TOPIC)
        watch = KilledWatch((*sources, "--to", str(state), "--notify", receiver.url), folder)
        stack.callback(watch.kill_all)
        killers = Killers(watch, cluster.brokers[0], disk, lambda most: pause_in(dice.uniform(0.0, most)))
        yield KilledState(watch, killers, clients, receiver, dice, state)


if __name__ == "__main__":
    main()
