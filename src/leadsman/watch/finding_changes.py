"""The life of findings: opened, updated, worse, resolved, reopened; one row of history for each change.

A mode is a cause, so a finding is identified by its mode, capture, cluster and onset. Its id is made once, when it is
opened, and stays while evidence is added or expires. Nothing here reads a clock or a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from leadsman.model import Life, Verdict, finding_id
from leadsman.model.card import RESOLVED_AFTER
from leadsman.words import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from leadsman.model import Diagnosis, Finding

PAUSES_WAITED = 2
"""A finding is resolved after twice the longest pause that was seen between two of its harms: an hourly job that fails
each time is one finding, and does not open and close 24 times a day."""

LONGEST_WAIT = timedelta(days=1)
"""Of a finding that is resolved, harm within this time reopens it; later harm is a new finding. Never longer than the
retention: expired events then change nothing."""

MIN_IDLE_TIME = timedelta(seconds=10)
"""Less would resolve and reopen a finding between two collections, which are 10 s apart by default."""

UPDATED_EVERY = timedelta(minutes=1)
"""A finding in progress changes in each round; its history has a row a minute at most."""

WORSE_FACTOR = 2
"""A finding is worse when twice as many subjects are affected as when it was last reported: each doubling, one message.
Even of 1,000 subjects that fail one after another, that is ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """One change of one finding, noticed at `at`. `number` counts the changes of a finding, from 1.

    `subjects` is how many are affected. `is_news` is False where the last harm was long before the watch began.
    """

    id: str
    number: int
    life: Life
    mode: str
    path: str
    cluster: str | None
    title: str
    since: datetime | None
    until: datetime | None
    subjects: int
    at: datetime
    is_news: bool = True

    @property
    def key(self) -> str:
        """What identifies the change: two messages with one key are one message."""
        return f"{self.id}.{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFinding:
    """A finding as it was last seen. `change` is its last row of history.

    `reported_subjects`: how many were affected when it was last opened, worse or reopened. `is_retracted`: it was
    resolved because the mode was no longer PRESENT. `finding` is None where it cannot be read any more.
    `evidence_since` is the time of its first evidence, which can be that of an earlier finding of the same cause.
    """

    change: FindingChange
    until: datetime | None
    subjects: int
    reported_subjects: int
    evidence_since: datetime | None = None
    longest_pause: timedelta = timedelta()
    is_retracted: bool = False
    finding: Finding | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is not resolved."""
        return self.change.life is not Life.RESOLVED

    @property
    def capture_and_mode(self) -> tuple[str, str]:
        """Capture and mode."""
        return self.change.path, self.change.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeTimes:
    """The times that decide about lives. `resolved_after` is by mode, where a card names its own time.

    `began`: harm that was long before is no news.
    """

    resolved_after: Mapping[str, timedelta] = field(default_factory=dict)
    reopened_within: timedelta = LONGEST_WAIT
    updated_every: timedelta = UPDATED_EVERY
    began: datetime | None = None

    def idle_time(self, known: KnownFinding | None, mode: str) -> timedelta:
        """Return the time without harm after which a finding is resolved."""
        pause = known.longest_pause if known else timedelta()
        adapted = min(PAUSES_WAITED * pause, self.reopened_within)
        return max(adapted, self.resolved_after.get(mode, RESOLVED_AFTER))


@dataclass(frozen=True, slots=True)
class DiagnosedFinding:
    """One finding in one diagnosis, at a time of the clock."""

    diagnosis: Diagnosis
    finding: Finding
    now: datetime

    @property
    def subjects(self) -> int:
        """How many subjects are affected."""
        count = self.finding.subjects.get("affected_count")
        return count if isinstance(count, int) else 1


@dataclass(slots=True)
class FindingHistory:
    """All findings so far, by id."""

    times: LifeTimes = field(default_factory=LifeTimes)
    known: dict[str, KnownFinding] = field(default_factory=dict)

    def update(
        self, diagnoses: Sequence[Diagnosis], horizons: Mapping[str, datetime], now: datetime
    ) -> list[FindingChange]:
        """Return what has changed. `horizons`: of each capture, the time before which events have expired."""
        changes: list[FindingChange] = []
        for path, members in groupby(sorted(diagnoses, key=lambda each: each.path), key=lambda each: each.path):
            changes += self._update_capture(list(members), horizons.get(path), now)
        return changes

    def open_findings(self) -> list[KnownFinding]:
        """Return the findings that are open."""
        return [each for each in self.known.values() if each.is_open]

    def forget_before(self, moment: datetime) -> list[str]:
        """Drop the resolved findings that changed last before a time; return their ids."""
        old = [name for name, each in self.known.items() if not each.is_open and each.change.at < moment]
        for name in old:
            del self.known[name]
        return old

    def _update_capture(
        self, diagnoses: list[Diagnosis], horizon: datetime | None, now: datetime
    ) -> Iterator[FindingChange]:
        seen: set[str] = set()
        clusters = {each.cluster for each in diagnoses}
        for diagnosis in diagnoses:
            for finding in diagnosis.findings:
                known = self._match(diagnosis, finding, clusters, taken=seen)
                if not _continues(finding, known, horizon):
                    continue
                for after in self._seen(known, DiagnosedFinding(diagnosis, finding, now)):
                    yield from self._record(after)
                    seen.add(after.change.id)
        yield from self._unseen(diagnoses, seen, horizon=horizon, now=now)

    def _record(self, after: KnownFinding) -> Iterator[FindingChange]:
        before = self.known.get(after.change.id)
        self.known[after.change.id] = after
        if before is None or before.change.number != after.change.number:
            yield after.change

    def _match(
        self, diagnosis: Diagnosis, finding: Finding, clusters: set[str | None], *, taken: set[str]
    ) -> KnownFinding | None:
        """Return the last finding of this mode, capture and cluster.

        The line that names a cluster can be read later than a finding is opened, and can expire before it is resolved:
        a finding without a cluster, or of one that no diagnosis has, is the same finding.
        """
        of_place = [
            each
            for each in self.known.values()
            if each.capture_and_mode == (diagnosis.path, finding.mode) and each.change.id not in taken
        ]
        same = [each for each in of_place if each.change.cluster == diagnosis.cluster]
        orphans = [
            each
            for each in of_place
            if each.change.cluster not in clusters and None in {each.change.cluster, diagnosis.cluster}
        ]
        return max(same or orphans, key=_recency, default=None)

    def _seen(self, known: KnownFinding | None, sighting: DiagnosedFinding) -> Iterator[KnownFinding]:
        """Yield what becomes of a finding that is seen."""
        if known is None:
            yield from self._opened(sighting, sighting.finding.since)
            return
        harm_at = _next_harm(known, sighting.finding)
        if harm_at is None:
            if known.is_open or (known.is_retracted and not self._is_over(known, sighting)):
                yield self._continued(known, sighting, harm_at)
            return
        pause = harm_at - (known.until or harm_at)
        if not known.is_open and pause > self.times.reopened_within:
            yield from self._opened(sighting, harm_at)
            return
        grown = replace(known, longest_pause=max(known.longest_pause, pause))
        yield (after := self._continued(grown, sighting, harm_at))
        if after.is_open and self._is_over(after, sighting):
            yield _changed(after, Life.RESOLVED, sighting.now)

    def _opened(self, sighting: DiagnosedFinding, onset: datetime | None) -> Iterator[KnownFinding]:
        """Yield a new finding, and its end where it is over already."""
        diagnosis, finding = sighting.diagnosis, sighting.finding
        change = FindingChange(
            id=finding_id(diagnosis, finding.mode, onset),
            number=1,
            life=Life.OPENED,
            mode=finding.mode,
            path=diagnosis.path,
            cluster=diagnosis.cluster,
            title=finding.title,
            since=onset,
            until=finding.until,
            subjects=sighting.subjects,
            at=sighting.now,
        )
        known = KnownFinding(
            change=change,
            until=finding.until,
            subjects=sighting.subjects,
            reported_subjects=sighting.subjects,
            evidence_since=finding.since,
            finding=finding,
        )
        known = replace(known, change=replace(change, is_news=not self._is_old(known)))
        yield known
        if self._is_over(known, sighting):
            yield _changed(known, Life.RESOLVED, sighting.now)

    def _continued(self, known: KnownFinding, sighting: DiagnosedFinding, harm_at: datetime | None) -> KnownFinding:
        """Return a known finding after it was seen again, `harm_at` being the time of its first new harm."""
        finding = sighting.finding
        is_present = finding.verdict is Verdict.PRESENT
        after = replace(
            known,
            until=max(filter(None, (known.until, finding.until)), default=None),
            subjects=sighting.subjects if is_present else known.subjects,
            evidence_since=min(filter(None, (known.evidence_since, finding.since)), default=None),
            finding=finding if is_present else known.finding,
        )
        shown = replace(
            after.change,
            title=finding.title if is_present else known.change.title,
            cluster=sighting.diagnosis.cluster or known.change.cluster,
            since=_earlier(known, finding),
        )
        life = self._life(after, shown, sighting, harm_at=harm_at)
        if life is None:
            return after
        after = replace(after, change=replace(shown, is_news=not self._is_old(after)), is_retracted=False)
        return _changed(after, life, sighting.now)

    def _life(
        self, known: KnownFinding, shown: FindingChange, sighting: DiagnosedFinding, *, harm_at: datetime | None
    ) -> Life | None:
        if not known.is_open or (not known.change.is_news and harm_at is not None and not self._is_old(known)):
            return Life.REOPENED
        if harm_at is None and self._is_over(known, sighting):
            return Life.RESOLVED
        if known.subjects >= WORSE_FACTOR * known.reported_subjects:
            return Life.WORSE
        is_due = sighting.now - known.change.at >= self.times.updated_every
        is_changed = (shown.title, shown.since, shown.cluster, known.until, known.subjects) != (
            known.change.title,
            known.change.since,
            known.change.cluster,
            known.change.until,
            known.change.subjects,
        )
        return Life.UPDATED if is_due and is_changed else None

    def _is_old(self, known: KnownFinding) -> bool:
        """Whether the last harm was long before the watch began: history of a log that was there already."""
        began = self.times.began
        return began is not None and began - (known.until or began) > self.times.idle_time(known, known.change.mode)

    def _is_over(self, known: KnownFinding, sighting: DiagnosedFinding) -> bool:
        """Whether telemetry goes on for the finding's idle time without harm."""
        return _idle_since(known, sighting.diagnosis) > self.times.idle_time(known, known.change.mode)

    def _unseen(
        self, diagnoses: list[Diagnosis], seen: set[str], *, horizon: datetime | None, now: datetime
    ) -> Iterator[FindingChange]:
        """Resolve open findings that are not PRESENT any more.

        That a mode is not PRESENT says nothing where evidence of the finding has expired: then time alone resolves it.
        """
        path = diagnoses[0].path
        for each in self.open_findings():
            if each.change.path != path or each.change.id in seen:
                continue
            diagnosis = _diagnosis_of(each, diagnoses)
            if diagnosis is None or each.change.mode not in diagnosis.verdicts:
                continue
            is_over = _idle_since(each, diagnosis) > self.times.idle_time(each, each.change.mode)
            if is_over or not _has_expired(each, horizon):
                yield from self._record(replace(_changed(each, Life.RESOLVED, now), is_retracted=not is_over))


