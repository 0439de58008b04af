"""Which brokers were restarted: a start of which something shows that the broker had been running before."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.pipeline.conditions.signs import Run

STARTS_WITHIN = 3600.0
"""Seconds that a broker takes to start at most: it reads back its logs after it was killed."""

ALIVE_BEFORE = 5.0
"""Seconds by which a log began before the start: some programs print a little before they start the broker."""


ONE_START = 60.0
"""Seconds. Containers format their storage at each start, by a program that begins as a broker does."""


class Restart(NamedTuple):
    """A restart: the run that began it, from the shutdown or the new start to the end of the start; clean or not."""

    run: Run
    clean: bool
    seconds: float


def restarts_of(found: Mapping[str, Sequence[Run]]) -> list[Restart]:
    """Return the restarts in the order of time. The first start in a log is none, unless the log began before it."""
    starts = sorted((run for run in found.get("started", ()) if run.since), key=lambda run: str(run.since))
    last: dict[str, datetime] = {}
    restarts: list[Restart] = []
    for start in starts:
        assert start.since is not None
        before = last.get(start.thing)
        if before and (start.since - before).total_seconds() <= ONE_START and not _shutdown(start, before, found):
            continue  # one start, told in two files or by two parts of the broker
        restarts += _restart(start, before, found)
        last[start.thing] = start.since
    return restarts


def _restart(start: Run, before: datetime | None, found: Mapping[str, Sequence[Run]]) -> Iterator[Restart]:
    began, stopped = _beginning(start, before, found), _shutdown(start, before, found)
    if stopped is not None:
        yield _between(stopped, start, clean=True)
    elif before is not None:
        yield _between(began or start, start, clean=False)
    elif began is not None and _was_alive(began):
        yield _between(began, start, clean=False)


def _was_alive(began: Run) -> bool:
    """Say whether the log had begun before."""
    return bool(began.well and began.since and (began.since - began.well).total_seconds() > ALIVE_BEFORE)


def _shutdown(start: Run, before: datetime | None, found: Mapping[str, Sequence[Run]]) -> Run | None:
    """Return the last shutdown of the broker before a start, and after the start before it."""
    stops = [stop for stop in found.get("stopping", ()) if stop.thing == start.thing and _within(stop, before, start)]
    return max(stops, key=lambda stop: str(stop.since), default=None)


def _beginning(start: Run, before: datetime | None, found: Mapping[str, Sequence[Run]]) -> Run | None:
    """Return when the process began that finished its start then: it writes the same log."""
    begun = [
        run
        for run in found.get("starting", ())
        if run.thing in start.subjects and _within(run, before, start) and _seconds(run, start) <= STARTS_WITHIN
    ]
    return _first_of_one_start(sorted(begun, key=lambda run: str(run.since), reverse=True))


def _first_of_one_start(begun: Sequence[Run]) -> Run | None:
    """Return the earliest of the beginnings, newest first, that belong to the newest: formatting the storage is one."""
    first = next(iter(begun), None)
    for earlier, later in zip(begun[1:], begun, strict=False):
        if _seconds(earlier, later) > ONE_START:
            break
        first = earlier
    return first


def _within(run: Run, before: datetime | None, start: Run) -> bool:
    return bool(run.since and start.since and run.since <= start.since and (before is None or run.since > before))


def _seconds(run: Run, start: Run) -> float:
    return (start.since - run.since).total_seconds() if run.since and start.since else 0.0


def _between(first: Run, start: Run, *, clean: bool) -> Restart:
    run = first._replace(thing=start.thing, until=start.since)
    return Restart(run, clean, _seconds(first, start))
