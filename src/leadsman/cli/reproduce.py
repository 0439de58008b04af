"""`leadsman reproduce MODE`: the failure on a real broker, with and without its cure."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.catalogue import Mode, every_mode, modes_named
from leadsman.cli.complete import mode_names
from leadsman.cli.parts import need
from leadsman.cli.progress import steps
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from leadsman.lab.reproduce import Outcome
    from leadsman.model import Diagnosis

EPILOG = """\b
Examples:
  leadsman reproduce idle_disconnect                            with confluent-kafka
  leadsman reproduce idle_disconnect --client java@2.7.2        the incident's own words
  leadsman reproduce idle_disconnect --cured                    no harm, nothing found
  leadsman reproduce idle_disconnect --near-miss broker_restart looks alike, is not
  leadsman reproduce idle_disconnect --out capture              keep the capture

\b
Exit codes: those of the diagnosis that follows (1: the failure was named); 2 where the experiment could not run;
with --no-diagnose 0 once it has run.
"""


@click.command("reproduce", epilog=EPILOG)
@click.argument("mode", shell_complete=mode_names)
@click.option(
    "--client",
    default="",
    show_default="who suffered in the incident",
    metavar="NAME[@VERSION]",
    help="java, confluent-kafka, kafka-python or aiokafka; java takes a version, such as java@2.7.2.",
)
@click.option("--cured", is_flag=True, help="Play the cured twin instead.")
@click.option("--near-miss", metavar="NAME", help="Play what looks alike and is not.")
@click.option("--variant", metavar="NAME", help="Play any variant by its name, such as broken_frozen.")
@click.option("--kafka", default="4.3.1", show_default=True, metavar="VERSION", help="Version of the brokers.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the capture here; otherwise it is thrown away.",
)
@click.option("--keep", is_flag=True, help="Keep the brokers' own folder beside the capture.")
@click.option("--diagnose/--no-diagnose", default=True, show_default=True, help="Diagnose the capture afterwards.")
def command(mode: str, **options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Start brokers on free loopback ports, run the program that suffers, and measure the harm by what was stored.

    Everything is stopped and removed at the end, on failure and on Ctrl-C. Short limits stand for long ones (3 s for
    600 s); the capture says so.
    """
    need("lab", "reproduce")
    (chosen,) = modes_named([mode])
    name = _variant(cured=options["cured"], near_miss=options["near_miss"], variant=options["variant"])
    if options["keep"] and options["out"] is None:
        raise UsageError("--keep needs --out DIR: the brokers' folder is put beside the capture.")
    with _folder(options["out"]) as folder:
        outcome = play(chosen, name, client=options["client"], kafka=options["kafka"], out=folder, keep=options["keep"])
        click.echo(harm(outcome))
        return _diagnosed(folder) if options["diagnose"] else 0


def play(mode: Mode, variant: str, *, client: str, kafka: str, out: Path, keep: bool = False) -> Outcome:
    """Run one variant of a mode's experiment, its progress on standard error."""
    from leadsman.lab.reproduce import run  # noqa: PLC0415 - the clients' libraries are loaded only now

    with steps() as say:
        return run(
            mode.scenario.EXPERIMENT, out=out, client=client, variant=variant, kafka=kafka, keep=keep, progress=say
        )


def harm(outcome: Outcome) -> str:
    """Say what the experiment's ledger holds, in a few lines."""
    ledger = outcome.ledger
    told = ", ".join(f"{count} {kind}" for kind, count in outcome.harm.items() if count) or "none"
    seconds = (outcome.ended - outcome.began).total_seconds()
    return (
        f"{outcome.mode}, {outcome.variant}, {outcome.client} on Kafka {outcome.kafka}: {seconds:.0f} s\n"
        f"Records: {ledger.sent} sent, {ledger.acknowledged} acknowledged, {ledger.stored} stored. Harm: {told}."
    )


def diagnosis_of(spark: SparkSession, capture: Path, *, points: bool = False) -> Diagnosis:
    """Diagnose one capture for every mode."""
    from leadsman.pipeline.diagnose import diagnose  # noqa: PLC0415 - Spark is loaded only now
    from leadsman.pipeline.question import Question, look, read_small  # noqa: PLC0415 - Spark is loaded only now

    (diagnosis,) = diagnose(spark, read_small(look([str(capture)])), Question(modes=every_mode(), points=points))
    return diagnosis


def _diagnosed(capture: Path) -> int:
    from leadsman.cli.diagnose import exit_code  # noqa: PLC0415
    from leadsman.cli.progress import progress  # noqa: PLC0415
    from leadsman.pipeline.session import session  # noqa: PLC0415
    from leadsman.report.console import show  # noqa: PLC0415

    with progress("Diagnosing the capture"), session() as spark:
        diagnosis = diagnosis_of(spark, capture)
    show([diagnosis])
    return exit_code([diagnosis])


def _variant(*, cured: bool, near_miss: str | None, variant: str | None) -> str:
    chosen = [name for name in ("cured" if cured else None, near_miss, variant) if name]
    if len(chosen) > 1:
        raise UsageError("Choose one of --cured, --near-miss and --variant.")
    return chosen[0] if chosen else "broken"


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Yield a folder for the capture: the one that was asked for, or one that goes away again."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="leadsman-") as scratch:
        yield Path(scratch) / "capture"
