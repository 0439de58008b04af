"""From events to failures: one row for each request that was lost in flight, with the idle gap before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import EVIDENCE_KEPT, EVIDENCE_LINE, TIME_ORDER, sql_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

SEVERED = (names.CONNECTION_LOST, names.CONNECTION_RESET, names.REQUEST_TIMED_OUT)
FAILED = (names.RECORD_FAILED, names.RECORD_EXPIRED)
UNREACHABLE = (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT)
BROKER_TRANSITIONS = (names.BROKER_STARTED, names.BROKER_STOPPING, names.BROKER_FENCED, names.SESSION_EXPIRED)
OTHER_EVENTS = (names.CONNECTION_CLOSED, names.ERROR, names.INVOCATION_TIMED_OUT)
REPORT_SECONDS = 1
"""Seconds within which an application logs the error that its client returned."""
CONTEXT_EVENTS = (names.SUBJECT_IDLE, names.SUBJECT_ACTIVE, names.AUTHENTICATION_FAILED, names.FILE_READ, *UNREACHABLE)

HAS_BROKER_LINES = (
    f"coalesce(name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker'), false)"
)
"""The log of a broker: its own client lines, towards other brokers, are not evidence for this mode."""

NETWORK = "NETWORK_EXCEPTION|REQUEST_TIMED_OUT|RequestTimedOut|TRANSPORT|transport|[Dd]isconnect|ConnectionError"
"""The errors with which a retry or a failed record counts. A retry after NOT_LEADER has another cause."""

IS_CONSUMER_LINE = "coalesce(text LIKE '%[Consumer clientId=%', false)"
"""A consumer polls all the time, also where its log is silent: its connections are never idle."""

IS_PRODUCE_REQUEST = "upper(coalesce(labels['api'], 'PRODUCE')) = 'PRODUCE'"
"""A line that names another request than PRODUCE (METADATA, FETCH, HEARTBEAT, ...) loses no record: the client sends
that request again without harm."""

LOST_IN_FLIGHT = f"name IN ({sql_literals(*SEVERED)}) AND {IS_PRODUCE_REQUEST} AND NOT {IS_CONSUMER_LINE}"

FIRST_REQUEST = f"coalesce(name = '{names.CONNECTION_LOST}' AND labels['api'] = 'API_VERSIONS', false)"
"""The Java client sends this request first on each connection, and no other one before its response."""

RETRIED_OR_FAILED = (
    f"name IN ('{names.PRODUCE_RETRIED}', '{names.RECORD_FAILED}') AND "
    f"coalesce(labels['error'], IF(name = '{names.PRODUCE_RETRIED}', 'NETWORK_EXCEPTION', '')) RLIKE '{NETWORK}'"
)

CLOSED_AND_FAILED = (
    f"name = '{names.CONNECTION_CLOSED}' AND source IN ('kafka_python', 'aiokafka') "
    "AND coalesce(labels['reason'], '') <> 'idle' AND errors_after > 0"
)
"""kafka-python and aiokafka log the same line whether or not a request was in flight. Where the application logs an
error within a second, a request was in flight. That line may not name the request, so no record is known to be
harmed."""

IS_SEVERED = f"(({LOST_IN_FLIGHT}) OR ({RETRIED_OR_FAILED}) OR ({CLOSED_AND_FAILED}))"

HARMED_A_RECORD = (
    f"(name IN ({sql_literals(names.PRODUCE_RETRIED, *FAILED)}) OR labels['api'] IS NOT NULL "
    "OR labels['topic'] IS NOT NULL OR text RLIKE '(?i)produce (?:request|response)|to produce|ProduceRequest' "
    f"OR name = '{names.REQUEST_TIMED_OUT}' AND other_requests = 0)"
)
"""The line names a record or a produce request that was lost, failed, retried or late; or a request of unknown kind
waited for its whole timeout, and no nearby line names a request that carries no record. A connection reset alone may
be harmless."""

FROZEN = "(?:REPORT|END) RequestId|platform[.](?:report|runtimeDone)"
"""The last line before a gap in which AWS Lambda froze the runtime."""

IS_IDLE_LIMIT = f"name = '{names.SETTING}' AND labels['key'] = 'connections.max.idle.ms'"
LIMIT = "try_cast(labels['value'] AS DOUBLE) / 1000"
IS_BROKER_SETTING = "coalesce(labels['owner'], '') = 'broker'"

MICROSECOND = 1e-6
"""Seconds: the precision of an event's time."""

