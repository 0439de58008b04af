"""Detects consumers that crash because their offset commit timed out during a failover.

Metadata still name a lost broker as leader, so this detector does not look for `Leader: none` alone. Clients log that
their coordinator or a leader does not answer, repeatedly for the same broker. The controller logs when it fenced that
broker and gave its partitions to other brokers. Between the two the failover takes place. A commit whose timeout is
shorter than the failover fails, and its consumer ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.broker_outage import broker_outage_steps
from leadsman.modes.leaderless_partition.capture_figures import (
    FACTS,
    FIGURES_ALWAYS,
    FIGURES_UNLESS_ZERO,
    INCIDENT_FIGURES,
    WORST_INCIDENT,
    capture_figures_query,
)
from leadsman.modes.leaderless_partition.cluster import (
    BROKER_LOGS,
    BROKER_LOSSES,
    CLUSTER_EVENTS,
    LEADER_CHANGES,
    LOG_SPANS,
    NAMED_BROKERS,
    cluster_state_steps,
)
from leadsman.modes.leaderless_partition.consumers import consumer_steps
from leadsman.modes.leaderless_partition.cpu_steal import cpu_steal_steps
from leadsman.modes.leaderless_partition.incidents import LINES, incident_steps
from leadsman.modes.leaderless_partition.leaders import (
    CHANGES,
    ELECTIONS,
    FAILOVER_POINTS,
    IMBALANCE,
    LEADER_COUNT_POINTS,
    LEADER_SPANS,
    LED_STEPS,
    METRIC_POINTS,
    PARTITION_STATES,
    STATE_COLUMNS,
    STATE_LABELS,
    STATES,
)
from leadsman.modes.leaderless_partition.link_states import link_state_steps
from leadsman.modes.leaderless_partition.thresholds import (
    MIN_LEADERLESS_SECONDS,
    STEAL_FACTOR,
    STEAL_SHARE,
    USUAL_SECONDS,
)
from leadsman.pipeline.detector_sql import (
    OBSERVATION,
    Detection,
    LinkRow,
    add_materialized,
    add_shared,
    capture_link_rows,
    earliest_lines,
    empty_detection,
    explained_events_query,
    link_rows,
    map_column,
    run_steps,
)
from leadsman.pipeline.labelled_events import labelled_events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame


def detect(
    events: DataFrame,
    *,
    min_leaderless_seconds: float = MIN_LEADERLESS_SECONDS,
    nearby_seconds: float = 30.0,
    lost_before_seconds: float = 120.0,
    rejoin_seconds: float = 600.0,
    fenced_seconds: float = 300.0,
    maintenance_seconds: float = 600.0,
    steal_share: float = STEAL_SHARE,
    steal_factor: float = STEAL_FACTOR,
    steal_history_seconds: float = USUAL_SECONDS,
) -> Detection:
    """Return the observations of every link, and the points of the page.

    min_leaderless_seconds: an orderly change of leader takes less; no client stalled longer in a rolling restart.
    nearby_seconds: a consumer that ends this soon after a commit's timeout ended because of it; Streams closes its
        tasks first.
    lost_before_seconds: a broker may have been lost this long before a commit began to wait: Streams commits every
        30 s.
    rejoin_seconds: a consumer that joins again this soon was restarted by its platform; later restarts are manual.
    fenced_seconds: a broker that the controller fences this soon after a commit timed out was already missing.
    maintenance_seconds: maintenance of a host this close to the loss of a broker may be its cause.
    steal_share: the least share of CPU steal that counts; at 10 % alert rules for node_exporter report a noisy
        neighbour (awesome-prometheus-alerts, HostCpuStealNoisyNeighbor).
    steal_factor: the steal around the loss must be this factor times the usual steal before; a constant steal is no
        maintenance.
    steal_history_seconds: the usual steal of a host is known from samples over this long before the loss: five, one
        a minute.
    """
    frames = {"events": events}
    steal = cpu_steal_steps(
        near_seconds=maintenance_seconds,
        min_share=steal_share,
        min_factor=steal_factor,
        history_seconds=steal_history_seconds,
    )
    add_materialized(frames, {"lines": LINES})
    add_materialized(frames, incident_steps(before=lost_before_seconds, after=fenced_seconds))
    add_materialized(
        frames,
        consumer_steps(near_seconds=nearby_seconds, rejoin_seconds=rejoin_seconds, unseen_seconds=nearby_seconds),
    )
    if frames["consumers"].where("commit_timeout_count > 0").isEmpty():
        return empty_detection(*list(frames.values())[1:])
    frames["labelled_states"] = labelled_events(events, STATES, STATE_LABELS, columns=STATE_COLUMNS)
    add_materialized(frames, {"partition_states": PARTITION_STATES, **LED_STEPS})
    add_materialized(frames, {"broker_logs": BROKER_LOGS})
    cluster_events = add_shared(frames, {"cluster_events": CLUSTER_EVENTS})
    add_materialized(frames, {"named_brokers": NAMED_BROKERS, "broker_losses": BROKER_LOSSES})
    add_materialized(
        frames,
        {
            **steal,
            "windows": "SELECT * FROM incidents LEFT JOIN broker_losses USING (capture, incident)",
            "leader_changes": LEADER_CHANGES,
            "logs_read": LOG_SPANS,
            **cluster_events,
            **broker_outage_steps(near_seconds=maintenance_seconds),
            **cluster_state_steps(near_seconds=maintenance_seconds),
            **link_state_steps(min_seconds=min_leaderless_seconds, after_seconds=fenced_seconds),
        },
    )
    add_materialized(frames, {"changes": CHANGES, "leader_spans": LEADER_SPANS})
    points = {
        "leader_count_points": LEADER_COUNT_POINTS,
        "metric_points": METRIC_POINTS,
        "imbalance": IMBALANCE,
        "elections": ELECTIONS,
        "failover_points": FAILOVER_POINTS,
        "consumer_points": CONSUMER_POINTS,
        "points": POINTS,
    }
    return Detection(run_steps(frames, _links()), run_steps(frames, points), tuple(frames.values())[1:])


LOST_BROKER_EVENTS = (
    names.CONNECTION_LOST,
    names.CONNECTION_REFUSED,
    names.CONNECTION_SETUP_TIMED_OUT,
    names.REQUEST_TIMED_OUT,
    names.COORDINATOR_LOST,
)
"""Events in which any subject names the lost broker."""

FAILOVER_EVENTS = (
    names.NOT_LEADER,
    names.LEADER_NOT_AVAILABLE,
    names.BROKER_FENCED,
    names.SESSION_EXPIRED,
    names.ISR_SHRUNK,
    names.LEADERS_MOVED,
)
"""Events in which brokers and clients report changes of leaders."""

EXPLAINED_EVENTS = {
    "failing_consumers": """
        SELECT capture, subject, coalesce(least(failing_since, commit_failing_since),
            failing_since) - INTERVAL 2 SECONDS AS since,
            greatest(died_at, failover_ended_at, failing_until) + INTERVAL 30 SECONDS AS until
        FROM evaluated_consumers WHERE failing_since IS NOT NULL OR commit_failing_since IS NOT NULL
    """,
    "unfencings": f"""
        SELECT capture, labels['node'] AS broker, at FROM events WHERE name = '{names.BROKER_UNFENCED}'
    """,
    "lost_broker_windows": """
        SELECT capture, broker, min(loss.since) - INTERVAL 2 SECONDS AS since,
            min(IF(unfencings.at > loss.since, unfencings.at, NULL)) + INTERVAL 30 SECONDS AS until
        FROM (
            SELECT capture, incident, CAST(broker AS STRING) AS broker, since FROM incident_figures
            WHERE broker IS NOT NULL AND proven_deaths > 0
        ) AS loss LEFT JOIN unfencings USING (capture, broker)
        GROUP BY capture, incident, broker
    """,
    "addresses": f"""
        SELECT DISTINCT capture, labels['node'] AS broker, regexp_replace(labels['address'], '^[^/]*/', '') AS address
        FROM events
        WHERE name <> '{names.PARTITION_STATE}' AND labels['address'] IS NOT NULL AND labels['node'] IS NOT NULL
    """,
    "lost_addresses": """
        SELECT capture, broker, since, until, address FROM lost_broker_windows JOIN addresses USING (capture, broker)
    """,
    "failover_windows": """
        SELECT capture, since - INTERVAL 2 SECONDS AS since, until + INTERVAL 30 SECONDS AS until FROM incident_figures
        WHERE proven_deaths > 0
    """,
    "error_headers": f"""
        SELECT capture, subject, events.at AS since, events.at AS until
        FROM events JOIN evaluated_consumers USING (capture, subject)
        WHERE name = '{names.ERROR}' AND coalesce(value, 1) = 1 AND (
            exists(timed_out_lines, commit_line -> commit_line.file = events.file
                AND commit_line.line = events.line + 1)
            OR text RLIKE 'group coordinator' AND events.at BETWEEN failing_since AND failing_until
        )
    """,
    "explained_headers": explained_events_query("error_headers", writer="subject", names=(names.ERROR,)),
    "explained_consumers": explained_events_query("failing_consumers", writer="subject"),
    "explained_by_broker": explained_events_query("lost_broker_windows", server="broker", names=LOST_BROKER_EVENTS),
    "explained_by_address": explained_events_query("lost_addresses", server="address", names=LOST_BROKER_EVENTS),
    "explained_by_cluster": explained_events_query("failover_windows", names=FAILOVER_EVENTS),
}
"""The events that the loss of a broker explains: those of affected consumers, recovered or not, and those that name the
lost broker."""

EXPLAINED_STEPS = (
    "explained_headers",
    "explained_consumers",
    "explained_by_broker",
    "explained_by_address",
    "explained_by_cluster",
)  # fmt: skip - a list of names


def _links() -> Mapping[str, str]:
    """Return the steps to the observations: each link of each consumer, the capture's figures, each alternative."""
    columns = ", ".join(OBSERVATION)
    results = ("consumer_links", "capture_links", *EXPLAINED_STEPS)
    return {
        "incident_figures": INCIDENT_FIGURES,
        "worst_incident": WORST_INCIDENT,
        "capture_figures": capture_figures_query(),
        "consumer_links": _consumer_links(),
        "capture_links": _capture_links(),
        **EXPLAINED_EVENTS,
        "observations": " UNION ALL ".join(f"SELECT {columns} FROM {step}" for step in results),
    }


