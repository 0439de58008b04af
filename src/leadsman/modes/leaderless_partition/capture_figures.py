"""From evaluated consumers to the figures of a finding: one row for each incident, then the worst of each capture."""

from __future__ import annotations

from leadsman.kafka_defaults import number
from leadsman.pipeline.detector_sql import iso_8601

DEAD = "died AND leaderless = best_state"
"""Consumers that count as dead: `leaderless` is the state of the link `leaderless` for a consumer, and `best_state` the
most certain of these states in the incident."""

IS_AFFECTED = "(commit_timeout_count > 0 OR is_affected)"
RECOVERED = f"{IS_AFFECTED} AND recovered_at IS NOT NULL AND NOT died"
CONTINUED = (
    f"{IS_AFFECTED} AND commit_timeout_count = 0 AND NOT died AND recovered_at IS NULL "
    "AND last_seen > failing_until + INTERVAL 1 MINUTE"
)
"""A client that does not log which coordinator it found: its log continues without another failure."""

INCIDENT_COLUMNS = (
    "failover_seconds",
    "longest_unanswered",
    "fenced",
    "fenced_after",
    "is_zookeeper",
    "partitions_moved",
    "partitions_led",
    "session",
    "maintenance",
    "action",
    "maintenance_host",
    "maintenance_at",
    "is_same_host",
    "gc_pause",
    "gc_kind",
    "returned_at",
    "leading_again_at",
    "last_fenced_at",
    "clock_jump",
    "steal_seconds",
    "steal_interval",
    "steal_host",
    "preferred_elections",
    "broker_logs",
    "broker",
    "refused_writes",
    "groups_without_members",
    "lag_records",
    "listed_at",
    "broker_lost_at",
    "clients_failing_until",
)  # fmt: skip - a list of names

INCIDENT_FIGURES = f"""
    SELECT capture, incident,
        {", ".join(f"max({name}) AS {name}" for name in INCIDENT_COLUMNS)},
        max(size(stopped)) AS stopping,
        max(CAST(controlled_shutdown AS INT)) AS controlled_shutdown,
        max(CAST(controller_log_read AS INT)) AS controller_log_read,
        count_if({IS_AFFECTED}) AS consumers,
        count_if({DEAD}) AS dead,
        count_if(died AND leaderless = 'observed') AS proven_deaths,
        sum(IF({DEAD}, threads, 0)) AS dead_threads,
        count_if({RECOVERED}) AS recovered,
        max(IF({RECOVERED}, CAST(recovered_at AS DOUBLE) - CAST(failing_since AS DOUBLE), NULL)) AS recovered_after,
        count_if({RECOVERED} AND commit_timeout_count > 0) AS timed_out_recovered,
        count_if(commit_timeout_count > 0 AND NOT died AND NOT survived AND recovered_at IS NULL) AS timed_out_unclear,
        min(IF({DEAD}, watched_seconds, NULL)) AS watched_seconds,
        count_if({CONTINUED}) AS continued,
        count_if(stuck) AS stuck,
        count_if(commit_timeout_count > 0) AS timed_out,
        count_if({DEAD} AND threads > 0) AS streams_dead,
        min(IF(commit_timeout_count > 0 AND leaderless = best_state, commit_timeout, NULL)) AS commit_timeout,
        collect_list(IF(commit_timeout_count > 0 AND leaderless = best_state, commit_timeout, NULL)) AS timeout_values,
        max(IF({DEAD}, version, NULL)) AS dead_version,
        max(IF(commit_timeout_count > 0 AND leaderless = best_state, timeout_setting, NULL)) AS timeout_setting,
        max(IF({RECOVERED}, configured_timeout, NULL)) AS recovered_timeout,
        max(IF(commit_timeout_count > 0 AND leaderless = best_state, affected, NULL)) AS affected,
        max(IF(commit_timeout_count > 0 AND leaderless = best_state, given_new_coordinator,
            NULL)) AS given_new_coordinator,
        count_if(commit_timeout_count > 0 AND saw_no_leader) AS saw_no_leader,
        max(unaffected) AS unaffected,
        count_if({DEAD} AND rebalances > 5) AS rebalance_storm,
        count_if({DEAD} AND size(joins) = 0) AS never_joined,
        count_if(commit_timeout_count > 0 AND leaderless = 'contradicted') AS without_broker_loss,
        count_if(commit_timeout_count > 0 AND leaderless = 'not visible') AS unexplained,
        min(failing_since) FILTER (WHERE commit_timeout_count > 0 OR array_contains(brokers, broker)) AS since,
        max(coalesce(failover_ended_at, failing_until)) AS until
    FROM (
        SELECT *, CASE min(IF(commit_timeout_count > 0,
                CASE leaderless WHEN 'observed' THEN 1 WHEN 'not visible' THEN 2 ELSE 3 END, NULL)
            ) OVER (PARTITION BY capture, incident)
                WHEN 1 THEN 'observed' WHEN 2 THEN 'not visible' WHEN 3 THEN 'contradicted' END AS best_state
        FROM evaluated_consumers
    ) GROUP BY capture, incident
"""
"""One row for each incident: how long the failover took, and how many consumers died or recovered."""

