"""kill -9 of Spark's driver, workers and broker: no transaction is lost or duplicated."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest

from account_linking.demo.balance import compare_with_ledger
from account_linking.demo.deployment import Deployment, DeploymentOptions, deploy
from account_linking.demo.ledger_generator import generate_day, generate_households
from account_linking.demo.simulator.banks import FaultInjection, SimulatedBanks
from account_linking.tables import streams
from account_linking.tables.layout import Layout
from leadsman.lab import faults
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.processes.families import kill_family
from leadsman.lab.processes.program import Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

QUICK_SESSION = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
QUARTER = 900.0
A_MOMENT = timedelta(seconds=60)


@dataclass
class Victims:
    """The processes to kill, and the driver that is restarted each time."""

    deployment: Deployment
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
            self.deployment.bootstrap,
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
        """Kill Python and the JVM at once, so that neither cleans up."""
        assert self.driver
        if not self.driver.is_running:
            return
        kill_family(self.driver.popen.pid)
        self.driver.kill()

    def kill_worker(self) -> None:
        """Kill a random worker: frozen, fetching, publishing, or about to move the cursor."""
        environments = [each for mapping in self.deployment.mappings for each in mapping.environments]
        pids = [each.pid for each in environments if each.pid]
        if pids:
            os.kill(self.random.choice(pids), signal.SIGKILL)

    def kill_broker(self) -> None:
        with faults.down(self.cluster.brokers[0], by=signal.SIGKILL):
            pass


def run(spark: SparkSession, folder: Path, plan: list[str], *, seed: int) -> None:
    """Run a day and kill the planned processes at random times; then compare the tables with the ledger."""
    random = Random(seed)
    banks = SimulatedBanks(
        generate_households(seed, per_provider=1, providers=("plaid", "yodlee", "fdx"), months=1),
        FaultInjection(),
        now=-1.0,
    )
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(ClusterPlan(settings=QUICK_SESSION)))
        deployment = stack.enter_context(deploy(banks, DeploymentOptions(max_attempts=60), cluster=cluster))
        victims = Victims(deployment, cluster, folder, random)
        victims.drive()
        stack.callback(victims.end_driver)
        deployment.send_webhooks(banks.ledger.items, since=-1800.0)
        changes = generate_day(banks.ledger, seed, per_item=8 * len(plan), lasts=len(plan) * QUARTER)
        for number, which in enumerate(plan):
            now = [each for each in changes if number * QUARTER <= each.at < (number + 1) * QUARTER]
            banks.apply_changes(now)
            banks.now = (number + 1) * QUARTER
            deployment.send_webhooks({change.item for change in now}, since=number * QUARTER)
            wait_for(lambda: random.random() < 0.2, timeout=A_MOMENT, what="a random time")
            victims.kill(which)
        deployment.wait_until_handled()
        victims.end_driver()
        checkpoint = f"{victims.layout.root}/_checkpoints/tables"
        streams.start_tables(spark, deployment.bootstrap, victims.layout, checkpoint=checkpoint).awaitTermination()
        changes_to = f"{victims.layout.root}/_checkpoints/changes"
        streams.start_changes(spark, deployment.bootstrap, victims.layout, checkpoint=changes_to).awaitTermination()
        found = compare_with_ledger(victims.layout.root, banks.ledger, at=banks.now, bootstrap=deployment.bootstrap)

    assert found.transactions > 60
    assert [str(each) for each in found.differences] == []


@pytest.mark.timeout(400)
def test_nothing_is_lost_or_duplicated_when_each_process_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    run(spark, tmp_path, ["worker", "driver", "broker", "worker"], seed=5)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_or_duplicated_when_processes_are_killed_200_times(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    plan = Random(seed).choices(["worker", "driver", "broker"], (10, 5, 5), k=20)

    run(spark, tmp_path, plan, seed=seed)
