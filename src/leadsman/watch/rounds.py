"""Rounds of the detectors: over the captures that changed, for the modes whose trigger events appeared.

A round that leaves modes out keeps their last findings. A mode that is left out can wait for the event that would
complete its chain, so a round with all modes follows within a minute. Captures that got no event but of the reading
itself, which every line of a log brings, wait for it, too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from leadsman.model import Verdict
from leadsman.vocabulary import FILE_READ, SUBJECT_ACTIVE, SUBJECT_IDLE
from leadsman.watch.retention import horizons
from leadsman.words import in_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime, timedelta

    from leadsman.catalogue import Mode
    from leadsman.model import Diagnosis, Finding
    from leadsman.pipeline.request import DiagnosisRequest

ALL_MODES_EVERY_SECONDS = 60.0
"""Of the clock. An event that completes a chain and is no trigger event opens its finding so much later at most."""

OF_READING = frozenset({FILE_READ, SUBJECT_ACTIVE, SUBJECT_IDLE})
"""Events that any line of a log brings: they say that lines were read, and when there were none."""

EXPIRIES_PER_RETENTION = 100
"""Memory holds at most a hundredth more than the retention."""

TABLE_EXPIRIES_PER_RETENTION = 12
"""The table is written anew so often in the time of the retention: each 6 h of the default."""

OFFSETS_BETWEEN_COMPACTIONS = 500
"""Or after so many offsets, each of which left a file."""

DiagnosesByScope = dict[tuple[str, str | None], "Diagnosis"]


class WatchedEvents(Protocol):
    """What a round takes of a watch: which events are new, diagnoses of captures, and that events expire."""

    last_number: int

    def take_new_names(self) -> dict[str, set[str]]:
        """Return the captures that changed since the last call, with the names of their new events."""
        ...

    def diagnose(self, request: DiagnosisRequest, captures: Collection[str] | None = None) -> list[Diagnosis]:
        """Diagnose the current events of captures."""
        ...

    def expire(self, horizons: Mapping[str, datetime], *, is_table_due: bool) -> None:
        """Drop expired events."""
        ...


@dataclass(slots=True)
class Rounds:
    """The rounds of a watch, and the last diagnosis of each capture and cluster."""

    watch: WatchedEvents
    request: DiagnosisRequest
    retention: timedelta
    clock: Callable[[], float] = time.monotonic
    horizons: Mapping[str, datetime] = field(default_factory=dict)
    seconds: float = 0.0
    count: int = 0
    _last: DiagnosesByScope = field(default_factory=dict)
    _all_modes_at: float | None = None
    _pending: set[str] = field(default_factory=set)
    _expired: Mapping[str, datetime] = field(default_factory=dict)
    _table_expired: dict[str, datetime] = field(default_factory=dict)
    _compacted_offset: int | None = None

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """The last diagnosis of each capture and cluster."""
        return list(self._last.values())

    def run(self, now: datetime) -> list[Diagnosis]:
        """Diagnose what has changed; return the diagnoses of the captures that were looked at."""
        new = self.watch.take_new_names()
        is_full = self._all_modes_at is None or self.clock() - self._all_modes_at >= ALL_MODES_EVERY_SECONDS
        changed = {capture for capture, names in new.items() if is_full or not names <= OF_READING}
        self._pending |= set(new) - changed
        captures = changed | (self._pending if is_full else set())
        if not captures:
            return []
        began = self.clock()
        found = self._diagnose(captures, new, is_full=is_full)
        self.seconds = self.clock() - began
        self.count += 1
        self._pending = set() if is_full else self._pending | captures
        self.horizons = horizons(found, self.retention, self.horizons, now=now)
        self._expire()
        return found

    def _diagnose(self, captures: set[str], new: Mapping[str, set[str]], *, is_full: bool) -> list[Diagnosis]:
        request = self.request if is_full else replace(self.request, modes=self._due_modes(captures, new))
        found = self.watch.diagnose(request, captures)
        if not is_full and self._has_other_scopes(captures, found):
            found = self.watch.diagnose(self.request, captures)
        if is_full:
            self._all_modes_at = self.clock()
        found = list(map(_with_zone, found))
        merged = [_merged(self._last.get((each.path, each.cluster)), each, self.request) for each in found]
        self._last = {key: each for key, each in self._last.items() if key[0] not in captures}
        self._last |= {(each.path, each.cluster): each for each in merged}
        return merged

    def _due_modes(self, captures: set[str], new: Mapping[str, set[str]]) -> list[Mode]:
        names = set().union(*new.values()) if new else set()
        last = [each for key, each in self._last.items() if key[0] in captures]
        return [mode for mode in self.request.modes if _is_due(mode, names, last)]

    def _has_other_scopes(self, captures: Collection[str], found: Iterable[Diagnosis]) -> bool:
        """Whether a capture turned out to be of other clusters than before: then no earlier finding can be kept."""
        return {key for key in self._last if key[0] in captures} != {(each.path, each.cluster) for each in found}

    def _expire(self) -> None:
        if not _is_step_done(self._expired, self.horizons, self.retention / EXPIRIES_PER_RETENTION):
            return
        is_table_due = self._is_table_due()
        self.watch.expire(self.horizons, is_table_due=is_table_due)
        self._expired = self.horizons
        if is_table_due:
            self._table_expired, self._compacted_offset = dict(self.horizons), self.watch.last_number

    def _is_table_due(self) -> bool:
        if self._compacted_offset is None:  # the first round: what is in the table was written before
            self._compacted_offset = self.watch.last_number
        self._table_expired = {**self.horizons, **self._table_expired}
        step = self.retention / TABLE_EXPIRIES_PER_RETENTION
        is_many = self.watch.last_number - self._compacted_offset >= OFFSETS_BETWEEN_COMPACTIONS
        return is_many or _is_step_done(self._table_expired, self.horizons, step)


def _is_step_done(done: Mapping[str, datetime], horizons: Mapping[str, datetime], step: timedelta) -> bool:
    """Whether the horizon of any capture has moved on by a step since it was last used."""
    return any(path not in done or horizon - done[path] >= step for path, horizon in horizons.items())


def _is_due(mode: Mode, names: set[str], last: Sequence[Diagnosis]) -> bool:
    """Whether a mode can have another verdict than before: by its trigger events, or because it is not ABSENT."""
    triggers = mode.card.trigger_events
    return (
        not triggers
        or not names.isdisjoint(triggers)
        or any(each.verdicts.get(mode.name) is not Verdict.ABSENT and _is_seen(each, mode.name) for each in last)
    )


def _is_seen(diagnosis: Diagnosis, mode: str) -> bool:
    """Whether the mode's symptom was seen, which a finding with a chain says."""
    return any(each.mode == mode and each.chain for each in diagnosis.findings)


def _with_zone(diagnosis: Diagnosis) -> Diagnosis:
    """Return a diagnosis whose times are in UTC and say so: the embedded engine leaves the zone out."""
    findings = tuple(replace(each, since=_utc(each.since), until=_utc(each.until)) for each in diagnosis.findings)
    return replace(diagnosis, since=_utc(diagnosis.since), until=_utc(diagnosis.until), findings=findings)


def _utc(time: datetime | None) -> datetime | None:
    return in_utc(time) if time else None


def _merged(earlier: Diagnosis | None, now: Diagnosis, request: DiagnosisRequest) -> Diagnosis:
    """Return a diagnosis with the earlier findings of the modes that were left out."""
    if earlier is None or len(now.verdicts) == len(request.modes):
        return now
    kept: list[Finding] = [each for each in earlier.findings if each.mode not in now.verdicts]
    order = list(Verdict)
    findings = sorted((*now.findings, *kept), key=lambda each: (order.index(each.verdict), not each.chain))
    return replace(now, findings=tuple(findings), verdicts={**earlier.verdicts, **now.verdicts})
