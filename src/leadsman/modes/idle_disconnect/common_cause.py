"""Failures with a common cause that explains them better than idleness: a restart, a deployment, a frozen broker.

A common cause acts at one instant. That instant lies within the idle gaps of all affected subjects: a subject that was
idle then fails at its next use, perhaps hours later. A subject that was busy then fails at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_OVERLAP_RATIO = 3
"""Long gaps overlap by chance. Three times as many gaps at one instant as on average are no chance: in the busiest hour
of the founding incident the ratio is 2.5."""

SUBJECTS_KEPT = 3
"""Of a slot: the failure's own subject may be one of them, and two others are enough."""


def steps(*, share: float, subjects: int, burst_seconds: float) -> Mapping[str, str]:
    """Return the steps from `lost_requests` and `gaps` to `failures`, with the columns `common_cause` and `excluded`.

    `common_cause` is true in one of three cases. An instant within the failure's gap lies in at least `share` of all
    gaps, of at least `subjects` subjects, and in three times as many gaps as an average instant. Or two other busy
    subjects failed within `burst_seconds`. Or two other subjects with a common cause failed within `burst_seconds`.
    `excluded`: `common_cause` or another cause; the failure is no evidence for or against an idle limit.
    """
    return {
        "candidates": "SELECT * FROM lost_requests WHERE idle = 'observed' AND NOT other_cause",
        "gap_edges": """
            SELECT capture, gap_since AS t, 1 AS overlap_change FROM candidates
            UNION ALL SELECT capture, failed_at, -1 FROM candidates
        """,
        "overlaps": """
            SELECT capture, t, sum(overlap_change) OVER so_far AS overlap FROM gap_edges
            WINDOW so_far AS (PARTITION BY capture ORDER BY t, overlap_change DESC ROWS UNBOUNDED PRECEDING)
        """,
        "largest_overlap": """
            SELECT capture, max(overlap) AS size, max_by(t, struct(overlap, t)) AS instant
            FROM overlaps GROUP BY capture
        """,
        "average_overlap": """
            SELECT capture, count(*) AS gaps, sum(idle_seconds) AS total_idle_seconds FROM candidates GROUP BY capture
        """,
        "capture_spans": """
            SELECT capture, CAST(max(coalesce(until, at)) AS DOUBLE) - CAST(min(at) AS DOUBLE) AS seconds FROM gaps
            GROUP BY capture
        """,
        "common_instants": f"""
            SELECT capture, instant
            FROM largest_overlap JOIN average_overlap USING (capture) JOIN capture_spans USING (capture)
            WHERE size >= {subjects} AND size >= {share}D * gaps
                AND size >= {MIN_OVERLAP_RATIO}D * total_idle_seconds / nullif(seconds, 0D)
        """,
        **_near_others(
            "lost_requests", "idle = 'contradicted'", within=burst_seconds, step="burst_checked", column="in_burst"
        ),
        "affected_failures": """
            SELECT burst_checked.*,
                coalesce(in_burst OR idle = 'observed' AND instant BETWEEN gap_since AND failed_until, false)
                AS is_affected
            FROM burst_checked LEFT JOIN common_instants ON common_instants.capture = burst_checked.capture
        """,
        **_near_others(
            "affected_failures", "is_affected", within=burst_seconds, step="checked_failures", column="near_affected"
        ),
        "failures": """
            SELECT *, is_affected OR near_affected AS common_cause,
                is_affected OR near_affected OR other_cause AS excluded
            FROM checked_failures
        """,
    }


def _near_others(failures: str, condition: str, *, within: float, step: str, column: str) -> Mapping[str, str]:
    """Return the steps to `step`: `failures` with a boolean `column`.

    `column` is true where `condition` holds for failures of two other subjects `within` so many seconds. A window over
    all failures of that time would grow with the square of the outage. So time is divided into slots of `within`
    seconds. Of the failure's own slot and the two next to it a few subjects are enough: the last before the failure and
    the first after it.
    """
    at = "CAST(failed_at AS DOUBLE)"
    slot = f"CAST(floor({at} / {within}D) AS BIGINT)"

    return {
        f"{step}_slots": f"""
            SELECT capture, {slot} AS slot, subject, min({at}) AS first, max({at}) AS last FROM {failures}
            WHERE {condition} AND subject IS NOT NULL GROUP BY capture, {slot}, subject
        """,
        f"{step}_near_others": f"""
            SELECT capture, slot + shift AS slot, shift, subject, IF(shift <= 0, first, last) AS at
            FROM (SELECT *, explode(array(-1, 0, 1)) AS shift FROM {step}_slots)
        """,
        f"{step}_ranked": f"""
            SELECT *, row_number() OVER (PARTITION BY capture, slot, shift ORDER BY IF(shift <= 0, at, -at), subject)
                AS rank
            FROM {step}_near_others
        """,
        f"{step}_near": f"""
            SELECT capture, slot, collect_list(struct(at, subject)) AS near FROM {step}_ranked
            WHERE rank <= {SUBJECTS_KEPT} GROUP BY capture, slot
        """,
        step: f"""
            SELECT f.*, coalesce(size(array_distinct(transform(
                filter(near, one -> one.subject <> f.subject AND abs(one.at - {at}) <= {within}D),
                one -> one.subject))) >= 2, false) AS {column}
            FROM {failures} AS f LEFT JOIN {step}_near AS n ON n.capture = f.capture AND n.slot = {slot}
        """,
    }
