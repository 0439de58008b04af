"""Which failures an idle limit explains, and the evidence of a whole capture for and against that limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.kafka_defaults import seconds
from leadsman.modes.idle_disconnect.failures import EPISODE_COLUMNS
from leadsman.modes.idle_disconnect.significance import ALL_CLIENTS, IS_GAP
from leadsman_clients.network_path import idle_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BROKER_IDLE = seconds("broker", "connections.max.idle.ms")

AZURE_SECONDS = idle_seconds("azure_lb")
AWS_SECONDS = idle_seconds("aws_nat")

HOPS = {
    "azure_lb": (AZURE_SECONDS, f"Azure's load balancers ({AZURE_SECONDS:g} s)"),
    "aws_nat_nlb": (AWS_SECONDS, f"AWS NAT gateways, network load balancers and Nitro V6 ({AWS_SECONDS:g} s)"),
    "broker_default": (BROKER_IDLE, f"the broker's default (connections.max.idle.ms, {BROKER_IDLE:g} s)"),
}
"""Documented idle limits in seconds. Their figures are called <name>_limit."""


EVENT_SECONDS = 120
"""Failures of several workers within this time come from a single event, where at least as many gaps of that length are
unharmed at other times."""

FAILURE_COLUMNS = (
    *EPISODE_COLUMNS,
    "gap_since",
    "idle_seconds",
    "frozen",
    "restarted",
    "common_cause",
    "excluded",
)
"""Columns of `failures` that are taken over unchanged."""


def failures_by_limit(other_columns: Sequence[str]) -> Mapping[str, str]:
    """Return the steps to `attributed`: each failure with the limit that it follows, its fleet's or all clients'.

    `other_columns` of `failures` are taken over as well. `is_coincidence`: the exact test contradicts a limit. A worker
    whose lines carry no times is in no fleet. Lines without an order of time can be sorted, but they do not prove that
    a worker was busy.
    """
    return {
        "common_cause_failures": """
            SELECT capture, min(idle_seconds) AS shortest, count(*) AS affected,
                CAST(max(failed_at) AS DOUBLE) - CAST(min(failed_at) AS DOUBLE) AS span
            FROM failures WHERE common_cause GROUP BY capture
        """,
        "single_events": f"""
            SELECT capture, min(span) <= {EVENT_SECONDS} AND count_if(is_use) >= min(affected) AS is_single_event
            FROM common_cause_failures JOIN gaps USING (capture)
            WHERE {IS_GAP} AND ended IS NULL AND length >= shortest GROUP BY capture
        """,
        "evaluated": f"""
            SELECT {", ".join(f"failures.{name}" for name in (*FAILURE_COLUMNS, *other_columns))}, fleet, library,
                coalesce(unordered, false) AS unordered,
                IF(idle = 'contradicted' AND unordered, 'not visible', idle) AS idle,
                other_cause OR common_cause AND coalesce(is_single_event, false) AS other_cause,
                IF(fleet_group.state = 'observed' AND idle_seconds >= fleet_group.limit, fleet_group.limit,
                    IF(all_clients.state = 'observed' AND idle_seconds >= all_clients.limit, all_clients.limit, NULL)
                ) AS limit,
                coalesce(fleet_group.state, all_clients.state, 'not visible') AS fleet_state,
                all_clients.state AS all_clients_state
            FROM failures LEFT JOIN workers ON workers.capture = failures.capture AND workers.subject = failures.subject
                LEFT JOIN single_events ON single_events.capture = failures.capture
                LEFT JOIN groups fleet_group ON fleet_group.capture = failures.capture AND fleet_group.group = fleet
                LEFT JOIN groups all_clients
                    ON all_clients.capture = failures.capture AND all_clients.group = '{ALL_CLIENTS}'
        """,
        "failures_with_fit": """
            SELECT *, idle = 'observed' AND NOT excluded AND limit IS NOT NULL AS fits_limit,
                NOT unordered AND 'contradicted' IN (fleet_state, all_clients_state)
                    AND 'observed' NOT IN (fleet_state, coalesce(all_clients_state, ''))
                    AS is_coincidence
            FROM evaluated
        """,
        "attributed": """
            SELECT *, max(fits_limit) OVER (PARTITION BY capture, subject) AS subject_fits_limit,
                max(fits_limit) OVER (PARTITION BY capture) AS capture_fits_limit
            FROM failures_with_fit
        """,
    }


def capture_figure_steps() -> Mapping[str, str]:
    """Return the steps to `capture_figures`: one row for each capture, with all evidence for and against a limit."""
    hop_limits = ", ".join(
        f"IF(broker_limit IS NULL AND {_fits_range(limit)}, {limit}, NULL) AS {name}_limit"
        for name, (limit, _) in HOPS.items()
    )
    return {
        "main_group": MAIN_GROUP,
        "failure_counts": FAILURE_COUNTS,
        "fleet_limits": FLEET_LIMITS,
        "never_idle_subjects": NEVER_IDLE,
        "counts_and_limit": """
            SELECT * FROM failure_counts LEFT JOIN main_group USING (capture)
                LEFT JOIN never_idle_subjects USING (capture)
        """,
        "measured_figures": f"""
            SELECT *, {_hops()} AS hop, {hop_limits},
                IF(no_unharmed_uses IS NULL, NULL, after_gap) AS without_unharmed_uses,
                {ROUNDED_MS.format(CURE_MS)} AS cure_idle_ms
            FROM counts_and_limit LEFT JOIN fleet_limits USING (capture) JOIN captures USING (capture)
        """,
        "capture_figures": f"""
            SELECT *, IF({PYTHON}, CAST(cure_idle_ms AS BIGINT), NULL) AS python_idle_ms,
                IF({PYTHON}, NULL, CAST(cure_idle_ms AS BIGINT)) AS dotted_idle_ms
            FROM measured_figures
        """,
    }


MAIN_GROUP = """
    SELECT capture, inline(array(main_group)) FROM (
        SELECT capture, max_by(struct(group, limit AS group_limit, failed_above, uses_above, unharmed_below,
            failed_below, limit_low, uses_above - failed_above AS unharmed_above, probability, odds,
                state AS group_state,
            IF(why = 'unharmed_gaps', fleet_uses_above - failed_above, NULL) AS too_many_unharmed,
            IF(why = 'too_few', failed_above, NULL) AS too_few,
            IF(why = 'no_unharmed_uses', failed_above, NULL) AS no_unharmed_uses,
            IF(why = 'coincidence', probability, NULL) AS insignificant_probability,
            IF(why = 'below_known_hops', limit, NULL) AS limit_below_hops,
            IF(state = 'observed', failed_above, NULL) AS harm_not_logged),
            struct(state = 'observed', -probability, failed_above, group)) AS main_group
        FROM groups GROUP BY capture
    )
