"""`leadsman diagnose`: names the root cause that a capture shows."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.catalogue import modes_named, threshold_overrides
from leadsman.cli.extras import require_extra
from leadsman.cli.notifications import notification_destinations, notify, page_path
from leadsman.cli.options import (
    TimeParam,
    mode_option,
    parse_pair,
    spark_options,
    spool_pipes,
    threshold_option,
    time_zone,
)
from leadsman.cli.progress import progress
from leadsman.cli.terminal import echo
from leadsman.errors import LeadsmanError
from leadsman.model import DETECTOR_ERRORS, Verdict
from leadsman.notify.kind import kind_names
from leadsman.replacing import replaced_file, replaced_folder
from leadsman.report.output_format import file_formats, find_format, format_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from leadsman.model import Diagnosis
    from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest
    from leadsman.pipeline.scope.streams import File
    from leadsman.pipeline.spark.session import SessionOptions

EPILOG = """\b
Examples:
  leadsman diagnose ./logs                          what broke, and why
  leadsman diagnose ./logs --out report             also a page to send around
  leadsman diagnose ./logs --format json | jq .     for a program
  leadsman diagnose ./logs --format sarif --source src    the lines of src that invite what is PRESENT
  leadsman diagnose ./logs --since 2020-12-20T08:00:00Z --until 2020-12-20T09:00:00Z
  leadsman diagnose ./logs --set idle_disconnect.stall_seconds=130
  kubectl logs deploy/orders --timestamps | leadsman diagnose -
  leadsman diagnose ./logs --out /srv/www/incident --notify slack=https://hooks.slack.com/services/T/B/X
  leadsman diagnose monday/ tuesday/ --out report --table delta
  leadsman diagnose /data/logs --master spark://127.0.0.1:7077 --spark-conf spark.executor.memory=4g

\b
Exit codes:
  0  every mode is ABSENT  1  a failure mode is PRESENT
  2  could not run         3  nothing PRESENT, but something UNKNOWN

\b
More: docs/findings.md (the JSON), docs/configuration.md (every setting)
"""

LARGE_INPUT_BYTES = 200_000_000
"""From so many bytes on, Java compiles to faster code: the optimizing compiler writes the event table of two million
events in a half of the time, and takes longer to start than a small diagnosis takes."""

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
    "--format",
    type=click.Choice(format_names()),
    default="console",
    show_default=True,
    help="Format of standard output.",
)
@mode_option
@click.option(
    "--since", type=TimeParam(), help="Ignore events before this time; ISO 8601, UTC unless the time names a zone."
)
@click.option("--until", type=TimeParam(), help="Ignore events after this time.")
@threshold_option
@click.option(
    "--notify",
    multiple=True,
    metavar="KIND=URL",
    help=f"Send a message about each PRESENT finding; may be repeated. KIND: {', '.join(kind_names())}.",
)
@click.option(
    "--source",
    multiple=True,
    default=["."],
    show_default="the working directory",
    type=click.Path(exists=True),
    metavar="PATH",
    help="With --format sarif: programs and settings that may be at fault; may be repeated.",
)
@click.option("--notify-link", metavar="URL", help="The page that messages link to, instead of the one in --out.")
@spark_options
def command(**options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Read captures, or bare folders and files of logs, and name the root cause with its evidence.

    Files are recognised by content, never by name: logs of clients and brokers in every usual layout, also as wrapped
    by Docker, Kubernetes, journald, AWS Lambda, CloudWatch, Elasticsearch or Loki, compressed or rotated. A PATH can
    be a URL that Spark opens, such as s3a://bucket/logs, a pipe, or - for standard input.
    """
    require_extra("spark", "diagnose")
    from leadsman.pipeline.request import DiagnosisRequest, find_input  # Spark is loaded only now
    from leadsman.pipeline.spark.session import SessionOptions

    output_format = find_format(options["format"])
    destinations = notification_destinations(options["notify"], options["notify_link"])
    request = DiagnosisRequest(
        modes=modes_named(options["mode"]),
        overrides=threshold_overrides(dict(parse_pair(each, "--set") for each in options["set"])),
        since=options["since"],
        until=options["until"],
        points=options["out"] is not None or output_format.has_charts,
    )
    with spool_pipes(options["paths"]) as pipes:
        inputs = find_input(options["paths"], time_zone(options["timezone"]), pipes)
        session_options = SessionOptions(
            master=options["master"],
            remote=options["remote"],
            conf=dict(parse_pair(each, "--spark-conf") for each in options["spark_conf"]),
            executors=options["executors"],
            delta=options["table"] == "delta" and options["out"] is not None,
            is_long_lived=sum(stream.bytes for stream in inputs.streams) >= LARGE_INPUT_BYTES,
        )
        run = _run_diagnosis(inputs, request, session_options, out=options["out"], table=options["table"])
        with run as diagnoses:
            shown = _with_context_lines(diagnoses, inputs.pipes) if output_format.has_charts else diagnoses
            output_format.with_programs(options["source"])(shown, sys.stdout)
            sys.stdout.flush()
    notify(diagnoses, destinations, page_url=options["notify_link"] or page_path(options["out"]))
    return exit_code(diagnoses)


