"""From events to failures: one row for each request that was lost under way, with the quiet gap before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEVERED = (names.CONNECTION_LOST, names.CONNECTION_RESET, names.REQUEST_TIMED_OUT)
FAILED = (names.RECORD_FAILED, names.RECORD_EXPIRED)
UNREACHABLE = (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT)
BROKER_LIFE = (names.BROKER_STARTED, names.BROKER_STOPPING)
AROUND = (names.SUBJECT_QUIET, names.SUBJECT_ACTIVE, names.AUTHENTICATION_FAILED, names.FILE_READ, *UNREACHABLE)

OF_BROKER = f"coalesce(name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker'), false)"
"""A broker's log: what it says as a client of other brokers is not what this mode is about."""

NETWORK = "NETWORK_EXCEPTION|REQUEST_TIMED_OUT|RequestTimedOut|TRANSPORT|transport|[Dd]isconnect|ConnectionError"
"""What a retry or a failed record must have failed with: one after NOT_LEADER is another story."""

LOST_UNDER_WAY = f"name IN {SEVERED} AND coalesce(labels['api'], '') <> 'FETCH'"
"""A consumer's fetch is asked for again: nothing is lost with it."""

GAVE_UP = (
    f"name IN ('{names.PRODUCE_RETRIED}', '{names.RECORD_FAILED}') AND "
    f"coalesce(labels['error'], IF(name = '{names.PRODUCE_RETRIED}', 'NETWORK_EXCEPTION', '')) RLIKE '{NETWORK}'"
)

IS_SEVERED = f"(({LOST_UNDER_WAY}) OR ({GAVE_UP}))"

FROZEN = "(?:REPORT|END) RequestId|platform[.](?:report|runtimeDone)"
"""The last line before a gap in which AWS Lambda froze the runtime."""


def failures_of(
    events: DataFrame, captures: DataFrame, *, apart: float, reset: float, stall: float, near: float, history: float
) -> DataFrame:
    """Return one row a failure of a subject. All distances are seconds, as `detect` explains them."""
    harmed = _harmed(events, reset=reset, stall=stall, near=near)
    return _judged(_episodes(harmed, apart=apart, reset=reset, stall=stall), captures, history=history)


def _harmed(events: DataFrame, *, reset: float, stall: float, near: float) -> DataFrame:
    """Return the lines that tell of harm, each with the quiet gap before it and with what else broke around it."""
    of_subject = "PARTITION BY capture, subject ORDER BY second RANGE BETWEEN"
    nearby = f"{near}D PRECEDING AND {near}D FOLLOWING"
    gap = f"CASE WHEN name = '{names.SUBJECT_QUIET}' THEN struct(value, file, line, at, text, labels) END"
    shown = (
        events.where(F.col("name").isin(*SEVERED, *FAILED, names.PRODUCE_RETRIED, *AROUND))
        .where("subject IS NOT NULL")
        .selectExpr("*", "coalesce(CAST(at AS DOUBLE), 0D) AS second", f"{gap} AS gap")
        .selectExpr(
            "*",
            f"collect_list(gap) OVER ({of_subject} {stall + reset}D PRECEDING AND 0.001D FOLLOWING) AS gaps_before",
            f"count_if(name IN {UNREACHABLE}) OVER ({of_subject} {nearby}) AS refused",
            f"count_if(name = '{names.AUTHENTICATION_FAILED}') OVER ({of_subject} {nearby}) AS denied",
            f"min(IF(name = '{names.SUBJECT_ACTIVE}', at, NULL)) OVER (PARTITION BY capture, subject) AS first_seen",
            f"max({OF_BROKER}) OVER (PARTITION BY capture, subject) AS is_broker",
        )
    )
    return shown.where(f"NOT is_broker AND ({IS_SEVERED} OR name IN {FAILED})").withColumn(
        "severed", F.expr(IS_SEVERED)
    )


