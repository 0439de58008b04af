"""Runs a watch until Ctrl-C: one round after another, a line for each change, the page, and the messages."""

from __future__ import annotations

import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leadsman.report.text.escaping import escape_control_characters
from leadsman.watch.finding_recorder import FindingRecorder, load_history
from leadsman.watch.live.address import ServeAddress, parse_address
from leadsman.watch.live.snapshot import (
    CHANGES_SHOWN,
    RESOLVED_SHOWN,
    DestinationState,
    LiveState,
    QueryState,
    ShownFinding,
    Snapshot,
    capture_states,
    counts_of,
    undecided_of,
    worst_first,
)
from leadsman.watch.messages import read_lag
from leadsman.watch.rounds import Rounds
from leadsman.watch.sending.sender import senders
from leadsman.watch.state.findings_file import FindingsFile
from leadsman.watch.state.history_table import delta_table
from leadsman.watch.state.history_writer import history_writer
from leadsman.words import label_with_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from pyspark.sql.streaming.query import StreamingQuery

    from leadsman.model import Diagnosis
    from leadsman.notify.destination import Destination
    from leadsman.pipeline.request import DiagnosisRequest
    from leadsman.watch.finding_changes import FindingChange, KnownFinding
    from leadsman.watch.messages import SourceMessages
    from leadsman.watch.rounds import InBackground
    from leadsman.watch.sending.sender import OutboxSender
    from leadsman.watch.state.history_table import HistoryTopic
    from leadsman.watch.state.history_writer import HistoryWriter
    from leadsman.watch.watch_query import WatchQuery

__all__ = ["WatchLoopOptions", "parse_address", "run_watch"]

ROUND_SECONDS = 1.0
"""Seconds between two looks at what sources report, where no batch comes before. A batch starts a round at once."""

REPLAYED = (
    "The captures are replayed to their end. The watch and its page stay until Ctrl-C; --until-end ends a replay here "
    "and prints its findings."
)

FINDINGS_FILE = "findings.sqlite"
HISTORY_TABLE = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLoopOptions:
    """How long events are kept, who gets messages, and where the page is served.

    `resolved_after` is the idle time of every mode; None: that of its card.
    """

    retention: timedelta
    resolved_after: timedelta | None = None
    destinations: Sequence[Destination] = ()
    page_url: str = ""
    topic: HistoryTopic | None = None
    address: ServeAddress | None = None
    is_replay: bool = False


@dataclass(slots=True)
class WatchLoop:
    """The rounds of a running watch, and what they show."""

    watch: WatchQuery
    query: StreamingQuery
    recorder: FindingRecorder
    state: LiveState
    messages: SourceMessages
    outbox_senders: Sequence[OutboxSender]
    writer: HistoryWriter
    totals: QueryState
    is_replayed: bool = False
    shown: dict[str, tuple[int, ShownFinding]] = field(default_factory=dict)

    def run(self) -> None:
        """Go on until the query ends or Ctrl-C."""
        while self.watch.is_running(self.query):
            self.step()
            self.watch.wait_for_changes(ROUND_SECONDS)

    def step(self) -> None:
        """Run one round, print what sources report and what has changed, and show it."""
        for message in self.messages.new():
            text = escape_control_characters(message.text)
            print(f"{message.at:%H:%M:%S} {text}", file=sys.stderr, flush=True)  # noqa: T201 - the command's own messages
        changes = self.recorder.step(datetime.now(UTC))
        for change in changes:
            print(change_line(change), flush=True)  # noqa: T201 - the output of the command
        if changes:
            self.writer.notify()
        self.totals = self._query_state()
        self.state.publish(self._snapshot())
        if not self.is_replayed and self.watch.is_at_end():
            self.is_replayed = True
            self.messages.report(REPLAYED)

    def _query_state(self) -> QueryState:
        progress = self.query.lastProgress
        rounds = self.recorder.rounds
        return replace(
            self.totals,
            batches=self.watch.batches,
            batch_seconds_total=self.watch.batch_seconds_total,
            trigger_seconds=_trigger_seconds(progress) if progress else 0.0,
            rounds=rounds.count,
            round_seconds=rounds.seconds,
            round_seconds_total=rounds.seconds_total,
            events=self.watch.event_count(),
        )

    def _snapshot(self) -> Snapshot:
        history, modes = self.recorder.history, self.recorder.rounds.request.modes
        known = list(history.known.values())
        self.shown = {name: each for name, each in self.shown.items() if name in history.known}
        resolved = sorted((each for each in known if not each.is_open), key=lambda each: each.change.at, reverse=True)
        return Snapshot(
            at=datetime.now(UTC),
            query=self.totals,
            open=worst_first(self._shown(each) for each in history.open_findings()),
            undecided=undecided_of(self.recorder.rounds.diagnoses),
            resolved=tuple(self._shown(each) for each in resolved[:RESOLVED_SHOWN]),
            resolved_count=len(resolved),
            captures=capture_states(
                self.watch.positions(), self.recorder.rounds.diagnoses, read_lag(self.messages.folder)
            ),
            destinations=tuple(map(_destination_state, self.outbox_senders)),
            notices=self.watch.notices,
            counts=counts_of(known, modes),
        )

    def _shown(self, known: KnownFinding) -> ShownFinding:
        """Return a finding with its harm and its last changes."""
        change_number, earlier = self.shown.get(known.change.id, (0, None))
        if earlier is not None and change_number == known.change.number:
            return replace(earlier, known=known)
        changes = self.recorder.file.history(known.change.id)
        harm = {mode.name: mode.card.harm for mode in self.recorder.rounds.request.modes}
        shown = ShownFinding(
            known=known,
            changes=tuple(changes[-CHANGES_SHOWN:]),
            harm=harm.get(known.change.mode, ()),
            earlier=max(0, len(changes) - CHANGES_SHOWN),
        )
        self.shown[known.change.id] = known.change.number, shown
        return shown


