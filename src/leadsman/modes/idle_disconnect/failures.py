"""From events to failures: one row for each request that was lost in flight, with the idle gap before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as names
from leadsman.modes.idle_disconnect.gaps import BEGINS_WITH, CLOSINGS, HAS_BROKER_LINES
from leadsman.modes.idle_disconnect.relevant_events import (
    CONDITIONS,
    FAILED,
    IS_ERROR,
    IS_KILLED,
    IS_UNAUTHENTICATED,
    IS_UNREACHABLE,
)
from leadsman.pipeline.detector_sql import (
    EVIDENCE_KEPT,
    EVIDENCE_LINE,
    LABEL,
    LABEL_COLUMN,
    TIME_ORDER,
    sql_literals,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

BROKER_TRANSITIONS = (names.BROKER_STARTED, names.BROKER_STOPPING, names.BROKER_FENCED, names.SESSION_EXPIRED)
REPORT_SECONDS = 1
"""Seconds within which an application logs the error that its client returned."""

IS_SEVERED = "(is_lost_in_flight OR is_closed AND errors_after > 0)"

HARMED_A_RECORD = f"(names_a_record OR name = '{names.REQUEST_TIMED_OUT}' AND other_requests = 0)"
"""The line names a record or a produce request that was lost, failed, retried or late; or a request of unknown kind
waited for its whole timeout, and no nearby line names a request that carries no record. A connection reset alone may
be harmless."""

IS_IDLE_LIMIT = f"name = '{names.SETTING}' AND labels['key'] = 'connections.max.idle.ms'"
LIMIT = "try_cast(labels['value'] AS DOUBLE) / 1000"
IS_BROKER_SETTING = "coalesce(labels['owner'], '') = 'broker'"

MICROSECOND = 1e-6
"""Seconds: the precision of an event's time."""

EVERY_SECOND = "PARTITION BY capture, subject ORDER BY second"
A_LINE = "PARTITION BY capture, subject, episode, {0} ORDER BY at, line"
TIMED_OUT = f"name = '{names.REQUEST_TIMED_OUT}'"
LONGEST_FIRST = "(a, b) -> CASE WHEN a.value > b.value THEN -1 WHEN a.value < b.value THEN 1 ELSE 0 END"

EPISODE_COLUMNS = (
    "capture",
    "subject",
    "episode",
    "file",
    "failed_at",
    "failed_until",
    "in_flight_seconds",
    "timed_out",
    "on_new_connection",
    "reset",
    "retried",
    "lost",
    "harmed",
    "killed",
    "connect_failed",
    "auth_failed",
    "connect_failed_ever",
    "auth_failed_ever",
    "from_client_log",
    "client_id",
)
"""What is known of the lines that report a failure."""

LINE_COLUMNS = ("idle_lines", "severed_lines", "harmed_lines")
"""The lines that prove the links of a failure: before and after its gap, of the lost request, of the harm."""


class Distances(NamedTuple):
    """The distances by which lines, failures and gaps are told apart, in seconds; `detect` explains them."""

    episode: float
    reset: float
    stall: float
    near: float
    history: float


def lost_request_steps(distances: Distances, *, quoted: bool, absent: Collection[str] = ()) -> Mapping[str, str]:
    """Return the steps from `events`, `relevant_events` and `captures` to `lost_requests`: one row for each failure.

    A failure has the columns LINE_COLUMNS where it is `quoted`. To collect them takes half of the time of very many
    failures, of which few are quoted. `absent` are those of the CONDITIONS that no event meets.
    """
    return {
        **_failure_lines(stall=distances.stall, near=distances.near, absent=absent),
        **_episodes(episode=distances.episode, quoted=quoted),
        **_failures_with_gap(reset=distances.reset, stall=distances.stall, quoted=quoted),
        "lost_requests": _lost_requests(history=distances.history, quoted=quoted),
    }