def _continues(finding: Finding, known: KnownFinding | None, horizon: datetime | None) -> bool:
    """Whether a finding says that harm goes on: it is PRESENT, or it was and a link's evidence has expired since."""
    if finding.verdict is Verdict.PRESENT:
        return True
    is_symptom_seen = finding.verdict is Verdict.UNKNOWN and finding.until is not None
    return is_symptom_seen and known is not None and known.is_open and _has_expired(known, horizon)


def _has_expired(known: KnownFinding, horizon: datetime | None) -> bool:
    """Whether events of the finding's first evidence may be gone."""
    return horizon is not None and (known.evidence_since is None or known.evidence_since < horizon)


def _idle_since(known: KnownFinding, diagnosis: Diagnosis) -> timedelta:
    """Return for how long telemetry has gone on since the last harm."""
    if known.until is None or diagnosis.until is None:
        return timedelta()
    return diagnosis.until - known.until


def _next_harm(known: KnownFinding, finding: Finding) -> datetime | None:
    """Return the first time of harm after the harm that is known; None where there is none."""
    if finding.until is None or known.until is None or finding.until <= known.until:
        return None
    times = (in_utc(each.time) for link in finding.chain for each in link.evidence if each.time is not None)
    return min((time for time in times if time > known.until), default=finding.until)


