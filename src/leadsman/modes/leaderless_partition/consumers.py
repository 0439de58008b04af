"""From events to consumers: what each suffered, when it gave a commit up, and whether it lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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

COORDINATOR_BASE = 2_147_483_647
"""Clients number a connection to a coordinator as this less its broker, to tell it from the broker's other one."""

NODE = "coalesce(try_cast(labels['coordinator'] AS BIGINT), try_cast(labels['node'] AS BIGINT))"
BROKER = f"IF({NODE} > 1000000000, {COORDINATOR_BASE} - {NODE}, {NODE})"

THREAD_ENDED = (
    f"name = '{names.CONSUMER_ENDED}' AND NOT (labels['how'] = 'closed' AND labels['thread'] LIKE '%StreamThread%')"
)
"""Streams closes the consumers of a thread as the thread ends: one end, told three times."""


def consumers_of(events: DataFrame, *, near: float) -> DataFrame:
    """Return one row for each subject that talks to a coordinator or failed to. `near` is seconds, as `detect` says."""
    told = _told(events)
    timed_out = f"name = '{names.COMMIT_TIMED_OUT}'"
    ended = "thread_ended"
    line = "struct(file, line, at, text)"
    gathered = (
        told.groupBy("capture", "subject")
        .agg(
            *columns(
                "max(is_broker) AS is_broker",
                "min(IF(trouble, at, NULL)) AS trouble_at",
                "max(IF(trouble, at, NULL)) AS trouble_until",
                "mode(IF(trouble AND broker >= 0, broker, NULL)) AS lost_broker",
                f"count_if({timed_out}) AS time_outs",
                f"min(IF({timed_out}, coalesce(at, TIMESTAMP '1970-01-01'), NULL)) AS timed_out_at",
                f"max(IF({timed_out}, coalesce(at, TIMESTAMP '1970-01-01'), NULL)) AS timed_out_until",
                f"max(IF({timed_out}, value, NULL)) AS patience",
                f"max(IF({ended}, at, NULL)) AS ended_at",
                f"count(DISTINCT IF({ended} AND labels['how'] = 'thread', labels['thread'], NULL)) AS threads",
                f"max(IF(name = '{names.CONSUMER_JOINED}', at, NULL)) AS joined_at",
                f"count_if(name = '{names.CONSUMER_JOINED}') AS rebalances",
                f"collect_list(IF(name = '{names.COORDINATOR_FOUND}', struct(at, broker), NULL)) AS found",
                f"max(IF(name = '{names.SUBJECT_ACTIVE}', to_timestamp(labels['until']), NULL)) AS last_seen",
                f"min(IF(name = '{names.SUBJECT_ACTIVE}', at, NULL)) AS first_seen",
                "max(labels['version']) AS version",
                "max(coalesce(labels['client_id'] LIKE '%StreamThread%', false)) AS streams",
                f"collect_list(IF(trouble, {line}, NULL)) AS trouble_lines",
                f"collect_list(IF({timed_out}, {line}, NULL)) AS timed_out_lines",
                f"collect_list(IF({ended}, {line}, NULL)) AS ended_lines",
                "max(own_patience) AS own_patience",
            )
        )
        .where("NOT is_broker AND (size(found) > 0 OR time_outs > 0)")
    )
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
    return gathered.selectExpr(
        "*",
        f"{died} AS died",
        f"array_min({elsewhere}) AS healed_at",
        "time_outs > 0 AND ended_at IS NULL AND size(found) = 0 AS stuck",
        f"greatest(coalesce(trouble_at, {patience}), {patience}) AS gave_up_at",
        "greatest(timed_out_at, ended_at) AS died_at",
        "concat(timed_out_lines, filter(ended_lines, e -> e.at >= timed_out_at)) AS died_lines",
    )


def _told(events: DataFrame) -> DataFrame:
    """Return the lines that are about consumers, with the broker that each names."""
    setting = f"name = '{names.SETTING}' AND labels['key'] IN ('default.api.timeout.ms', 'task.timeout.ms')"
    wanted = f"name IN {OF_CONSUMER} OR ({setting})"
    return events.where(f"subject IS NOT NULL AND ({wanted})").selectExpr(
        "*",
        f"name IN {TROUBLE} AS trouble",
        f"{BROKER} AS broker",
        f"{THREAD_ENDED} AS thread_ended",
        f"{OF_BROKER} AS is_broker",
        f"IF({setting} AND labels['key'] = 'default.api.timeout.ms' AND labels['owner'] = 'consumer', "
        "try_cast(labels['value'] AS DOUBLE) / 1000, NULL) AS own_patience",
    )
