"""From offset commits that timed out to incidents: the windows of time in which the cluster is looked at.

A capture of days holds many harmless disconnects. What bears on a commit is what happened while the commit waited, a
little before it, and soon after it; the rest of the capture says nothing about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

OF_BROKER = f"coalesce(name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker'), false)"
"""A broker's log: what it says as a client of other brokers is not what this mode is about."""

TROUBLE = (
    names.COORDINATOR_LOST,
    names.CONNECTION_REFUSED,
    names.CONNECTION_LOST,
    names.CONNECTION_SETUP_TIMED_OUT,
    names.REQUEST_TIMED_OUT,
)
LIFE = (names.COORDINATOR_FOUND, names.CONSUMER_JOINED, names.CONSUMER_ENDED, names.CLIENT_STARTED)
OF_CONSUMER = (*TROUBLE, *LIFE, names.COMMIT_TIMED_OUT, names.COMMIT_FAILED, names.SUBJECT_ACTIVE, names.FILE_READ)

API = "upper(replace(coalesce(labels['api'], ''), '_', ''))"
"""Java writes OFFSET_COMMIT, librdkafka OffsetCommit."""

WAITED = f"IF({API} IN ('JOINGROUP', 'SYNCGROUP'), NULL, value)"
"""How long a request had been unanswered when its line was written; to wait for a rebalance is no trouble."""

COORDINATOR_BASE = 2_147_483_647
"""Clients number a connection to a coordinator as this less its broker, to tell it from the broker's other one."""

OF_COORDINATOR = (
    f"name = '{names.COORDINATOR_LOST}' OR {API} IN ('OFFSETCOMMIT', 'HEARTBEAT', 'JOINGROUP', 'SYNCGROUP')"
)
"""Only the coordinator of a group is asked such things: clients of other languages do not name it when they find it."""

NUMBER = "try_cast(regexp_extract(labels['{}'], '^(?:coordinator-)?(-?[0-9]+)$', 1) AS BIGINT)"
"""kafka-python names the connection to a coordinator `coordinator-4`."""

NODE = f"coalesce({NUMBER.format('coordinator')}, {NUMBER.format('node')})"
BROKER = f"IF({NODE} > 1000000000, {COORDINATOR_BASE} - {NODE}, {NODE})"

THREAD_ENDED = (
    f"name = '{names.CONSUMER_ENDED}' AND NOT (labels['how'] = 'closed' AND labels['thread'] LIKE '%StreamThread%')"
)
"""Streams closes the consumers of a thread as the thread ends: one end, reported three times."""

TIMED_OUT = f"name = '{names.COMMIT_TIMED_OUT}'"
SOME_TIME = "coalesce(at, TIMESTAMP '1970-01-01')"
"""A line without a time happened all the same."""

IS_SETTING = f"name = '{names.SETTING}' AND labels['key'] = 'default.api.timeout.ms' AND labels['owner'] = 'consumer'"
OWN_ERROR = (
    f"name = '{names.ERROR}' AND labels['kind'] RLIKE '(Exception|Error)$' AND NOT labels['kind'] RLIKE "
    "'(?i)timeout|commit|disconnect|kafka|stream|retriable|wakeup|interrupt|network|coordinator|closed'"
)
"""An exception of the application's own or of a record: it ends a consumer whatever the cluster does."""

LINES = f"""
    SELECT capture, subject, name, at, {SOME_TIME} AS moment, file, line, text, value, labels,
        name IN ({quoted(*TROUBLE)}) AS trouble,
        {OF_COORDINATOR} AS of_coordinator,
        IF(name IN ({quoted(*TROUBLE)}), coalesce({WAITED}, 0D), NULL) AS waited,
        {BROKER} AS broker,
        {THREAD_ENDED} AS thread_ended,
        {OF_BROKER} AS is_broker,
        coalesce({OWN_ERROR}, false) AS own_error,
        IF({IS_SETTING}, try_cast(labels['value'] AS DOUBLE) / 1000, NULL) AS own_patience
    FROM events
    WHERE subject IS NOT NULL AND (name IN ({quoted(*OF_CONSUMER)}) OR ({IS_SETTING}) OR ({OWN_ERROR}))
"""
"""The lines that are about consumers, with the broker that each names."""

MOST_INCIDENTS = 20
"""Incidents of one capture that are looked at, those with most time-outs: a client that fails for ever makes many."""


def seconds(expression: str) -> str:
    """Return a number of seconds as an interval."""
    return f"make_interval(0, 0, 0, 0, 0, 0, {expression})"


def incidents_of(*, before: float, after: float) -> Mapping[str, str]:
    """Return the steps from `lines` to `incidents`: windows that overlap are one incident.

    before: seconds before the first commit began to wait; after: seconds after the last one timed out.
    """
    window = "PARTITION BY capture ORDER BY opens, closes"
    return {
        "waits": f"""
            SELECT capture, moment - {seconds("coalesce(value, 0)")} - {seconds(str(before))} AS opens,
                moment + {seconds(str(after))} AS closes
            FROM lines WHERE {TIMED_OUT}
        """,
        "parted": f"""
            SELECT *, IF(opens <= max(closes) OVER ({window} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0, 1)
                AS fresh
            FROM waits
        """,
        "numbered": f"SELECT *, sum(fresh) OVER ({window} ROWS UNBOUNDED PRECEDING) AS incident FROM parted",
        "ranked": """
            SELECT capture, incident, min(opens) AS opens, max(closes) AS closes,
                row_number() OVER (PARTITION BY capture ORDER BY count(*) DESC, incident DESC) AS place
            FROM numbered GROUP BY capture, incident
        """,
        "incidents": f"SELECT capture, incident, opens, closes FROM ranked WHERE place <= {MOST_INCIDENTS}",
    }
