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

from account_linking.demo import simulated_day
from account_linking.demo.balance import Balance, compare_with_ledger
from account_linking.demo.console_summary import print_balance, print_tables
from account_linking.demo.deployment import Deployment, DeploymentOptions, deploy
from account_linking.demo.error_report import EXPECTED_ERRORS, TRACEBACK_FILE, summarize, summarized_errors
from account_linking.demo.ledger_generator import generate_households
from account_linking.demo.page import write_page
from account_linking.demo.simulator.banks import FaultInjection, SimulatedBanks
from account_linking.demo.worker_freeze import WorkerFreeze
from account_linking.providers import every_provider
from account_linking.tables import streams
from account_linking.tables.layout import Layout
from leadsman.pipeline.spark.session import SessionOptions, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BALANCED, NOT_BALANCED, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: tables and diagnosis are as expected; tables or diagnosis differ; the demo failed; Ctrl-C."""

FAULTS = FaultInjection(latency_seconds=0.01, error_rate=0.01, page_rows=100, calls_per_second=200)
HOUSEHOLDS_PER_PROVIDER = 4
EVENTS_PER_HOUSEHOLD = 30
"""Changes of each household in a day: more than in reality, so that the tables have rows to show."""

MIN_SECONDS, MAX_SECONDS = 20.0, 3600.0
"""A day of less than 20 s has no room for the period in which one worker stays frozen."""

PROGRESS_TIMES = tuple(f"{hour:02}:00" for hour in range(0, 24, 3))
"""Simulated times at which progress is printed where the output is no terminal."""

INCIDENT = "idle_disconnect"
EXIT_CODE_NOTES = {3: "Each failure mode that is UNKNOWN names the input that would decide it."}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of the command line."""

    without_provider: bool
    seconds: float
    out: Path
    seed: int


def main() -> int:
    """Run the demo; return the exit code."""
    options = _parse_arguments()
    console = Console(soft_wrap=True)
    try:
        return _run(options, console)
    except KeyboardInterrupt:
        console.print("\nInterrupted. All processes of the demo are stopped.")
        return INTERRUPTED
    except EXPECTED_ERRORS as error:
        console.print("[bold red]The demo failed.[/] ", end="")
        console.print(summarize(error, options.out), markup=False)
        return FAILED


def _run(options: DemoOptions, console: Console) -> int:
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    worker = (
        "the one of the incident, without leadsman_clients" if options.without_provider else "built on leadsman_clients"
    )
    console.print(
        f"A day of {3 * HOUSEHOLDS_PER_PROVIDER} households at three providers, in {options.seconds:g} s."
        f" The worker is {worker}."
    )
    console.print(
        "Starting a Kafka broker, three simulated providers, the webhook receiver, Lambda workers and Spark",
        style="dim",
    )
    with ExitStack() as stack:
        ledger = generate_households(
            options.seed, per_provider=HOUSEHOLDS_PER_PROVIDER, providers=tuple(every_provider())
        )
        deployment = stack.enter_context(deploy(SimulatedBanks(ledger, FAULTS, now=-1.0), _deployment_options(options)))
        spark = stack.enter_context(session(SessionOptions(delta=True)))
        layout = Layout(str(options.out.resolve() / "tables"))
        with summarized_errors(options.out):
            balance = _run_day(options, deployment, spark, layout, console=console)
        write_page(spark, layout, options.out / "index.html", balance)
        shutil.copytree(deployment.folder / "logs" / "requester", options.out / "logs")
    console.print(f"\nCharts: {options.out / 'index.html'}. Tables: {options.out / 'tables'}")
    incident_found = _diagnose(options, console)
    return BALANCED if balance.is_balanced and incident_found == options.without_provider else NOT_BALANCED


def _run_day(
    options: DemoOptions, deployment: Deployment, spark: SparkSession, layout: Layout, *, console: Console
) -> Balance:
    """Run the simulated day and the streams; print the tables, the failed invocations and the balance."""
    queries = _streams(spark, deployment, layout)
    _run_webhooks(deployment, queries, options, console=console)
    _drain(queries, console)
    print_tables(spark, layout, deployment, console=console)
    failed = deployment.mappings[1].failed_invocations
    kinds = ", ".join(f"{count} {name}" for name, count in failed.items())
    console.print(f"\nFailed invocations: {kinds}. Each was retried." if failed else "\nNo invocation failed.")
    balance = compare_with_ledger(
        layout.root, deployment.banks.ledger, at=deployment.banks.now, bootstrap=deployment.bootstrap
    )
    print_balance(balance, console=console)
    return balance


