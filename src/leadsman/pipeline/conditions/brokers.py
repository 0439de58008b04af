"""Brokers: fenced, missing, restarted, or not to be reached while the cluster goes on naming them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.kinds import condition, goes_on, longest
from leadsman.pipeline.conditions.partitions import metric
from leadsman.pipeline.conditions.restarts import restarts_of
from leadsman.pipeline.conditions.signs import NAMED, ONE_BY_ONE, Sign

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.condition import Condition
    from leadsman.pipeline.conditions.restarts import Restart
    from leadsman.pipeline.conditions.signs import Run

NODE = "labels['node']"
COORDINATOR_BASE = 2_147_483_647
CONNECTIONS_NODE = (
    "CAST(IF(try_cast(labels['node'] AS BIGINT) > 1000000000, "
    f"{COORDINATOR_BASE} - try_cast(labels['node'] AS BIGINT), try_cast(labels['node'] AS BIGINT)) AS STRING)"
)
COORDINATOR = CONNECTIONS_NODE.replace("'node'", "'coordinator'")
"""Java clients number a coordinator's connection as 2147483647 less its broker."""

BACK = (names.BROKER_UNFENCED, names.BROKER_STARTED)
UNREACHED = (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT, names.CONNECTION_FAILED)
ALIVE = f"name = '{names.BROKER_SEEN}' AND labels['fenced'] IS DISTINCT FROM 'true'"

SIGNS = (
    Sign(
        kind="broker_fenced",
        names=(names.BROKER_FENCED, names.BROKER_SEEN, *BACK),
        healthy=BACK,
        thing=f"coalesce({NODE}, labels['id'])",
        bad=f"CASE WHEN name = '{names.BROKER_FENCED}' THEN true WHEN name = '{names.BROKER_SEEN}' THEN "
        "labels['fenced'] = 'true' ELSE false END",
    ),
    metric("broker_fenced", "fencedbrokercount"),
    Sign(kind="stopping", names=(names.BROKER_STOPPING,), thing=NODE, gap_seconds=300.0),
    Sign(kind="started", names=(names.BROKER_STARTED,), thing=NODE, gap_seconds=ONE_BY_ONE),
    Sign(
        kind="starting",
        names=(names.BROKER_STARTING, names.SUBJECT_ACTIVE),
        healthy=(names.SUBJECT_ACTIVE,),
        thing="subject",
        bad=f"name = '{names.BROKER_STARTING}'",
        gap_seconds=ONE_BY_ONE,
    ),
    Sign(
        kind="in_sync",
        names=(names.BROKER_SEEN, *BACK),
        healthy=(names.BROKER_SEEN, *BACK),
        where=f"{ALIVE} OR name <> '{names.BROKER_SEEN}'",
        thing=f"coalesce({NODE}, labels['id'])",
        bad="false",
    ),
    Sign(
        kind="coordinator_lost",
        names=(names.COORDINATOR_LOST,),
        thing=COORDINATOR,
        gap_seconds=15.0,
    ),
    Sign(
        kind="broker_unreachable",
        names=(*UNREACHED, *BACK),
        healthy=BACK,
        where=f"name IN {BACK} OR try_cast(labels['node'] AS BIGINT) >= 0 AND "
        "(labels['client_id'] IS NOT NULL OR source NOT IN ('java_client', 'broker'))",
        bad=f"name NOT IN {BACK}",
        thing=CONNECTIONS_NODE,
        gap_seconds=60.0,
    ),
    Sign(kind="leaders_moved", names=(names.LEADERS_MOVED,), thing="'leaders'", amount="value", gap_seconds=ONE_BY_ONE),
)  # fmt: skip - a table
"""`in_sync` is also of partitions' replicas; `broker_unreachable` is of clients alone: those of Java, in whose
words brokers speak as well, name themselves."""

LEAST_SECONDS = 10.0
"""A coordinator that moves in order is found again within a few seconds."""

UNREACHABLE_SECONDS = 30.0
"""A broker that is restarted refuses connections for some seconds; clients try it again every second or so."""