def _earlier(known: KnownFinding, finding: Finding) -> datetime | None:
    """Return the onset: evidence that is read later can be earlier, evidence that expired moves nothing.

    A finding that followed another one of its mode begins where that one ended.
    """
    since = known.change.since
    if since is None or finding.since is None or known.finding is None or known.finding.since is None:
        return since or finding.since
    followed = known.change.since != known.finding.since and known.finding.since < since
    return since if followed else min(since, finding.since)


def _diagnosis_of(known: KnownFinding, diagnoses: Sequence[Diagnosis]) -> Diagnosis | None:
    """Return the diagnosis of a finding's cluster. Where no diagnosis has that cluster, the only one there is."""
    same = [each for each in diagnoses if each.cluster == known.change.cluster]
    return next(iter(same or (diagnoses if len(diagnoses) == 1 else ())), None)


def _changed(known: KnownFinding, life: Life, now: datetime) -> KnownFinding:
    """Return a finding with one more change."""
    is_report = life in {Life.OPENED, Life.WORSE, Life.REOPENED}
    change = replace(
        known.change,
        number=known.change.number + 1,
        life=life,
        until=known.until,
        subjects=known.subjects,
        at=now,
    )
    reported = known.subjects if is_report else known.reported_subjects
    return replace(known, change=change, reported_subjects=reported)


def _recency(known: KnownFinding) -> tuple[bool, datetime]:
    return known.is_open, known.change.since or datetime.min.replace(tzinfo=UTC)


def reported(changes: Iterable[FindingChange]) -> list[FindingChange]:
    """Return the changes that are news: opened, worse, resolved, reopened; never an update."""
    return [each for each in changes if each.is_news and each.life is not Life.UPDATED]