WORST_INCIDENT = """
    SELECT * FROM (
        SELECT *, row_number() OVER (
            PARTITION BY capture ORDER BY proven_deaths DESC, dead DESC, timed_out DESC, incident
        ) AS rank
        FROM incident_figures
    ) WHERE rank = 1
"""
"""The incident of each capture that killed most consumers: the finding shows its figures."""

FIGURES_ALWAYS = (
    "consumers",
    "commit_timeout",
    "without_broker_loss",
    "rebalance_storm",
    "failover_seconds",
    "failover_over_timeout",
    "failover_at_least",
    "expired_timeout",
    "unknown_failover_timeout",
    "recommended_timeout_ms",
    "broker",
)  # fmt: skip - a list of names
FIGURES_UNLESS_ZERO = (
    "dead",
    "broker_logs",
    "proven_dead",
    "dead_threads",
    "streams_dead",
    "longest_commit_timeout",
    "with_longer_timeout",
    "with_shortest_timeout",
    "fenced",
    "fenced_after",
    "removed_after",
    "partitions_moved",
    "partitions_led",
    "continued",
    "gc_pause",
    "session",
    "recovered",
    "recovered_after",
    "recovered_timeout",
    "timed_out_recovered",
    "timed_out_unclear",
    "watched_seconds",
    "stuck",
    "maintenance",
    "clock_jump",
    "steal_seconds",
    "steal_interval",
    "stopping",
    "refused_writes",
    "preferred_elections",
    "frozen",
    "groups_without_members",
    "lag_records",
    "timed_out",
    "unexplained",
    "affected",
    "given_new_coordinator",
    "saw_no_leader",
    "unaffected",
)  # fmt: skip - a list of names
"""Figures that are omitted where they are 0, together with the sentences about them.

Counts of consumers: `affected` could not use the lost broker, `unaffected` used it meanwhile; `stuck` neither ended nor
found a coordinator again, `continued` lost the broker and failed no more; of `timed_out_unclear` no end and no recovery
is visible. Of brokers: `stopping` logged an orderly stop, `broker_logs` are the logs that cover the loss. `session` is
the session timeout with ZooKeeper; in the last `watched_seconds` no dead consumer came back.
"""

FACTS = (
    "dead_version",
    "action",
    "maintenance_host",
    "broker_host",
    "possible_host",
    "migrated",
    "maintenance_at",
    "gc_kind",
    "timeout_setting",
    "steal_host",
    "returned_at",
    "leading_again_at",
    "fenced_since",
    "listed_at",
    "unexplained_since",
)

OTHER_COLUMNS = ("capture", "since", "until", "controlled_shutdown", "never_joined")
"""Further columns of the worst incident."""

FAILING_SECONDS = "CAST(clients_failing_until AS DOUBLE) - CAST(broker_lost_at AS DOUBLE)"

LEADS_AGAIN = "IF(leading_again_at < last_fenced_at, NULL, leading_again_at)"

