"""From events to consumers: the failures of each in an incident, when its commit timed out, and whether it died."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.incidents import TIMED_OUT, seconds
from leadsman.pipeline.detector_sql import EVIDENCE_LINE

if TYPE_CHECKING:
    from collections.abc import Mapping

JOINED = f"name = '{names.CONSUMER_JOINED}'"
WITHIN = "moment BETWEEN opens AND closes"
FAILED = f"is_failure AND {WITHIN}"
COMMIT_TIMED_OUT = f"{TIMED_OUT} AND {WITHIN}"
ENDED = f"thread_ended AND {WITHIN}"
ACTIVE = f"name = '{names.SUBJECT_ACTIVE}'"

ONE_EPISODE_SECONDS = 75
"""Failures of one client that are closer together belong to one episode: a request waits for 30 s by default
(`request.timeout.ms`), and the client then backs off and retries. Earlier failures have another cause."""

CONSUMER_EVENTS = f"""
    SELECT capture, incident, subject,
        collect_list(IF({FAILED}, struct(at AS until, at - {seconds("waited")} AS since), NULL)) AS failures,
        max(IF({FAILED}, waited, NULL)) AS longest_wait,
        mode(IF({FAILED} AND broker >= 0, broker, NULL), true) AS lost_broker,
        collect_set(IF({FAILED} AND broker >= 0, broker, NULL)) AS brokers,
        count_if({COMMIT_TIMED_OUT}) AS commit_timeout_count,
        min(IF({COMMIT_TIMED_OUT}, moment, NULL)) AS timed_out_at,
        max(IF({COMMIT_TIMED_OUT}, moment, NULL)) AS timed_out_until,
        max(IF({COMMIT_TIMED_OUT}, value, NULL)) AS commit_timeout,
        max(IF({COMMIT_TIMED_OUT}, coalesce(labels['setting'], 'default.api.timeout.ms'), NULL)) AS timeout_setting,
        collect_list(IF({ENDED},
            struct(at, labels['thread'] AS thread, labels['how'] AS how, {EVIDENCE_LINE} AS line), NULL)) AS ends,
        collect_list(IF({JOINED}, struct(at, labels['client_id'] AS client), NULL)) AS joins,
        collect_list(IF(name = '{names.CLIENT_STARTED}', at, NULL)) AS starts,
        collect_list(IF({JOINED} AND {WITHIN}, coalesce(labels['client_id'], ''), NULL)) AS joined_within,
        collect_list(IF(own_error, struct(at, try_to_timestamp(labels['until']) AS until), NULL)) AS own_errors,
        collect_list(IF(name = '{names.COORDINATOR_FOUND}', struct(at, broker), NULL)) AS coordinators,
        max_by(broker, at) FILTER (WHERE name = '{names.COORDINATOR_FOUND}' AND at < opens) AS coordinator_before,
        max(IF({ACTIVE}, try_to_timestamp(labels['until']), NULL)) AS last_seen,
        min(IF({ACTIVE}, at, NULL)) AS first_seen,
        max(labels['version']) AS version,
        collect_list(IF({FAILED}, {EVIDENCE_LINE}, NULL)) AS failure_lines,
        collect_list(IF({COMMIT_TIMED_OUT}, {EVIDENCE_LINE}, NULL)) AS timed_out_lines,
        max(configured_timeout) AS configured_timeout
    FROM lines JOIN incidents USING (capture)
    WHERE moment <= closes + {seconds("{rejoin_seconds}")}
    GROUP BY capture, incident, subject
    HAVING NOT max(is_broker)
        AND (size(coordinators) > 0 OR commit_timeout_count > 0 OR count_if({FAILED} AND is_coordinator_request) > 0)
"""
"""One row for each incident and each subject that used a coordinator or failed to. `rejoin_seconds`: see `detect`."""

REBALANCES = """
    coalesce(array_max(transform(
        array_distinct(joined_within), client -> size(filter(joined_within, other -> other = client))
    )), 0)
"""
"""How often one member joined: a Streams application has one member per thread, and each joins in every rebalance."""

FAILING_SINCE = f"""
    aggregate(
        sort_array(filter(failures, t -> coalesce(t.since <= timed_out_until, true)), false), CAST(NULL AS TIMESTAMP),
        (since, t) -> IF(
            since IS NULL OR t.until >= since - {seconds(str(ONE_EPISODE_SECONDS))},
            least(since, t.since), since
        )
    )
