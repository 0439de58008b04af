"""What the page and the metrics show: one snapshot after each round, never changed, so that threads can read it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.model import Harm, Verdict
from leadsman.watch.positions import StreamPosition, TopicPosition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leadsman.catalogue import Mode
    from leadsman.model import Diagnosis, Finding, NotUnderstood
    from leadsman.watch.finding_changes import FindingChange, KnownFinding
    from leadsman.watch.live.notices import Notice
    from leadsman.watch.positions import Position, Positions

HARM_ORDER = (Harm.LOST, Harm.CRASHED, Harm.DUPLICATED, Harm.STALLED, Harm.DIED, Harm.DELAYED, Harm.RETAINED)
"""What cannot be made good comes first: records that are lost, then brokers that are gone, then what waits."""

RESOLVED_SHOWN = 20
CHANGES_SHOWN = 30

SHOWN_AGAIN_AFTER = timedelta(seconds=10)
"""An open page gets a new time so often, where nothing else changes. Other changes are sent at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """A finding with its changes, the oldest first; `earlier` counts those that are left out."""

    known: KnownFinding
    changes: tuple[FindingChange, ...]
    harm: tuple[Harm, ...] = ()
    earlier: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedFinding:
    """A finding whose symptom was seen and whose cause is UNKNOWN: it is no open finding, and no reason for calm."""

    path: str
    cluster: str | None
    finding: Finding

    @property
    def mode(self) -> str:
        """The mode that it may be."""
        return self.finding.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """A Kafka topic that is read: its records in numbers.

    `lag`: not read yet, up to the last stable offset. `lost`: deleted before they were read. `set_aside`: kept as
    files, because they cannot be read as lines.
    """

    name: str
    lag: int = 0
    lost: int = 0
    set_aside: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureState:
    """One capture that is read: its files and topics, what is written and not read yet, and its last line.

    A deleted file does not count: its position stays until its events expire, and what was not read of it is lost.
    """

    name: str
    files: int
    lag_bytes: int
    last_line: datetime | None
    lines: int = 0
    not_understood: tuple[NotUnderstood, ...] = ()
    topics: tuple[TopicState, ...] = ()

    @property
    def lag_records(self) -> int:
        """Records that are written to its topics and not read yet."""
        return sum(each.lag for each in self.topics)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryState:
    """The streaming query and the rounds.

    Seconds are those of the last one, or of all (`_total`). A trigger is Spark's, from listing to commit; the batch is
    the part of it in which leadsman takes the events.
    """

    started: datetime
    batches: int = 0
    trigger_seconds: float = 0.0
    trigger_at: str = ""
    batch_seconds_total: float = 0.0
    rounds: int = 0
    round_seconds: float = 0.0
    round_seconds_total: float = 0.0
    events: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationState:
    """How a destination of messages is: counts of messages."""

    destination: str
    waiting: int = 0
    sent: int = 0
    failed: int = 0
    given_up: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that is shown. `revision` is another one for each snapshot whose content differs."""

    query: QueryState
    at: datetime
    revision: int = 0
    open: tuple[ShownFinding, ...] = ()
    undecided: tuple[UndecidedFinding, ...] = ()
    resolved: tuple[ShownFinding, ...] = ()
    resolved_count: int = 0
    captures: tuple[CaptureState, ...] = ()
    destinations: tuple[DestinationState, ...] = ()
    notices: tuple[Notice, ...] = ()
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Findings by mode and state."""


class LiveState:
    """The latest snapshot; one thread writes it, others read it."""

    def __init__(self, started: datetime) -> None:
        self._lock = threading.Lock()
        self._snapshot = Snapshot(query=QueryState(started=started), at=started)
        self._shown_at = started

    @property
    def snapshot(self) -> Snapshot:
        """The latest snapshot."""
        with self._lock:
            return self._snapshot

    def publish(self, snapshot: Snapshot) -> None:
        """Show another snapshot."""
        with self._lock:
            before = self._snapshot
            is_same = replace(snapshot, at=before.at, revision=before.revision, query=before.query) == before
            if is_same and snapshot.at - self._shown_at < SHOWN_AGAIN_AFTER:
                self._snapshot = replace(snapshot, revision=before.revision)
                return
            self._snapshot = replace(snapshot, revision=before.revision + 1)
            self._shown_at = snapshot.at

    def age(self, now: datetime) -> timedelta:
        """Return how old the latest snapshot is."""
        return now - self.snapshot.at


def worst_first(findings: Iterable[ShownFinding]) -> tuple[ShownFinding, ...]:
    """Return the findings in the order of the page: by harm, then by how many are affected, then the newest."""

    def rank(each: ShownFinding) -> tuple[int, int, float]:
        harm = min((HARM_ORDER.index(harm) for harm in each.harm), default=len(HARM_ORDER))
        since = each.known.change.since or datetime.min.replace(tzinfo=UTC)
        return harm, -each.known.subjects, -since.timestamp() if each.known.change.since else 0.0

    return tuple(sorted(findings, key=rank))


def undecided_of(diagnoses: Iterable[Diagnosis]) -> tuple[UndecidedFinding, ...]:
    """Return the findings that are UNKNOWN although their symptom was seen, which those are that have a chain."""
    return tuple(
        UndecidedFinding(path=each.path, cluster=each.cluster, finding=finding)
        for each in diagnoses
        for finding in each.findings
        if finding.verdict is Verdict.UNKNOWN and finding.chain
    )


def capture_states(
    positions: Positions, diagnoses: Sequence[Diagnosis], lag: Mapping[str, Any] | None = None
) -> tuple[CaptureState, ...]:
    """Return the state of each capture that is read. `lag` is what `read_lag` returns."""
    return tuple(
        _capture_state(
            path,
            [each for each in positions.values() if each.capture == path],
            [each for each in diagnoses if each.path == path],
            (lag or {}).get("topics", {}),
        )
        for path in _paths(positions)
    )


def _capture_state(
    path: str, positions: Sequence[Position], diagnoses: Sequence[Diagnosis], topics: Mapping[str, Any]
) -> CaptureState:
    known = (file for each in positions if isinstance(each, StreamPosition) for file in each.files)
    files = [each for each in known if Path(each.path).exists()]
    return CaptureState(
        name=path,
        files=len(files),
        lag_bytes=sum(max(0, each.size - each.read_to) for each in files),
        last_line=max((each.until for each in diagnoses if each.until), default=None),
        lines=sum(each.lines for each in diagnoses),
        not_understood=tuple(dict.fromkeys(part for each in diagnoses for part in each.not_understood)),
        topics=tuple(
            _topic_state(each.name, topics[each.name])
            for each in positions
            if isinstance(each, TopicPosition) and each.name in topics  # nothing is known of those whose broker is down
        ),
    )


def _topic_state(name: str, fields: Mapping[str, Any]) -> TopicState:
    partitions = fields["partitions"].values()
    return TopicState(
        name=name,
        lag=sum(each["lag"] for each in partitions),
        lost=sum(each["lost"] for each in partitions),
        set_aside=fields["set_aside"],
    )


def _paths(positions: Positions) -> list[str]:
    return list(dict.fromkeys(capture for capture, _ in positions))


def counts_of(known: Iterable[KnownFinding], modes: Iterable[Mode]) -> dict[tuple[str, str], int]:
    """Return how many findings there are by mode and state, with zeros: an alert needs a series before the failure."""
    counts = {(mode.name, state): 0 for mode in modes for state in ("open", "resolved")}
    for each in known:
        key = (each.change.mode, "open" if each.is_open else "resolved")
        counts[key] = counts.get(key, 0) + 1
    return counts