GONE_SECONDS = 60.0
"""A broker that shut down so long before the capture ends was not merely being restarted: one of a few partitions is
back within seconds; of one with many nothing is lost but that it is told a minute early."""

BEFORE_FENCING = 300.0
"""Seconds before the controller fenced a broker in which clients' trouble with it is counted as the same."""


def conditions(
    found: Mapping[str, Sequence[Run]], end: datetime | None, cut_off: Collection[str] = ()
) -> Iterator[Condition]:
    """Yield what is wrong with brokers. `end` is the last time of which the capture tells.

    What clients tell that are `cut_off` from all brokers says nothing of a single one.
    """
    restarts = restarts_of(found)
    fenced = [run for run in found.get("broker_fenced", ()) if not _in_order(run, found.get("stopping", ()))]
    yield from _fenced(fenced, found)
    yield from _no_usable_leader(fenced, found)
    yield from _missing(found, end)
    yield from _restarted(restarts)
    yield from _unreachable(found, end, cut_off)


def _in_order(fenced: Run, stops: Iterable[Run]) -> bool:
    """Say whether the broker had said goodbye: then the controller fences it too."""
    return any(
        stop.thing == fenced.thing
        and stop.since is not None
        and fenced.since is not None
        and 0 <= (fenced.since - stop.since).total_seconds() <= BEFORE_FENCING
        for stop in stops
    )


def _fenced(fenced: Sequence[Run], found: Mapping[str, Sequence[Run]]) -> Iterator[Condition]:
    metrics = found.get("broker_fenced metric", ())
    if not fenced and not metrics:
        return
    gone = sorted({run.thing for run in fenced if run.stands})
    figures = {
        "brokers": len({run.thing for run in fenced}),
        "standing": len(gone),
        "longest": longest(fenced),
        "unanswered": max((_unanswered(run, found)[0] for run in fenced), default=0.0),
        "fenced": max((run.most or 0 for run in metrics), default=None),
    }
    names_ = [f"broker {run.thing}" for run in fenced] or [run.thing for run in metrics]
    yield condition(
        "broker_fenced",
        [*fenced, *metrics],
        figures,
        things=names_,
        stands=bool(gone or any(m.stands for m in metrics)),
    )


def _unanswered(fenced: Run, found: Mapping[str, Sequence[Run]]) -> tuple[float, Run | None]:
    """Return for how long clients had been in trouble with a broker when the controller fenced it, and that trouble."""
    best: tuple[float, Run | None] = (0.0, None)
    for run in (*found.get("coordinator_lost", ()), *found.get("broker_unreachable", ())):
        if run.thing == fenced.thing and run.since and run.last and fenced.since:
            before = (fenced.since - run.since).total_seconds()
            lasted = (fenced.since - run.last).total_seconds()
            if best[0] < before <= BEFORE_FENCING and lasted <= LEAST_SECONDS:
                best = before, run
    return best


def _no_usable_leader(fenced: Sequence[Run], found: Mapping[str, Sequence[Run]]) -> Iterator[Condition]:
    """Yield that a broker led partitions without answering. Metadata name it all the while, so nothing says `none`."""
    told = False
    for run in fenced:
        seconds, trouble = _unanswered(run, found)
        moved = [each for each in found.get("leaders_moved", ()) if _near(each, run)]
        if trouble and seconds >= LEAST_SECONDS:
            told = True
            led = sum(each.amount or 0 for each in moved)
            figures: dict[str, float | str | None] = {"longest": seconds}
            figures |= (
                {"led_by_dead": led, "broker": run.thing}
                if led
                else {"asked": trouble.subject_count, "coordinator": run.thing}
            )
            yield condition("partition_without_leader", [trouble, run, *moved], figures, things=[f"broker {run.thing}"])
    for run in found.get("coordinator_lost", ()):
        if not told and run.subject_count > 1 and run.seconds >= LEAST_SECONDS:
            figures = {"asked": run.subject_count, "longest": run.seconds, "coordinator": run.thing}
            yield condition("partition_without_leader", [run], figures, things=[f"broker {run.thing}"])


def _near(moved: Run, fenced: Run) -> bool:
    return bool(moved.since and fenced.since and abs((moved.since - fenced.since).total_seconds()) <= LEAST_SECONDS)


