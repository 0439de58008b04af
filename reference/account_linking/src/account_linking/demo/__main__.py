"""python -m account_linking.demo [--without-provider] [--seconds 60] [--out FOLDER]: a day of webhooks in a minute.

Beside the application's workers the demo runs those of the incident, on the same webhooks, and compares both.
"""

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

from account_linking.demo import incident, simulated_day
from account_linking.demo.balance import compare_with_ledger
from account_linking.demo.console_summary import print_balance, print_tables, print_workers
from account_linking.demo.deployment import (
    COMPARED,
    PATH_IDLE_LIMIT_SECONDS,
    Deployment,
    DeploymentOptions,
    deploy,
)
from account_linking.demo.error_report import EXPECTED_ERRORS, TRACEBACK_FILE, summarize, summarized_errors
from account_linking.demo.ledger_generator import generate_households
from account_linking.demo.page import DayReport, day_report, write_page
from account_linking.demo.simulator.banks import FaultInjection, SimulatedBanks
from account_linking.demo.unusable_records import send_unusable_records
from account_linking.demo.worker_freeze import WorkerFreeze
from account_linking.providers import every_provider
from account_linking.tables import streams
from account_linking.tables.layout import Layout
from leadsman.pipeline.spark.session import SessionOptions, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BALANCED, NOT_BALANCED, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: tables and diagnosis are as expected; tables or diagnosis differ; the demo failed; Ctrl-C."""

FAULTS = FaultInjection(latency_seconds=0.01, error_rate=0.01, page_rows=100, calls_per_second=40)
"""40 calls a second: less than the workers make when they fetch the history, so that the limit is reached."""

HOUSEHOLDS_PER_PROVIDER = 4
EVENTS_PER_HOUSEHOLD = 30
"""Changes of each household in a day: more than in reality, so that the tables have rows to show."""

MIN_SECONDS, MAX_SECONDS = 20.0, 3600.0
"""A day of less than 20 s has no room for the period in which one worker stays frozen."""

PROGRESS_TIMES = tuple(f"{hour:02}:00" for hour in range(0, 24, 3))
"""Simulated times at which progress is printed where the output is no terminal."""

INCIDENT = "idle_disconnect"
BROKER_SETTINGS = "server.properties"
LOGS = {"requester": "workers", COMPARED: "workers-of-the-incident"}
"""The folder of each function's logs below `logs`: leadsman diagnoses each as a capture."""


@dataclass(frozen=True, slots=True)
class RunningDiagnosis:
    """A running `leadsman diagnose`, and its arguments."""

    arguments: Sequence[str]
    process: subprocess.Popen[bytes]


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
    workers = (
        "The workers are those of the incident, without leadsman_clients."
        if options.without_provider
        else "The workers are built on leadsman_clients; those of the incident get the same webhooks, for comparison."
    )
    console.print(
        f"A day of {3 * HOUSEHOLDS_PER_PROVIDER} households at three providers, in {options.seconds:g} s. {workers}"
    )
    ledger = generate_households(options.seed, per_provider=HOUSEHOLDS_PER_PROVIDER, providers=tuple(every_provider()))
    banks = SimulatedBanks(ledger, FAULTS, now=-1.0)
    with ExitStack() as stack:
        with console.status("Starting Spark, a Kafka broker, three simulated providers, the receiver and the workers"):
            spark = stack.enter_context(session(SessionOptions(delta=True, is_long_lived=True)))
            deployment = stack.enter_context(deploy(banks, _deployment_options(options)))
        with summarized_errors(options.out):
            report, diagnosis = _run_day(options, deployment, spark, stack=stack, console=console)
        write_page(report, options.out / "index.html")
        console.print(f"\nPage: {options.out / 'index.html'}. Tables: {options.out / 'tables'}")
        is_as_expected = _report_diagnosis(options, diagnosis, console=console)
    return BALANCED if report.balance.is_balanced and is_as_expected else NOT_BALANCED