@contextmanager
def _run_diagnosis(
    inputs: DiagnosisInput,
    request: DiagnosisRequest,
    session_options: SessionOptions,
    *,
    out: str | None,
    table: str,
) -> Iterator[list[Diagnosis]]:
    """Yield the diagnoses while Spark still runs: Spark takes a second to stop, and the output does not wait."""
    from leadsman.pipeline.request import read_small_input
    from leadsman.pipeline.spark.session import session

    folder = _make_folder(out) if out else None
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        with progress("Starting Spark") as show_step:
            reading = pool.submit(read_small_input, inputs)
            spark = stack.enter_context(session(session_options))
            from leadsman.pipeline.diagnose import diagnose  # PySpark is imported while the JVM starts

            show_step("Diagnosing")
            write_events = _table_writer(folder, table) if folder else None
            diagnoses = diagnose(spark, reading.result(), request, write_events=write_events)
            if folder:
                show_step("Writing the report")
                write_files(diagnoses, folder, inputs.pipes)
        yield diagnoses


def _make_folder(out: str) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LeadsmanError(f"Cannot write to {out}: {error.strerror}. Choose another folder with --out.") from error
    return folder


def _table_writer(folder: Path, table: str) -> Callable[[DataFrame], None]:
    target = (folder / f"events.{table}").resolve()

    def write_events(events: DataFrame) -> None:
        if table == "delta":  # an overwrite is one transaction: a reader sees the old table or the new one
            events.write.format(table).mode("overwrite").save(str(target))
            return
        with replaced_folder(target) as fresh:
            events.write.format(table).mode("overwrite").save(str(fresh))

    return write_events


def write_files(diagnoses: Sequence[Diagnosis], folder: Path, pipes: Mapping[str, File] | None = None) -> None:
    """Write findings.json and report.html into the folder. `pipes` are the paths that can be read only once."""
    complete = _with_context_lines(diagnoses, pipes or {})
    for each in file_formats():
        with replaced_file(folder / each.file) as stream:
            each.write(complete, stream)
        if each.has_charts:
            echo(f"Report: {folder / each.file}", err=True)
    _write_detector_errors(diagnoses, folder / DETECTOR_ERRORS)


def _write_detector_errors(diagnoses: Sequence[Diagnosis], file: Path) -> None:
    """Write the stack traces of detectors that failed; remove those of an earlier call."""
    file.unlink(missing_ok=True)
    traces = [
        f"{finding.mode} failed on {diagnosis.path}\n{finding.detector_error}\n"
        for diagnosis in diagnoses
        for finding in diagnosis.findings
        if finding.detector_error
    ]
    if traces:
        with replaced_file(file) as stream:
            stream.writelines(traces)
        echo(f"Stack traces of detectors that failed: {file}", err=True)


def _with_context_lines(diagnoses: Sequence[Diagnosis], pipes: Mapping[str, File]) -> list[Diagnosis]:
    """Return the diagnoses with the lines before and after each line of evidence, which the page shows."""
    from leadsman.pipeline.context_lines import add_context_lines

    spooled = {path: file.path for path, file in pipes.items()}
    return [add_context_lines(diagnosis, spooled.get(diagnosis.path)) for diagnosis in diagnoses]


def exit_code(diagnoses: Sequence[Diagnosis]) -> int:
    """Return 1 where a mode is PRESENT, else 3 where one is UNKNOWN, else 0."""
    verdicts = {verdict for diagnosis in diagnoses for verdict in diagnosis.verdicts.values()}
    return next((code for verdict, code in EXIT.items() if verdict in verdicts), 0)
