"""kill -9 of Spark's driver at steps of start, batch and maintenance. The steps are those that a run executes."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from account_linking import tables
from account_linking.demo.balance import compare_with_ledger
from account_linking.demo.deployment import create_topics, linked_items
from account_linking.demo.fetch_harness import FetchHarness
from account_linking.demo.ledger_generator import generate_day, generate_households
from account_linking.demo.simulator.banks import SimulatedBanks
from account_linking.store import SqliteStore
from account_linking.tables import ingest, streams
from account_linking.tables.layout import Layout
from account_linking.topics import raw_topic
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long  # a whole life of the tables takes minutes, and each kill costs a part of one

LIFECYCLE = Path(__file__).parent / "tables_lifecycle.py"
LIFE_SECONDS = 600
STAGES = ("start", "batch", "maintenance")
WRITERS = {
    "merge",
    "append",
    "append_holders",
    "_append_holders",
    "save",
    "start",
    "retry_conflicts",
    "write_first_commit",
}
NOT_EXECUTED = {
    "history",  # one call of `Ingestion.ingest`
    "_users_of_many_accounts",  # a batch of 5,000 accounts
    "main",
    "_stream",
    "_save",  # where Delta's log store is not within reach
}
"""Functions that write and that the lifecycle does not execute, or that only call others."""

PROVIDERS = ("plaid", "yodlee", "fdx")


@dataclass(frozen=True)
class World:
    """A broker with the raw records of a ledger, and the steps of a run that nothing disturbed."""

    banks: SimulatedBanks
    bootstrap: str
    folder: Path
    steps: list[dict[str, object]]

    def run(self, root: Path, *words: str) -> int:
        command = [sys.executable, str(LIFECYCLE), str(root), self.bootstrap, *words]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        log = self.folder / "lifecycle.log"
        with log.open("ab") as output:
            return subprocess.run(
                command, check=False, env=environment, stdout=output, stderr=output, timeout=LIFE_SECONDS
            ).returncode

    def choose(self, random: Random, stage: str) -> str:
        """A step of a stage, at its beginning or somewhere within it: any line, or one by its share of the time."""
        by_line: dict[tuple[object, object], list[dict[str, object]]] = {}
        for each in self.steps:
            if each["stage"] == stage:
                by_line.setdefault((each["file"], each["line"]), []).append(each)
        seconds = [sum(float(str(each["seconds"])) for each in steps) for steps in by_line.values()]
        (steps,) = random.choices(list(by_line.values()), weights=random.choice([None, seconds]))
        step = random.choice(steps)
        delay = random.choice([0.0, random.random() * float(str(step["seconds"]))])
        return f"{stage}:{step['file']}:{step['line']}:{step['occurrence']}:{delay:.4f}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("kills")
    with Cluster(ClusterPlan()) as cluster:
        banks = fetched_banks(folder, cluster.bootstrap)
        lived = World(banks, cluster.bootstrap, folder, [])
        assert lived.run(folder / "undisturbed", "--record", str(folder / "steps.json")) == 0
        steps = json.loads((folder / "steps.json").read_text())
        yield World(banks, cluster.bootstrap, folder, steps)


def fetched_banks(folder: Path, bootstrap: str) -> SimulatedBanks:
    """Fetch a month and a day of a household at each provider, and publish all records and one that is no JSON."""
    ledger = generate_households(4, per_provider=1, providers=PROVIDERS, months=1)
    banks = SimulatedBanks(ledger, now=-1.0)
    store = SqliteStore(folder / "items.sqlite")
    store.add(linked_items(banks))
    harness = FetchHarness(banks, store)
    for item in ledger.items:
        harness.fetch(item)
    # Changes of one instant come together: FDX returns what changed after the time of the last fetch.
    for _, changes in groupby(generate_day(ledger, 5, per_item=12, lasts=3600.0), key=lambda change: change.at):
        of_instant = list(changes)
        banks.apply_changes(of_instant)
        harness.fetch(of_instant[0].item)
    banks.now += 1  # times are rounded to microseconds: the last fetch may end just before the last change
    for item in ledger.items:
        harness.fetch(item)
    create_topics(bootstrap, 1)
    producer = Producer({"bootstrap.servers": bootstrap})
    for record in harness.records:
        producer.produce(record.topic, record.value, record.key, headers=list(record.headers))
    producer.produce(raw_topic("plaid", "transactions"), b"{no json", "plaid|a", headers=[("user", b"u")])
    assert producer.flush(30) == 0
    return banks


def kill_and_recover(spark: SparkSession, world: World, root: Path, kills: Sequence[str]) -> int:
    """Kill one driver after the other; then run stream and replay to their ends. Return the number that died."""
    died = [world.run(root, "--kill", kill) == -signal.SIGKILL for kill in kills]
    layout = Layout(str(root))
    for name, start in (("tables", streams.start_tables), ("replay", None), ("changes", streams.start_changes)):
        if start is None:
            ingest.replay(spark, layout)
        else:
            start(spark, world.bootstrap, layout, checkpoint=f"{root}/_checkpoints/{name}").awaitTermination()
    found = compare_with_ledger(str(root), world.banks.ledger, at=world.banks.now, bootstrap=world.bootstrap)
    assert [str(each) for each in found.differences] == []
    assert found.transactions > 90
    return sum(died)


def functions_that_write() -> set[str]:
    """The names of all functions of `account_linking.tables` that call a writer."""
    found = set()
    for path in Path(tables.__file__).parent.glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and WRITERS & set(called_names(function)):
                found.add(function.name)
    return found


def called_names(function: ast.FunctionDef) -> Iterator[str]:
    for call in ast.walk(function):
        if isinstance(call, ast.Call):
            yield getattr(call.func, "attr", getattr(call.func, "id", ""))


@pytest.mark.timeout(900)
def test_the_steps_reach_every_function_that_writes_a_table(world: World) -> None:
    reached = {str(step["function"]).rpartition(".")[2] for step in world.steps}

    assert functions_that_write() - reached - NOT_EXECUTED == set()
    assert {step["stage"] for step in world.steps} == set(STAGES)


@pytest.mark.timeout(900)
def test_tables_equal_the_ledger_after_kills_at_steps_of_start_batch_and_maintenance(
    spark: SparkSession, world: World, tmp_path: Path
) -> None:
    random = Random(17)
    kills = [world.choose(random, stage) for stage in STAGES]

    assert kill_and_recover(spark, world, tmp_path / "tables", kills) >= 2


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(48))
def test_tables_equal_the_ledger_after_200_kills_at_steps(  # noqa: PLR0917 - pytest passes fixtures by name
    spark: SparkSession,
    world: World,
    tmp_path: Path,
    seed: int,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    random = Random(seed)
    kills = [world.choose(random, stage) for stage in ("start", "batch", "batch", "maintenance", "maintenance")]

    died = kill_and_recover(spark, world, tmp_path / "tables", kills)

    record_testsuite_property(f"kills of seed {seed}", died)  # the figure of the campaign
    assert died >= 3