"""
"""The most significant group of each capture: the one whose failures are least likely a coincidence."""

FAILURE_COUNTS = """
    SELECT capture,
        count(*) AS failures,
        count_if(IF(capture_fits_limit, fits_limit, idle = 'observed')) AS after_gap,
        count_if(idle = 'contradicted' AND NOT excluded) AS while_busy,
        count_if(idle = 'not visible') AS history_not_visible,
        count_if(excluded) AS excluded,
        count_if(common_cause) AS common_cause,
        count_if(timed_out AND is_counted) AS stalled,
        max(IF(timed_out AND is_counted, in_flight_seconds, NULL)) AS longest_wait,
        count_if(killed AND is_counted) AS killed,
        count_if(reset AND is_counted) AS reset,
        count_if(retried AND is_counted) AS retried,
        count_if(lost AND is_counted) AS lost,
        count_if(frozen AND is_counted) AS frozen,
        sum(connect_failed) AS connect_failed,
        sum(auth_failed) AS auth_failed,
        max(connect_failed_ever) AS connect_failed_ever,
        max(auth_failed_ever) AS auth_failed_ever,
        count_if(restarted) AS restarted,
        count_if(on_new_connection) AS unanswered_at_first,
        count_if(from_client_log) AS from_client_logs,
        max(is_coincidence) AS is_coincidence,
        count_if(unordered) AS unordered,
        IF(min(library) = max(library), max(library), NULL) AS library,
        count(DISTINCT IF(is_counted, subject, NULL)) AS affected_workers,
        min(IF(is_counted, idle_seconds, NULL)) AS limit_high,
        min(IF(fits_limit, idle_seconds, NULL)) AS proven_limit,
        max(IF(is_counted, idle_seconds, NULL)) AS longest_gap,
        min(IF(is_counted, failed_at, NULL)) AS since,
        max(IF(is_counted, failed_until, NULL)) AS until,
        IF(count_if(is_counted) < 3, NULL, (CAST(max(IF(is_counted, failed_at, NULL)) AS DOUBLE)
            - CAST(min(IF(is_counted, failed_at, NULL)) AS DOUBLE)) / nullif(count_if(is_counted) - 1, 0)) AS interval
    FROM (SELECT *, fits_limit OR NOT capture_fits_limit AS is_counted FROM attributed)
    GROUP BY capture
