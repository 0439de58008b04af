"""From samples of CPU steal to hosts with much more steal near the loss of a broker than before.

A noisy neighbour that steals CPU time all day is no maintenance. So a sample counts only where it shows much more steal
than was usual on the same host before the loss. A host without earlier samples does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DRAWN = 40
"""Samples of a capture that are drawn, those with most steal first: a chart has no room for more."""

STEAL_SAMPLES = f"""
    SELECT capture, coalesce(subject, file) AS host, source, labels['cpu'] AS cpu, at,
        try_to_timestamp(labels['since']) AS sample_since, value, file, line, text
    FROM events WHERE name = '{names.CPU_STEAL}' AND at IS NOT NULL
"""
"""Only the columns that are needed: samples of a whole fleet's processors over an hour are sorted in memory."""

STEAL_INTERVALS = """
    SELECT capture, host, source, at, coalesce(sample_since, lag(at) OVER earlier) AS since,
        IF(sample_since IS NULL, value - lag(value) OVER earlier, value) AS seconds,
        file, line, text,
        IF(sample_since IS NULL, lag(line) OVER earlier, NULL) AS line_before, lag(text) OVER earlier AS text_before
    FROM steal_samples WINDOW earlier AS (PARTITION BY capture, host, source, cpu ORDER BY at, line)
"""
"""The steal between two samples of a counter. Samples of other tools carry the start of their own interval."""

SAMPLE_SECONDS = "CAST(at AS DOUBLE) - CAST(since AS DOUBLE)"
STEAL_SHARES = f"""
    SELECT capture, host, source, since, at, avg(seconds) AS seconds,
        avg(seconds) / nullif({SAMPLE_SECONDS}, 0) AS share,
        max_by(struct(file, line_before, text_before, line, text), seconds) AS most
    FROM steal_intervals WHERE since < at AND seconds >= 0 GROUP BY capture, host, source, since, at
"""
"""The share over all processors of a host. A counter that decreased was reset, for example by a restart."""

STEAL_BASELINE = f"""
    SELECT *,
        percentile(IF(at <= broker_lost_at, share, NULL), 0.9) OVER of_host AS usual_share,
        sum(IF(at <= broker_lost_at, {SAMPLE_SECONDS}, 0)) OVER of_host AS sampled_seconds
    FROM steal_shares JOIN broker_losses USING (capture) WINDOW of_host AS (PARTITION BY capture, incident, host,
        source)
"""
"""The usual share is the 90th percentile of the samples before the loss: a noisy neighbour may steal in bursts."""

QUOTED_LINES = """
    array(
        struct(most.file, most.line_before AS line, since AS at, most.text_before AS text),
        struct(most.file, most.line, at, most.text)
    )
"""

DRAWN_POINTS = f"""
    transform(
        slice(sort_array(collect_list(struct(share, host, since, at)), false), 1, {MAX_DRAWN}),
        s -> IF(s IS NULL, NULL, struct(
            concat('host ', s.host) AS subject, IF(s.host IS NULL, NULL, 'CPU steal') AS outcome,
            s.since, s.at, s.share AS value))
    )
"""


def cpu_steal_steps(
    *, near_seconds: float, min_share: float, min_factor: float, history_seconds: float
) -> Mapping[str, str]:
    """Return the steps from `events` and `broker_losses` to `cpu_steal`: one row per incident with unusual steal.

    A sample counts within `near_seconds` of the loss, with a share of at least `min_share` and `min_factor` times the
    usual share, on a host that was sampled for `history_seconds` before the loss.
    """
    near = f"make_interval(0, 0, 0, 0, 0, 0, {near_seconds})"
    return {
        "steal_samples": STEAL_SAMPLES,
        "steal_intervals": STEAL_INTERVALS,
        "steal_shares": STEAL_SHARES,
        "steal_baseline": STEAL_BASELINE,
        "cpu_steal": f"""
            SELECT capture, incident,
                max_by(host, share) AS steal_host,
                max_by(seconds, share) AS steal_seconds,
                max_by({SAMPLE_SECONDS}, share) AS steal_interval,
                filter(max_by({QUOTED_LINES}, share), l -> l.line IS NOT NULL) AS steal_lines,
                {DRAWN_POINTS} AS steal_points
            FROM steal_baseline
            WHERE since >= broker_lost_at - {near} AND at <= broker_lost_at + {near}
                AND sampled_seconds >= {history_seconds}D AND share >= {min_share}D
                AND share >= {min_factor}D * usual_share
            GROUP BY capture, incident
        """,
    }
