"""Finds the restarts of brokers: starts of a broker that events show to have been running before."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.pipeline.conditions.episodes import Episode

MAX_START_SECONDS = 3600.0
"""A broker takes so long to start at most: it recovers its logs after it was killed."""

SAME_START_SECONDS = 60.0
"""Containers format their storage at each start, by a program whose log begins as a broker's does. Between the two a
busy machine waits for seconds."""


class Restart(NamedTuple):
    """A restart. `episode` lasts from the shutdown, or from the beginning of the new start, to the end of the start.

    `clean`: the broker had logged a shutdown.
    """

    episode: Episode
    clean: bool
    seconds: float


def find_restarts(by_kind: Mapping[str, Sequence[Episode]]) -> list[Restart]:
    """Return the restarts by time. The first start in a log is no restart, unless the log began earlier."""
    starts = sorted(
        (episode for episode in by_kind.get("started", ()) if episode.since), key=lambda episode: str(episode.since)
    )
    last: dict[str, datetime] = {}
    restarts: list[Restart] = []
    for start in starts:
        assert start.since is not None
        before = last.get(start.thing)
        if (
            before
            and (start.since - before).total_seconds() <= SAME_START_SECONDS
            and not _shutdown(start, before, by_kind)
        ):
            continue  # one start, logged in two files or by two components of the broker
        restarts += _restart(start, before, by_kind)
        last[start.thing] = start.since
    return restarts


def _restart(start: Episode, before: datetime | None, by_kind: Mapping[str, Sequence[Episode]]) -> Iterator[Restart]:
    beginning, shutdown = _beginning(start, before, by_kind), _shutdown(start, before, by_kind)
    if shutdown is not None:
        yield _between(shutdown, start, clean=True)
    elif before is not None:
        yield _between(beginning or start, start, clean=False)
    elif beginning is not None and _was_alive(beginning):
        yield _between(beginning, start, clean=False)


def _was_alive(beginning: Episode) -> bool:
    """Say whether the log began too long before the start to be part of it."""
    return bool(
        beginning.first_healthy
        and beginning.since
        and (beginning.since - beginning.first_healthy).total_seconds() > SAME_START_SECONDS
    )


def _shutdown(start: Episode, before: datetime | None, by_kind: Mapping[str, Sequence[Episode]]) -> Episode | None:
    """Return the last shutdown of the broker between the previous start and this one."""
    stops = [stop for stop in by_kind.get("stopping", ()) if stop.thing == start.thing and _within(stop, before, start)]
    return max(stops, key=lambda stop: str(stop.since), default=None)


def _beginning(start: Episode, before: datetime | None, by_kind: Mapping[str, Sequence[Episode]]) -> Episode | None:
    """Return the beginning of this start: the same process logs it to the same file."""
    beginnings = [
        episode
        for episode in by_kind.get("starting", ())
        if episode.thing in start.subjects
        and _within(episode, before, start)
        and _seconds(episode, start) <= MAX_START_SECONDS
    ]
    return _first_of_one_start(sorted(beginnings, key=lambda episode: str(episode.since), reverse=True))


def _first_of_one_start(beginnings: Sequence[Episode]) -> Episode | None:
    """Return the earliest beginning of the newest start, newest first: formatting the storage logs one too."""
    first = next(iter(beginnings), None)
    for earlier, later in zip(beginnings[1:], beginnings, strict=False):
        if _seconds(earlier, later) > SAME_START_SECONDS:
            break
        first = earlier
    return first


def _within(episode: Episode, before: datetime | None, start: Episode) -> bool:
    return bool(
        episode.since and start.since and episode.since <= start.since and (before is None or episode.since > before)
    )


def _seconds(episode: Episode, start: Episode) -> float:
    return (start.since - episode.since).total_seconds() if episode.since and start.since else 0.0


def _between(first: Episode, start: Episode, *, clean: bool) -> Restart:
    episode = first._replace(thing=start.thing, until=start.since)
    return Restart(episode, clean, _seconds(first, start))