"""
"""When the episode began in which the commit timed out: the first failure of the latest run of failures."""

REJOINED = """
    exists(joins, j -> j.at > greatest(e.at, timed_out_at) AND (
        j.client IS NULL OR e.thread IS NULL OR contains(j.client, e.thread)
        OR exists(starts, started -> started BETWEEN e.at - INTERVAL 1 SECOND AND j.at)
    ))
"""
"""Whether a thread that ended joined the group again, or a thread that was started later did. Joins of surviving
threads do not count: the group rebalances when a member leaves."""

OWN_EXCEPTION = "exists(own_errors, o -> coalesce(o.until, o.at) BETWEEN timed_out_until AND e.at + INTERVAL 2 SECONDS)"


def consumer_steps(*, near_seconds: float, rejoin_seconds: float, unseen_seconds: float) -> Mapping[str, str]:
    """Return the steps from `lines` and `incidents` to `consumers`.

    Events within `near_seconds` of a commit's timeout belong to it. A crashed consumer has `rejoin_seconds` to join its
    group again. One that wrote nothing for `unseen_seconds` after the timeout, while others wrote, has crashed too.
    """
    new_coordinators = (
        "transform(filter(coordinators, f -> f.broker <> lost_broker AND f.at > failing_since), f -> f.at)"
    )
    near_timeout = f"e.at BETWEEN timed_out_at - INTERVAL 1 SECOND AND timed_out_until + {seconds(str(near_seconds))}"
    continued = f"size(ends_after_timeout) = 0 AND array_max({new_coordinators}) > timed_out_until"
    rejoined = "size(ends_after_timeout) = 0 AND exists(joins, j -> j.at > timed_out_until)"
    was_not_seen_again = (
        "size(ends_after_timeout) = 0 AND last_seen <= timed_out_until + INTERVAL 2 SECONDS "
        f"AND max(last_seen) OVER (PARTITION BY capture) > timed_out_until + {seconds(str(unseen_seconds))}"
    )
    died_at = "greatest(timed_out_at, array_max(transform(deaths, d -> d.at)))"
    log_end = "CAST(max(last_seen) OVER (PARTITION BY capture) AS DOUBLE)"
    watched = f"least({rejoin_seconds}D, {log_end} - CAST({died_at} AS DOUBLE))"
    commit_sent_at = f"timed_out_at - {seconds('coalesce(commit_timeout, 0)')}"
    return {
        "consumer_events": CONSUMER_EVENTS.replace("{rejoin_seconds}", str(rejoin_seconds)),
        "dated_consumers": f"""
            SELECT *, {FAILING_SINCE} AS failing_since, array_max(transform(failures, t -> t.until)) AS failing_until,
                {commit_sent_at} AS commit_sent_at,
                filter(ends, e -> {near_timeout}) AS ends_after_timeout
            FROM consumer_events
        """,
        "ended_consumers": f"""
            SELECT *, filter(ends_after_timeout, e -> NOT {REJOINED} AND NOT {OWN_EXCEPTION}) AS deaths,
                coalesce({continued}, false) OR coalesce({rejoined}, false) OR (size(ends_after_timeout) > 0
                    AND forall(ends_after_timeout, e -> {REJOINED} OR {OWN_EXCEPTION})) AS survived
            FROM dated_consumers
        """,
        "consumers": f"""
            SELECT *, commit_timeout_count > 0 AND NOT survived AND (size(deaths) > 0 OR coalesce({was_not_seen_again},
                false)) AS died,
                size(array_distinct(transform(filter(deaths, d -> d.how = 'thread'), d -> d.thread))) AS threads,
                {REBALANCES} AS rebalances,
                array_min({new_coordinators}) AS new_coordinator_at,
                array_min(transform(filter(joins, j -> j.at > failing_until), j -> j.at)) AS joined_at,
                commit_timeout_count > 0 AND size(ends) = 0 AND size(coordinators) = 0 AS stuck,
                {watched} AS watched_seconds,
                greatest(coalesce(failing_since, commit_sent_at), commit_sent_at) AS commit_failing_since,
                {died_at} AS died_at,
                concat(timed_out_lines, transform(filter(deaths, d -> d.at >= timed_out_at), d -> d.line)) AS died_lines
            FROM ended_consumers
        """,
    }