EVERY_SECOND = "PARTITION BY capture, subject ORDER BY second"
TIMED_OUT = f"name = '{names.REQUEST_TIMED_OUT}'"
LONGEST_FIRST = "(a, b) -> CASE WHEN a.value > b.value THEN -1 WHEN a.value < b.value THEN 1 ELSE 0 END"

RELEVANT_EVENTS = f"""
    SELECT *, coalesce(CAST(at AS DOUBLE), 0D) AS second, name = '{names.SUBJECT_IDLE}' AS is_gap,
        labels['node'] AS node,
        name IN ({sql_literals(*SEVERED)}) AND NOT {IS_PRODUCE_REQUEST} AS is_other_request,
        {FIRST_REQUEST} AS is_api_versions_lost
    FROM events
    WHERE subject IS NOT NULL
        AND name IN ({sql_literals(*SEVERED, *FAILED, names.PRODUCE_RETRIED, *CONTEXT_EVENTS, *OTHER_EVENTS)})
"""
"""The events that show a failure, or what was around it, and idle gaps."""


def lost_request_steps(*, episode: float, reset: float, stall: float, near: float, history: float) -> Mapping[str, str]:
    """Return the steps from `events`, `relevant_events` and `captures` to `lost_requests`: one row for each failure.

    All distances are in seconds; `detect` explains them.
    """
    return {
        **_failure_lines(stall=stall, near=near),
        **_episodes(episode=episode),
        **_failures_with_gap(reset=reset, stall=stall),
        "lost_requests": _lost_requests(history=history),
    }


def _failure_lines(*, stall: float, near: float) -> Mapping[str, str]:
    """Return the steps to the lines that report a failure, each with the other errors around it.

    `is_first_request`: a request timed out that was the first one of its connection, so the connection was not idle.
    Bootstrap connections have negative nodes; no record is sent on them.
    """
    ever = "PARTITION BY capture, subject"
    unreachable, unauthenticated = f"name IN ({sql_literals(*UNREACHABLE)})", f"name = '{names.AUTHENTICATION_FAILED}'"
    error, killed = f"name = '{names.ERROR}'", f"name = '{names.INVOCATION_TIMED_OUT}'"
    of_node = "PARTITION BY capture, subject, node ORDER BY second"
    return {
        "events_in_context": f"""
            SELECT *,
                {count_within(unreachable, before=near, after=near)} AS connect_failed,
                {count_within(unauthenticated, before=near, after=near)} AS auth_failed,
                count_if({unreachable}) OVER ({ever}) AS connect_failed_ever,
                count_if({unauthenticated}) OVER ({ever}) AS auth_failed_ever,
                {count_within("is_other_request", before=near, after=near)} AS other_requests,
                {count_within(error, after=REPORT_SECONDS)} AS errors_after,
                {TIMED_OUT} AND (coalesce(node LIKE '-%', false)
                    OR {count_within("is_api_versions_lost", after=REPORT_SECONDS, window=of_node)} > 0)
                    AS is_first_request,
                {count_within(killed, after=stall)} > 0 AS killed,
                min(IF(name = '{names.SUBJECT_ACTIVE}', at, NULL)) OVER ({ever}) AS first_seen,
                max({HAS_BROKER_LINES}) OVER ({ever}) AS is_broker
            FROM relevant_events WHERE NOT is_gap
        """,
        "failure_lines": f"""
            SELECT *, {IS_SEVERED} AS severed FROM events_in_context
            WHERE NOT is_broker AND ({IS_SEVERED} OR name IN ({sql_literals(*FAILED)}))
        """,
    }


def count_within(condition: str, *, after: float, before: float = 0, window: str = EVERY_SECOND) -> str:
    """Return the SQL that counts events from `before` seconds before an event until `after` seconds after it.

    Two running counts: Spark adds up a sliding frame anew for each of its events, which takes time by the square of a
    storm's events. Half a microsecond is allowed for rounding.
    """
    until, earlier = (f"{seconds + MICROSECOND / 2:.7f}D" for seconds in (after, before))
    counts = (
        f"count_if({condition}) OVER ({window} RANGE BETWEEN UNBOUNDED PRECEDING AND {end})"
        for end in (f"{until} FOLLOWING", f"{earlier} PRECEDING")
    )
    return f"({' - '.join(counts)})"


