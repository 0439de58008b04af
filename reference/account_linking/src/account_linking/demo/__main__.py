"""python -m account_linking.demo [--without-provider] [--seconds 60] [--out FOLDER]: a day of webhooks in a minute."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from account_linking.demo import day
from account_linking.demo.balance import Balance, balance
from account_linking.demo.history import households
from account_linking.demo.page import page
from account_linking.demo.siesta import Siesta
from account_linking.demo.simulator.world import Weather, World
from account_linking.demo.stage import Choice, Stage, stage
from account_linking.providers import every_provider
from account_linking.tables import streams
from account_linking.tables.layout import Layout
from leadsman.pipeline.session import Wanted, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

EVEN, UNEVEN = 0, 1
WEATHER = Weather(latency_seconds=0.01, errors=0.01, page_rows=100, per_second=200)
HOUSEHOLDS = 4
EVENTS = 30
"""What happens to each household in a day: more than in life, so that there is something to see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The command line."""

    without_provider: bool
    seconds: float
    out: Path
    seed: int


def main() -> int:
    """Run the demo; 0 if the tables balance with the ledger."""
    asked = _arguments()
    say = Console()
    shutil.rmtree(asked.out, ignore_errors=True)
    asked.out.mkdir(parents=True)
    worker = "as it was in the incident" if asked.without_provider else "with leadsman.clients"
    say.print(
        f"A day of {3 * HOUSEHOLDS} households at three providers, in {asked.seconds:g} s. The worker is {worker}."
    )
    say.print("Starting a broker, three made-up providers, a receiver, Lambda workers, and Spark", style="dim")
    with ExitStack() as stack:
        world = World(
            households(asked.seed, per_provider=HOUSEHOLDS, providers=tuple(every_provider())), WEATHER, now=-1.0
        )
        running = stack.enter_context(stage(world, _choice(asked)))
        spark = stack.enter_context(session(Wanted(delta=True)))
        layout = Layout(str(asked.out.resolve() / "tables"))
        queries = _streams(spark, running, layout)
        _day(running, asked, say)
        _drain(queries, say)
        found = balance(spark, layout, world.ledger, at=world.now)
        _tell(spark, layout, running, found, say=say)
        page(spark, layout, asked.out / "index.html", found)
        shutil.copytree(running.folder / "logs" / "requester", asked.out / "logs")
    say.print(f"A page of charts: {asked.out / 'index.html'}; the tables: {asked.out / 'tables'}")
    _diagnose(asked, say)
    return EVEN if found.even else UNEVEN


def _arguments() -> Asked:
    parser = argparse.ArgumentParser(prog="python -m account_linking.demo", description=__doc__)
    parser.add_argument("--without-provider", action="store_true", help="the worker as it was in the incident")
    parser.add_argument("--seconds", type=float, default=60, help="how long the simulated day lasts")
    parser.add_argument("--out", type=Path, default=Path("accounts"), help="folder for tables, page and logs")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another ledger")
    told = parser.parse_args()
    if told.out.exists() and not (told.out / "tables").is_dir() and any(told.out.iterdir()):
        parser.error(f"{told.out} holds something else than a demo's results. Name another folder with --out.")
    return Asked(without_provider=told.without_provider, seconds=told.seconds, out=told.out, seed=told.seed)


def _choice(asked: Asked) -> Choice:
    handler = "account_linking.demo.incident.handler" if asked.without_provider else Choice().requester
    return Choice(requester=handler, forgetful_path=True)


def _streams(spark: SparkSession, running: Stage, layout: Layout) -> list[StreamingQuery]:
    return [
        start(spark, running.bootstrap, layout, checkpoint=f"{layout.root}/_checkpoints/{name}", every="1 second")
        for name, start in (("tables", streams.tables), ("changes", streams.changes))
    ]


def _day(running: Stage, asked: Asked, say: Console) -> None:
    with say.status("Fetching the history of every account") as status:
        day.link(running)
        siesta = Siesta.of(running, seconds=asked.seconds)
        day.play(
            running,
            seed=asked.seed + 1,
            per_item=EVENTS,
            lasts_seconds=asked.seconds,
            quiet=siesta.quiet,
            progress=lambda clock: status.update(f"{clock}  {_so_far(running)}"),
        )
        status.update("The day is over; the last webhooks are being handled")
        running.handled()
    say.print(f"The day is over: {_so_far(running)}")


def _so_far(running: Stage) -> str:
    workers = running.mappings[1]
    invoked = sum(environment.invocations for environment in workers.environments)
    failed = sum(workers.failed.values())
    return f"{sum(running.sent.values())} webhooks, {invoked} invocations, {failed} failed"


def _drain(queries: list[StreamingQuery], say: Console) -> None:
    began = time.monotonic()
    with say.status("Spark takes in the rest"):
        for query in queries:
            query.processAllAvailable()
    for query in queries:
        query.stop()
    say.print(f"Spark had taken in everything {time.monotonic() - began:.0f} s later", style="dim")


def _tell(spark: SparkSession, layout: Layout, running: Stage, found: Balance, *, say: Console) -> None:
    """Print what is in the tables, and whether it is the ledger."""
    table = Table("class", "transactions", "known by", title="What the transactions are")
    for row in spark.sql(
        f"select class, count(*) as n, concat_ws(', ', array_sort(collect_set(class_source))) as by "
        f"from {layout.sql('classified')} where not is_deleted group by class order by n desc"
    ).collect():
        table.add_row(row["class"], f"{row.n:,}", row.by)
    say.print(table)
    failed = running.mappings[1].failed
    say.print(f"Failed invocations: {failed or 'none'}; all were tried again." if failed else "No invocation failed.")
    for name, rows in (
        ("missing", found.missing),
        ("surplus", found.surplus),
        ("doubled", found.doubled),
        ("of another amount", found.amounts),
    ):
        if rows:
            say.print(f"[bold red]{len(rows)} {name}[/]: {', '.join(rows[:5])}")
    totals = ", ".join(f"{amount:,.2f} {currency}" for currency, amount in sorted(found.total.items()))
    if found.even:
        say.print(
            f"[bold green]Balanced.[/] {found.transactions:,} transactions, each exactly once, to the cent: {totals}"
        )


def _diagnose(asked: Asked, say: Console) -> None:
    """Let leadsman read the workers' log streams."""
    logs = asked.out / "logs"
    say.print(f"\n$ leadsman diagnose {logs}")
    subprocess.run([sys.executable, "-m", "leadsman", "diagnose", str(logs)], check=False)


if __name__ == "__main__":
    raise SystemExit(main())
