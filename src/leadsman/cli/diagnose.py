"""`leadsman diagnose`: from a capture to a named cause."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.catalogue import modes_named, overrides
from leadsman.cli.complete import mode_names
from leadsman.cli.input import Moment, inputs, pair, spark_options, zone
from leadsman.cli.parts import need
from leadsman.cli.progress import progress
from leadsman.errors import LeadsmanError
from leadsman.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from leadsman.model import Diagnosis
    from leadsman.pipeline.question import Input, Question
    from leadsman.pipeline.session import Wanted
    from leadsman.pipeline.streams import File

EPILOG = """\b
Examples:
  leadsman diagnose ./logs                          what broke, and why
  leadsman diagnose ./logs --out report             also a page to send around
  leadsman diagnose ./logs --format json | jq .     for a program
  leadsman diagnose ./logs --since 2020-12-20T08:00:00Z --until 2020-12-20T09:00:00Z
  leadsman diagnose ./logs --set idle_disconnect.stall_seconds=130
  kubectl logs deploy/orders --timestamps | leadsman diagnose -
  leadsman diagnose monday/ tuesday/ --out report --table delta
  leadsman diagnose /data/logs --master spark://127.0.0.1:7077 --spark-conf spark.executor.memory=4g

\b
Exit codes:
  0  nothing found        1  a failure mode is PRESENT
  2  could not run        3  nothing PRESENT, but something UNKNOWN

\b
More: docs/findings.md (the JSON), docs/configuration.md (every setting)
"""

EXIT = {Verdict.PRESENT: 1, Verdict.UNKNOWN: 3, Verdict.ABSENT: 0}


@click.command("diagnose", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--out", type=click.Path(file_okay=False), help="Write report.html, findings.json and the event table here."
)
@click.option(
    "--table",
    type=click.Choice(["parquet", "delta"]),
    default="parquet",
    show_default=True,
    help="Format of the event table in --out.",
)
@click.option(
    "--format", type=click.Choice(["console", "json"]), default="console", show_default=True, help="What to print."
)
@click.option(
    "--mode", multiple=True, metavar="NAME", shell_complete=mode_names, help="Only this failure mode; may be repeated."
)
@click.option("--since", type=Moment(), help="Leave out what came before; ISO 8601, UTC unless it says otherwise.")
@click.option("--until", type=Moment(), help="Leave out what came after.")
@click.option(
    "--set",
    multiple=True,
    metavar="MODE.PARAMETER=VALUE",
    help="Change a detector's threshold; may be repeated. `leadsman config` lists them.",
)
@spark_options
def command(**options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Read captures, or bare folders and files of logs, and name the root cause with its evidence.

    Files are recognised by content, never by name: logs of clients and brokers in every usual layout, also as wrapped
    by Docker, Kubernetes, journald, AWS Lambda, CloudWatch, Elasticsearch or Loki, compressed or rotated. A PATH can
    be a URL that Spark opens, such as s3a://bucket/logs, a pipe, or - for standard input.
    """
    need("spark", "diagnose")
    from leadsman.pipeline.question import Question, look  # noqa: PLC0415 - Spark is loaded only now
    from leadsman.pipeline.session import Wanted  # noqa: PLC0415

    question = Question(
        modes=modes_named(options["mode"]),
        overrides=overrides(dict(pair(each, "--set") for each in options["set"])),
        since=options["since"],
        until=options["until"],
        points=options["out"] is not None,
    )
    wanted = Wanted(
        master=options["master"],
        remote=options["remote"],
        conf=dict(pair(each, "--spark-conf") for each in options["spark_conf"]),
        executors=options["executors"],
        delta=options["table"] == "delta" and options["out"] is not None,
    )
    with inputs(options["paths"]) as pipes:
        source = look(options["paths"], zone(options["timezone"]), pipes)
        with _diagnosed(source, question, wanted, out=options["out"], table=options["table"]) as diagnoses:
            _show(diagnoses, options["format"])
    return exit_code(diagnoses)


@contextmanager
def _diagnosed(
    source: Input, question: Question, wanted: Wanted, *, out: str | None, table: str
) -> Iterator[list[Diagnosis]]:
    """Yield the diagnoses while Spark still runs: to end it takes a second, in which they can be read already."""
    from leadsman.pipeline.question import read_small  # noqa: PLC0415
    from leadsman.pipeline.session import session  # noqa: PLC0415

    folder = _made(out) if out else None
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        with progress("Starting Spark") as say:
            reading = pool.submit(read_small, source)
            spark = stack.enter_context(session(wanted))
            from leadsman.pipeline.diagnose import diagnose  # noqa: PLC0415 - PySpark is imported while the JVM starts

            say("Diagnosing")
            diagnoses = diagnose(spark, reading.result(), question, keep=_keeper(folder, table) if folder else None)
            if folder:
                say("Writing the report")
                write(diagnoses, folder, source.pipes)
        yield diagnoses


def _made(out: str) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LeadsmanError(f"Cannot write to {out}: {error.strerror}. Choose another folder with --out.") from error
    return folder


def _keeper(folder: Path, table: str) -> Callable[[DataFrame], None]:
    target = str((folder / f"events.{table}").resolve())

    def keep(events: DataFrame) -> None:
        events.write.format(table).mode("overwrite").save(target)

    return keep


def write(diagnoses: Sequence[Diagnosis], folder: Path, pipes: Mapping[str, File] | None = None) -> None:
    """Write findings.json and report.html into the folder. `pipes` are the paths that could be read once only."""
    from leadsman.pipeline.neighbours import with_neighbours  # noqa: PLC0415
    from leadsman.report.findings_json import dumps  # noqa: PLC0415
    from leadsman.report.page import write_page  # noqa: PLC0415

    places = {path: file.path for path, file in (pipes or {}).items()}
    diagnoses = [with_neighbours(diagnosis, places.get(diagnosis.path)) for diagnosis in diagnoses]

    (folder / "findings.json").write_text(dumps(diagnoses) + "\n", encoding="utf-8")
    click.echo(f"Report: {write_page(diagnoses, folder / 'report.html')}", err=True)


def _show(diagnoses: Sequence[Diagnosis], form: str) -> None:
    if form == "json":
        from leadsman.report.findings_json import dumps  # noqa: PLC0415

        click.echo(dumps(diagnoses))
        return
    from leadsman.report.console import show  # noqa: PLC0415

    show(diagnoses)


def exit_code(diagnoses: Sequence[Diagnosis]) -> int:
    """Return 1 where a mode is PRESENT, else 3 where one is UNKNOWN, else 0."""
    found = {verdict for diagnosis in diagnoses for verdict in diagnosis.verdicts.values()}
    return next((code for verdict, code in EXIT.items() if verdict in found), 0)
