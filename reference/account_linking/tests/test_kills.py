"""kill -9 of Spark's driver, of workers and of the broker: nothing is lost, nothing is in the tables twice."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import psutil
import pytest

from account_linking.demo.balance import balance
from account_linking.demo.history import a_day, households
from account_linking.demo.simulator.world import Weather, World
from account_linking.demo.stage import Choice, Stage, stage
from account_linking.tables import streams
from account_linking.tables.layout import Layout
from leadsman.lab import faults
from leadsman.lab.cluster import Cluster, Plan
from leadsman.lab.process import Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

QUICK_SESSION = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
QUARTER = 900.0
A_MOMENT = timedelta(seconds=60)


@dataclass
class Victims:
    """What may be killed, and the driver that is started again each time."""

    up: Stage
    cluster: Cluster
    folder: Path
    random: Random
    driver: Program | None = None
    killed: dict[str, int] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        return Layout(str(self.folder / "tables"))

    def drive(self) -> None:
        words = [
            "stream",
            "--bootstrap",
            self.up.bootstrap,
            "--tables",
            self.layout.root,
            "--every",
            "100 milliseconds",
        ]
        self.driver = Program.start(
            "driver",
            [sys.executable, "-m", "account_linking.demo.driver", *words],
            folder=self.folder,
            errors=self.folder / "driver.log",
            output=self.folder / "driver.log",
            environment={"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def kill(self, which: str) -> None:
        self.killed[which] = self.killed.get(which, 0) + 1
        {"driver": self.kill_driver, "worker": self.kill_worker, "broker": self.kill_broker}[which]()

    def kill_driver(self) -> None:
        self.end_driver()
        self.drive()

    def end_driver(self) -> None:
        """Python and the JVM at once: nobody tidies up."""
        assert self.driver
        if not self.driver.running:
            return
        family = [psutil.Process(self.driver.popen.pid)]
        for process in [*family[0].children(recursive=True), *family]:
            process.kill()
        self.driver.kill()

    def kill_worker(self) -> None:
        """One that may be frozen, fetching, publishing, or about to move the cursor."""
        environments = [each for mapping in self.up.mappings for each in mapping.environments]
        pids = [each.pid for each in environments if each.pid]
        if pids:
            os.kill(self.random.choice(pids), signal.SIGKILL)

    def kill_broker(self) -> None:
        with faults.down(self.cluster.brokers[0], by=signal.SIGKILL):
            pass


def run(spark: SparkSession, folder: Path, plan: list[str], *, seed: int) -> None:
    """Let a day pass and kill what the plan says, at moments that nobody chose; then compare with the ledger."""
    random = Random(seed)
    world = World(households(seed, per_provider=1, providers=("plaid", "yodlee", "fdx"), months=1), Weather(), now=-1.0)
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(Plan(settings=QUICK_SESSION)))
        up = stack.enter_context(stage(world, Choice(tries=60), cluster=cluster))
        victims = Victims(up, cluster, folder, random)
        victims.drive()
        stack.callback(victims.end_driver)
        up.announce(world.ledger.items, since=-1800.0)
        changes = a_day(world.ledger, seed, per_item=8 * len(plan), lasts=len(plan) * QUARTER)
        for number, which in enumerate(plan):
            now = [each for each in changes if number * QUARTER <= each.at < (number + 1) * QUARTER]
            world.happen(now)
            world.now = (number + 1) * QUARTER
            up.announce({change.item for change in now}, since=number * QUARTER)
            wait_for(lambda: random.random() < 0.2, within=A_MOMENT, what="a moment that nobody chose")
            victims.kill(which)
        up.handled()
        victims.end_driver()
        checkpoint = f"{victims.layout.root}/_checkpoints/tables"
        streams.tables(spark, up.bootstrap, victims.layout, checkpoint=checkpoint).awaitTermination()
        found = balance(spark, victims.layout, world.ledger, at=world.now)
        rows = spark.read.format("delta").load(victims.layout.path("bronze"))
        places = rows.select("source_topic", "source_partition", "source_offset")

    assert found.transactions > 60
    assert (found.missing, found.surplus, found.doubled, found.amounts) == ((), (), (), ())
    assert places.count() == places.distinct().count()


@pytest.mark.timeout(400)
def test_nothing_is_lost_or_doubled_when_each_part_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    run(spark, tmp_path, ["worker", "driver", "broker", "worker"], seed=5)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_or_doubled_when_parts_are_killed_200_times(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    plan = Random(seed).choices(["worker", "driver", "broker"], (10, 5, 5), k=20)

    run(spark, tmp_path, plan, seed=seed)