def _failure_lines(*, stall: float, near: float, absent: Collection[str]) -> Mapping[str, str]:
    """Return the steps to the lines that report a failure, each with the other errors around it.

    `is_first_request`: a request timed out that was the first one of its connection, so the connection was not idle.
    Bootstrap connections have negative nodes; no record is sent on them.
    """
    ever = "PARTITION BY capture, subject"
    of_node = "PARTITION BY capture, subject, node ORDER BY second"

    def count(condition: str, *, after: float, before: float = 0, window: str = EVERY_SECOND) -> str:
        return NO_COUNT if condition in absent else count_within(condition, after=after, before=before, window=window)

    def count_ever(condition: str) -> str:
        return NO_COUNT if condition in absent else f"count_if({condition}) OVER ({ever})"

    return {
        "events_in_context": f"""
            SELECT *,
                {count(IS_UNREACHABLE, before=near, after=near)} AS connect_failed,
                {count(IS_UNAUTHENTICATED, before=near, after=near)} AS auth_failed,
                {count_ever(IS_UNREACHABLE)} AS connect_failed_ever,
                {count_ever(IS_UNAUTHENTICATED)} AS auth_failed_ever,
                {count("is_other_request", before=near, after=near)} AS other_requests,
                {count(IS_ERROR, after=REPORT_SECONDS)} AS errors_after,
                {TIMED_OUT} AND (coalesce(node LIKE '-%', false)
                    OR {count("is_api_versions_lost", after=REPORT_SECONDS, window=of_node)} > 0)
                    AS is_first_request,
                {count(IS_KILLED, after=stall)} > 0 AS killed,
                min(IF(name = '{names.SUBJECT_ACTIVE}', at, NULL)) OVER ({ever}) AS first_seen,
                max(has_broker_lines) OVER ({ever}) AS is_broker
            FROM relevant_events WHERE NOT is_gap
        """,
        "failure_lines": f"""
            SELECT *, {IS_SEVERED} AS severed FROM events_in_context
            WHERE NOT is_broker AND ({IS_SEVERED} OR name IN ({sql_literals(*FAILED)}))
        """,
    }


NO_COUNT = "CAST(0 AS BIGINT)"

CONDITIONS_MET = f"""
    SELECT {", ".join(f"max({condition}) AS met_{number}" for number, condition in enumerate(CONDITIONS))}
    FROM relevant_events
"""
"""The step to one row that says which of the CONDITIONS any event meets. The windows that count the others would take
half of the time of very many events."""


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


def _lines_of(condition: str, rank: str) -> str:
    """Return the SQL for the lines of an episode that fulfil a condition, those of the first ranks."""
    return f"collect_set(CASE WHEN {condition} AND {rank} <= {EVIDENCE_KEPT} THEN {EVIDENCE_LINE} END)"


RANKED_LINES = f"""
    SELECT *, dense_rank() OVER ({A_LINE.format("severed")}) AS severed_rank,
        dense_rank() OVER ({A_LINE.format(HARMED_A_RECORD)}) AS harmed_rank
    FROM numbered_failure_lines
"""
EPISODE_LINES = f"""
                {_lines_of("severed", "severed_rank")} AS severed_lines,
                {_lines_of(HARMED_A_RECORD, "harmed_rank")} AS harmed_lines,"""


def _episodes(*, episode: float, quoted: bool) -> Mapping[str, str]:
    """Return the steps to one row for each failure, with the figures of its episode, and its first lines if quoted."""
    return {
        "spaced_failure_lines": f"""
            SELECT *, second - lag(second) OVER ({EVERY_SECOND}, line) < {episode}D AS same_episode FROM failure_lines
        """,
        "numbered_failure_lines": f"""
            SELECT *, count_if(NOT coalesce(same_episode, false)) OVER ({EVERY_SECOND}, line) AS episode
            FROM spaced_failure_lines
        """,
        "ranked_lines": RANKED_LINES if quoted else "SELECT * FROM numbered_failure_lines",
        "episodes": f"""
            SELECT capture, subject, episode,{EPISODE_LINES if quoted else ""}
                min(file) AS file,
                min(at) AS failed_at,
                max(at) AS failed_until,
                min(first_seen) AS first_seen,
                min(second) AS second,
                max(IF({TIMED_OUT} OR name = '{names.CONNECTION_LOST}', value, NULL)) AS in_flight_seconds,
                max({TIMED_OUT}) AS timed_out,
                bool_and(is_first_request) FILTER (WHERE severed) AS on_new_connection,
                max(name = '{names.CONNECTION_RESET}') AS reset,
                max(name = '{names.PRODUCE_RETRIED}') AS retried,
                max(name IN ({sql_literals(*FAILED)})) AS lost,
                max({HARMED_A_RECORD}) AS harmed,
                max(killed) AS killed,
                max(connect_failed) AS connect_failed,
                max(auth_failed) AS auth_failed,
                max(connect_failed_ever) AS connect_failed_ever,
                max(auth_failed_ever) AS auth_failed_ever,
                coalesce(max(source <> 'application'), false) AS from_client_log,
                max(client_id) AS client_id
            FROM ranked_lines GROUP BY capture, subject, episode HAVING max(severed)
        """,
    }