LEADERLESS_LINES = (
    f"IF(size(host_lines) = 0, concat({earliest_lines('failure_lines', 4)}, {earliest_lines('fenced_lines')}), "
    f"concat({earliest_lines('host_lines', 3)}, {earliest_lines('failure_lines', 2)}, "
    f"{earliest_lines('fenced_lines', 1)}))"
)
"""The lines that the first link quotes. A host logs late that it was stopped: with more than six lines in all, the
host's own lines would be cut off."""


def _consumer_links() -> str:
    """Return the links `leaderless`, `commit_timed_out` and `died` of every consumer whose commit timed out."""
    links = (
        LinkRow(
            "leaderless",
            "leaderless",
            "least(failing_since, commit_failing_since)",
            "coalesce(failover_ended_at, failing_until)",
            LEADERLESS_LINES,
        ),
        LinkRow("commit_timed_out", "'observed'", "commit_failing_since", "timed_out_until", "timed_out_lines"),
        LinkRow("died", "died_state", "died_at", "died_at", "died_lines"),
    )
    shared = {
        "capture": "capture",
        "subject": "subject",
        "figures": map_column(("commit_timeout", "leaderless_seconds", "threads"), "double"),
        "facts": map_column(("version",), "string"),
    }
    return link_rows("evaluated_consumers WHERE is_reported AND commit_timeout_count > 0", shared, links)


