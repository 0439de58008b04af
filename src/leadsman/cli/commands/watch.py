"""`leadsman watch`: the verdicts of `diagnose`, while telemetry is written."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.catalogue import modes_named, threshold_overrides
from leadsman.cli.commands.diagnose import exit_code
from leadsman.cli.completion import mode_names
from leadsman.cli.extras import require_extra
from leadsman.cli.notifications import notification_destinations
from leadsman.cli.options import parse_pair, spark_options, time_zone
from leadsman.cli.progress import progress
from leadsman.collect.durations import DurationParam
from leadsman.errors import UsageError
from leadsman.notify.kind import kind_names
from leadsman.report.output_format import find_format, format_names

if TYPE_CHECKING:
    from leadsman.pipeline.spark.session import SessionOptions
    from leadsman.watch.run import FollowOptions
    from leadsman.watch.watching import Watch

EPILOG = """\b
Examples:
  leadsman watch /var/log/services --to state/            open and resolve findings as logs grow
  leadsman watch /var/log/services --to state/ --notify alertmanager=http://127.0.0.1:9093
  leadsman watch /var/log/services --to state/ --serve 127.0.0.1:8080
  leadsman watch --replay capture/ --speed 600            a capture, ten minutes in each second
  leadsman watch --replay capture/ --until-end            to the end of a capture, then its findings
  leadsman watch --replay capture/ --until-end --format json | jq .

\b
With --until-end the output and the exit codes are those of `leadsman diagnose`:
  0  every mode is ABSENT  1  a failure mode is PRESENT
  2  could not run         3  nothing PRESENT, but something UNKNOWN

\b
A watch that was stopped or killed goes on where it was when it is started with the same --to folder.
"""


@click.command("watch", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--replay", is_flag=True, help="Read captures as if their files were growing now.")
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="With --replay: N times as fast as the files grew. Default: as fast as they can be read.",
)
@click.option("--until-end", is_flag=True, help="With --replay: stop at the end, and print the findings.")
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the state: events, checkpoint, findings. Default: a temporary folder, removed at the end.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds between two triggers of the streaming query.",
)
@click.option(
    "--batch-bytes",
    type=click.IntRange(min=1),
    metavar="BYTES",
    help="Bytes that one trigger reads at most. Default: 64 MiB.",
)
@click.option(
    "--format",
    type=click.Choice(format_names()),
    default="console",
    show_default=True,
    help="With --until-end: format of standard output.",
)
@click.option(
    "--mode", multiple=True, metavar="NAME", shell_complete=mode_names, help="Only this failure mode; may be repeated."
)
@click.option(
    "--set",
    multiple=True,
    metavar="MODE.PARAMETER=VALUE",
    help="Change a detector's threshold; may be repeated. `leadsman config` lists them.",
)
@click.option(
    "--retention",
    type=DurationParam(),
    help="How long events are kept, such as 36h or 7d. Default: 3d; with --until-end, for ever.",
)
@click.option(
    "--notify",
    multiple=True,
    metavar="KIND=URL",
    help="Send a message when a finding is opened, gets worse, or is resolved; may be repeated. "
    f"KIND: {', '.join(kind_names())}.",
)
@click.option("--notify-link", metavar="URL", help="The page that messages link to, such as that of --serve.")
@click.option(
    "--history-topic",
    metavar="HOST:PORT/TOPIC",
    help="Write each change of a finding to this Kafka topic as well; it is created compacted.",
)
@click.option("--serve", metavar="ADDRESS:PORT", help="Serve a page, /metrics, /live and /ready at this address.")
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --serve: the file of the token that the page asks for. Needed for any address but loopback.",
)
@spark_options
def command(**options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Watch folders of growing logs, and report each failure when it begins and when it ends.

    Files are followed as they grow, through rotation and truncation; new files are found. The detectors, the verdicts
    and the evidence are those of `leadsman diagnose`. Works on files of this machine, in a local Spark session.
    """
    require_extra("spark", "watch")
    from leadsman.pipeline.request import DiagnosisRequest
    from leadsman.watch.run import run_watch

    _check(options)
    follow = _follow_options(options)
    request = DiagnosisRequest(
        modes=modes_named(options["mode"]),
        overrides=threshold_overrides(dict(parse_pair(each, "--set") for each in options["set"])),
    )
    with ExitStack() as stack:
        folder = options["to"] or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-watch-")))
        with progress("Starting Spark") as show_step:
            watch = _start(options, folder, stack)
            query = stack.enter_context(watch.running())
            if not options["until_end"]:
                show_step("Watching")
                return run_watch(watch, query, request, folder=folder, options=follow)
            show_step("Replaying")
            watch.wait_for_end(query)
            show_step("Diagnosing")
            diagnoses = watch.diagnose(request)
        find_format(options["format"]).write(diagnoses, sys.stdout)
        sys.stdout.flush()
    return exit_code(diagnoses)


