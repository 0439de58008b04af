"""`leadsman reproduce MODE`: reproduces a failure on a real broker, with or without its cure."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.catalogue import Mode, every_mode, modes_named
from leadsman.cli.completion import mode_names
from leadsman.cli.extras import require_extra
from leadsman.cli.progress import steps
from leadsman.cli.terminal import echo
from leadsman.errors import UsageError
from leadsman.run_folder import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from leadsman.lab.run.reproduce import RunOutcome
    from leadsman.model import Diagnosis

EPILOG = """\b
Examples:
  leadsman reproduce idle_disconnect                            with confluent-kafka
  leadsman reproduce idle_disconnect --client java@2.7.2        the client of the original incident
  leadsman reproduce idle_disconnect --cured                    no harm, ABSENT
  leadsman reproduce idle_disconnect --near-miss broker_restart similar symptoms, other cause
  leadsman reproduce idle_disconnect --out capture              keep the capture

\b
Exit codes: those of `leadsman diagnose` (1: PRESENT); 2 where the experiment could not run; with --no-diagnose 0
after the run.
"""


@click.command("reproduce", epilog=EPILOG)
@click.argument("mode", shell_complete=mode_names)
@click.option(
    "--client",
    default="",
    show_default="the client of the incident",
    metavar="NAME[@VERSION]",
    help="java, confluent-kafka, kafka-python or aiokafka; java takes a version, such as java@2.7.2.",
)
@click.option("--cured", is_flag=True, help="Run the cured twin.")
@click.option("--near-miss", metavar="NAME", help="Run a near miss: similar symptoms, another cause.")
@click.option("--variant", metavar="NAME", help="Run any variant by its name, such as broken_frozen.")
@click.option("--kafka", default="4.3.1", show_default=True, metavar="VERSION", help="Version of the brokers.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the capture to this folder; without --out it is deleted.",
)
@click.option("--keep", is_flag=True, help="Keep the brokers' data folder beside the capture.")
@click.option("--diagnose/--no-diagnose", default=True, show_default=True, help="Diagnose the capture afterwards.")
def command(mode: str, **options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Start brokers on free loopback ports, run the program that fails, and measure the harm by the stored records.

    All processes and files are removed at the end, also on failure and on Ctrl-C. Short limits stand for long ones
    (3 s for 600 s); the capture names them.
    """
    require_extra("lab", "reproduce")
    (failure_mode,) = modes_named([mode])
    name = _variant_name(cured=options["cured"], near_miss=options["near_miss"], variant=options["variant"])
    if options["keep"] and options["out"] is None:
        raise UsageError("--keep needs --out DIR: the brokers' data folder is written beside the capture.")
    with _capture_folder(options["out"]) as folder:
        given = {each: options[each] for each in ("client", "kafka", "keep")}
        outcome = run_variant(failure_mode, name, out=folder, **given)
        echo(harm_summary(outcome))
        return _diagnose(folder) if options["diagnose"] else 0


def run_variant(mode: Mode, variant: str, *, client: str, kafka: str, out: Path, keep: bool = False) -> RunOutcome:
    """Run one variant of a mode's experiment, with its progress on standard error."""
    from leadsman.lab.run.reproduce import run  # the clients' libraries are loaded only now

    with steps() as show_step:
        return run(
            mode.scenario.EXPERIMENT,
            out=out,
            client=client,
            variant=variant,
            kafka=kafka,
            keep=keep,
            progress=show_step,
        )


def harm_summary(outcome: RunOutcome) -> str:
    """Return the figures of the experiment's ledger in two lines."""
    ledger = outcome.ledger
    harm = ", ".join(f"{count} {kind}" for kind, count in outcome.harm.items() if count) or "none"
    seconds = (outcome.ended - outcome.began).total_seconds()
    return (
        f"{outcome.mode}, {outcome.variant}, {outcome.client} on Kafka {outcome.kafka}: {seconds:.0f} s\n"
        f"Records: {ledger.sent} sent, {ledger.acknowledged} acknowledged, {ledger.stored} stored. Harm: {harm}."
    )


def diagnose_capture(spark: SparkSession, capture: Path, *, points: bool = False) -> Diagnosis:
    """Diagnose one capture for every mode."""
    from leadsman.pipeline.diagnose import diagnose  # Spark is loaded only now
    from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input

    inputs = read_small_input(find_input([str(capture)]))
    (diagnosis,) = diagnose(spark, inputs, DiagnosisRequest(modes=every_mode(), points=points))
    return diagnosis


def _diagnose(capture: Path) -> int:
    from leadsman.cli.commands.diagnose import exit_code
    from leadsman.cli.progress import progress
    from leadsman.pipeline.spark.session import session
    from leadsman.report.console.findings import show_diagnoses

    with progress("Diagnosing the capture"), session() as spark:
        diagnosis = diagnose_capture(spark, capture)
    show_diagnoses([diagnosis])
    return exit_code([diagnosis])


def _variant_name(*, cured: bool, near_miss: str | None, variant: str | None) -> str:
    names = [name for name in ("cured" if cured else None, near_miss, variant) if name]
    if len(names) > 1:
        raise UsageError("Choose one of --cured, --near-miss and --variant.")
    return names[0] if names else "broken"


@contextmanager
def _capture_folder(out: Path | None) -> Iterator[Path]:
    """Yield a folder for the capture: `out`, or a temporary one."""
    if out is not None:
        yield out
        return
    with run_folder() as scratch:
        yield scratch / "capture"
