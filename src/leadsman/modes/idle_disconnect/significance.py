"""Tests whether failures follow long gaps more often than by coincidence: Fisher's exact test for each fleet.

A use is one opportunity to fail: a gap that ended in ordinary work, a failure after a gap, a failure of a busy worker.
For each fleet of workers, and for all Kafka clients of a capture together, the steps find the gap length that best
separates uses that fail from uses that succeed. Fisher's exact test then gives the probability of so many failures
above that length by coincidence.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from leadsman import vocabulary as names
from leadsman.pipeline.spark.pyspark_startup import create_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

IS_GAP = f"name = '{names.SUBJECT_IDLE}'"

ALARM = r"\\b(?:WARN|WARNING|ERROR|FATAL|SEVERE|CRITICAL)\\b|%[0-5][|]"
"""A line of this level is no ordinary use. A log that holds no other lines does not show the uses that succeeded."""

FLEET = r"""
    regexp_replace(regexp_replace(regexp_replace(concat(regexp_replace(file, '[^/]*$', ''), subject),
        '[0-9a-f-]{6,}', '#'), '-[bcdfghjklmnpqrstvwxz0-9]{5}$', '#'), '[0-9]+', '#')
"""
"""Workers of one service: their names and folders differ only in numbers, hashes and the suffixes of Kubernetes."""

BUSY_USES = 50
"""A subject without a failure counts for at most so many busy uses: one for each second of writing."""

ALL_CLIENTS = "*"
"""The group of all Kafka clients of a capture; the other groups are the fleets."""

MIN_UNHARMED_USES = 2
"""Uses that succeeded, of the subjects that failed."""

ENOUGH_FAILURES, ENOUGH_USES, ORDINARY = 10, 3, 0.05
"""With at least so many failures, at least so many uses for each failure, and a probability above this, the failures
have nothing to do with gaps."""

A_LITTLE_LESS = 0.9
"""The shortest gap that fails is measured between two log lines, so it is slightly shorter than the limit itself."""


NEVER_BEST = "1e12D"
"""Taken from the fit of a length after which uses fail less often than after shorter gaps: such a length is the best
only where there is no other, and then shows that failures have nothing to do with gaps."""


def _fit(failed: str, uses: str) -> str:
    """Return the SQL for the log-likelihood of `failed` failures in `uses` uses, at their own rate."""
    return (
        f"IF({failed} = 0 OR {failed} = {uses}, 0D, {failed} * ln({failed} / {uses}) + "
        f"({uses} - {failed}) * ln(1D - {failed} / {uses}))"
    )


STEPS: Mapping[str, str] = {
    "busy_periods": f"""
        SELECT capture, subject, max(IF({IS_GAP}, NULL, length)) AS lines,
            CAST(max(until) AS DOUBLE) - CAST(min(at) AS DOUBLE) - sum(IF({IS_GAP}, length, 0D)) AS busy_seconds
        FROM gaps GROUP BY capture, subject HAVING coalesce(max(IF({IS_GAP}, is_use, NULL)), true)
    """,
    "uses": f"""
        SELECT capture, subject, idle_seconds AS length, 1D AS failed, 1D AS weight FROM failures
        WHERE idle = 'observed' AND NOT excluded
        UNION ALL SELECT capture, subject, 0D, 1D, 1D FROM failures WHERE idle = 'contradicted' AND NOT excluded
        UNION ALL SELECT capture, subject, length, 0D, 1D FROM gaps WHERE {IS_GAP} AND ended IS NULL AND is_use
        UNION ALL SELECT capture, subject, 0D, 0D, floor(least(busy_seconds, lines / 4D, {BUSY_USES}D))
        FROM busy_periods ANTI JOIN failures USING (capture, subject) WHERE least(busy_seconds, lines / 4D) >= 1
    """,
    "group_members": f"""
        SELECT capture, subject, fleet, inline(array(struct(fleet AS group), struct('{ALL_CLIENTS}' AS group)))
        FROM workers WHERE is_kafka_fleet
    """,
    "group_uses": """
        SELECT capture, group, length, failed, weight, IF(failed = 0 AND length > 0, 1, 0) AS unharmed,
            max(failed) OVER (PARTITION BY capture, group) > 0 AS group_has_failure,
            max(failed) OVER (PARTITION BY capture, group, fleet) > 0 AS fleet_has_failure,
            max(failed) OVER (PARTITION BY capture, group, subject) > 0 AS subject_has_failure
        FROM uses JOIN group_members USING (capture, subject)
    """,
    "ranked_uses": """
        SELECT capture, group, length AS limit, failed AS is_failure,
            sum(failed) OVER longer AS failed_above, sum(weight) OVER longer AS uses_above,
            sum(IF(fleet_has_failure, weight, 0D)) OVER longer AS fleet_uses_above,
            sum(failed) OVER all AS failed, sum(weight) OVER all AS uses,
            sum(IF(length > 0, failed, 0D)) OVER all AS failed_after_gaps,
            sum(unharmed) OVER all - sum(unharmed) OVER longer AS unharmed_below,
            max(IF(unharmed = 1, length, NULL)) OVER below AS limit_low,
            count_if(failed = 0 AND subject_has_failure) OVER all AS unharmed_uses
        FROM group_uses WHERE group_has_failure
        WINDOW longer AS (PARTITION BY capture, group ORDER BY length DESC RANGE UNBOUNDED PRECEDING),
            below AS (PARTITION BY capture, group ORDER BY length
                RANGE BETWEEN UNBOUNDED PRECEDING AND 0.0005D PRECEDING),
            all AS (PARTITION BY capture, group)
    """,
    "candidate_limits": f"""
        SELECT *, {_fit("failed_above", "uses_above")} + {_fit("(failed - failed_above)", "(uses - uses_above)")}
            - IF(failed_above * (uses - uses_above) >= (failed - failed_above) * uses_above, 0D, {NEVER_BEST}) AS fit
        FROM ranked_uses WHERE is_failure > 0 AND limit > 0
    """,
    "best_limits": """
        SELECT capture, group, inline(array(best)) FROM (
            SELECT capture, group, max_by(struct(limit, failed_above, uses_above, fleet_uses_above, failed, uses,
                failed_after_gaps, unharmed_below, limit_low, unharmed_uses), fit) AS best
            FROM candidate_limits GROUP BY capture, group
        )
    """,
    "splits": """
        SELECT capture, group, limit, failed_above, uses_above, fleet_uses_above, failed, uses, failed_after_gaps,
            CAST(unharmed_below AS DOUBLE) AS unharmed_below, limit_low,
            CAST(unharmed_uses AS DOUBLE) AS unharmed_uses, broker_limit
        FROM best_limits JOIN captures USING (capture)
    """,
}
"""From `failures`, `gaps` and `workers` to `splits`: one row for each fleet with a failure, and one for all clients.

