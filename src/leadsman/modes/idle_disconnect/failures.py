"""From events to failures: one row for each request that was lost under way, with the quiet gap before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import EARLIER, EVIDENCE_KEPT, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

SEVERED = (names.CONNECTION_LOST, names.CONNECTION_RESET, names.REQUEST_TIMED_OUT)
FAILED = (names.RECORD_FAILED, names.RECORD_EXPIRED)
UNREACHABLE = (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT)
BROKER_LIFE = (names.BROKER_STARTED, names.BROKER_STOPPING, names.BROKER_FENCED, names.SESSION_EXPIRED)
BESIDE = (names.CONNECTION_CLOSED, names.ERROR, names.INVOCATION_TIMED_OUT)
AT_ONCE = 1
"""Seconds within which an application reports what its client told it."""
AROUND = (names.SUBJECT_QUIET, names.SUBJECT_ACTIVE, names.AUTHENTICATION_FAILED, names.FILE_READ, *UNREACHABLE)

OF_BROKER = f"coalesce(name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker'), false)"
"""A broker's log: what it says as a client of other brokers is not what this mode is about."""

NETWORK = "NETWORK_EXCEPTION|REQUEST_TIMED_OUT|RequestTimedOut|TRANSPORT|transport|[Dd]isconnect|ConnectionError"
"""What a retry or a failed record must have failed with: one after NOT_LEADER is another story."""

OF_CONSUMER = "coalesce(text LIKE '%[Consumer clientId=%', false)"
"""A consumer asks all the time, also where its log is silent: its connections are never idle."""

OF_PRODUCE = "upper(coalesce(labels['api'], 'PRODUCE')) = 'PRODUCE'"
"""A request that is named and is no produce request (METADATA, FETCH, HEARTBEAT, ...) carries no record: the client
sends it again, and nobody is harmed."""

LOST_UNDER_WAY = f"name IN ({quoted(*SEVERED)}) AND {OF_PRODUCE} AND NOT {OF_CONSUMER}"

GAVE_UP = (
    f"name IN ('{names.PRODUCE_RETRIED}', '{names.RECORD_FAILED}') AND "
    f"coalesce(labels['error'], IF(name = '{names.PRODUCE_RETRIED}', 'NETWORK_EXCEPTION', '')) RLIKE '{NETWORK}'"
)

CLOSED_AND_FAILED = (
    f"name = '{names.CONNECTION_CLOSED}' AND source IN ('kafka_python', 'aiokafka') "
    "AND coalesce(labels['reason'], '') <> 'idle' AND errors_after > 0"
)
"""These clients write the same line whether or not a request was in flight. An application that reports an error at
once had one: of what, its line may not say, and so no record is known to be harmed."""

IS_SEVERED = f"(({LOST_UNDER_WAY}) OR ({GAVE_UP}) OR ({CLOSED_AND_FAILED}))"

HARMED_A_RECORD = (
    f"(name IN ({quoted(names.PRODUCE_RETRIED, *FAILED)}) OR labels['api'] IS NOT NULL OR labels['topic'] IS NOT NULL "
    "OR text RLIKE '(?i)produce (?:request|response)|to produce|ProduceRequest' "
    f"OR name = '{names.REQUEST_TIMED_OUT}' AND of_others = 0)"
)
"""The line names a record or a produce request: lost, failed, retried or late; or a request of unknown kind waited for
its whole time-out, and no line near it names one that carries no record. A connection that was reset may have harmed
nobody."""

FROZEN = "(?:REPORT|END) RequestId|platform[.](?:report|runtimeDone)"
"""The last line before a gap in which AWS Lambda froze the runtime."""

IS_IDLE_LIMIT = f"name = '{names.SETTING}' AND labels['key'] = 'connections.max.idle.ms'"
LIMIT = "try_cast(labels['value'] AS DOUBLE) / 1000"
BY_BROKER = "coalesce(labels['owner'], '') = 'broker'"

EVERY_SECOND = "PARTITION BY capture, subject ORDER BY second"
LINE = "struct(file, line, at, text)"
TIMED_OUT = f"name = '{names.REQUEST_TIMED_OUT}'"
LONGEST_FIRST = "(a, b) -> CASE WHEN a.value > b.value THEN -1 WHEN a.value < b.value THEN 1 ELSE 0 END"