def run_watch(
    watch: WatchQuery,
    query: StreamingQuery,
    request: DiagnosisRequest,
    *,
    options: WatchLoopOptions,
    messages: SourceMessages,
) -> int:
    """Report each change of a finding, and what sources report, until Ctrl-C."""
    started = datetime.now(UTC)
    folder = watch.folder
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # Kubernetes and systemd end it as Ctrl-C does
    with ExitStack() as stack:
        file = FindingsFile(folder / FINDINGS_FILE)
        stack.callback(file.close)
        state = LiveState(started)
        if options.address:
            from leadsman.watch.live.server import serving  # the extra `serve`

            _log(f"Page: {stack.enter_context(serving(state, options.address))}")
        targets = [delta_table(folder.resolve() / HISTORY_TABLE)]
        if options.topic:
            targets.append(stack.enter_context(options.topic.target()))
        outbox_senders = stack.enter_context(senders(folder / FINDINGS_FILE, options.destinations, _log))
        now = None if options.is_replay else started
        recorder = FindingRecorder(
            rounds=Rounds(
                watch,
                replace(request, conditions=False),  # neither the page nor a message shows any
                options.retention,
                in_background=_in_background(watch, stack),
            ),
            file=file,
            history=load_history(
                file, request.modes, retention=options.retention, now=now, resolved_after=options.resolved_after
            ),
            destinations=options.destinations,
            page_url=options.page_url,
        )
        writer = stack.enter_context(history_writer(folder / FINDINGS_FILE, targets, _log))
        WatchLoop(watch, query, recorder, state, messages, outbox_senders, writer, QueryState(started=started)).run()
    return 0


def _in_background(watch: WatchQuery, stack: ExitStack) -> InBackground:
    """Return how to run a round in one thread that the watch keeps, and that wakes the watch when the round is over.

    At the end of the stack the thread is not waited for: its round ends with the Spark session.
    """
    thread = ThreadPoolExecutor(1, "round-of-all-modes")
    stack.callback(thread.shutdown, wait=False, cancel_futures=True)

    def run(work: Callable[[], list[Diagnosis]]) -> Future[list[Diagnosis]]:
        future = thread.submit(work)
        future.add_done_callback(lambda _: watch.wake())
        return future

    return run


def change_line(change: FindingChange) -> str:
    """Return a change as one line."""
    where = label_with_cluster(change.path, change.cluster) if change.cluster else change.path
    since = f", since {change.since:%Y-%m-%d %H:%M:%S}Z" if change.since else ""
    text = f"{change.at:%H:%M:%S} {change.life.upper():8} {change.mode}: {change.title} [{where}{since}]"
    return escape_control_characters(text)


def _destination_state(sender: OutboxSender) -> DestinationState:
    return DestinationState(
        destination=sender.destination.name,
        waiting=sender.waiting,
        sent=sender.sent,
        failed=sender.failed,
        given_up=sender.given_up,
    )


def _trigger_seconds(progress: object) -> float:
    durations = getattr(progress, "durationMs", None) or {}
    return float(durations.get("triggerExecution", 0)) / 1000


def _log(line: str) -> None:
    print(f"leadsman: {line}", file=sys.stderr, flush=True)  # noqa: T201 - the command's own messages
