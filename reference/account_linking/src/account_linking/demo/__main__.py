"""python -m account_linking.demo [--without-provider] [--seconds 60] [--out FOLDER]: a day of webhooks in a minute."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from account_linking.demo import day
from account_linking.demo.balance import Balance, balance
from account_linking.demo.history import households
from account_linking.demo.page import page
from account_linking.demo.siesta import Siesta
from account_linking.demo.simulator.world import Weather, World
from account_linking.demo.stage import Choice, Stage, stage
from account_linking.demo.telling import tell, tell_balance
from account_linking.demo.trouble import EXPECTED, FULL_STORY, in_short, telling_why
from account_linking.providers import every_provider
from account_linking.tables import streams
from account_linking.tables.layout import Layout
from leadsman.pipeline.session import Wanted, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

EVEN, UNEVEN, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all as it should be; the tables or the diagnosis are not; the demo could not go on; Ctrl-C."""

WEATHER = Weather(latency_seconds=0.01, errors=0.01, page_rows=100, per_second=200)
HOUSEHOLDS = 4
EVENTS = 30
"""What happens to each household in a day: more than in life, so that there is something to see."""

SHORTEST_SECONDS, LONGEST_SECONDS = 20.0, 3600.0
"""A shorter day has no room for a worker's quiet time."""

TOLD_AT = tuple(f"{hour:02}:00" for hour in range(0, 24, 3))
"""Where nobody watches a terminal, the log says how far it is."""

INCIDENT = "idle_disconnect"
MEANS = {3: "Modes that are UNKNOWN leave no trace in workers' logs: each says what would settle it."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The command line."""

    without_provider: bool
    seconds: float
    out: Path
    seed: int


def main() -> int:
    """Run the demo; see EXITS."""
    asked = _arguments()
    say = Console(soft_wrap=True)
    try:
        return _run(asked, say)
    except KeyboardInterrupt:
        say.print("\nInterrupted. Everything that was started is stopped.")
        return INTERRUPTED
    except EXPECTED as error:
        say.print("[bold red]The demo could not go on.[/] ", end="")
        say.print(in_short(error, asked.out), markup=False)
        return FAILED


def _run(asked: Asked, say: Console) -> int:
    shutil.rmtree(asked.out, ignore_errors=True)
    asked.out.mkdir(parents=True)
    worker = "as it was in the incident" if asked.without_provider else "with leadsman.clients"
    say.print(
        f"A day of {3 * HOUSEHOLDS} households at three providers, in {asked.seconds:g} s. The worker is {worker}."
    )
    say.print("Starting a broker, three made-up providers, a receiver, Lambda workers, and Spark", style="dim")
    with ExitStack() as stack:
        ledger = households(asked.seed, per_provider=HOUSEHOLDS, providers=tuple(every_provider()))
        running = stack.enter_context(stage(World(ledger, WEATHER, now=-1.0), _choice(asked)))
        spark = stack.enter_context(session(Wanted(delta=True)))
        layout = Layout(str(asked.out.resolve() / "tables"))
        with telling_why(asked.out):
            found = _played(asked, running, spark, layout, say=say)
        page(spark, layout, asked.out / "index.html", found)
        shutil.copytree(running.folder / "logs" / "requester", asked.out / "logs")
    say.print(f"\nA page of charts: {asked.out / 'index.html'}; the tables: {asked.out / 'tables'}")
    named = _diagnose(asked, say)
    return EVEN if found.even and named == asked.without_provider else UNEVEN


def _played(asked: Asked, running: Stage, spark: SparkSession, layout: Layout, *, say: Console) -> Balance:
    """Let the day pass, and print what came of it."""
    queries = _streams(spark, running, layout)
    _day(running, queries, asked, say=say)
    _drain(queries, say)
    tell(spark, layout, running, say=say)
    failed = running.mappings[1].failed
    kinds = ", ".join(f"{count} {name}" for name, count in failed.items())
    say.print(f"\nFailed invocations: {kinds}. Each was tried again." if failed else "\nNo invocation failed.")
    found = balance(spark, layout, running.world.ledger, at=running.world.now)
    tell_balance(found, say=say)
    return found


def _arguments() -> Asked:
    parser = argparse.ArgumentParser(prog="python -m account_linking.demo", description=__doc__)
    parser.add_argument("--without-provider", action="store_true", help="the worker as it was in the incident")
    parser.add_argument("--seconds", type=float, default=60, help="how long the simulated day lasts")
    parser.add_argument("--out", type=Path, default=Path("accounts"), help="folder for tables, page and logs")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another ledger")
    told = parser.parse_args()
    if not SHORTEST_SECONDS <= told.seconds <= LONGEST_SECONDS:
        parser.error(f"--seconds is {told.seconds:g}; a day lasts {SHORTEST_SECONDS:g} to {LONGEST_SECONDS:g} s.")
    if told.out.exists() and not _ours(told.out):
        parser.error(f"{told.out} holds something else than a demo's results. Name another folder with --out.")
    return Asked(without_provider=told.without_provider, seconds=told.seconds, out=told.out, seed=told.seed)


def _ours(out: Path) -> bool:
    """Say whether a folder may be emptied: it is an earlier demo's, or empty."""
    return out.is_dir() and ((out / "tables").is_dir() or {each.name for each in out.iterdir()} <= {FULL_STORY})


def _choice(asked: Asked) -> Choice:
    handler = "account_linking.demo.incident.handler" if asked.without_provider else Choice().requester
    return Choice(requester=handler, forgetful_path=True)


def _streams(spark: SparkSession, running: Stage, layout: Layout) -> list[StreamingQuery]:
    return [
        start(spark, running.bootstrap, layout, checkpoint=f"{layout.root}/_checkpoints/{name}", every="1 second")
        for name, start in (("tables", streams.tables), ("changes", streams.changes))
    ]


def _day(running: Stage, queries: list[StreamingQuery], asked: Asked, *, say: Console) -> None:
    with say.status("Fetching the history of every account") as status:

        def progress(clock: str) -> None:
            _check(queries)
            status.update(f"{clock}  {_so_far(running)}")
            if not say.is_terminal and clock in TOLD_AT:
                say.print(f"{clock}  {_so_far(running)}")

        day.link(running)
        siesta = Siesta.of(running, seconds=asked.seconds)
        day.play(
            running,
            seed=asked.seed + 1,
            per_item=EVENTS,
            lasts_seconds=asked.seconds,
            quiet=siesta.quiet,
            progress=progress,
        )
        status.update("The day is over; the last webhooks are being handled")
        running.handled()
    say.print(f"The day is over: {_so_far(running)}")


def _check(queries: list[StreamingQuery]) -> None:
    """Raise what ended a stream, if one has ended."""
    for query in queries:
        if error := query.exception():
            raise error


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


def _diagnose(asked: Asked, say: Console) -> bool:
    """Let leadsman read the workers' log streams; return whether it names the incident's mode."""
    words = ["diagnose", str(asked.out / "logs"), "--out", str(asked.out / "diagnosis")]
    say.print(f"\n$ leadsman {' '.join(words)}")
    code = subprocess.run([sys.executable, "-m", "leadsman", *words], check=False).returncode
    told = json.loads((asked.out / "diagnosis" / "findings.json").read_text(encoding="utf-8"))
    verdict = told["captures"][0]["verdicts"][INCIDENT]
    say.print(f"Exit code {code}: {INCIDENT} is {verdict}. {MEANS.get(code, '')}")
    return bool(verdict == "PRESENT")


if __name__ == "__main__":
    raise SystemExit(main())