def _run_day(
    options: DemoOptions, deployment: Deployment, spark: SparkSession, *, stack: ExitStack, console: Console
) -> tuple[DayReport, RunningDiagnosis]:
    """Run the simulated day and the streams; print the tables, what the workers did, and the balance."""
    layout = Layout(str(options.out.resolve() / "tables"))
    simulated_day.send_history_webhooks(deployment)
    with console.status("Creating the tables; the workers fetch the history of every account"):
        queries = _streams(spark, deployment, layout)
    _run_webhooks(deployment, queries, options, console=console)
    diagnosis = _start_diagnosis(options, deployment)
    stack.callback(diagnosis.process.kill)
    _drain(queries, console)
    with console.status("Reading the tables"):
        print_tables(spark, layout, deployment, console=console)
    with console.status("Comparing every value of tables and topics with the ledger"):
        balance = compare_with_ledger(
            layout.root, deployment.banks.ledger, at=deployment.banks.now, bootstrap=deployment.bootstrap
        )
        report = day_report(spark, layout, deployment, balance, idle_limit_seconds=PATH_IDLE_LIMIT_SECONDS)
    print_workers(report.groups, console=console)
    print_balance(balance, console=console)
    _print_rest(report, console)
    return report, diagnosis


def _print_rest(report: DayReport, console: Console) -> None:
    """Print what no table took, and what the providers' limits cost."""
    limit = report.rate_limit
    console.print(
        f"Dead letters: {len(report.dead_letters)}. Quarantine: {report.quarantine.waiting} records."
        f" The providers answered {limit.limited} of {limit.calls:,} calls with 429, which cost"
        f" {limit.waiting_seconds:.1f} s of waiting, and {limit.errors} with 500; all were repeated."
    )


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
    if options.without_provider:
        return DeploymentOptions(requester=incident.HANDLER, drops_idle_connections=True)
    return DeploymentOptions(compared_requester=incident.HANDLER, drops_idle_connections=True)


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

        deployment.wait_until_handled()
        send_unusable_records(deployment)
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


def _start_diagnosis(options: DemoOptions, deployment: Deployment) -> RunningDiagnosis:
    """Copy the workers' logs and the broker's settings, and start `leadsman diagnose` on them, beside the streams."""
    logs = options.out / "logs"
    for name, folder in LOGS.items():
        if (deployment.folder / "logs" / name).is_dir():
            shutil.copytree(deployment.folder / "logs" / name, logs / folder / "clients")
            (logs / folder / "brokers").mkdir()
            shutil.copy(deployment.brokers.nodes[0].folder / BROKER_SETTINGS, logs / folder / "brokers")
    arguments = ["diagnose", *map(str, sorted(logs.iterdir())), "--out", str(options.out / "diagnosis")]
    output = (options.out / "diagnosis.txt").open("w", encoding="utf-8")
    with output:
        process = subprocess.Popen([sys.executable, "-m", "leadsman", *arguments], stdout=output, stderr=output)
    return RunningDiagnosis(arguments, process)


def _report_diagnosis(options: DemoOptions, diagnosis: RunningDiagnosis, *, console: Console) -> bool:
    """Print the diagnosis; return whether the incident is PRESENT for the workers of the incident, and for no other."""
    console.print(f"\n$ leadsman {' '.join(diagnosis.arguments)}")
    with console.status("Diagnosing the workers' logs"):
        code = diagnosis.process.wait()
    console.print((options.out / "diagnosis.txt").read_text(encoding="utf-8"), markup=False, highlight=False)
    findings = json.loads((options.out / "diagnosis" / "findings.json").read_text(encoding="utf-8"))
    verdicts = {Path(each["path"]).name: each["verdicts"][INCIDENT] for each in findings["captures"]}
    summary = ", ".join(f"{verdict} in {name}" for name, verdict in verdicts.items())
    console.print(f"Exit code {code}. {INCIDENT}: {summary}.")
    has_incident = {name: options.without_provider or folder == LOGS[COMPARED] for name, folder in LOGS.items()}
    return all(
        (verdicts[LOGS[name]] == "PRESENT") is has for name, has in has_incident.items() if LOGS[name] in verdicts
    )


if __name__ == "__main__":
    raise SystemExit(main())
