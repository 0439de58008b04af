"""Which failures an idle limit explains, and what speaks for and against that limit, over all of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.defaults import seconds
from leadsman.modes.idle_disconnect.coincidence import EVERYBODY, QUIET

if TYPE_CHECKING:
    from collections.abc import Mapping

BROKER_IDLE = seconds("broker", "connections.max.idle.ms")

HOPS = {
    "azure_lb": (240, "Azure's load balancers (240 s)"),
    "aws_nat_nlb": (350, "AWS NAT gateways, network load balancers and Nitro V6 (350 s)"),
    "broker_default": (BROKER_IDLE, f"the broker's default (connections.max.idle.ms, {BROKER_IDLE:g} s)"),
}
"""Documented idle limits in seconds; sources in page.md. As figures they are called <name>_limit."""


EVENT_SECONDS = 120
"""Failures of several workers within this time, where as many gaps of that length are unharmed at other times, come
from one event."""

KEPT = (
    "capture",
    "subject",
    "failed_at",
    "failed_until",
    "gap",
    "gap_since",
    "quiet_seconds",
    "in_flight",
    "timed_out",
    "reset",
    "retried",
    "lost",
    "harmed",
    "killed",
    "frozen",
    "severed_lines",
    "harmed_lines",
    "refused",
    "denied",
    "refused_ever",
    "denied_ever",
    "restarted",
    "by_client",
    "client_id",
    "at_once",
    "apart",
)  # fmt: skip - a list of names
"""What is read of a failure as it is."""

ATTRIBUTED = {
    "struck": """
        SELECT capture, min(quiet_seconds) AS shortest, count(*) AS struck,
            CAST(max(failed_at) AS DOUBLE) - CAST(min(failed_at) AS DOUBLE) AS span
        FROM failures WHERE at_once GROUP BY capture
    """,
    "events_of_all": f"""
        SELECT capture, min(span) <= {EVENT_SECONDS} AND count_if(is_use) >= min(struck) AS is_event
        FROM struck JOIN gaps USING (capture) WHERE {QUIET} AND ended IS NULL AND length >= shortest GROUP BY capture
    """,
    "judged": f"""
        SELECT {", ".join(f"failures.{name}" for name in KEPT)}, fleet, library,
            coalesce(disordered, false) AS disordered,
            IF(quiet = 'contradicted' AND disordered, 'not visible', quiet) AS quiet,
            other_cause OR at_once AND coalesce(is_event, false) AS other_cause,
            IF(own.state = 'observed' AND quiet_seconds >= own.limit, own.limit,
                IF(every.state = 'observed' AND quiet_seconds >= every.limit, every.limit, NULL)) AS limit,
            coalesce(own.state, every.state, 'not visible') AS own_state, every.state AS state_of_all
        FROM failures LEFT JOIN workers ON workers.capture = failures.capture AND workers.subject = failures.subject
            LEFT JOIN events_of_all ON events_of_all.capture = failures.capture
            LEFT JOIN groups own ON own.capture = failures.capture AND own.group = fleet
            LEFT JOIN groups every ON every.capture = failures.capture AND every.group = '{EVERYBODY}'
    """,
    "fitting": """
        SELECT *, quiet = 'observed' AND NOT apart AND limit IS NOT NULL AS fits,
            NOT disordered AND 'contradicted' IN (own_state, state_of_all)
                AND 'observed' NOT IN (own_state, coalesce(state_of_all, ''))
                AS by_chance
        FROM judged
    """,
    "attributed": """
        SELECT *, max(fits) OVER (PARTITION BY capture, subject) AS any_fits_here,
            max(fits) OVER (PARTITION BY capture) AS any_fits
        FROM fitting
    """,
}
"""Each failure with the limit of its fleet, or of all, that it follows; `by_chance` where the test says no. A worker
whose lines carry no times is in no fleet. Times without an order can be sorted, but they prove no worker busy."""


def pooled() -> Mapping[str, str]:
    """Return the steps to `pooled`: one row a capture, with everything that speaks for or against a limit."""
    drawn = ", ".join(
        f"IF(broker_limit IS NULL AND {_fits(limit)}, {limit}, NULL) AS {name}_limit"
        for name, (limit, _) in HOPS.items()
    )
    return {
        "main": MAIN,
        "counted": COUNTED,
        "limits": LIMITS,
        "spared": SPARED,
        "bounded": "SELECT * FROM counted LEFT JOIN main USING (capture) LEFT JOIN spared USING (capture)",
        "measured": f"""
            SELECT *, {_hops()} AS hop, {drawn}, IF(no_contrast IS NULL, NULL, after_gap) AS uncontrasted,
                {WHOLE.format(CURE_MS)} AS cure_idle_ms
            FROM bounded LEFT JOIN limits USING (capture) JOIN captures USING (capture)
        """,
        "pooled": f"""
            SELECT *, IF({PYTHON}, CAST(cure_idle_ms AS BIGINT), NULL) AS python_idle_ms,
                IF({PYTHON}, NULL, CAST(cure_idle_ms AS BIGINT)) AS dotted_idle_ms
            FROM measured
        """,
    }


MAIN = """
    SELECT capture, inline(array(main)) FROM (
        SELECT capture, max_by(struct(group, limit AS parted_at, long_failed, long, shorter, shorter_failed, limit_low,
            long - long_failed AS longer_unharmed, chance, odds, state AS group_state,
            IF(why = 'spared', long_there - long_failed, NULL) AS spared,
            IF(why = 'few', long_failed, NULL) AS too_few,
            IF(why = 'alone', long_failed, NULL) AS no_contrast,
            IF(why = 'chance', chance, NULL) AS doubt,
            IF(why = 'short', limit, NULL) AS too_short,
            IF(state = 'observed', long_failed, NULL) AS unseen_harm),
            struct(state = 'observed', -chance, long_failed, group)) AS main
        FROM groups GROUP BY capture
    )