def _start(options: dict[str, Any], folder: Path, stack: ExitStack) -> Watch:
    """Start Spark, and return the watch of the paths."""
    from leadsman.pipeline.spark.session import session
    from leadsman.watch.file_listing import MAX_TRIGGER_BYTES

    zone = time_zone(options["timezone"])
    max_bytes = options["batch_bytes"] or MAX_TRIGGER_BYTES
    spark = stack.enter_context(session(_session_options(options)))
    from leadsman.pipeline.spark.event_frames import cores  # PySpark is imported while the JVM starts
    from leadsman.watch.file_listing import FolderListing
    from leadsman.watch.replay import ReplayListing
    from leadsman.watch.watching import Watch, WatchOptions, replayed_input

    watch_options = WatchOptions(folder, zone, options["interval"], cores(spark))
    if not options["replay"]:
        return Watch(spark, FolderListing(options["paths"], max_bytes), watch_options)
    source = replayed_input(options["paths"], zone)
    watch = Watch(spark, ReplayListing(source.streams, zone, options["speed"], max_bytes), watch_options)
    watch.captures = source.captures
    return watch


def _session_options(options: dict[str, Any]) -> SessionOptions:
    from leadsman.pipeline.spark.session import SessionOptions
    from leadsman.watch.watching import STREAMING_CONF

    conf = {**STREAMING_CONF, **dict(parse_pair(each, "--spark-conf") for each in options["spark_conf"])}
    return SessionOptions(
        master=options["master"], remote=options["remote"], conf=conf, executors=options["executors"], delta=True
    )


def _follow_options(options: dict[str, Any]) -> FollowOptions:
    """Return how findings are followed. UsageError where an option cannot be used, before Spark is started."""
    from leadsman.watch.retention import MIN_RETENTION, RETENTION
    from leadsman.watch.run import FollowOptions, parse_address
    from leadsman.watch.state.history_table import HistoryTopic

    if options["serve"]:
        require_extra("serve", "watch --serve")
    retention = RETENTION if options["retention"] is None else options["retention"]
    if retention < MIN_RETENTION:
        raise UsageError("--retention takes a minute or more, such as 36h or 7d.")
    address = parse_address(options["serve"], options["token_file"]) if options["serve"] else None
    return FollowOptions(
        retention=retention,
        destinations=notification_destinations(options["notify"], options["notify_link"]),
        link=options["notify_link"] or "",
        topic=HistoryTopic.parse(options["history_topic"]) if options["history_topic"] else None,
        address=address,
        is_replay=options["replay"],
    )


def _check(options: dict[str, Any]) -> None:
    for flag, name in (("speed", "--speed"), ("until_end", "--until-end")):
        if options[flag] and not options["replay"]:
            raise UsageError(f"{name} is for --replay: telemetry that is still written has no end.")
    if options["until_end"]:
        for name in ("retention", "notify", "history_topic", "serve"):
            if options[name] not in {None, ()}:
                raise UsageError(f"--{name.replace('_', '-')} is for a watch that goes on, not for --until-end.")
    if options["token_file"] and not options["serve"]:
        raise UsageError("--token-file is for --serve.")
    if options["format"] != "console" and not options["until_end"]:
        raise UsageError("--format is for --until-end. Without it, each change of a finding is one line.")
