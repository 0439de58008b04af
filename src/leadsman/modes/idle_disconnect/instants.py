"""Failures that one instant explains better than idleness: a restart, a deployment, a frozen broker, a network event.

An instant lies within the gaps of all whom it struck: whoever was idle then fails at the next use, hours later perhaps.
Who was busy then fails at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BEYOND_USUAL = 3
"""Long gaps overlap by themselves. Three times as many at one instant as on average do not: in the founding incident's
hour it is 2.5."""

ENOUGH_SUBJECTS = 3
"""Two subjects besides one's own, which may be among them."""


def steps(*, share: float, subjects: int, burst_seconds: float) -> Mapping[str, str]:
    """Return the steps from `lost` and `gaps` to `failures`: each failure with the columns `at_once` and `apart`.

    `at_once`: an instant within its gap is common to `share` of all such gaps, of so many subjects at least, and to
    three times as many as any instant is on average; or two other subjects that were busy failed with it; or two that
    one of these struck did. `apart`: that, or another cause is in sight; it is no evidence for or against a limit.
    """
    return {
        "open": "SELECT * FROM lost WHERE quiet = 'observed' AND NOT other_cause",
        "edges": """
            SELECT capture, gap_since AS t, 1 AS step FROM open UNION ALL SELECT capture, failed_at, -1 FROM open
        """,
        "levels": """
            SELECT capture, t, sum(step) OVER so_far AS level FROM edges
            WINDOW so_far AS (PARTITION BY capture ORDER BY t, step DESC ROWS UNBOUNDED PRECEDING)
        """,
        "highest": """
            SELECT capture, max(level) AS most, max_by(t, struct(level, t)) AS instant FROM levels GROUP BY capture
        """,
        "usual": """
            SELECT capture, count(*) AS gaps, sum(quiet_seconds) AS idle_seconds FROM open GROUP BY capture
        """,
        "spans": """
            SELECT capture, CAST(max(coalesce(until, at)) AS DOUBLE) - CAST(min(at) AS DOUBLE) AS seconds FROM gaps
            GROUP BY capture
        """,
        "instants": f"""
            SELECT capture, instant FROM highest JOIN usual USING (capture) JOIN spans USING (capture)
            WHERE most >= {subjects} AND most >= {share}D * gaps
                AND most >= {BEYOND_USUAL}D * idle_seconds / nullif(seconds, 0D)
        """,
        **_beside("lost", "quiet = 'contradicted'", within=burst_seconds, told="bursts", says="burst"),
        "struck": """
            SELECT bursts.*, coalesce(burst OR quiet = 'observed' AND instant BETWEEN gap_since AND failed_until, false)
                AS hit
            FROM bursts LEFT JOIN instants ON instants.capture = bursts.capture
        """,
        **_beside("struck", "hit", within=burst_seconds, told="timed", says="together"),
        "failures": "SELECT *, hit OR together AS at_once, hit OR together OR other_cause AS apart FROM timed",
    }


def _beside(failures: str, struck: str, *, within: float, told: str, says: str) -> Mapping[str, str]:
    """Return the steps that add whether two other subjects were struck `within` so many seconds of each failure.

    A window of all that failed meanwhile would grow with the square of an outage. Time is cut into slots of `within`:
    of the slots beside a failure's own, few subjects are enough, those struck last before it and first after it.
    """
    at = "CAST(failed_at AS DOUBLE)"
    slot = f"CAST(floor({at} / {within}D) AS BIGINT)"

    return {
        f"{told}_slots": f"""
            SELECT capture, {slot} AS slot, subject, min({at}) AS first, max({at}) AS last FROM {failures}
            WHERE {struck} AND subject IS NOT NULL GROUP BY capture, {slot}, subject
        """,
        f"{told}_beside": f"""
            SELECT capture, slot + shift AS slot, shift, subject, IF(shift <= 0, first, last) AS at
            FROM (SELECT *, explode(array(-1, 0, 1)) AS shift FROM {told}_slots)
        """,
        f"{told}_ranked": f"""
            SELECT *, row_number() OVER (PARTITION BY capture, slot, shift ORDER BY IF(shift <= 0, at, -at), subject)
                AS place
            FROM {told}_beside
        """,
        f"{told}_near": f"""
            SELECT capture, slot, collect_list(struct(at, subject)) AS near FROM {told}_ranked
            WHERE place <= {ENOUGH_SUBJECTS} GROUP BY capture, slot
        """,
        told: f"""
            SELECT f.*, coalesce(size(array_distinct(transform(
                filter(near, one -> one.subject <> f.subject AND abs(one.at - {at}) <= {within}D),
                one -> one.subject))) >= 2, false) AS {says}
            FROM {failures} AS f LEFT JOIN {told}_near AS n ON n.capture = f.capture AND n.slot = {slot}
        """,
    }
