"""Do failures follow long gaps more often than chance would have it? One exact test for each fleet of workers.

A use is one chance to fail: a gap that ended in ordinary work, a failure after a gap, a failure of a busy worker. For
each fleet, and for all of a capture's Kafka clients together, the gap length is sought that best parts uses that fail
from uses that do not. Fisher's exact test then says how likely so many failures above that length are by chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from leadsman import vocabulary as names
from leadsman.pipeline.lean import frame_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

QUIET = f"name = '{names.SUBJECT_QUIET}'"

ALARM = r"\\b(?:WARN|WARNING|ERROR|FATAL|SEVERE|CRITICAL)\\b|%[0-5][|]"
"""A line of this kind is no ordinary use. Where a log holds no other, nobody sees the uses that went well."""

FLEET = r"""
    regexp_replace(regexp_replace(regexp_replace(concat(regexp_replace(file, '[^/]*$', ''), subject),
        '[0-9a-f-]{6,}', '#'), '-[bcdfghjklmnpqrstvwxz0-9]{5}$', '#'), '[0-9]+', '#')
"""
"""Workers of one service: their names and folders are alike but for numbers, hashes and what Kubernetes appends."""

BUSY_USES = 50
"""Who did not fail counts for so many busy uses at most: one for each second of writing."""

EVERYBODY = "*"
"""The group of all Kafka clients of a capture, beside their fleets."""

OWN_UNHARMED = 2
"""Uses that went well, of those who failed."""

ENOUGH_FAILURES, ENOUGH_USES, ORDINARY = 10, 3, 0.05
"""So many failures, among so many times as many uses, and a probability above this: gaps have nothing to do with it."""

A_LITTLE_LESS = 0.9
"""The shortest gap that fails is measured between two lines of a log: a little less than the limit itself."""


def _fit(failed: str, uses: str) -> str:
    """Return the log-likelihood of so many failures in so many uses, at their own rate."""
    return (
        f"IF({failed} = 0 OR {failed} = {uses}, 0D, {failed} * ln({failed} / {uses}) + "
        f"({uses} - {failed}) * ln(1D - {failed} / {uses}))"
    )


STEPS: Mapping[str, str] = {
    "spells": f"""
        SELECT capture, subject, max(IF({QUIET}, NULL, length)) AS lines,
            CAST(max(until) AS DOUBLE) - CAST(min(at) AS DOUBLE) - sum(IF({QUIET}, length, 0D)) AS busy_seconds
        FROM gaps GROUP BY capture, subject HAVING coalesce(max(IF({QUIET}, is_use, NULL)), true)
    """,
    "uses": f"""
        SELECT capture, subject, quiet_seconds AS length, 1D AS failed, 1D AS times FROM failures
        WHERE quiet = 'observed' AND NOT apart
        UNION ALL SELECT capture, subject, 0D, 1D, 1D FROM failures WHERE quiet = 'contradicted' AND NOT apart
        UNION ALL SELECT capture, subject, length, 0D, 1D FROM gaps WHERE {QUIET} AND ended IS NULL AND is_use
        UNION ALL SELECT capture, subject, 0D, 0D, floor(least(busy_seconds, lines / 4D, {BUSY_USES}D))
        FROM spells ANTI JOIN failures USING (capture, subject) WHERE least(busy_seconds, lines / 4D) >= 1
    """,
    "members": f"""
        SELECT capture, subject, fleet, inline(array(struct(fleet AS group), struct('{EVERYBODY}' AS group)))
        FROM workers WHERE of_kafka
    """,
    "used": """
        SELECT capture, group, length, failed, times, IF(failed = 0 AND length > 0, 1, 0) AS spared,
            max(failed) OVER (PARTITION BY capture, group) > 0 AS any_fails,
            max(failed) OVER (PARTITION BY capture, group, fleet) > 0 AS fleet_fails,
            max(failed) OVER (PARTITION BY capture, group, subject) > 0 AS failing
        FROM uses JOIN members USING (capture, subject)
    """,
    "ranked": """
        SELECT capture, group, length AS limit, failed AS fails,
            sum(failed) OVER longer AS long_failed, sum(times) OVER longer AS long,
            sum(IF(fleet_fails, times, 0D)) OVER longer AS long_there,
            sum(failed) OVER all AS failed, sum(times) OVER all AS uses,
            sum(IF(length > 0, failed, 0D)) OVER all AS after_any,
            sum(spared) OVER all - sum(spared) OVER longer AS shorter,
            max(IF(spared = 1, length, NULL)) OVER below AS limit_low,
            count_if(failed = 0 AND failing) OVER all AS own_unharmed
        FROM used WHERE any_fails
        WINDOW longer AS (PARTITION BY capture, group ORDER BY length DESC RANGE UNBOUNDED PRECEDING),
            below AS (PARTITION BY capture, group ORDER BY length
                RANGE BETWEEN UNBOUNDED PRECEDING AND 0.0005D PRECEDING),
            all AS (PARTITION BY capture, group)
    """,
    "parted": f"""
        SELECT *, {_fit("long_failed", "long")} + {_fit("(failed - long_failed)", "(uses - long)")} AS fit
        FROM ranked WHERE fails > 0 AND limit > 0 AND long_failed * (uses - long) >= (failed - long_failed) * long
    """,
    "best": """
        SELECT capture, group, inline(array(best)) FROM (
            SELECT capture, group, max_by(struct(limit, long_failed, long, long_there, failed, uses, after_any,
                shorter, limit_low, own_unharmed), fit) AS best
            FROM parted GROUP BY capture, group
        )
    """,
    "parts": """
        SELECT capture, group, limit, long_failed, long, long_there, failed, uses, after_any,
            CAST(shorter AS DOUBLE) AS shorter, limit_low, CAST(own_unharmed AS DOUBLE) AS own_unharmed, broker_limit
        FROM best JOIN captures USING (capture)
    """,
}
"""From `failures`, `gaps` and `workers` to `parts`: one row a fleet in which anybody fails, and one for everybody.