def failures_of(*, apart: float, reset: float, stall: float, near: float, history: float) -> Mapping[str, str]:
    """Return the steps from `events` and `captures` to `lost`: one row a failure.

    All distances are seconds, as `detect` explains them.
    """
    return {
        **_harmed(stall=stall, near=near),
        **_episodes(apart=apart),
        **_placed(reset=reset, stall=stall),
        "lost": _judged(history=history),
    }


def _harmed(*, stall: float, near: float) -> Mapping[str, str]:
    """Return the lines that tell of harm, each with what else broke around it."""
    nearby = f"{EVERY_SECOND} RANGE BETWEEN {near}D PRECEDING AND {near}D FOLLOWING"
    ever = "PARTITION BY capture, subject"
    after = f"{EVERY_SECOND} RANGE BETWEEN CURRENT ROW AND {stall}D FOLLOWING"
    at_once = f"{EVERY_SECOND} RANGE BETWEEN CURRENT ROW AND {AT_ONCE}D FOLLOWING"
    return {
        "shown": f"""
            SELECT *, coalesce(CAST(at AS DOUBLE), 0D) AS second,
                CASE WHEN name = '{names.SUBJECT_QUIET}' THEN struct(value, file, line, at, text, labels) END AS gap
            FROM events
            WHERE subject IS NOT NULL
                AND name IN ({quoted(*SEVERED, *FAILED, names.PRODUCE_RETRIED, *AROUND, *BESIDE)})
        """,
        "around": f"""
            SELECT *,
                count_if(name IN ({quoted(*UNREACHABLE)})) OVER ({nearby}) AS refused,
                count_if(name = '{names.AUTHENTICATION_FAILED}') OVER ({nearby}) AS denied,
                count_if(name IN ({quoted(*UNREACHABLE)})) OVER ({ever}) AS refused_ever,
                count_if(name = '{names.AUTHENTICATION_FAILED}') OVER ({ever}) AS denied_ever,
                count_if(name IN ({quoted(*SEVERED)}) AND NOT {OF_PRODUCE}) OVER ({nearby}) AS of_others,
                count_if(name = '{names.ERROR}') OVER ({at_once}) AS errors_after,
                max(name = '{names.INVOCATION_TIMED_OUT}') OVER ({after}) AS killed,
                min(IF(name = '{names.SUBJECT_ACTIVE}', at, NULL)) OVER ({ever}) AS first_seen,
                max({OF_BROKER}) OVER ({ever}) AS is_broker
            FROM shown
        """,
        "harmed": f"""
            SELECT *, {IS_SEVERED} AS severed FROM around
            WHERE NOT is_broker AND ({IS_SEVERED} OR name IN ({quoted(*FAILED)}))
        """,
    }


CAPTURES = f"""
    SELECT capture,
        min(CASE WHEN {IS_IDLE_LIMIT} AND {BY_BROKER} THEN {LIMIT} END) AS broker_limit,
        min(CASE WHEN {IS_IDLE_LIMIT} AND NOT {BY_BROKER} AND {LIMIT} > 0 THEN {LIMIT} END) AS client_limit,
        collect_set(CASE WHEN name IN ({quoted(*BROKER_LIFE)}) THEN at END) AS broker_life,
        coalesce(sum(IF({OF_BROKER}, value, 0)), 0) AS broker_lines,
        count_if(name = '{names.CONNECTION_CLOSED}') AS closed
    FROM events GROUP BY capture
"""
"""One row a capture: what was configured, and when brokers came and went."""


