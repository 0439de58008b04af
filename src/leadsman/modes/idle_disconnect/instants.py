"""Failures that one instant explains better than idleness: a restart, a deployment, a frozen broker, a network event.

An instant lies within the gaps of all whom it struck: whoever was idle then fails at the next use, hours later perhaps.
Who was busy then fails at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.pipeline.shapes import listed_over

if TYPE_CHECKING:
    from collections.abc import Mapping

BEYOND_USUAL = 3
"""Long gaps overlap by themselves. Three times as many at one instant as on average do not: in the founding incident's
hour it is 2.5."""

AT_ONCE = "PARTITION BY capture ORDER BY CAST(failed_at AS DOUBLE) RANGE BETWEEN {0}D PRECEDING AND {0}D FOLLOWING"


def steps(*, share: float, subjects: int, burst_seconds: float) -> Mapping[str, str]:
    """Return the steps from `lost` and `gaps` to `failures`: each failure with the columns `at_once` and `apart`.

    `at_once`: an instant within its gap is common to `share` of all such gaps, of so many subjects at least, and to
    three times as many as any instant is on average; or two other subjects that were busy failed with it; or two that
    one of these struck did. `apart`: that, or another cause is in sight; it is no evidence for or against a limit.
    """
    window = AT_ONCE.format(burst_seconds)

    def beside(struck: str) -> str:
        subjects = listed_over(f"IF({struck}, subject, NULL)", window)
        return f"size(array_remove(array_distinct({subjects}), subject))"

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
        "bursts": f"""
            SELECT *, {beside("quiet = 'contradicted'")} >= 2 AS burst
            FROM lost
        """,
        "struck": """
            SELECT bursts.*, coalesce(burst OR quiet = 'observed' AND instant BETWEEN gap_since AND failed_until, false)
                AS hit
            FROM bursts LEFT JOIN instants ON instants.capture = bursts.capture
        """,
        "timed": f"""
            SELECT *, hit OR {beside("hit")} >= 2 AS at_once
            FROM struck
        """,
        "failures": "SELECT *, at_once OR other_cause AS apart FROM timed",
    }