Whoever failed must have had uses that went well (`own_unharmed`): else the worker, and not the gap, may be what fails.
`long` uses came after gaps of at least `limit` seconds, the length that parts best; `long_there` are those of fleets
that fail: another service's log can be silent while its connections are busy."""


class Part(NamedTuple):
    """Uses of one group, parted where failures and uses that went well part best. Counts are whole; limits seconds."""

    capture: str
    group: str
    limit: float
    long_failed: float
    long: float
    long_there: float
    failed: float
    uses: float
    after_any: float
    shorter: float
    limit_low: float | None
    own_unharmed: float
    broker_limit: float | None


class Demands(NamedTuple):
    """What must hold for a limit to be believed: thresholds of `detect`."""

    least_failures: int
    most_chance: float
    least_harmed: float
    least_contrast: int
    shortest_hop_seconds: float


FIGURES = (
    "limit",
    "long_failed",
    "long",
    "long_there",
    "shorter",
    "shorter_failed",
    "limit_low",
    "chance",
    "odds",
)  # fmt: skip - a list of names
TYPES: dict[str, pa.DataType] = {
    **dict.fromkeys(("capture", "group", "state", "why"), pa.string()),
    **dict.fromkeys(FIGURES, pa.float64()),
}
GROUPS = pa.schema(TYPES)

MOST_ODDS = 1e9
"""One in more than that is not told apart."""


def groups_of(parts: DataFrame, demands: Demands) -> DataFrame:
    """Return `parts` tested: one row a group, with the columns of `GROUPS`.

    There are as many rows as fleets that fail: few, and what is exact is counted here.
    `state`: observed, contradicted (enough failures, and no more of them after long gaps than chance has it), or not
    visible; `why` it is not visible: the first of what is wanting (`_wanting`).
    """
    rows = [judged(Part(*row), demands) for row in parts.select(*Part._fields).collect()]
    return frame_of(parts.sparkSession, pa.Table.from_pylist(rows, GROUPS))


def judged(part: Part, demands: Demands) -> dict[str, float | str | None]:
    """Return one row of `GROUPS`."""
    shorter_failed = part.failed - part.long_failed
    tried = max(1.0, part.after_any)
    chance = min(1.0, tried * by_chance(part.long_failed, long=part.long, failed=part.failed, uses=part.uses))
    why = _wanting(part, chance, demands)
    by_accident = part.failed >= ENOUGH_FAILURES and part.uses >= ENOUGH_USES * part.failed and chance > ORDINARY
    return {
        "capture": part.capture,
        "group": part.group,
        "state": "observed" if why is None else "contradicted" if by_accident else "not visible",
        "why": why,
        "limit": part.limit,
        "long_failed": part.long_failed,
        "long": part.long,
        "long_there": part.long_there,
        "shorter": part.shorter,
        "shorter_failed": shorter_failed,
        "limit_low": part.limit_low,
        "chance": float(f"{chance:.2g}"),
        "odds": MOST_ODDS if chance * MOST_ODDS <= 1 else math.floor(1 / chance),
    }


def _wanting(part: Part, chance: float, demands: Demands) -> str | None:
    """Return what keeps the limit from being believed; None where nothing does.

    spared: most uses after gaps of that length went well. alone: nobody who failed had uses that went well. few: the
    failures are too few. chance: it can be a coincidence. short: no known hop has so short a limit.
    """
    if part.long_failed < demands.least_harmed * part.long_there:
        return "spared"
    if part.own_unharmed < OWN_UNHARMED:
        return "alone"
    if part.long_failed < demands.least_failures:
        return "few"
    if chance > demands.most_chance:
        return "chance"
    return None if _is_of_a_hop(part, demands) or _has_contrast(part, chance, demands) else "short"


def _is_of_a_hop(part: Part, demands: Demands) -> bool:
    """Whether the limit is no shorter than that of any hop that is known, or configured."""
    shortest = min(part.broker_limit or math.inf, demands.shortest_hop_seconds)
    return part.limit >= A_LITTLE_LESS * shortest


def _has_contrast(part: Part, chance: float, demands: Demands) -> bool:
    """Whether a limit that no hop has is so clear that there must be one, and no configured limit contradicts it."""
    return (
        part.broker_limit is None
        and chance <= demands.most_chance / 1000
        and part.uses - part.long >= demands.least_contrast
    )


def by_chance(long_failed: float, *, long: float, failed: float, uses: float) -> float:
    """Return how likely so many or more of all `failed` uses are `long` ones (Fisher's exact test, one-sided).

    >>> round(by_chance(3, long=3, failed=3, uses=6), 6)
    0.05
    """
    few = int(min(long, failed))
    terms = (_ln_choose(long, k) + _ln_choose(uses - long, failed - k) for k in range(int(long_failed), few + 1))
    return min(1.0, math.fsum(math.exp(each - _ln_choose(uses, failed)) for each in terms))


def _ln_choose(many: float, few: float) -> float:
    """Return ln(many! / (few! (many - few)!)); minus infinity where there are fewer than that."""
    if few > many:
        return -math.inf
    return math.lgamma(many + 1) - math.lgamma(few + 1) - math.lgamma(many - few + 1)