SO_FAR = f"{EVERY_SECOND} ROWS UNBOUNDED PRECEDING"


def _of_first(column: str) -> str:
    """Return the SQL for a column, never null, of the first of the gaps that go on until this one."""
    return f"last_value(IF(goes_on, NULL, {column})) IGNORE NULLS OVER ({SO_FAR})"


def _text_of_first(column: str) -> str:
    """Return the SQL for a column of text of that first gap, which is the gap itself where none goes on."""
    first = _of_first(f"coalesce({column}, '')")
    return f"IF(goes_on, nullif({first}, ''), {column}) AS {column}"


GAP_LINES = f""", file, text,
                {_text_of_first("before_file")},
                {_text_of_first("before_line")},
                {_text_of_first("before_text")}"""
"""What is quoted of a gap besides its own columns."""

EDGES = """IF(gap IS NULL, NULL, array(
            struct(gap.before_file AS file, try_cast(gap.before_line AS BIGINT) AS line,
                try_to_timestamp(gap.since) AS at, gap.before_text AS text),
            struct(gap.file, gap.line, gap.at, gap.text)
        ))"""
"""The lines before and after an idle gap."""


def _failures_with_gap(*, reset: float, stall: float, quoted: bool) -> Mapping[str, str]:
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
        "bootstrap_closings": f"SELECT * FROM ({LABEL.sub(LABEL_COLUMN, CLOSINGS)}) WHERE node LIKE '-%'",
        "log_gaps": f"""
            SELECT gap.*, CAST(round(value * 1000) AS BIGINT) AS ms,
                coalesce(CAST(try_to_timestamp(since) AS DOUBLE) - lag(second) OVER ({EVERY_SECOND}) < 0.001D, false)
                    AND before.in_line IS NOT NULL AS goes_on
            FROM relevant_events AS gap
                LEFT JOIN bootstrap_closings AS before ON {BEGINS_WITH.format("before", "")}
            WHERE is_gap
        """,
        "summed_gaps": f"SELECT *, sum(ms) OVER ({SO_FAR}) - ms AS ms_before FROM log_gaps",
        "joined_gaps": f"""
            SELECT capture, subject, struct(
                IF(goes_on, (ms_before + ms - {_of_first("ms_before")}) / 1000D, value) AS value,
                line,
                at,
                {_text_of_first("since")},
                {_of_first("frozen")} AS frozen{GAP_LINES if quoted else ""}) AS gap
            FROM summed_gaps
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


def _lost_requests(*, history: float, quoted: bool) -> str:
    """Return the step that adds the state of the link `idle` of each failure, and whether it had another cause.

    `idle_seconds` is the gap up to when the request was sent: while it was in flight, the connection was in use.
    """
    sent = "(second - coalesce(in_flight_seconds, second - sent))"
    seen_before = "CAST(failed_at AS DOUBLE) - CAST(first_seen AS DOUBLE)"
    since = "try_to_timestamp(gap.since)"
    restarted = (
        f"exists(broker_transitions, t -> t BETWEEN coalesce({since}, failed_at) AND failed_until + INTERVAL 5 SECONDS)"
    )
    columns = (*EPISODE_COLUMNS, "severed_lines", "harmed_lines") if quoted else EPISODE_COLUMNS
    return f"""
        SELECT {", ".join(f"failures_with_gap.{name}" for name in columns)},
            gap.at AS gap_at,
            {since} AS gap_since,
            gap.value - greatest(CAST(gap.at AS DOUBLE) - {sent}, 0D) AS idle_seconds,
            coalesce(gap.frozen, false) AS frozen,{f"{EDGES} AS idle_lines," if quoted else ""}
            CASE WHEN gap IS NOT NULL THEN 'observed'
                WHEN {seen_before} >= {history}D THEN 'contradicted'
                ELSE 'not visible' END AS idle,
            {restarted} AS restarted,
            connect_failed > 0 OR auth_failed > 0 OR on_new_connection OR {restarted} AS other_cause
        FROM failures_with_gap JOIN captures ON captures.capture = failures_with_gap.capture
    """
