"""From events to consumers: what each suffered in an incident, when its commit timed out, and whether it lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.incidents import TIMED_OUT, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

JOINED = f"name = '{names.CONSUMER_JOINED}'"
LINE = "struct(file, line, at, text)"
WITHIN = "moment BETWEEN opens AND closes"
FAILED = f"trouble AND {WITHIN}"
GAVE_UP = f"{TIMED_OUT} AND {WITHIN}"
ENDED = f"thread_ended AND {WITHIN}"
ACTIVE = f"name = '{names.SUBJECT_ACTIVE}'"

ONE_TROUBLE_SECONDS = 75
"""Failures of one client that lie closer together are one trouble: a request waits 30 s by default, and the client
then backs off and tries again. What lies further back is another matter."""

GATHERED = f"""
    SELECT capture, incident, subject,
        collect_list(IF({FAILED}, struct(at AS until, at - {seconds("waited")} AS since), NULL)) AS troubles,
        max(IF({FAILED}, waited, NULL)) AS waited_longest,
        mode(IF({FAILED} AND broker >= 0, broker, NULL), true) AS lost_broker,
        collect_set(IF({FAILED} AND broker >= 0, broker, NULL)) AS brokers,
        count_if({GAVE_UP}) AS time_outs,
        min(IF({GAVE_UP}, moment, NULL)) AS timed_out_at,
        max(IF({GAVE_UP}, moment, NULL)) AS timed_out_until,
        max(IF({GAVE_UP}, value, NULL)) AS patience,
        max(IF({GAVE_UP}, coalesce(labels['setting'], 'default.api.timeout.ms'), NULL)) AS decided_by,
        collect_list(IF({ENDED}, struct(at, labels['thread'] AS thread, labels['how'] AS how, {LINE} AS line), NULL))
            AS ends,
        collect_list(IF({JOINED}, struct(at, labels['client_id'] AS client), NULL)) AS joins,
        collect_list(IF(name = '{names.CLIENT_STARTED}', at, NULL)) AS starts,
        collect_list(IF({JOINED} AND {WITHIN}, coalesce(labels['client_id'], ''), NULL)) AS joined_within,
        collect_list(IF(own_error, struct(at, to_timestamp(labels['until']) AS until), NULL)) AS own_errors,
        collect_list(IF(name = '{names.COORDINATOR_FOUND}', struct(at, broker), NULL)) AS found,
        max_by(broker, at) FILTER (WHERE name = '{names.COORDINATOR_FOUND}' AND at < opens) AS home,
        max(IF({ACTIVE}, to_timestamp(labels['until']), NULL)) AS last_seen,
        min(IF({ACTIVE}, at, NULL)) AS first_seen,
        max(labels['version']) AS version,
        collect_list(IF({FAILED}, {LINE}, NULL)) AS trouble_lines,
        collect_list(IF({GAVE_UP}, {LINE}, NULL)) AS timed_out_lines,
        max(own_patience) AS own_patience
    FROM lines JOIN incidents USING (capture)
    WHERE moment <= closes + {seconds("{back}")}
    GROUP BY capture, incident, subject
    HAVING NOT max(is_broker)
        AND (size(found) > 0 OR time_outs > 0 OR count_if({FAILED} AND of_coordinator) > 0)
"""
"""One row for each subject and incident that talks to a coordinator or failed to. `back`: see `detect`."""

REBALANCES = """
    coalesce(array_max(transform(
        array_distinct(joined_within), client -> size(filter(joined_within, other -> other = client))
    )), 0)
"""
"""How often one member joined: a Streams application has a member a thread, and each joins in every rebalance."""

SINCE = f"""
    aggregate(
        sort_array(filter(troubles, t -> coalesce(t.since <= timed_out_until, true)), false), CAST(NULL AS TIMESTAMP),
        (since, t) -> IF(
            since IS NULL OR t.until >= since - {seconds(str(ONE_TROUBLE_SECONDS))},
            least(since, t.since), since
        )
    )
"""
"""When the trouble began in which the commit timed out: the latest run of failures, back to its first one."""

BACK = """
    exists(joins, j -> j.at > greatest(e.at, timed_out_at) AND (
        j.client IS NULL OR e.thread IS NULL OR contains(j.client, e.thread)
        OR exists(starts, started -> started BETWEEN e.at - INTERVAL 1 SECOND AND j.at)
    ))
"""
"""Whether a thread that ended joined the group again, or one that was started since did. One that lives on joins again
too: the group rebalances when a member leaves."""

OWN = "exists(own_errors, o -> coalesce(o.until, o.at) BETWEEN timed_out_until AND e.at + INTERVAL 2 SECONDS)"


def consumers_of(*, near: float, back: float, silent: float) -> Mapping[str, str]:
    """Return the steps from `lines` and `incidents` to `consumers`. The seconds are those of `detect`."""
    elsewhere = "transform(filter(found, f -> f.broker <> lost_broker AND f.at > trouble_at), f -> f.at)"
    of_it = f"e.at BETWEEN timed_out_at - INTERVAL 1 SECOND AND timed_out_until + {seconds(str(near))}"
    went_on = f"size(ends_of_it) = 0 AND array_max({elsewhere}) > timed_out_until"
    rejoined = "size(ends_of_it) = 0 AND exists(joins, j -> j.at > timed_out_until)"
    fell_silent = (
        "size(ends_of_it) = 0 AND last_seen <= timed_out_until + INTERVAL 2 SECONDS "
        f"AND max(last_seen) OVER (PARTITION BY capture) > timed_out_until + {seconds(str(silent))}"
    )
    waited_since = f"timed_out_at - {seconds('coalesce(patience, 0)')}"
    return {
        "gathered": GATHERED.replace("{back}", str(back)),
        "dated": f"""
            SELECT *, {SINCE} AS trouble_at, array_max(transform(troubles, t -> t.until)) AS trouble_until,
                {waited_since} AS waited_since,
                filter(ends, e -> {of_it}) AS ends_of_it
            FROM gathered
        """,
        "ended": f"""
            SELECT *, filter(ends_of_it, e -> NOT {BACK} AND NOT {OWN}) AS deaths,
                coalesce({went_on}, false) OR coalesce({rejoined}, false) OR (size(ends_of_it) > 0
                    AND forall(ends_of_it, e -> {BACK} OR {OWN})) AS lives
            FROM dated
        """,
        "consumers": f"""
            SELECT *, time_outs > 0 AND NOT lives AND (size(deaths) > 0 OR coalesce({fell_silent}, false)) AS died,
                size(array_distinct(transform(filter(deaths, d -> d.how = 'thread'), d -> d.thread))) AS threads,
                {REBALANCES} AS rebalances,
                array_min({elsewhere}) AS healed_at,
                array_min(transform(filter(joins, j -> j.at > trouble_until), j -> j.at)) AS joined_at,
                time_outs > 0 AND size(ends) = 0 AND size(found) = 0 AS stuck,
                greatest(coalesce(trouble_at, waited_since), waited_since) AS gave_up_at,
                greatest(timed_out_at, array_max(transform(deaths, d -> d.at))) AS died_at,
                concat(timed_out_lines, transform(filter(deaths, d -> d.at >= timed_out_at), d -> d.line)) AS died_lines
            FROM ended
        """,
    }