"""
"""Counts over all failures of each capture. Figures of harm count only the failures that an idle limit explains, where
there are any (`is_counted`)."""

FLEET_LIMITS = """
    SELECT capture, array_join(array_sort(collect_list(concat(fleet, ' ', round(limit, 1), ' s'))), ', ') AS fleets
    FROM (
        SELECT capture, regexp_replace(fleet, '(/[^/]*#[^/]*)+$', '') AS fleet, min(idle_seconds) AS limit
        FROM attributed WHERE fits_limit GROUP BY capture, fleet
    )
    GROUP BY capture HAVING max(limit) > 1.2D * min(limit) AND count(*) <= 5
"""
"""Two fleets on different network paths have two limits."""

NEVER_IDLE = f"""
    SELECT capture, count(*) AS subjects, count_if(never_idle) AS never_idle,
        max(IF(never_idle, longest, NULL)) AS never_idle_longest
    FROM (
        SELECT capture, subject, max(IF({IS_GAP}, length, NULL)) AS longest,
            coalesce(max(IF({IS_GAP}, length, 0D)), 0D) < max(limit_high) AND NOT coalesce(max(ended = 'failed'), false)
                AS never_idle
        FROM gaps JOIN failure_counts USING (capture)
        GROUP BY capture, subject
    ) GROUP BY capture
"""
"""Subjects that were never idle for so long, and did not fail."""

CURE_MS = """IF(proven_limit IS NULL, NULL, 450D * CASE
    WHEN broker_limit BETWEEN coalesce(limit_low, 0D) AND 1.1D * limit_high THEN broker_limit
    WHEN limit_low >= 0.8D * limit_high THEN limit_low ELSE limit_high END)"""
"""45 % of the measured limit, in ms: below half, because a client checks its idle connections only now and then. Null
where no limit was measured."""

ROUNDED_MS = "IF({0} >= 10000, floor({0} / 1000) * 1000, floor({0}))"
PYTHON = "library IN ('kafka_python', 'aiokafka')"
"""Clients whose settings are keyword arguments."""


def _hops() -> str:
    """Return the SQL for the known hops whose limit fits the data; null where the broker's own setting was read."""
    fits_limit = ", ".join(f'IF({_fits_range(limit)}, "{hop}", NULL)' for limit, hop in HOPS.values())
    return f"IF(broker_limit IS NULL, nullif(concat_ws(' or ', {fits_limit}), ''), NULL)"


def _fits_range(limit: float) -> str:
    return f"coalesce(limit_low, 0D) < {limit * 1.02}D AND limit_high >= {limit}"
