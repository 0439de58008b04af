"""`leadsman watch`: the verdicts of `diagnose`, while telemetry is written."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.catalogue import modes_named, threshold_overrides
from leadsman.cli.commands.diagnose import exit_code
from leadsman.cli.extras import require_extra
from leadsman.cli.notifications import notification_destinations
from leadsman.cli.options import mode_option, parse_pair, spark_options, threshold_option, time_zone
from leadsman.cli.progress import progress
from leadsman.cli.watch_options import check_watch_options
from leadsman.collect.durations import DurationParam
from leadsman.collect.numbers import FiniteNumber
from leadsman.errors import UsageError
from leadsman.notify.kind import kind_names
from leadsman.pipeline.scope.streams import is_url
from leadsman.report.output_format import find_format, format_names
from leadsman.run_folder import memory_folder, run_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from leadsman.pipeline.spark.session import SessionOptions
    from leadsman.watch.messages import SourceMessages
    from leadsman.watch.source import SourceRequests
    from leadsman.watch.watch_loop import WatchLoopOptions
    from leadsman.watch.watch_query import WatchQuery

OBJECTS, RECEIVED = "objects", "received"
"""Folders of the state: copies of objects at URLs, and what arrived at --listen."""

PRIVATE, READABLE = 0o700, 0o777
"""Modes of a new folder of the state, before the umask. Tasks of a cluster can be those of another user."""

EPILOG = """\b
Examples:
  leadsman watch /var/log/services --to state/            open and resolve findings as logs grow
  leadsman watch /var/log/services --to state/ --notify alertmanager=http://127.0.0.1:9093
  leadsman watch /var/log/services --to state/ --serve 127.0.0.1:8080
  leadsman watch --kafka broker:9092 --topic logs --topic metrics --to state/
  leadsman watch s3a://bucket/logs --to state/            each object that appears, once
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


class StartParam(DurationParam):
    """Where topics are read from at the first start."""

    name = "WHERE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | timedelta:  # type: ignore[override]  # noqa: ANN401 - click's signature
        """Return earliest, latest or a duration."""
        if value in ("earliest", "latest"):
            return str(value)
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is neither earliest nor latest, nor a duration such as 30m, 2h or 1d.", param, ctx)


