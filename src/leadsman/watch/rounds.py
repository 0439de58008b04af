"""Rounds of the detectors: over the captures and clusters that changed, for the modes whose trigger events appeared.

A round that leaves modes out keeps their last findings. A mode that is left out can wait for the event that would
complete its chain, so a round with all modes follows within a minute. Files that got no event but of the reading
itself, which every line of a log brings, wait for it, too. It takes longer than the others, which go on beside it.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from leadsman.model import Verdict
from leadsman.vocabulary import FILE_READ, SUBJECT_ACTIVE, SUBJECT_IDLE
from leadsman.watch.retention import horizons
from leadsman.words import in_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime, timedelta

    from leadsman.catalogue import Mode
    from leadsman.model import Diagnosis, Finding
    from leadsman.pipeline.request import DiagnosisRequest
    from leadsman.pipeline.scope.clusters import ClusterScope
    from leadsman.watch.event_store import NamesByFile, ScopedCaptures

    InBackground = Callable[[Callable[[], list[Diagnosis]]], Future[list[Diagnosis]]]

ALL_MODES_EVERY_SECONDS = 60.0
"""Of the clock. An event that completes a chain and is no trigger event opens its finding so much later at most."""

OF_READING = frozenset({FILE_READ, SUBJECT_ACTIVE, SUBJECT_IDLE})
"""Events that any line of a log brings: they say that lines were read, and when there were none."""

EXPIRIES_PER_RETENTION = 100
"""Memory holds at most a hundredth more than the retention."""

TABLE_EXPIRIES_PER_RETENTION = 12
"""The table is written anew so often in the time of the retention: each 6 h of the default."""

QUERY_OFFSETS_BETWEEN_COMPACTIONS = 500
"""Or after so many query offsets, each of which left a file."""

ScopeKey = tuple[str, str | None]
"""A capture, and a cluster of it. `None`: what belongs to no single cluster, or a capture that names none."""


class WatchedEvents(Protocol):
    """What a round takes of a watch: which events are new, diagnoses of captures, and that events expire."""

    last_query_offset: int

    def take_new_names(self) -> dict[str, NamesByFile]:
        """Return the captures that changed since the last call, with the names of events that came or went."""
        ...

    def current(self, captures: Collection[str]) -> ScopedCaptures:
        """Return the current scopes and events of captures."""
        ...

    def diagnose(self, request: DiagnosisRequest, scoped: ScopedCaptures) -> list[Diagnosis]:
        """Diagnose some scopes."""
        ...

    def expire(self, horizons: Mapping[str, datetime], *, is_table_due: bool) -> None:
        """Drop expired events."""
        ...


@dataclass(slots=True)
class FullRound:
    """A round of all modes that runs beside the others. `newer`: what these found meanwhile."""

    diagnoses: Future[list[Diagnosis]]
    began: float
    newer: dict[ScopeKey, Diagnosis] = field(default_factory=dict)


@dataclass(slots=True)
class Rounds:
    """The rounds of a watch, and the last diagnosis of each capture and cluster.

    `in_background` runs the rounds of all modes but the first, so that a symptom does not wait for them; None: no round
    runs beside another.
    """

    watch: WatchedEvents
    request: DiagnosisRequest
    retention: timedelta
    clock: Callable[[], float] = time.monotonic
    in_background: InBackground | None = None
    horizons: Mapping[str, datetime] = field(default_factory=dict)
    seconds: float = 0.0
    seconds_total: float = 0.0
    count: int = 0
    _last: dict[ScopeKey, Diagnosis] = field(default_factory=dict)
    _scopes: dict[ScopeKey, ClusterScope] = field(default_factory=dict)
    _full_round: FullRound | None = None
    _all_modes_at: float | None = None
    _pending: dict[str, NamesByFile] = field(default_factory=dict)
    _expired: Mapping[str, datetime] = field(default_factory=dict)
    _table_expired: dict[str, datetime] = field(default_factory=dict)
    _compacted_in: int | None = None

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """The last diagnosis of each capture and cluster."""
        return list(self._last.values())

    def run(self, now: datetime) -> list[Diagnosis]:
        """Diagnose what has changed; return the diagnoses of the scopes that were looked at."""
        new = self.watch.take_new_names()
        _add_names(self._pending, new)
        is_over = self._is_full_round_due() and self._begin_full_round()
        found = self._take_full_round()
        if not is_over:
            found += self._diagnose_symptoms(new)
        if found:
            self.horizons = horizons(found, self.retention, self.horizons, now=now)
            self._expire()
        return found

    def _is_full_round_due(self) -> bool:
        if self._full_round is not None or not self._pending:
            return False
        return self._all_modes_at is None or self.clock() - self._all_modes_at >= ALL_MODES_EVERY_SECONDS

    def _begin_full_round(self) -> bool:
        """Begin a round of all modes over what has changed since the last one. Return whether it has ended, too."""
        current = self.watch.current(self._pending)
        scoped = current.only([each for each in current.scopes if self._is_changed(each, self._pending[each.path])])
        is_first = self._all_modes_at is None
        run = _at_once if is_first or self.in_background is None else self.in_background
        self._pending = {}
        self._note_scopes(current)
        began = self.clock()
        self._full_round = FullRound(run(lambda: self.watch.diagnose(self.request, scoped)), began)
        return self._full_round.diagnoses.done()

    def _take_full_round(self) -> list[Diagnosis]:
        """Return the diagnoses of a round of all modes that has ended, with what other rounds found meanwhile."""
        ended = self._full_round
        if ended is None or not ended.diagnoses.done():
            return []
        self._full_round = None
        diagnoses = map(_with_zone, ended.diagnoses.result())
        found = {key: each for each in diagnoses if (key := (each.path, each.cluster)) in self._scopes}
        merged = {
            key: _merged(each, ended.newer[key], self.request) if key in ended.newer else each
            for key, each in found.items()
        }
        self._last |= merged
        self._all_modes_at = self.clock()
        self._count(self.clock() - ended.began)
        return list(merged.values())

    def _diagnose_symptoms(self, new: Mapping[str, NamesByFile]) -> list[Diagnosis]:
        """Diagnose the scopes with events for which a mode waits; the others wait for the round of all modes."""
        changed = _with_symptoms(new)
        if not changed:
            return []
        began = self.clock()
        current = self.watch.current(changed)
        scopes = [each for each in current.scopes if self._is_changed(each, changed[each.path])]
        scopes = [each for each in scopes if self._is_reshaped(each) or self._due_modes([each], changed)]
        if not scopes:
            return []
        is_reshaped = any(map(self._is_reshaped, scopes))
        request = self.request if is_reshaped else replace(self.request, modes=self._due_modes(scopes, changed))
        found = {
            (each.path, each.cluster): _with_zone(each) for each in self.watch.diagnose(request, current.only(scopes))
        }
        if self._full_round:
            newer = self._full_round.newer
            newer |= {key: _merged(newer.get(key), each, self.request) for key, each in found.items()}
        merged = {key: _merged(self._last.get(key), each, self.request) for key, each in found.items()}
        self._note_scopes(current)
        self._last |= merged
        self._count(self.clock() - began)
        return list(merged.values())

    def _note_scopes(self, current: ScopedCaptures) -> None:
        """Note what the scopes of these captures are now; forget the diagnoses of those that are no more."""
        self._scopes = {key: each for key, each in self._scopes.items() if key[0] not in current.captures}
        self._scopes |= {_key(each): each for each in current.scopes}
        self._last = {key: each for key, each in self._last.items() if key in self._scopes}

    def _count(self, seconds: float) -> None:
        self.seconds = seconds
        self.seconds_total += seconds
        self.count += 1

    def _is_changed(self, scope: ClusterScope, changed: NamesByFile) -> bool:
        return self._scopes.get(_key(scope)) != scope or not scope.files.isdisjoint(changed)

    def _is_reshaped(self, scope: ClusterScope) -> bool:
        """Whether files came from another scope, or went to one: then no earlier finding can be kept.

        A new scope of new files has no earlier finding: until the round of all modes, those that are due suffice.
        """
        before = self._scopes.get(_key(scope))
        if before is not None and not before.files <= scope.files:
            return True
        others = (each for each in self._scopes.values() if each.path == scope.path and each is not before)
        return any(not scope.files.isdisjoint(each.files) for each in others)

    def _due_modes(self, scopes: Sequence[ClusterScope], changed: Mapping[str, NamesByFile]) -> list[Mode]:
        names = {name for each in scopes for file in each.files for name in changed[each.path].get(file, ())}
        last = [self._last[key] for each in scopes if (key := _key(each)) in self._last]
        return [mode for mode in self.request.modes if _is_due(mode, names, last)]

    def _expire(self) -> None:
        if not _is_step_done(self._expired, self.horizons, self.retention / EXPIRIES_PER_RETENTION):
            return
        is_table_due = self._is_table_due()
        self.watch.expire(self.horizons, is_table_due=is_table_due)
        self._expired = self.horizons
        if is_table_due:
            self._table_expired, self._compacted_in = dict(self.horizons), self.watch.last_query_offset

    def _is_table_due(self) -> bool:
        if self._compacted_in is None:  # the first round: what is in the table was written before
            self._compacted_in = self.watch.last_query_offset
        self._table_expired = {**self.horizons, **self._table_expired}
        step = self.retention / TABLE_EXPIRIES_PER_RETENTION
        is_many = self.watch.last_query_offset - self._compacted_in >= QUERY_OFFSETS_BETWEEN_COMPACTIONS
        return is_many or _is_step_done(self._table_expired, self.horizons, step)


def _at_once(work: Callable[[], list[Diagnosis]]) -> Future[list[Diagnosis]]:
    done: Future[list[Diagnosis]] = Future()
    done.set_result(work())
    return done


def _key(scope: ClusterScope) -> ScopeKey:
    return scope.path, scope.cluster


def _with_symptoms(new: Mapping[str, NamesByFile]) -> dict[str, NamesByFile]:
    """Return the files that got other events than those of the reading itself, by capture."""
    found = {
        capture: {file: names for file, names in files.items() if not names <= OF_READING}
        for capture, files in new.items()
    }
    return {capture: files for capture, files in found.items() if files}


def _add_names(pending: dict[str, NamesByFile], new: Mapping[str, NamesByFile]) -> None:
    for capture, files in new.items():
        of_capture = pending.setdefault(capture, {})
        for file, names in files.items():
            of_capture.setdefault(file, set()).update(names)


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
