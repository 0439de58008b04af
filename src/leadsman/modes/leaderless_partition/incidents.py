"""From offset commits that timed out to incidents: the windows of time in which the detector examines the cluster.

A capture of days holds many harmless disconnects. Only events while the commit waited, shortly before and shortly after
are evidence about that commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import broker_of_node, sql_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

HAS_BROKER_LINES = (
    f"coalesce(name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker'), false)"
)
"""The log of a broker: its own client lines, towards other brokers, are not evidence for this mode."""

CONNECTION_FAILURES = (
    names.COORDINATOR_LOST,
    names.CONNECTION_REFUSED,
    names.CONNECTION_LOST,
    names.CONNECTION_SETUP_TIMED_OUT,
    names.REQUEST_TIMED_OUT,
)
CONSUMER_LIFE = (names.COORDINATOR_FOUND, names.CONSUMER_JOINED, names.CONSUMER_ENDED, names.CLIENT_STARTED)
CONSUMER_EVENT_NAMES = (
    *CONNECTION_FAILURES,
    *CONSUMER_LIFE,
    names.COMMIT_TIMED_OUT,
    names.COMMIT_FAILED,
    names.SUBJECT_ACTIVE,
    names.FILE_READ,
)  # fmt: skip - a list of names

API = "upper(replace(coalesce(labels['api'], ''), '_', ''))"
"""Java writes OFFSET_COMMIT, librdkafka OffsetCommit."""

UNANSWERED_SECONDS = f"IF({API} IN ('JOINGROUP', 'SYNCGROUP'), NULL, value)"
"""How long a request had been unanswered when its line was written. JoinGroup and SyncGroup wait for a rebalance; that
wait is no failure."""

IS_COORDINATOR_REQUEST = (
    f"name = '{names.COORDINATOR_LOST}' OR {API} IN ('OFFSETCOMMIT', 'HEARTBEAT', 'JOINGROUP', 'SYNCGROUP')"
)
"""Requests that only the coordinator of a group gets. librdkafka and kafka-python do not log which coordinator they
found."""

NUMBER = "try_cast(regexp_extract(labels['{}'], '^(?:coordinator-)?(-?[0-9]+)$', 1) AS BIGINT)"
"""kafka-python names the connection to a coordinator `coordinator-4`."""

NODE = f"coalesce({NUMBER.format('coordinator')}, {NUMBER.format('node')})"
BROKER = broker_of_node(NODE)

THREAD_ENDED = (
    f"name = '{names.CONSUMER_ENDED}' AND NOT (labels['how'] = 'closed' AND labels['thread'] LIKE '%StreamThread%')"
)
"""Streams closes the consumers of a thread as the thread ends: one end, reported three times."""

TIMED_OUT = f"name = '{names.COMMIT_TIMED_OUT}'"
SOME_TIME = "coalesce(at, TIMESTAMP '1970-01-01')"
"""A line without a time counts too."""

IS_SETTING = f"name = '{names.SETTING}' AND labels['key'] = 'default.api.timeout.ms' AND labels['owner'] = 'consumer'"
OWN_ERROR = (
    f"name = '{names.ERROR}' AND labels['kind'] RLIKE '(Exception|Error)$' AND NOT labels['kind'] RLIKE "
    "'(?i)timeout|commit|disconnect|kafka|stream|retriable|wakeup|interrupt|network|coordinator|closed'"
)
"""An exception of the application's own or of a record: it ends a consumer whatever the cluster does."""

LINES = f"""
    SELECT capture, subject, name, at, {SOME_TIME} AS moment, file, line, text, value, labels,
        name IN ({sql_literals(*CONNECTION_FAILURES)}) AS is_failure,
        {IS_COORDINATOR_REQUEST} AS is_coordinator_request,
        IF(name IN ({sql_literals(*CONNECTION_FAILURES)}), coalesce({UNANSWERED_SECONDS}, 0D), NULL) AS waited,
        {BROKER} AS broker,
        {THREAD_ENDED} AS thread_ended,
        {HAS_BROKER_LINES} AS is_broker,
        coalesce({OWN_ERROR}, false) AS own_error,
        IF({IS_SETTING}, try_cast(labels['value'] AS DOUBLE) / 1000, NULL) AS configured_timeout
    FROM events
    WHERE subject IS NOT NULL AND (name IN ({sql_literals(*CONSUMER_EVENT_NAMES)}) OR ({IS_SETTING}) OR ({OWN_ERROR}))
"""
"""The lines about consumers, with the broker that each line names."""

MAX_INCIDENTS = 20
"""Incidents of one capture that are examined, those with most timeouts first: a client that never recovers makes many
incidents."""


def seconds(expression: str) -> str:
    """Return the SQL for a number of seconds as an interval."""
    return f"make_interval(0, 0, 0, 0, 0, 0, {expression})"


def incident_steps(*, before: float, after: float) -> Mapping[str, str]:
    """Return the steps from `lines` to `incidents`: overlapping windows are one incident.

    before: seconds before the first commit began to wait; after: seconds after the last one timed out.
    """
    window = "PARTITION BY capture ORDER BY opens, closes"
    return {
        "commit_windows": f"""
            SELECT capture, moment - {seconds("coalesce(value, 0)")} - {seconds(str(before))} AS opens,
                moment + {seconds(str(after))} AS closes
            FROM lines WHERE {TIMED_OUT}
        """,
        "window_starts": f"""
            SELECT *, IF(opens <= max(closes) OVER ({window} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0, 1)
                AS starts_incident
            FROM commit_windows
        """,
        "numbered_windows": f"""
            SELECT *, sum(starts_incident) OVER ({window} ROWS UNBOUNDED PRECEDING) AS incident FROM window_starts
        """,
        "ranked": """
            SELECT capture, incident, min(opens) AS opens, max(closes) AS closes,
                row_number() OVER (PARTITION BY capture ORDER BY count(*) DESC, incident DESC) AS rank
            FROM numbered_windows GROUP BY capture, incident
        """,
        "incidents": f"SELECT capture, incident, opens, closes FROM ranked WHERE rank <= {MAX_INCIDENTS}",
    }