@click.command("watch", epilog=EPILOG)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--kafka",
    metavar="HOST:PORT",
    help="Read topics of this cluster (bootstrap server; several with commas between them).",
)
@click.option("--topic", multiple=True, metavar="NAME", help="With --kafka: read this topic; may be repeated.")
@click.option(
    "--command-config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --kafka: a Java client's properties (SASL, TLS), as for Kafka's own tools.",
)
@click.option(
    "--prometheus",
    metavar="URL",
    help="Ask this Prometheus server for Kafka's main metrics, as `leadsman collect prometheus` does, every 30 s.",
)
@click.option(
    "--from",
    type=StartParam(),
    default="earliest",
    show_default=True,
    help="With --kafka: where topics are read from at the first start: earliest, latest, or so long ago (2h, 1d).",
)
@click.option("--replay", is_flag=True, help="Read captures as if their files were growing now.")
@click.option(
    "--speed",
    type=FiniteNumber(min=0, min_open=True),
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
    type=FiniteNumber(min=0),
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
@mode_option
@threshold_option
@click.option(
    "--retention",
    type=DurationParam(),
    help="How long events are kept, such as 36h or 7d. Default: 3d; with --until-end, for ever.",
)
@click.option(
    "--resolved-after",
    type=DurationParam(),
    help="How long telemetry has to go on without further harm until a finding is resolved. "
    "Default: 15m; 1d for producer_id_leak.",
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
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    help="Take alerts of Alertmanager and maintenance events of clouds, POST /events at this address.",
)
@click.option(
    "--listen-token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --listen: the file of the token that senders have to send.",
)
@spark_options
def command(**options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Watch growing logs, objects and Kafka topics, and report each failure when it begins and when it ends.

    Files are followed as they grow, through rotation and truncation; new files are found. Below a URL that Spark opens
    (s3a, hdfs, gs, abfss), each object is read once. Topics are read as shippers
    write them: lines, JSON of Filebeat, Fluent Bit, Vector or Loki, OTLP. The detectors, the verdicts and the evidence
    are those of `leadsman diagnose`.
    """
    require_extra("spark", "watch")
    require_extra("watch", "watch")
    from leadsman.pipeline.request import DiagnosisRequest
    from leadsman.watch.messages import SourceMessages
    from leadsman.watch.watch_loop import run_watch

    check_watch_options(options)
    if not options["replay"]:  # the files of a replay are listed here
        options["paths"] = _paths_as_listed(options["paths"], options["remote"])
    follow = _loop_options(options)
    request = DiagnosisRequest(
        modes=modes_named(options["mode"]),
        overrides=threshold_overrides(dict(parse_pair(each, "--set") for each in options["set"])),
    )
    with ExitStack() as stack:
        folder = options["to"] or stack.enter_context(run_folder())
        messages = SourceMessages(folder / "sources")
        messages.skip()
        with progress("Starting Spark") as show_step:
            watch = _start(options, folder, stack)
            _report_missing_paths(options, messages)
            _start_stores(options, watch, messages, stack)
            query = stack.enter_context(watch.running())
            if not options["until_end"]:
                show_step("Watching")
                return run_watch(watch, query, request, options=follow, messages=messages)
            show_step("Replaying")
            watch.wait_for_end(query)
            show_step("Diagnosing")
            diagnoses = watch.diagnose(request)
        find_format(options["format"]).with_programs(["."])(diagnoses, sys.stdout)
        sys.stdout.flush()
    return exit_code(diagnoses)


def _report_missing_paths(options: dict[str, Any], messages: SourceMessages) -> None:
    """Say once which paths are not there: a program may make its folder later, or a name is misspelt."""
    if options["replay"] or options["remote"]:
        return
    for path in dict.fromkeys(options["paths"]):
        if not is_url(path) and not Path(path).exists():
            messages.report(f"There is no file or folder at {path}. It is read as soon as there is one.")


def _paths_as_listed(paths: Sequence[str], remote: str | None) -> list[str]:
    """Return the paths as the process takes them that lists files; a Spark Connect server works in another folder."""
    return [str(Path(path).absolute()) if remote and not is_url(path) else path for path in paths]


def _start(options: dict[str, Any], folder: Path, stack: ExitStack) -> WatchQuery:
    """Start Spark, and return the watch of the paths."""
    from leadsman.pipeline.spark.session import session
    from leadsman.watch.file_listing import MAX_TRIGGER_BYTES

    zone = time_zone(options["timezone"])
    max_bytes = options["batch_bytes"] or MAX_TRIGGER_BYTES
    spark = stack.enter_context(session(_session_options(options)))
    from leadsman.pipeline.spark.event_frames import cores  # PySpark is imported while the JVM starts
    from leadsman.watch.file_listing import FolderListing
    from leadsman.watch.replay import ReplayListing
    from leadsman.watch.state.state_folder import locked_state
    from leadsman.watch.watch_query import WatchQuery, WatchQueryOptions, replayed_input
    from leadsman.watch.where_tasks_run import is_local

    stack.enter_context(locked_state(folder, PRIVATE if is_local(spark) else READABLE))
    watch_options = WatchQueryOptions(folder, zone, options["interval"], cores(spark))
    if not options["replay"]:
        private = stack.enter_context(run_folder(memory_folder() if is_local(spark) else folder.resolve()))
        sources = _sources(options, folder, max_bytes, private)
        folders = [path for path in options["paths"] if not is_url(path)]
        listing = FolderListing(folders, max_bytes, without=_state_below(folders, folder))
        return WatchQuery(spark, sources.listing(listing), watch_options, sources)
    inputs = replayed_input(options["paths"], zone)
    watch = WatchQuery(spark, ReplayListing(inputs.streams, zone, options["speed"], max_bytes), watch_options)
    watch.captures = inputs.captures
    return watch


def _sources(options: dict[str, Any], folder: Path, max_bytes: int, private: Path) -> SourceRequests:
    """Return what to read that is no files. Passwords are in the `private` folder as long as the watch runs."""
    from leadsman.watch.kafka.client_settings import write_settings
    from leadsman.watch.kafka.listing import TopicsRequest
    from leadsman.watch.prometheus import prometheus_request
    from leadsman.watch.source import SourceRequests

    topics = prometheus = None
    if options["kafka"]:
        names = tuple(dict.fromkeys(options["topic"]))
        settings_file = write_settings(options["command_config"], private)
        topics = TopicsRequest(
            options["kafka"], names, settings_file, str(folder.resolve()), options["from"], max_bytes
        )
    if options["prometheus"]:
        prometheus = prometheus_request(
            options["prometheus"], capture=_only_capture(options), folder=folder.resolve(), private=private
        )
    objects = [OBJECTS] if any(map(is_url, options["paths"])) else []
    received = [RECEIVED] if options["listen"] else []
    return SourceRequests(topics, prometheus, tuple(str(folder.resolve() / each) for each in (*objects, *received)))


def _only_capture(options: dict[str, Any]) -> str | None:
    """Return the capture that servers belong to: that of --kafka, or else the one path; None where there are more."""
    captures = [f"kafka:{options['kafka']}"] if options["kafka"] else list(dict.fromkeys(options["paths"]))
    return captures[0] if len(captures) == 1 else None


def _start_stores(options: dict[str, Any], watch: WatchQuery, messages: SourceMessages, stack: ExitStack) -> None:
    """Start what puts objects and events into the state: they are read from there.

    Before the query: the functions that read objects are a jar, and a query has a session of its own once it starts.
    """
    from leadsman.watch.objects.stored_objects import StoredObjects

    if urls := [path for path in dict.fromkeys(options["paths"]) if is_url(path)]:
        from leadsman.watch.objects.fetching import ObjectFetcher

        store = StoredObjects(watch.folder.resolve() / OBJECTS)
        fetcher = ObjectFetcher(watch.spark, urls, store, messages.report, lambda: watch.horizons)
        stack.enter_context(fetcher.running())
    if options["listen"]:
        from leadsman.watch.live.address import parse_listen_address
        from leadsman.watch.receiving.server import Receiver, receiving

        address = parse_listen_address(options["listen"], options["listen_token_file"])
        store = StoredObjects(watch.folder.resolve() / RECEIVED)
        receiver = Receiver(store, _only_capture(options) or RECEIVED, address.token, messages.report)
        url = stack.enter_context(receiving(receiver, address))
        messages.report(f"Alerts and maintenance events: POST {url}")


def _session_options(options: dict[str, Any]) -> SessionOptions:
    from leadsman.pipeline.spark.session import SessionOptions
    from leadsman.watch.watch_query import STREAMING_CONF

    conf = {**STREAMING_CONF, **dict(parse_pair(each, "--spark-conf") for each in options["spark_conf"])}
    return SessionOptions(
        master=options["master"],
        remote=options["remote"],
        conf=conf,
        executors=options["executors"],
        is_long_lived=True,
    )


def _loop_options(options: dict[str, Any]) -> WatchLoopOptions:
    """Return how findings are followed. UsageError where an option cannot be used, before Spark is started."""
    from leadsman.watch.finding_changes import MIN_IDLE_TIME
    from leadsman.watch.live.address import parse_listen_address
    from leadsman.watch.retention import MIN_RETENTION, RETENTION
    from leadsman.watch.state.history_table import HistoryTopic
    from leadsman.watch.watch_loop import WatchLoopOptions, parse_address

    for option in ("serve", "listen"):
        if options[option]:
            require_extra("serve", f"watch --{option}")
    if options["listen"]:
        parse_listen_address(options["listen"], options["listen_token_file"])  # wrong before Spark is started
    retention = RETENTION if options["retention"] is None else options["retention"]
    if retention < MIN_RETENTION:
        raise UsageError("--retention takes a minute or more, such as 36h or 7d.")
    if options["resolved_after"] is not None and options["resolved_after"] < MIN_IDLE_TIME:
        raise UsageError("--resolved-after takes 10 s or more, such as 5m or 1h.")
    address = parse_address(options["serve"], options["token_file"]) if options["serve"] else None
    return WatchLoopOptions(
        retention=retention,
        resolved_after=options["resolved_after"],
        destinations=notification_destinations(options["notify"], options["notify_link"]),
        page_url=options["notify_link"] or "",
        topic=HistoryTopic.parse(options["history_topic"]) if options["history_topic"] else None,
        address=address,
        is_replay=options["replay"],
    )


def _state_below(paths: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return the folder of the state as it is found below each path: what a watch writes is nobody's telemetry."""
    state = folder.resolve()
    below = [path for path in paths if state.is_relative_to(Path(path).resolve())]
    return tuple(str(Path(path).absolute() / state.relative_to(Path(path).resolve())) for path in below)
