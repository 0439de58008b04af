"""`leadsman demo`: the whole way in about a minute, from a real broker to a named cause, and to its cure."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.capture import MANIFEST
from leadsman.catalogue import modes_named
from leadsman.cli.complete import mode_names
from leadsman.cli.parts import need
from leadsman.errors import LeadsmanError
from leadsman.model import Diagnosis, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from leadsman.catalogue import Mode

KAFKA = "4.3.1"


EPILOG = """\b
Examples:
  leadsman demo
  leadsman demo --client java@2.7.2     the words of the original incident

\b
Exit codes: 0 it went as it should; 2 it did not.
"""


@click.command("demo", epilog=EPILOG)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/demo"),
    show_default=True,
    help="Captures and the report land here.",
)
@click.option(
    "--client", default="confluent-kafka", show_default=True, metavar="NAME[@VERSION]", help="The client that suffers."
)
@click.option(
    "--mode",
    default="idle_disconnect",
    show_default=True,
    metavar="NAME",
    shell_complete=mode_names,
    help="The failure.",
)
def command(out: Path, client: str, mode: str) -> int:
    """Reproduce a failure on a real broker, diagnose the capture on Spark, write the page; then show the cured twin.

    It goes as it should when the failure is named and its cured twin is found healthy.
    """
    need("lab", "demo")
    (chosen,) = modes_named([mode])
    from leadsman.pipeline.session import session  # noqa: PLC0415 - Spark is loaded only now

    _clear(out)
    _title(f"1. {chosen.card.title}: on a real broker (Kafka {KAFKA}), with {client}")
    _play(chosen, "broken", client, out)
    _title("2. The diagnosis, on Spark")
    with session() as spark:
        broken = _diagnose(spark, out / "broken", out)
        _title("3. The cured twin: the same broker settings, the same quiet workers")
        _play(chosen, "cured", client, out)
        cured = _diagnose(spark, out / "cured")
    verdicts = broken.verdicts[chosen.name], cured.verdicts[chosen.name]
    if verdicts != (Verdict.PRESENT, Verdict.ABSENT):
        raise LeadsmanError(
            f"The demo did not go as it should: broken was {verdicts[0]}, cured {verdicts[1]}. "
            f"The captures are in {out}; a machine that is short of time can cause it: try again.",
        )
    click.echo(f"\nBroken: {verdicts[0]}. Cured: {verdicts[1]}. The page: {out / 'report.html'}")
    return 0


def _clear(out: Path) -> None:
    """Remove the captures of an earlier demo, and nothing else that may lie there."""
    for capture in (out / "broken", out / "cured"):
        if (capture / MANIFEST).is_file():
            shutil.rmtree(capture)


def _play(mode: Mode, variant: str, client: str, out: Path) -> None:
    from leadsman.cli.reproduce import harm, play  # noqa: PLC0415

    click.echo(harm(play(mode, variant, client=client, kafka=KAFKA, out=out / variant)))


def _diagnose(spark: SparkSession, capture: Path, out: Path | None = None) -> Diagnosis:
    from leadsman.cli.diagnose import write  # noqa: PLC0415
    from leadsman.cli.reproduce import diagnosis_of  # noqa: PLC0415
    from leadsman.report.console import show  # noqa: PLC0415

    diagnosis = diagnosis_of(spark, capture, points=out is not None)
    show([diagnosis])
    if out:
        write([diagnosis], out)
    return diagnosis


def _title(text: str) -> None:
    click.echo(f"\n{click.style(text, bold=True)}\n")