Subjects that failed must have uses that succeeded (`unharmed_uses`): otherwise the worker itself, and not the gap, may
be the cause. `uses_above` uses came after gaps of at least `limit` seconds, the length that separates best.
`fleet_uses_above` counts only the fleets with a failure: the log of another service can be silent while its connections
are busy."""


class GapSplit(NamedTuple):
    """Uses of one group, split at the gap length that best separates failures from successes. Limits are in seconds."""

    capture: str
    group: str
    limit: float
    failed_above: float
    uses_above: float
    fleet_uses_above: float
    failed: float
    uses: float
    failed_after_gaps: float
    unharmed_below: float
    limit_low: float | None
    unharmed_uses: float
    broker_limit: float | None


class Thresholds(NamedTuple):
    """The thresholds of `detect` that decide whether a limit is proven."""

    min_failures: int
    max_p_value: float
    min_harmed_share: float
    min_unharmed_uses: int
    shortest_hop_seconds: float


FIGURES = (
    "limit",
    "failed_above",
    "uses_above",
    "fleet_uses_above",
    "unharmed_below",
    "failed_below",
    "limit_low",
    "probability",
    "odds",
)  # fmt: skip - a list of names
TYPES: dict[str, pa.DataType] = {
    **dict.fromkeys(("capture", "group", "state", "why"), pa.string()),
    **dict.fromkeys(FIGURES, pa.float64()),
}
GROUPS = pa.schema(TYPES)

MAX_ODDS = 1e9
"""Smaller probabilities than one in a billion are all shown as one in a billion."""


def tested_groups(splits: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Return `splits` tested: one row a group, with the columns of `GROUPS`.

    There are only as many rows as fleets with failures, so the exact test runs in Python.
    `state` is observed, contradicted (enough failures, and no more of them after long gaps than by coincidence) or not
    visible; `why` is the reason for "not visible" (`_reason_not_proven`).
    """
    rows = [group_row(GapSplit(*row), thresholds) for row in splits.select(*GapSplit._fields).collect()]
    return create_frame(splits.sparkSession, pa.Table.from_pylist(rows, GROUPS))