def captures_of(events: DataFrame) -> DataFrame:
    """Return one row a capture: what was configured, and when brokers came and went."""
    is_idle = f"name = '{names.SETTING}' AND labels['key'] = 'connections.max.idle.ms'"
    number = "try_cast(labels['value'] AS DOUBLE) / 1000"
    by_broker = "coalesce(labels['owner'], '') = 'broker'"
    return events.groupBy("capture").agg(
        F.expr(f"min(CASE WHEN {is_idle} AND {by_broker} THEN {number} END) AS broker_limit"),
        F.expr(f"min(CASE WHEN {is_idle} AND NOT {by_broker} AND {number} > 0 THEN {number} END) AS client_limit"),
        F.expr(f"collect_set(CASE WHEN name IN {BROKER_LIFE} THEN at END) AS broker_life"),
        F.expr(f"coalesce(sum(IF({OF_BROKER}, value, 0)), 0) AS broker_lines"),
        F.expr(f"count_if(name = '{names.CONNECTION_CLOSED}') AS closed"),
    )


def _episodes(harmed: DataFrame, *, apart: float, reset: float, stall: float) -> DataFrame:
    """Return one row a failure: its lines, when its request was sent, and the quiet gap that ended then."""
    of_subject = "PARTITION BY capture, subject ORDER BY second, line"
    line = "struct(file, line, at, text)"
    timed_out = f"name = '{names.REQUEST_TIMED_OUT}'"
    told = (
        harmed.selectExpr("*", f"second - lag(second) OVER ({of_subject}) < {apart}D AS goes_on")
        .selectExpr("*", f"count_if(NOT coalesce(goes_on, false)) OVER ({of_subject}) AS episode")
        .groupBy("capture", "subject", "episode")
        .agg(
            *columns(
                "min(at) AS failed_at",
                "max(at) AS failed_until",
                "min(first_seen) AS first_seen",
                "min(second) AS second",
                "min_by(gaps_before, second) AS gaps",
                f"max(IF({timed_out}, value, NULL)) AS in_flight",
                f"collect_set(CASE WHEN severed THEN {line} END) AS severed_lines",
                f"collect_set({line}) AS told_lines",
                "max(severed) AS severed",
                f"max({timed_out}) AS timed_out",
                f"max(name = '{names.CONNECTION_RESET}') AS reset",
                f"max(name = '{names.PRODUCE_RETRIED}') AS retried",
                f"max(name IN {FAILED}) AS lost",
                "max(refused) AS refused",
                "max(denied) AS denied",
                "max(labels['client_id']) AS client_id",
            ),
        )
        .where("severed")
    )
    silence = f"get(filter(gaps, g -> abs(CAST(g.at AS DOUBLE) - second) < 0.002D AND g.value <= {stall}D), 0).value"
    longest_first = "(a, b) -> CASE WHEN a.value > b.value THEN -1 WHEN a.value < b.value THEN 1 ELSE 0 END"
    ended_then = f"g -> CAST(g.at AS DOUBLE) BETWEEN sent - {reset}D AND sent + 0.1D"
    return told.selectExpr("*", f"second - IF(timed_out, coalesce(in_flight, {silence}, 0D), 0D) AS sent").selectExpr(
        *(column for column in told.columns if column not in {"gaps", "second", "severed"}),
        f"coalesce(get(array_sort(filter(gaps, {ended_then}), {longest_first}), 0), "
        f"IF(timed_out, get(array_sort(gaps, {longest_first}), 0), NULL)) AS gap",
    )


def _judged(told: DataFrame, captures: DataFrame, *, history: float) -> DataFrame:
    """Say of each failure whether it was quiet before, and whether something else broke as well."""
    since = "to_timestamp(gap.labels['since'])"
    seen_before = "CAST(failed_at AS DOUBLE) - CAST(first_seen AS DOUBLE)"
    restarted = (
        f"exists(broker_life, t -> t BETWEEN coalesce({since}, failed_at) AND failed_until + INTERVAL 5 SECONDS)"
    )
    return told.join(captures.select("capture", "broker_life"), "capture").selectExpr(
        *told.columns,
        f"{since} AS gap_since",
        "gap.value AS quiet_seconds",
        f"coalesce(gap.labels['before_text'] RLIKE '{FROZEN}', false) AS frozen",
        f"CASE WHEN gap IS NOT NULL THEN 'observed' WHEN {seen_before} >= {history}D THEN 'contradicted' "
        "ELSE 'not visible' END AS quiet",
        f"{restarted} AS restarted",
        f"refused > 0 OR denied > 0 OR {restarted} AS other_cause",
    )
