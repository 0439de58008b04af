"""What is read of the events: those that show a failure, or what was around it, and idle gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.idle_disconnect.gaps import ACTIVITY, CLOSINGS, GAPS, HAS_BROKER_LINES
from leadsman.pipeline.detector_sql import LABEL, LABEL_COLUMN, label_columns, looked_up_labels, sql_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

SEVERED = (names.CONNECTION_LOST, names.CONNECTION_RESET, names.REQUEST_TIMED_OUT)
FAILED = (names.RECORD_FAILED, names.RECORD_EXPIRED)
UNREACHABLE = (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT)
OTHER_EVENTS = (names.CONNECTION_CLOSED, names.ERROR, names.INVOCATION_TIMED_OUT)
CONTEXT_EVENTS = (names.SUBJECT_IDLE, names.SUBJECT_ACTIVE, names.AUTHENTICATION_FAILED, names.FILE_READ, *UNREACHABLE)

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

CLOSED = (
    f"name = '{names.CONNECTION_CLOSED}' AND source IN ('kafka_python', 'aiokafka') "
    "AND coalesce(labels['reason'], '') <> 'idle'"
)
"""kafka-python and aiokafka log the same line whether or not a request was in flight. Where the application logs an
error within a second, a request was in flight. That line may not name the request, so no record is known to be
harmed."""

NAMES_A_RECORD = f"""CASE WHEN name IN ({sql_literals(names.PRODUCE_RETRIED, *FAILED)}) THEN true
            WHEN name IN ({sql_literals(*SEVERED, names.CONNECTION_CLOSED)})
                THEN labels['api'] IS NOT NULL OR labels['topic'] IS NOT NULL
                    OR text RLIKE '(?i)produce (?:request|response)|to produce|ProduceRequest' END"""

FROZEN = "(?:REPORT|END) RequestId|platform[.](?:report|runtimeDone)"
"""The last line before a gap in which AWS Lambda froze the runtime."""

IS_UNREACHABLE = f"name IN ({sql_literals(*UNREACHABLE)})"
IS_UNAUTHENTICATED = f"name = '{names.AUTHENTICATION_FAILED}'"
IS_ERROR = f"name = '{names.ERROR}'"
IS_KILLED = f"name = '{names.INVOCATION_TIMED_OUT}'"
CONDITIONS = (
    IS_UNREACHABLE,
    IS_UNAUTHENTICATED,
    IS_ERROR,
    IS_KILLED,
    "is_other_request",
    "is_api_versions_lost",
)
"""Events that are counted around each failure."""


IS_RELEVANT = f"""subject IS NOT NULL
        AND name IN ({sql_literals(*SEVERED, *FAILED, names.PRODUCE_RETRIED, *CONTEXT_EVENTS, *OTHER_EVENTS)})"""
"""The events that show a failure, or what was around it, and idle gaps."""

RELEVANT_EVENTS = f"""
    SELECT capture, subject, at, name, source, value, file, line,{{quoted_columns}}
        coalesce(CAST(at AS DOUBLE), 0D) AS second,
        name = '{names.SUBJECT_IDLE}' AS is_gap,
        labels['since'] AS since,
        labels['before_file'] AS before_file,
        labels['before_line'] AS before_line,
        coalesce(labels['before_text'] RLIKE '{FROZEN}', false) AS frozen,
        labels['node'] AS node,
        labels['client_id'] AS client_id,
        {HAS_BROKER_LINES} AS has_broker_lines,
        ({LOST_IN_FLIGHT}) OR ({RETRIED_OR_FAILED}) AS is_lost_in_flight,
        {CLOSED} AS is_closed,
        {NAMES_A_RECORD} AS names_a_record,
        name IN ({sql_literals(*SEVERED)}) AND NOT {IS_PRODUCE_REQUEST} AS is_other_request,
        {FIRST_REQUEST} AS is_api_versions_lost
    FROM labelled_events
"""
EVENT_COLUMNS = ("capture", "subject", "at", "name", "source", "value", "file", "line", "text")
EVENT_LABELS = looked_up_labels([RELEVANT_EVENTS, ACTIVITY, GAPS, CLOSINGS])


def relevant_events(*, quoted: bool) -> Mapping[str, str]:
    """Return the step from `labelled_events` to what is read of them.

    They have their texts where lines are to be `quoted`: to sort these costs as much as all the rest.
    """
    text = RELEVANT_EVENTS.format(quoted_columns=" text, labels['before_text'] AS before_text," if quoted else "")
    return {"relevant_events": LABEL.sub(LABEL_COLUMN, text)}


LABELLED_EVENTS = f"""
    SELECT {", ".join(EVENT_COLUMNS)}{label_columns(EVENT_LABELS)} FROM events WHERE {IS_RELEVANT}
"""
"""The relevant events with their labels as columns: each label is looked up once."""

QUOTED_EVENTS = {"labelled_events": LABELLED_EVENTS, **relevant_events(quoted=True)}
"""The steps from `events` to `labelled_events`, and to `relevant_events` with their texts."""