def group_row(split: GapSplit, thresholds: Thresholds) -> dict[str, float | str | None]:
    """Return the test's result for one group: a row of `GROUPS`."""
    failed_below = split.failed - split.failed_above
    tried_limits = max(1.0, split.failed_after_gaps)
    probability = fisher_probability(
        split.failed_above, uses_above=split.uses_above, failed=split.failed, uses=split.uses
    )
    probability = min(1.0, tried_limits * probability)
    why = _reason_not_proven(split, probability, thresholds)
    enough = split.failed >= ENOUGH_FAILURES and split.uses >= ENOUGH_USES * split.failed
    is_coincidence = enough and probability > ORDINARY
    return {
        "capture": split.capture,
        "group": split.group,
        "state": "observed" if why is None else "contradicted" if is_coincidence else "not visible",
        "why": why,
        "limit": split.limit,
        "failed_above": split.failed_above,
        "uses_above": split.uses_above,
        "fleet_uses_above": split.fleet_uses_above,
        "unharmed_below": split.unharmed_below,
        "failed_below": failed_below,
        "limit_low": split.limit_low,
        "probability": float(f"{probability:.2g}"),
        "odds": MAX_ODDS if probability * MAX_ODDS <= 1 else math.floor(1 / probability),
    }


def _reason_not_proven(split: GapSplit, probability: float, thresholds: Thresholds) -> str | None:
    """Return the first reason why the limit is not proven; None where the limit is proven.

    unharmed_gaps: most uses after gaps of that length succeeded. no_unharmed_uses: no subject that failed had uses that
    succeeded. too_few: there are too few failures. coincidence: the failures can be a coincidence. below_known_hops: no
    known hop has so short a limit.
    """
    if split.failed_above < thresholds.min_harmed_share * split.fleet_uses_above:
        return "unharmed_gaps"
    if split.unharmed_uses < MIN_UNHARMED_USES:
        return "no_unharmed_uses"
    if split.failed_above < thresholds.min_failures:
        return "too_few"
    if probability > thresholds.max_p_value:
        return "coincidence"
    if _fits_known_hop(split, thresholds) or _has_contrast(split, probability, thresholds):
        return None
    return "below_known_hops"


def _fits_known_hop(split: GapSplit, thresholds: Thresholds) -> bool:
    """Return whether the limit is at least as long as the shortest limit of a known hop or of the configured broker."""
    shortest = min(split.broker_limit or math.inf, thresholds.shortest_hop_seconds)
    return split.limit >= A_LITTLE_LESS * shortest


def _has_contrast(split: GapSplit, probability: float, thresholds: Thresholds) -> bool:
    """Return whether the data prove a limit that no known hop has, and no configured limit contradicts it."""
    return (
        split.broker_limit is None
        and probability <= thresholds.max_p_value / 1000
        and split.uses - split.uses_above >= thresholds.min_unharmed_uses
    )


def fisher_probability(failed_above: float, *, uses_above: float, failed: float, uses: float) -> float:
    """Return the probability that `failed_above` or more of `failed` failures fall on the `uses_above` uses by chance.

    This is Fisher's exact test, one-sided.

    >>> round(fisher_probability(3, uses_above=3, failed=3, uses=6), 6)
    0.05
    """
    few = int(min(uses_above, failed))
    terms = (
        _ln_choose(uses_above, k) + _ln_choose(uses - uses_above, failed - k) for k in range(int(failed_above), few + 1)
    )
    return min(1.0, math.fsum(math.exp(each - _ln_choose(uses, failed)) for each in terms))


def _ln_choose(many: float, few: float) -> float:
    """Return ln(many! / (few! (many - few)!)); minus infinity where `few` exceeds `many`."""
    if few > many:
        return -math.inf
    return math.lgamma(many + 1) - math.lgamma(few + 1) - math.lgamma(many - few + 1)
