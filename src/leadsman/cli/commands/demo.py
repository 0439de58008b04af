"""`leadsman demo`: reproduces, diagnoses and cures a failure on a real broker in about a minute."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.capture import MANIFEST
from leadsman.catalogue import modes_named
from leadsman.cli.completion import mode_names
from leadsman.cli.extras import require_extra
from leadsman.cli.terminal import echo
from leadsman.errors import LeadsmanError
from leadsman.model import Diagnosis, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from leadsman.catalogue import Mode

KAFKA = "4.3.1"


EPILOG = """\b
Examples:
  leadsman demo
  leadsman demo --client java@2.7.2     the client of the original incident

\b
Exit codes: 0 broken run PRESENT and cured run ABSENT; 2 any other result.
"""


@click.command("demo", epilog=EPILOG)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/demo"),
    show_default=True,
    help="Folder for the captures and the report.",
)
@click.option(
    "--client", default="confluent-kafka", show_default=True, metavar="NAME[@VERSION]", help="The client that fails."
)
@click.option(
    "--mode",
    default="idle_disconnect",
    show_default=True,
    metavar="NAME",
    shell_complete=mode_names,
    help="The failure mode.",
)
def command(out: Path, client: str, mode: str) -> int:
    """Reproduce a failure on a real broker, diagnose the capture, write the page; then run and diagnose the cured twin.

    The demo succeeds when the broken run is PRESENT and the cured twin is ABSENT.
    """
    require_extra("lab", "demo")
    (failure_mode,) = modes_named([mode])
    from leadsman.pipeline.spark.session import session  # Spark is loaded only now

    _clear(out)
    _title(f"1. {failure_mode.card.title}: on a real broker (Kafka {KAFKA}), with {client}")
    _reproduce(failure_mode, "broken", client, out)
    _title("2. The diagnosis, on Spark")
    with session() as spark:
        broken = _diagnose(spark, out / "broken", out)
        _title("3. The cured twin: the same broker settings, the same idle workers")
        _reproduce(failure_mode, "cured", client, out)
        cured = _diagnose(spark, out / "cured")
    verdicts = broken.verdicts[failure_mode.name], cured.verdicts[failure_mode.name]
    if verdicts != (Verdict.PRESENT, Verdict.ABSENT):
        raise LeadsmanError(
            f"The broken run was {verdicts[0]} instead of PRESENT, or the cured run {verdicts[1]} instead of ABSENT. "
            f"The captures are in {out}. A slow machine can cause this: try again.",
        )
    echo(f"\nBroken: {verdicts[0]}. Cured: {verdicts[1]}. The page: {out / 'report.html'}")
    return 0


def _clear(out: Path) -> None:
    """Remove the captures of an earlier demo, and no other file."""
    for capture in (out / "broken", out / "cured"):
        if (capture / MANIFEST).is_file():
            shutil.rmtree(capture)


def _reproduce(mode: Mode, variant: str, client: str, out: Path) -> None:
    from leadsman.cli.commands.reproduce import harm_summary, run_variant

    echo(harm_summary(run_variant(mode, variant, client=client, kafka=KAFKA, out=out / variant)))


def _diagnose(spark: SparkSession, capture: Path, out: Path | None = None) -> Diagnosis:
    from leadsman.cli.commands.diagnose import write_files
    from leadsman.cli.commands.reproduce import diagnose_capture
    from leadsman.report.console.findings import show_diagnoses

    diagnosis = diagnose_capture(spark, capture, points=out is not None)
    show_diagnoses([diagnosis])
    if out:
        write_files([diagnosis], out)
    return diagnosis


def _title(text: str) -> None:
    echo(f"\n{text}\n", bold=True)