def _missing(found: Mapping[str, Sequence[Run]], end: datetime | None) -> Iterator[Condition]:
    """Yield brokers that are in sync nowhere, and those that shut down and were not started again."""
    absent = [run for run in found.get("in_sync", ()) if run.stands or run.seconds > 0]
    stopped = [run for run in found.get("stopping", ()) if end and _stayed_down(run, found, end)]
    if absent or stopped:
        gone = {run.thing for run in absent if run.stands} | {run.thing for run in stopped}
        figures = {
            "stopped": len(stopped) if not absent else None,
            "standing": len(gone) if absent else None,
            "longest": longest(absent),
        }
        every = [*stopped, *absent]
        yield condition(
            "broker_missing", every, figures, things=[f"broker {run.thing}" for run in every], stands=bool(gone)
        )


def _stayed_down(stop: Run, found: Mapping[str, Sequence[Run]], end: datetime) -> bool:
    back = (*found.get("started", ()), *found.get("stopping", ()))
    later = (run for run in back if run.thing == stop.thing and run.last and stop.last and run.last > stop.last)
    return bool(stop.last and (end - stop.last).total_seconds() >= GONE_SECONDS and not any(later))


def _restarted(restarts: Sequence[Restart]) -> Iterator[Condition]:
    if restarts:
        figures: dict[str, float | str | None] = {
            "restarts": len(restarts) if len(restarts) > len({each.run.thing for each in restarts}) else None,
            "unclean": sum(not each.clean for each in restarts),
            "longest": max((each.seconds for each in restarts if each.clean), default=None),
            "starting": max((each.seconds for each in restarts if not each.clean), default=None),
        }
        nodes = [f"broker {each.run.thing}" for each in restarts]
        yield condition("broker_restarted", [each.run for each in restarts], figures, things=nodes)


def _unreachable(
    found: Mapping[str, Sequence[Run]], end: datetime | None, cut_off: Collection[str]
) -> Iterator[Condition]:
    runs = [run for run in found.get("broker_unreachable", ()) if not _only_of(run, cut_off)]
    lasting = [run for run in joined(runs) if run.seen_seconds >= UNREACHABLE_SECONDS]
    if lasting:
        things = [f"broker {run.thing}" for run in lasting]
        figures: dict[str, float | str | None] = {
            "asked": max(run.subject_count for run in lasting),
            "longest": longest(lasting),
            "broker": lasting[0].thing if len(set(things)) == 1 else None,
        }
        stands = any(run.stands and goes_on([run], end) for run in lasting)
        yield condition("broker_unreachable", lasting, figures, things=things, stands=stands)


def _only_of(run: Run, clients: Collection[str]) -> bool:
    return run.subject_count <= len(clients) and set(run.subjects) <= set(clients)


def joined(runs: Iterable[Run]) -> list[Run]:
    """Join runs of one broker that only a pause of the clients parts: one that tries seldom has not reached it."""
    whole: list[Run] = []
    for run in sorted(runs, key=lambda run: (run.thing, str(run.since))):
        before = whole[-1] if whole and whole[-1].thing == run.thing and whole[-1].stands else None
        both = _both(before, run) if before else None
        pause = (run.since - before.last).total_seconds() if before and before.last and run.since else 0.0
        if both and both.times >= LEAST_ATTEMPTS and pause <= SELDOM * both.distance:
            whole[-1] = both
        else:
            whole.append(run)
    return sorted(whole, key=lambda run: (run.ended, -run.seconds, str(run.since)))


LEAST_ATTEMPTS = 10
SELDOM = 5.0
"""A pause among ten attempts and more that is five times the usual one is rarer than 1 in 100 where records come at
random: then nobody tried, and the broker may have been well."""


def _both(first: Run, second: Run) -> Run:
    subjects = tuple(sorted({*first.subjects, *second.subjects}))
    return second._replace(
        since=first.since,
        times=first.times + second.times,
        subjects=subjects[:NAMED],
        subject_count=max(first.subject_count, second.subject_count, len(subjects)),
        evidence=first.evidence,
    )