def _episodes(*, apart: float) -> Mapping[str, str]:
    """Return one row a failure: what its lines tell, and the first of them."""
    a_line = "PARTITION BY capture, subject, episode, {0} ORDER BY at, line"
    return {
        "spaced": f"""
            SELECT *, second - lag(second) OVER ({EVERY_SECOND}, line) < {apart}D AS goes_on FROM harmed
        """,
        "numbered": f"""
            SELECT *, count_if(NOT coalesce(goes_on, false)) OVER ({EVERY_SECOND}, line) AS episode FROM spaced
        """,
        "ranked_lines": f"""
            SELECT *, dense_rank() OVER ({a_line.format("severed")}) AS severed_place,
                dense_rank() OVER ({a_line.format(HARMED_A_RECORD)}) AS harmed_place
            FROM numbered
        """,
        "episodes": f"""
            SELECT capture, subject, episode,
                min(at) AS failed_at,
                max(at) AS failed_until,
                min(first_seen) AS first_seen,
                min(second) AS second,
                max(IF({TIMED_OUT}, value, NULL)) AS in_flight,
                collect_set(CASE WHEN severed AND severed_place <= {EVIDENCE_KEPT} THEN {LINE} END) AS severed_lines,
                max({TIMED_OUT}) AS timed_out,
                max(name = '{names.CONNECTION_RESET}') AS reset,
                max(name = '{names.PRODUCE_RETRIED}') AS retried,
                max(name IN ({quoted(*FAILED)})) AS lost,
                max({HARMED_A_RECORD}) AS harmed,
                max(killed) AS killed,
                collect_set(CASE WHEN {HARMED_A_RECORD} AND harmed_place <= {EVIDENCE_KEPT} THEN {LINE} END)
                    AS harmed_lines,
                max(refused) AS refused,
                max(denied) AS denied,
                max(refused_ever) AS refused_ever,
                max(denied_ever) AS denied_ever,
                coalesce(max(source <> 'application'), false) AS by_client,
                max(labels['client_id']) AS client_id
            FROM ranked_lines GROUP BY capture, subject, episode HAVING max(severed)
        """,
    }


def _placed(*, reset: float, stall: float) -> Mapping[str, str]:
    """Return the same rows with when each request was sent, and the quiet gap that ended then."""
    silence = f"get(filter(gaps, g -> abs(CAST(g.at AS DOUBLE) - second) < 0.002D AND g.value <= {stall}D), 0).value"
    before = f"g -> CAST(g.at AS DOUBLE) BETWEEN second - {stall + reset}D AND second + 0.001D"
    ended_then = f"g -> g.value > {reset}D AND CAST(g.at AS DOUBLE) BETWEEN sent - {reset}D AND sent + 0.1D"
    return {
        "quiet_times": f"""
            SELECT capture, subject, array_sort(collect_list(gap), {EARLIER}) AS every
            FROM shown WHERE gap IS NOT NULL GROUP BY capture, subject
        """,
        "preceded": f"""
            SELECT episodes.*, filter(every, {before}) AS gaps
            FROM episodes LEFT JOIN quiet_times
                ON quiet_times.capture = episodes.capture AND quiet_times.subject = episodes.subject
        """,
        "requests": f"""
            SELECT *, second - IF(timed_out, coalesce(in_flight, {silence}, 0D), 0D) AS sent FROM preceded
        """,
        "placed": f"""
            SELECT *,
                coalesce(
                    get(array_sort(filter(gaps, {ended_then}), {LONGEST_FIRST}), 0),
                    IF(timed_out, get(array_sort(filter(gaps, g -> g.value > {reset}D), {LONGEST_FIRST}), 0), NULL)
                ) AS gap
            FROM requests
        """,
    }


def _judged(*, history: float) -> str:
    """Say of each failure whether it was quiet before, and whether something else broke as well."""
    since = "to_timestamp(gap.labels['since'])"
    seen_before = "CAST(failed_at AS DOUBLE) - CAST(first_seen AS DOUBLE)"
    restarted = (
        f"exists(broker_life, t -> t BETWEEN coalesce({since}, failed_at) AND failed_until + INTERVAL 5 SECONDS)"
    )
    return f"""
        SELECT placed.*,
            {since} AS gap_since,
            gap.value AS quiet_seconds,
            coalesce(gap.labels['before_text'] RLIKE '{FROZEN}', false) AS frozen,
            CASE WHEN gap IS NOT NULL THEN 'observed'
                WHEN {seen_before} >= {history}D THEN 'contradicted'
                ELSE 'not visible' END AS quiet,
            {restarted} AS restarted,
            refused > 0 OR denied > 0 OR {restarted} AS other_cause
        FROM placed JOIN captures ON captures.capture = placed.capture
    """