CAPTURE_SETTINGS = f"""
    SELECT capture,
        min(CASE WHEN {IS_IDLE_LIMIT} AND {IS_BROKER_SETTING} THEN {LIMIT} END) AS broker_limit,
        min(CASE WHEN {IS_IDLE_LIMIT} AND NOT {IS_BROKER_SETTING} AND {LIMIT} > 0 THEN {LIMIT} END) AS client_limit,
        collect_set(CASE WHEN name IN ({sql_literals(*BROKER_TRANSITIONS)}) THEN at END) AS broker_transitions,
        coalesce(sum(IF({HAS_BROKER_LINES}, value, 0)), 0) AS broker_lines,
        count_if(name = '{names.CONNECTION_CLOSED}') AS closed
    FROM events GROUP BY capture
"""
"""One row for each capture: the configured idle limits, and when brokers started, stopped or were fenced."""


def _episodes(*, episode: float) -> Mapping[str, str]:
    """Return the steps to one row for each failure, with the figures and the first lines of its episode."""
    a_line = "PARTITION BY capture, subject, episode, {0} ORDER BY at, line"
    return {
        "spaced_failure_lines": f"""
            SELECT *, second - lag(second) OVER ({EVERY_SECOND}, line) < {episode}D AS same_episode FROM failure_lines
        """,
        "numbered_failure_lines": f"""
            SELECT *, count_if(NOT coalesce(same_episode, false)) OVER ({EVERY_SECOND}, line) AS episode
            FROM spaced_failure_lines
        """,
        "ranked_lines": f"""
            SELECT *, dense_rank() OVER ({a_line.format("severed")}) AS severed_rank,
                dense_rank() OVER ({a_line.format(HARMED_A_RECORD)}) AS harmed_rank
            FROM numbered_failure_lines
        """,
        "episodes": f"""
            SELECT capture, subject, episode,
                min(at) AS failed_at,
                max(at) AS failed_until,
                min(first_seen) AS first_seen,
                min(second) AS second,
                max(IF({TIMED_OUT} OR name = '{names.CONNECTION_LOST}', value, NULL)) AS in_flight_seconds,
                collect_set(CASE WHEN severed AND severed_rank <= {EVIDENCE_KEPT} THEN {EVIDENCE_LINE} END)
                    AS severed_lines,
                max({TIMED_OUT}) AS timed_out,
                bool_and(is_first_request) FILTER (WHERE severed) AS on_new_connection,
                max(name = '{names.CONNECTION_RESET}') AS reset,
                max(name = '{names.PRODUCE_RETRIED}') AS retried,
                max(name IN ({sql_literals(*FAILED)})) AS lost,
                max({HARMED_A_RECORD}) AS harmed,
                max(killed) AS killed,
                collect_set(CASE WHEN {HARMED_A_RECORD} AND harmed_rank <= {EVIDENCE_KEPT} THEN {EVIDENCE_LINE} END)
                    AS harmed_lines,
                max(connect_failed) AS connect_failed,
                max(auth_failed) AS auth_failed,
                max(connect_failed_ever) AS connect_failed_ever,
                max(auth_failed_ever) AS auth_failed_ever,
                coalesce(max(source <> 'application'), false) AS from_client_log,
                max(labels['client_id']) AS client_id
            FROM ranked_lines GROUP BY capture, subject, episode HAVING max(severed)
        """,
    }


CLOSINGS = f"""
    SELECT DISTINCT capture AS in_capture, file AS in_file, line AS in_line, labels['node'] AS node
    FROM events WHERE name = '{names.CONNECTION_CLOSED}'
"""
"""The lines about connections that were closed while no request was in flight."""

ENDS_WITH = "{0}.in_capture = gap.capture AND {0}.in_file = gap.file AND {0}.in_line = gap.line"
BEGINS_WITH = (
    "{0}.in_capture = gap.capture AND {0}.in_file = gap.labels['before_file'] "
    "AND {0}.in_line = try_cast(gap.labels['before_line'] AS BIGINT)"
)
"""SQL that joins gaps with the lines where they end and begin."""

GAP_SINCE = "CAST(try_to_timestamp(labels['since']) AS DOUBLE)"


