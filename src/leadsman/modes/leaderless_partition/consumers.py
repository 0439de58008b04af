"""From events to consumers: what each suffered, when it gave a commit up, and whether it lives."""

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

WAITED = "IF(coalesce(labels['api'], '') IN ('JOIN_GROUP', 'SYNC_GROUP'), NULL, value)"
"""How long a request had been unanswered when its line was written; to wait for a rebalance is no trouble."""

COORDINATOR_BASE = 2_147_483_647
"""Clients number a connection to a coordinator as this less its broker, to tell it from the broker's other one."""

NODE = "coalesce(try_cast(labels['coordinator'] AS BIGINT), try_cast(labels['node'] AS BIGINT))"
BROKER = f"IF({NODE} > 1000000000, {COORDINATOR_BASE} - {NODE}, {NODE})"

THREAD_ENDED = (
    f"name = '{names.CONSUMER_ENDED}' AND NOT (labels['how'] = 'closed' AND labels['thread'] LIKE '%StreamThread%')"
)
"""Streams closes the consumers of a thread as the thread ends: one end, told three times."""

TIMED_OUT = f"name = '{names.COMMIT_TIMED_OUT}'"
JOINED = f"name = '{names.CONSUMER_JOINED}'"
LINE = "struct(file, line, at, text)"
SOME_TIME = "coalesce(at, TIMESTAMP '1970-01-01')"
"""A line without a time happened all the same."""

IS_SETTING = f"name = '{names.SETTING}' AND labels['key'] = 'default.api.timeout.ms' AND labels['owner'] = 'consumer'"

TOLD = f"""
    SELECT *, name IN ({quoted(*TROUBLE)}) AS trouble,
        IF(name IN ({quoted(*TROUBLE)}), coalesce({WAITED}, 0D), NULL) AS waited,
        {BROKER} AS broker,
        {THREAD_ENDED} AS thread_ended,
        {OF_BROKER} AS is_broker,
        IF({IS_SETTING}, try_cast(labels['value'] AS DOUBLE) / 1000, NULL) AS own_patience
    FROM events
    WHERE subject IS NOT NULL AND (name IN ({quoted(*OF_CONSUMER)}) OR ({IS_SETTING}))
"""
"""The lines that are about consumers, with the broker that each names."""

GATHERED = f"""
    SELECT capture, subject,
        min(IF(trouble, at - make_interval(0, 0, 0, 0, 0, 0, waited), NULL)) AS trouble_at,
        max(IF(trouble, at, NULL)) AS trouble_until,
        max(waited) AS waited_longest,
        mode(IF(trouble AND broker >= 0, broker, NULL)) AS lost_broker,
        count_if({TIMED_OUT}) AS time_outs,
        min(IF({TIMED_OUT}, {SOME_TIME}, NULL)) AS timed_out_at,
        max(IF({TIMED_OUT}, {SOME_TIME}, NULL)) AS timed_out_until,
        max(IF({TIMED_OUT}, value, NULL)) AS patience,
        max(IF({TIMED_OUT}, coalesce(labels['setting'], 'default.api.timeout.ms'), NULL)) AS decided_by,
        max(IF(thread_ended, at, NULL)) AS ended_at,
        count(DISTINCT IF(thread_ended AND labels['how'] = 'thread', labels['thread'], NULL)) AS threads,
        max(IF({JOINED}, at, NULL)) AS joined_at,
        count_if({JOINED}) AS rebalances,
        collect_list(IF(name = '{names.COORDINATOR_FOUND}', struct(at, broker), NULL)) AS found,
        max(IF(name = '{names.SUBJECT_ACTIVE}', to_timestamp(labels['until']), NULL)) AS last_seen,
        min(IF(name = '{names.SUBJECT_ACTIVE}', at, NULL)) AS first_seen,
        max(labels['version']) AS version,
        max(coalesce(labels['client_id'] LIKE '%StreamThread%', false)) AS streams,
        collect_list(IF(trouble, {LINE}, NULL)) AS trouble_lines,
        collect_list(IF({TIMED_OUT}, {LINE}, NULL)) AS timed_out_lines,
        collect_list(IF(thread_ended, {LINE}, NULL)) AS ended_lines,
        max(own_patience) AS own_patience
    FROM told GROUP BY capture, subject
    HAVING NOT max(is_broker) AND (size(found) > 0 OR time_outs > 0)
"""
"""One row for each subject that talks to a coordinator or failed to."""


def consumers_of(*, near: float) -> Mapping[str, str]:
    """Return the steps from `events` to `consumers`. `near` is seconds, as `detect` says."""
    elsewhere = "transform(filter(found, f -> f.broker <> lost_broker AND f.at > trouble_at), f -> f.at)"
    went_on = f"ended_at IS NULL AND array_max({elsewhere}) > timed_out_until"
    alive = f"joined_at > greatest(ended_at, timed_out_at) OR ({went_on})"
    died_of_it = (
        "CAST(ended_at AS DOUBLE) BETWEEN CAST(timed_out_at AS DOUBLE) - 1D "
        f"AND CAST(timed_out_until AS DOUBLE) + {near}D"
    )
    silent = "ended_at IS NULL AND NOT coalesce(last_seen > timed_out_until + INTERVAL 2 SECONDS, false)"
    died = f"time_outs > 0 AND NOT coalesce({alive}, false) AND (coalesce({died_of_it}, false) OR {silent})"
    patience = "timed_out_at - make_interval(0, 0, 0, 0, 0, 0, coalesce(patience, 0))"
    return {
        "told": TOLD,
        "gathered": GATHERED,
        "consumers": f"""
            SELECT *, {died} AS died,
                array_min({elsewhere}) AS healed_at,
                time_outs > 0 AND ended_at IS NULL AND size(found) = 0 AS stuck,
                greatest(coalesce(trouble_at, {patience}), {patience}) AS gave_up_at,
                greatest(timed_out_at, ended_at) AS died_at,
                concat(timed_out_lines, filter(ended_lines, e -> e.at >= timed_out_at)) AS died_lines
            FROM gathered
        """,
    }