def _parse_arguments() -> DemoOptions:
    parser = argparse.ArgumentParser(prog="python -m account_linking.demo", description=__doc__)
    parser.add_argument(
        "--without-provider", action="store_true", help="run the worker of the incident, without leadsman_clients"
    )
    parser.add_argument("--seconds", type=float, default=60, help="duration of the simulated day in seconds")
    parser.add_argument("--out", type=Path, default=Path("accounts"), help="folder for tables, charts and logs")
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulated ledger")
    parsed = parser.parse_args()
    if not MIN_SECONDS <= parsed.seconds <= MAX_SECONDS:
        parser.error(f"--seconds is {parsed.seconds:g}; allowed are {MIN_SECONDS:g} to {MAX_SECONDS:g} s.")
    if parsed.out.exists() and not _is_demo_output(parsed.out):
        parser.error(
            f"{parsed.out} has files that are not a demo's results, and the demo would delete them."
            " Choose another folder with --out."
        )
    return DemoOptions(
        without_provider=parsed.without_provider, seconds=parsed.seconds, out=parsed.out, seed=parsed.seed
    )


def _is_demo_output(out: Path) -> bool:
    """Return whether a folder may be emptied: it has an earlier demo's results, or is empty."""
    return out.is_dir() and ((out / "tables").is_dir() or {each.name for each in out.iterdir()} <= {TRACEBACK_FILE})


def _deployment_options(options: DemoOptions) -> DeploymentOptions:
    handler = "account_linking.demo.incident.handler" if options.without_provider else DeploymentOptions().requester
    return DeploymentOptions(requester=handler, drops_idle_connections=True)


def _streams(spark: SparkSession, deployment: Deployment, layout: Layout) -> list[StreamingQuery]:
    return [
        start(spark, deployment.bootstrap, layout, checkpoint=f"{layout.root}/_checkpoints/{name}", every="1 second")
        for name, start in (("tables", streams.start_tables), ("changes", streams.start_changes))
    ]


def _run_webhooks(
    deployment: Deployment, queries: list[StreamingQuery], options: DemoOptions, *, console: Console
) -> None:
    with console.status("Fetching the history of every account") as status:

        def progress(clock: str) -> None:
            _raise_stream_error(queries)
            status.update(f"{clock}  {_progress_text(deployment)}")
            if not console.is_terminal and clock in PROGRESS_TIMES:
                console.print(f"{clock}  {_progress_text(deployment)}")

        simulated_day.announce_history(deployment)
        worker_freeze = WorkerFreeze.plan(deployment, seconds=options.seconds)
        simulated_day.run(
            deployment,
            seed=options.seed + 1,
            per_item=EVENTS_PER_HOUSEHOLD,
            lasts_seconds=options.seconds,
            is_frozen=worker_freeze.is_frozen,
            progress=progress,
        )
        status.update("The simulated day is over; waiting for the last webhooks")
        deployment.wait_until_handled()
    console.print(f"The simulated day is over: {_progress_text(deployment)}")


def _raise_stream_error(queries: list[StreamingQuery]) -> None:
    """Raise the error of a stream that has ended."""
    for query in queries:
        if error := query.exception():
            raise error


def _progress_text(deployment: Deployment) -> str:
    workers = deployment.mappings[1]
    invoked = sum(environment.invocations for environment in workers.environments)
    failed = sum(workers.failed_invocations.values())
    return f"{sum(deployment.sent.values())} webhooks, {invoked} invocations, {failed} failed invocations"


def _drain(queries: list[StreamingQuery], console: Console) -> None:
    began = time.monotonic()
    with console.status("Spark is processing the remaining records"):
        for query in queries:
            query.processAllAvailable()
    for query in queries:
        query.stop()
    console.print(
        f"Spark had processed all records {time.monotonic() - began:.0f} s after the end of the day", style="dim"
    )


def _diagnose(options: DemoOptions, console: Console) -> bool:
    """Run `leadsman diagnose` on the workers' log streams; return whether the incident's failure mode is PRESENT."""
    arguments = ["diagnose", str(options.out / "logs"), "--out", str(options.out / "diagnosis")]
    console.print(f"\n$ leadsman {' '.join(arguments)}")
    code = subprocess.run([sys.executable, "-m", "leadsman", *arguments], check=False).returncode
    findings = json.loads((options.out / "diagnosis" / "findings.json").read_text(encoding="utf-8"))
    verdict = findings["captures"][0]["verdicts"][INCIDENT]
    console.print(f"Exit code {code}: {INCIDENT} is {verdict}. {EXIT_CODE_NOTES.get(code, '')}")
    return bool(verdict == "PRESENT")


if __name__ == "__main__":
    raise SystemExit(main())
