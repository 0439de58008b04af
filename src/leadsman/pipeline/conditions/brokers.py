"""Conditions of brokers: fenced, missing, restarted, or unreachable while the cluster still names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.episodes import MAX_NAMES
from leadsman.pipeline.conditions.kinds import is_ongoing, longest_seconds, make_condition
from leadsman.pipeline.conditions.partitions import metric_rule
from leadsman.pipeline.conditions.restarts import find_restarts
from leadsman.pipeline.conditions.samples import NO_GAP, HealthRule
from leadsman.pipeline.detector_sql import broker_of_node
from leadsman.words import count, join_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.model.condition import Condition
    from leadsman.pipeline.conditions.episodes import Episode
    from leadsman.pipeline.conditions.restarts import Restart

NODE = "labels['node']"
NODE_ID = f"try_cast({NODE} AS BIGINT)"
CONNECTED_BROKER = f"CAST({broker_of_node(NODE_ID)} AS STRING)"
COORDINATOR = CONNECTED_BROKER.replace("'node'", "'coordinator'")

RETURNED = (names.BROKER_UNFENCED, names.BROKER_STARTED)
NOT_REACHED = (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT, names.CONNECTION_FAILED)
NOT_FENCED = f"name = '{names.BROKER_SEEN}' AND labels['fenced'] IS DISTINCT FROM 'true'"

RULES = (
    HealthRule(
        kind="broker_fenced",
        names=(names.BROKER_FENCED, names.BROKER_SEEN, *RETURNED),
        healthy_names=RETURNED,
        thing=f"coalesce({NODE}, labels['id'])",
        unhealthy=f"CASE WHEN name = '{names.BROKER_FENCED}' THEN true WHEN name = '{names.BROKER_SEEN}' THEN "
        "labels['fenced'] = 'true' ELSE false END",
    ),
    metric_rule("broker_fenced", "fencedbrokercount"),
    HealthRule(kind="stopping", names=(names.BROKER_STOPPING,), thing=NODE, gap_seconds=300.0),
    HealthRule(kind="started", names=(names.BROKER_STARTED,), thing=NODE, gap_seconds=NO_GAP),
    HealthRule(
        kind="starting",
        names=(names.BROKER_STARTING, names.SUBJECT_ACTIVE),
        healthy_names=(names.SUBJECT_ACTIVE,),
        thing="subject",
        unhealthy=f"name = '{names.BROKER_STARTING}'",
        gap_seconds=NO_GAP,
    ),
    HealthRule(
        kind="in_sync",
        names=(names.BROKER_SEEN, *RETURNED),
        healthy_names=(names.BROKER_SEEN, *RETURNED),
        where=f"{NOT_FENCED} OR name <> '{names.BROKER_SEEN}'",
        thing=f"coalesce({NODE}, labels['id'])",
        unhealthy="false",
    ),
    HealthRule(
        kind="coordinator_lost",
        names=(names.COORDINATOR_LOST,),
        thing=COORDINATOR,
        gap_seconds=15.0,
    ),
    HealthRule(
        kind="broker_unreachable",
        names=(*NOT_REACHED, *RETURNED),
        healthy_names=RETURNED,
        where=f"name IN {RETURNED} OR {NODE_ID} >= 0 AND "
        "(labels['client_id'] IS NOT NULL OR source NOT IN ('java_client', 'broker'))",
        unhealthy=f"name NOT IN {RETURNED}",
        thing=CONNECTED_BROKER,
        gap_seconds=60.0,
    ),
    HealthRule(
        kind="leaders_moved", names=(names.LEADERS_MOVED,), thing="'leaders'", amount="value", gap_seconds=NO_GAP
    ),
)  # fmt: skip - a table
"""`partitions` has a rule for `in_sync` too. `broker_unreachable` is of clients alone: brokers log the same lines as
Java clients, and only clients give a client id."""

MIN_SECONDS = 10.0
"""A coordinator that moves as planned is found again within a few seconds."""

UNREACHABLE_SECONDS = 30.0
"""A broker that restarts refuses connections for some seconds; clients retry about every second."""

SHUTDOWN_SECONDS = 60.0
"""A broker that shut down so long before the capture's end was not merely restarting: a broker with few partitions is
back within seconds. A broker with many is reported a minute too early, and nothing else is wrong."""

BROKERS_NAMED = 3
"""Brokers that a title names by their ids."""

FENCING_SECONDS = 300.0
"""Failures of clients with a broker belong to its fencing where they begin so long before it at most."""


def conditions(
    by_kind: Mapping[str, Sequence[Episode]], capture_end: datetime | None, cut_off: Collection[str] = ()
) -> Iterator[Condition]:
    """Yield the conditions of brokers. `capture_end` is the last time that the capture covers.

    Clients that are `cut_off` from all brokers are no evidence against a single broker.
    """
    restarts = find_restarts(by_kind)
    fenced = [
        episode
        for episode in by_kind.get("broker_fenced", ())
        if not _was_stopped_before(episode, by_kind.get("stopping", ()))
    ]
    yield from _fenced(fenced, by_kind)
    yield from _no_usable_leader(fenced, by_kind)
    yield from _missing(by_kind, capture_end)
    yield from _restarted(restarts)
    yield from _unreachable(by_kind, capture_end, cut_off)


def _was_stopped_before(fenced: Episode, stops: Iterable[Episode]) -> bool:
    """Say whether the broker was shutting down: then the controller fences it too."""
    return any(
        stop.thing == fenced.thing
        and stop.since is not None
        and fenced.since is not None
        and 0 <= (fenced.since - stop.since).total_seconds() <= FENCING_SECONDS
        for stop in stops
    )


def _fenced(fenced: Sequence[Episode], by_kind: Mapping[str, Sequence[Episode]]) -> Iterator[Condition]:
    metrics = by_kind.get("broker_fenced metric", ())
    if not fenced and not metrics:
        return
    still_fenced = sorted({episode.thing for episode in fenced if episode.ongoing})
    names_still_fenced = f"{brokers_text(still_fenced)} {'is' if len(still_fenced) == 1 else 'are'}"
    figures: dict[str, float | str | None] = {
        "fenced_brokers": brokers_text(episode.thing for episode in fenced),
        "still_fenced": names_still_fenced if still_fenced else None,
        "brokers": len({episode.thing for episode in fenced}),
        "ongoing": len(still_fenced),
        "longest": longest_seconds(fenced),
        "unanswered": max((_unanswered(episode, by_kind)[0] for episode in fenced), default=0.0),
        "fenced": max((episode.max_amount or 0 for episode in metrics), default=None),
    }
    things = [f"broker {episode.thing}" for episode in fenced] or [episode.thing for episode in metrics]
    yield make_condition(
        "broker_fenced",
        [*fenced, *metrics],
        figures,
        things=things,
        ongoing=bool(still_fenced or any(m.ongoing for m in metrics)),
    )


def brokers_text(ids: Iterable[str]) -> str:
    """Return brokers in a sentence: up to three by their ids, more by their number; empty for none."""
    named = sorted(set(ids), key=lambda each: (len(each), each))
    if len(named) > BROKERS_NAMED:
        return count(len(named), "broker brokers")
    return f"broker{'s' if len(named) > 1 else ''} {join_names(named)}" if named else ""


def _unanswered(fenced: Episode, by_kind: Mapping[str, Sequence[Episode]]) -> tuple[float, Episode | None]:
    """Return for how long clients had failed to reach a broker when the controller fenced it, and that episode."""
    longest: tuple[float, Episode | None] = (0.0, None)
    for episode in (*by_kind.get("coordinator_lost", ()), *by_kind.get("broker_unreachable", ())):
        if episode.thing == fenced.thing and episode.since and episode.last_seen and fenced.since:
            before = (fenced.since - episode.since).total_seconds()
            since_last = (fenced.since - episode.last_seen).total_seconds()
            if longest[0] < before <= FENCING_SECONDS and since_last <= MIN_SECONDS:
                longest = before, episode
    return longest


def _no_usable_leader(fenced: Sequence[Episode], by_kind: Mapping[str, Sequence[Episode]]) -> Iterator[Condition]:
    """Yield that a broker led partitions and did not respond. Metadata name it as leader meanwhile, never `none`."""
    is_reported = False
    for episode in fenced:
        seconds, unanswered = _unanswered(episode, by_kind)
        moved = [each for each in by_kind.get("leaders_moved", ()) if _near(each, episode)]
        if unanswered and seconds >= MIN_SECONDS:
            is_reported = True
            led = sum(each.first_amount or 0 for each in moved)
            figures: dict[str, float | str | None] = {"longest": seconds}
            figures |= (
                {"led_by_unresponsive": led, "broker": episode.thing}
                if led
                else {"clients": unanswered.subject_count, "coordinator": episode.thing}
            )
            yield make_condition(
                "partition_without_leader", [unanswered, episode, *moved], figures, things=[f"broker {episode.thing}"]
            )
    for episode in by_kind.get("coordinator_lost", ()):
        if not is_reported and episode.subject_count > 1 and episode.seconds >= MIN_SECONDS:
            figures = {"clients": episode.subject_count, "longest": episode.seconds, "coordinator": episode.thing}
            yield make_condition("partition_without_leader", [episode], figures, things=[f"broker {episode.thing}"])


def _near(moved: Episode, fenced: Episode) -> bool:
    return bool(moved.since and fenced.since and abs((moved.since - fenced.since).total_seconds()) <= MIN_SECONDS)


def _missing(by_kind: Mapping[str, Sequence[Episode]], capture_end: datetime | None) -> Iterator[Condition]:
    """Yield the brokers without an in-sync replica, and those that shut down and were not started again."""
    absent = [episode for episode in by_kind.get("in_sync", ()) if episode.ongoing or episode.seconds > 0]
    stopped = [
        episode
        for episode in by_kind.get("stopping", ())
        if capture_end and _stayed_down(episode, by_kind, capture_end)
    ]
    if absent or stopped:
        missing = {episode.thing for episode in absent if episode.ongoing} | {episode.thing for episode in stopped}
        figures: dict[str, float | str | None] = {
            "stopped": len(stopped) if not absent else None,
            "stopped_ids": join_names(sorted({episode.thing for episode in stopped})) if not absent else None,
            "missing_brokers": brokers_text(missing) if absent else None,
            "brokers": brokers_text(episode.thing for episode in absent),
            "ongoing": len(missing) if absent else None,
            "longest": longest_seconds(absent),
        }
        every = [*stopped, *absent]
        yield make_condition(
            "broker_missing",
            every,
            figures,
            things=[f"broker {episode.thing}" for episode in every],
            ongoing=bool(missing),
        )


def _stayed_down(stop: Episode, by_kind: Mapping[str, Sequence[Episode]], capture_end: datetime) -> bool:
    starts_and_stops = (*by_kind.get("started", ()), *by_kind.get("stopping", ()))
    later = (
        episode
        for episode in starts_and_stops
        if episode.thing == stop.thing and episode.last_seen and stop.last_seen and episode.last_seen > stop.last_seen
    )
    return bool(
        stop.last_seen and (capture_end - stop.last_seen).total_seconds() >= SHUTDOWN_SECONDS and not any(later)
    )


def _restarted(restarts: Sequence[Restart]) -> Iterator[Condition]:
    if restarts:
        figures: dict[str, float | str | None] = {
            "restarts": len(restarts) if len(restarts) > len({each.episode.thing for each in restarts}) else None,
            "unclean": sum(not each.clean for each in restarts),
            "longest": max((each.seconds for each in restarts if each.clean), default=None),
            "starting": max((each.seconds for each in restarts if not each.clean), default=None),
        }
        nodes = [f"broker {each.episode.thing}" for each in restarts]
        yield make_condition("broker_restarted", [each.episode for each in restarts], figures, things=nodes)


def _unreachable(
    by_kind: Mapping[str, Sequence[Episode]], capture_end: datetime | None, cut_off: Collection[str]
) -> Iterator[Condition]:
    episodes = [episode for episode in by_kind.get("broker_unreachable", ()) if not _is_only_of(episode, cut_off)]
    lasting = [episode for episode in join_episodes(episodes) if episode.observed_seconds >= UNREACHABLE_SECONDS]
    if lasting:
        things = [f"broker {episode.thing}" for episode in lasting]
        figures: dict[str, float | str | None] = {
            "clients": max(episode.subject_count for episode in lasting),
            "longest": longest_seconds(lasting),
            "broker": lasting[0].thing if len(set(things)) == 1 else None,
        }
        ongoing = any(episode.ongoing and is_ongoing([episode], capture_end) for episode in lasting)
        yield make_condition("broker_unreachable", lasting, figures, things=things, ongoing=ongoing)


def _is_only_of(episode: Episode, clients: Collection[str]) -> bool:
    return episode.subject_count <= len(clients) and set(episode.subjects) <= set(clients)


def join_episodes(episodes: Iterable[Episode]) -> list[Episode]:
    """Join episodes of one broker that only a pause of the clients separates: they retry seldom, and still failed."""
    joined: list[Episode] = []
    for episode in sorted(episodes, key=lambda episode: (episode.thing, str(episode.since))):
        before = joined[-1] if joined and joined[-1].thing == episode.thing and joined[-1].ongoing else None
        both = _join(before, episode) if before else None
        pause = (
            (episode.since - before.last_seen).total_seconds() if before and before.last_seen and episode.since else 0.0
        )
        if both and both.occurrences >= MIN_ATTEMPTS and pause <= PAUSE_INTERVALS * both.mean_interval_seconds:
            joined[-1] = both
        else:
            joined.append(episode)
    return sorted(joined, key=lambda episode: (episode.ended, -episode.seconds, str(episode.since)))


MIN_ATTEMPTS = 10
PAUSE_INTERVALS = 5.0
"""Among ten attempts or more, a pause of five mean intervals is rarer than 1 in 100 where records come at random: no
client tried then, and the broker may have been healthy."""


def _join(first: Episode, second: Episode) -> Episode:
    subjects = tuple(sorted({*first.subjects, *second.subjects}))
    return second._replace(
        since=first.since,
        occurrences=first.occurrences + second.occurrences,
        subjects=subjects[:MAX_NAMES],
        subject_count=max(first.subject_count, second.subject_count, len(subjects)),
        evidence=first.evidence,
    )