def _failures_with_gap(*, reset: float, stall: float) -> Mapping[str, str]:
    """Return the steps that add when each request was sent, and the idle gap that ended at that time.

    Many clients log nothing when they send. So the gap of a request that timed out can also end with the timeout: then
    it is longer than the request was in flight. A gap as long as that is the stall alone.

    A subject can have many failures and many gaps. So each failure meets the gaps of its own slot of time and of the
    slot before, and no others: a slot is longer than a gap can end before its failure.

    A bootstrap connection that is closed is no use of another connection: the gap goes on (`BOOTSTRAP_CLOSINGS`).
    """
    silence = f"get(filter(gaps, g -> abs(CAST(g.at AS DOUBLE) - second) < 0.002D AND g.value <= {stall}D), 0).value"
    before = f"g -> CAST(g.at AS DOUBLE) BETWEEN second - {stall + reset}D AND second + 0.001D"
    slot_of = f"CAST(floor(({{}}) / {stall + reset + 1}D) AS BIGINT)".format
    gap_slot = slot_of("CAST(gap.at AS DOUBLE)")
    ended_then = f"g -> g.value > {reset}D AND CAST(g.at AS DOUBLE) BETWEEN sent - {reset}D AND sent + 0.1D"
    longer_than_stall = (
        f"g -> g.value > second - sent + {reset}D"
        f" AND (in_flight_seconds IS NULL OR CAST(g.at AS DOUBLE) >= sent - {reset}D)"
    )
    return {
        "bootstrap_closings": f"SELECT * FROM ({CLOSINGS}) WHERE node LIKE '-%'",
        "log_gaps": f"""
            SELECT gap.*, coalesce({GAP_SINCE} - lag(second) OVER ({EVERY_SECOND}) < 0.001D, false)
                AND before.in_line IS NOT NULL AS goes_on
            FROM relevant_events AS gap LEFT JOIN bootstrap_closings AS before ON {BEGINS_WITH.format("before")}
            WHERE is_gap
        """,
        "numbered_gaps": f"SELECT *, count_if(NOT goes_on) OVER ({EVERY_SECOND}) AS number FROM log_gaps",
        "joined_gaps": """
            SELECT capture, subject, struct(sum(value) OVER so_far AS value, file, line, at, text,
                first_value(labels) OVER so_far AS labels) AS gap
            FROM numbered_gaps
            WINDOW so_far AS (PARTITION BY capture, subject, number ORDER BY second ROWS UNBOUNDED PRECEDING)
        """,
        "idle_gaps": f"""
            SELECT capture, subject, slot, array_sort(collect_list(gap), {TIME_ORDER}) AS gaps_around FROM (
                SELECT *, explode(array({gap_slot}, {gap_slot} + 1)) AS slot FROM joined_gaps
            ) GROUP BY capture, subject, slot
        """,
        "episodes_with_gaps": f"""
            SELECT episodes.*, filter(gaps_around, {before}) AS gaps
            FROM episodes LEFT JOIN idle_gaps
                ON idle_gaps.capture = episodes.capture AND idle_gaps.subject = episodes.subject
                AND idle_gaps.slot = {slot_of("episodes.second + 0.001D")}
        """,
        "sent_requests": f"""
            SELECT *, second - IF(timed_out, coalesce(in_flight_seconds, {silence}, 0D), 0D) AS sent
            FROM episodes_with_gaps
        """,
        "failures_with_gap": f"""
            SELECT *,
                coalesce(
                    get(array_sort(filter(gaps, {ended_then}), {LONGEST_FIRST}), 0),
                    IF(timed_out, get(array_sort(filter(gaps, {longer_than_stall}), {LONGEST_FIRST}), 0), NULL)
                ) AS gap
            FROM sent_requests
        """,
    }


def _lost_requests(*, history: float) -> str:
    """Return the step that adds the state of the link `idle` of each failure, and whether it had another cause.

    `idle_seconds` is the gap up to when the request was sent: while it was in flight, the connection was in use.
    """
    since = "try_to_timestamp(gap.labels['since'])"
    sent = "(second - coalesce(in_flight_seconds, second - sent))"
    seen_before = "CAST(failed_at AS DOUBLE) - CAST(first_seen AS DOUBLE)"
    restarted = (
        f"exists(broker_transitions, t -> t BETWEEN coalesce({since}, failed_at) AND failed_until + INTERVAL 5 SECONDS)"
    )
    return f"""
        SELECT failures_with_gap.*,
            {since} AS gap_since,
            gap.value - greatest(CAST(gap.at AS DOUBLE) - {sent}, 0D) AS idle_seconds,
            coalesce(gap.labels['before_text'] RLIKE '{FROZEN}', false) AS frozen,
            CASE WHEN gap IS NOT NULL THEN 'observed'
                WHEN {seen_before} >= {history}D THEN 'contradicted'
                ELSE 'not visible' END AS idle,
            {restarted} AS restarted,
            connect_failed > 0 OR auth_failed > 0 OR on_new_connection OR {restarted} AS other_cause
        FROM failures_with_gap JOIN captures ON captures.capture = failures_with_gap.capture
    """