"""
"""The group of each capture that says most: the one whose failures are least a coincidence."""

COUNTED = """
    SELECT capture,
        count(*) AS failures,
        count_if(IF(any_fits, fits, quiet = 'observed')) AS after_gap,
        count_if(quiet = 'contradicted' AND NOT apart) AS while_busy,
        count_if(quiet = 'not visible') AS unseen,
        count_if(apart) AS apart,
        count_if(at_once) AS at_once,
        count_if(timed_out AND counts) AS stalled,
        max(IF(timed_out AND counts, in_flight, NULL)) AS waited,
        count_if(killed AND counts) AS killed,
        count_if(reset AND counts) AS reset,
        count_if(retried AND counts) AS retried,
        count_if(lost AND counts) AS lost,
        count_if(frozen AND counts) AS frozen,
        sum(refused) AS refused,
        sum(denied) AS denied,
        max(refused_ever) AS refused_ever,
        max(denied_ever) AS denied_ever,
        count_if(restarted) AS restarted,
        count_if(by_client) AS by_clients,
        max(by_chance) AS by_chance,
        count_if(disordered) AS disordered,
        IF(min(library) = max(library), max(library), NULL) AS library,
        count(DISTINCT IF(counts, subject, NULL)) AS suffering,
        min(IF(counts, quiet_seconds, NULL)) AS limit_high,
        min(IF(fits, quiet_seconds, NULL)) AS proven_limit,
        max(IF(counts, quiet_seconds, NULL)) AS longest_gap,
        min(IF(counts, failed_at, NULL)) AS since,
        max(IF(counts, failed_until, NULL)) AS until,
        IF(count_if(counts) < 3, NULL, (CAST(max(IF(counts, failed_at, NULL)) AS DOUBLE)
            - CAST(min(IF(counts, failed_at, NULL)) AS DOUBLE)) / (count_if(counts) - 1)) AS interval
    FROM (SELECT *, fits OR NOT any_fits AS counts FROM attributed)
    GROUP BY capture
"""
"""All failures of each capture in figures; those of harm only of failures that an idle limit explains, if any are."""

LIMITS = """
    SELECT capture, array_join(array_sort(collect_list(concat(fleet, ' ', round(limit, 1), ' s'))), ', ') AS fleets
    FROM (
        SELECT capture, regexp_replace(fleet, '(/[^/]*#[^/]*)+$', '') AS fleet, min(quiet_seconds) AS limit
        FROM attributed WHERE fits GROUP BY capture, fleet
    )
    GROUP BY capture HAVING max(limit) > 1.2D * min(limit) AND count(*) <= 5
"""
"""Two fleets on different paths have two limits."""

SPARED = f"""
    SELECT capture, count(*) AS subjects, count_if(never_quiet) AS never_quiet,
        max(IF(never_quiet, longest, NULL)) AS never_quiet_longest
    FROM (
        SELECT capture, subject, max(IF({QUIET}, length, NULL)) AS longest,
            coalesce(max(IF({QUIET}, length, 0D)), 0D) < max(limit_high) AND NOT coalesce(max(ended = 'failed'), false)
                AS never_quiet
        FROM gaps JOIN counted USING (capture)
        GROUP BY capture, subject
    ) GROUP BY capture
"""
"""Who was never so quiet, and did not fail."""

CURE_MS = """IF(proven_limit IS NULL, NULL, 450D * CASE
    WHEN broker_limit BETWEEN coalesce(limit_low, 0D) AND 1.1D * limit_high THEN broker_limit
    WHEN limit_low >= 0.8D * limit_high THEN limit_low ELSE limit_high END)"""
"""45 % of the limit as measured, in ms: below half, because a client looks at its idle connections now and then. What
was not measured is no setting's value."""

WHOLE = "IF({0} >= 10000, floor({0} / 1000) * 1000, floor({0}))"
PYTHON = "library IN ('kafka_python', 'aiokafka')"
"""Clients whose settings are keyword arguments."""


def _hops() -> str:
    """Return the known hops whose limit lies where the data put it; null where a setting names the limit anyway."""
    fits = ", ".join(f'IF({_fits(limit)}, "{hop}", NULL)' for limit, hop in HOPS.values())
    return f"IF(broker_limit IS NULL, nullif(concat_ws(' or ', {fits}), ''), NULL)"


def _fits(limit: float) -> str:
    return f"coalesce(limit_low, 0D) < {limit * 1.02}D AND limit_high >= {limit}"