RECOMMENDED_TIMEOUT_MS = f"""
    greatest({number("streams", "task.timeout.ms")}D, 120000D * ceil(greatest(coalesce(failover_seconds, 0D),
        coalesce({FAILING_SECONDS}, 0D), coalesce(array_max(timeout_values), 0D)) / 60D))
"""
"""The timeout of the cure, the default of `task.timeout.ms`; after a longer failover twice its minutes."""

MIN_UNANSWERED_SECONDS = 2
"""A request that waited for so long was on a connection that stayed open: connections of a killed broker are reset at
once."""


def capture_figures_query() -> str:
    """Return the query for the worst incident with the figures and facts that are derived from its columns.

    `failover_over_timeout` and `failover_at_least` are the duration of the failover, exact or at least, where the
    failover exceeds every commit's timeout. `expired_timeout` is the longest timeout that expired, where it exceeds
    the failover: the coordinator of a group can be unavailable for longer than the leaders. `unknown_failover_timeout`
    is the commits' timeout where the end of the failover is not known. `with_shortest_timeout` and
    `with_longer_timeout` count the consumers by their timeout. A garbage collection is a cause if it lasted for at
    least half of the outage.
    """
    times = {name: iso_8601(name) for name in ("maintenance_at", "returned_at", "leading_again_at", "listed_at")}
    derived = times | {
        "leading_again_at": iso_8601(LEADS_AGAIN),
        "proven_dead": "IF(proven_deaths > 0, dead, 0)",
        "longest_commit_timeout": "IF(array_max(timeout_values) > commit_timeout, array_max(timeout_values), 0)",
        "with_shortest_timeout": (
            "size(filter(timeout_values, p -> p = commit_timeout AND array_max(timeout_values) > commit_timeout))"
        ),
        "with_longer_timeout": "size(filter(timeout_values, p -> p > commit_timeout))",
        "failover_over_timeout": "IF(failover_seconds > array_max(timeout_values), failover_seconds, NULL)",
        "failover_at_least": (
            f"IF(failover_seconds IS NULL AND {FAILING_SECONDS} > array_max(timeout_values), {FAILING_SECONDS}, NULL)"
        ),
        "expired_timeout": "IF(failover_seconds <= array_max(timeout_values), array_max(timeout_values), NULL)",
        "unknown_failover_timeout": (
            f"IF(failover_seconds IS NULL AND coalesce({FAILING_SECONDS} <= array_max(timeout_values), true), "
            "commit_timeout, NULL)"
        ),
        "recommended_timeout_ms": RECOMMENDED_TIMEOUT_MS,
        "fenced_since": iso_8601(f"IF(returned_at IS NULL AND {LEADS_AGAIN} IS NULL, last_fenced_at, NULL)"),
        "recovered_timeout": "IF(recovered_timeout > commit_timeout, recovered_timeout, 0)",
        "frozen": f"IF(longest_unanswered >= {MIN_UNANSWERED_SECONDS}, longest_unanswered, 0)",
        "gc_pause": "IF(gc_pause >= outage_seconds / 2, gc_pause, 0)",
        "broker_host": "IF(is_same_host, maintenance_host, NULL)",
        "possible_host": "IF(is_same_host, NULL, maintenance_host)",
        "migrated": "IF(is_same_host AND action = 'migrate', maintenance_host, NULL)",
        "fenced_after": "IF(is_zookeeper, 0D, fenced_after)",
        "removed_after": "IF(is_zookeeper, fenced_after, 0)",
        "unexplained_since": (
            "IF(NOT coalesce(is_same_host, false) AND NOT coalesce(gc_pause >= outage_seconds / 2, false) "
            f"AND coalesce(clock_jump, 0) = 0 AND steal_host IS NULL, {iso_8601('broker_lost_at')}, NULL)"
        ),
    }
    names = dict.fromkeys((*OTHER_COLUMNS, *FIGURES_ALWAYS, *FIGURES_UNLESS_ZERO, *FACTS))
    unchanged = [name for name in names if name not in derived]
    columns = ", ".join(f"{expression} AS {name}" for name, expression in derived.items())
    return f"""
        SELECT {", ".join(unchanged)}, {columns}
        FROM (SELECT *, coalesce(failover_seconds, {FAILING_SECONDS}) AS outage_seconds FROM worst_incident)
    """