def _capture_links() -> str:
    """Return each alternative: `observed`, or `contradicted` where it is ruled out."""
    states = {
        "failover": "'observed'",
        "alternative.healthy_cluster": (
            "CASE WHEN without_broker_loss > 0 THEN 'observed' "
            "WHEN unexplained = 0 AND timed_out > 0 THEN 'contradicted' END"
        ),
        "alternative.rolling_restart": (
            "CASE WHEN controlled_shutdown > 0 AND fenced = 0 THEN 'observed' WHEN fenced > 0 THEN 'contradicted' END"
        ),
        "alternative.rebalance_storm": (
            "CASE WHEN rebalance_storm > 0 THEN 'observed' WHEN dead > 0 AND never_joined = 0 THEN 'contradicted' END"
        ),
        "alternative.not_enough_replicas": (
            "CASE WHEN refused_writes > 0 AND fenced = 0 THEN 'observed' "
            "WHEN refused_writes > 0 OR broker_logs > 0 THEN 'contradicted' END"
        ),
    }
    figures = map_column(FIGURES_ALWAYS, "double", unless_zero=FIGURES_UNLESS_ZERO)
    facts = map_column(FACTS, "string")
    return capture_link_rows("capture_figures", states, figures=figures, facts=facts)


CONSUMER_POINTS = """
    SELECT capture, subject, inline(filter(array(
        struct('active' AS outcome, first_seen AS since, last_seen AS at, CAST(NULL AS DOUBLE) AS value),
        IF(failing_since IS NULL, NULL, struct('stalled' AS outcome, failing_since AS since,
            coalesce(IF(died, died_at, NULL), recovered_at, failover_ended_at, failing_until) AS at,
            leaderless_seconds AS value)),
        IF(NOT died, NULL, struct('died' AS outcome, CAST(NULL AS TIMESTAMP) AS since, died_at AS at,
            CAST(NULL AS DOUBLE) AS value)),
        IF(died OR failing_since IS NULL OR recovered_at IS NULL, NULL, struct('recovered' AS outcome,
            CAST(NULL AS TIMESTAMP) AS since, recovered_at AS at, CAST(NULL AS DOUBLE) AS value))
    ), part -> part IS NOT NULL))
    FROM evaluated_consumers WHERE is_reported AND first_seen IS NOT NULL
"""
"""The page draws the span of each consumer, its stall, and its end or recovery."""

POINTS = """
    SELECT capture, subject, outcome, since, at, value FROM leader_count_points
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM metric_points
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM imbalance
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM elections
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM failover_points
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM consumer_points
    UNION ALL SELECT capture, inline(host_points) FROM (
        SELECT capture, max_by(host_points, struct(size(host_points), incident)) AS host_points
        FROM evaluated_consumers GROUP BY capture
    )
"""
