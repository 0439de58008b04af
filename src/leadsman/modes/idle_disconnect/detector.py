"""Detects idle disconnects in the telemetry.

A failure is an episode of log lines that report a request lost in flight. For each failure the steps look up the idle
gap before it in the log of the same subject. From all gaps of a capture, failed and unharmed, they infer the limit.

There are many steps and few statements: on a small capture, planning costs more than computing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.idle_disconnect import common_cause, significance
from leadsman.modes.idle_disconnect.failures import (
    BEGINS_WITH,
    CAPTURE_SETTINGS,
    CLOSINGS,
    ENDS_WITH,
    HAS_BROKER_LINES,
    RELEVANT_EVENTS,
    lost_request_steps,
)
from leadsman.modes.idle_disconnect.limits import FAILURES_BY_LIMIT, HOPS, capture_figure_steps
from leadsman.modes.idle_disconnect.significance import ALARM, IS_GAP, Thresholds
from leadsman.modes.idle_disconnect.thresholds import MIN_FAILURES
from leadsman.modes.idle_disconnect.workers import WORKERS
from leadsman.pipeline.detector_sql import (
    OBSERVATION,
    Detection,
    LinkRow,
    add_materialized,
    add_shared,
    capture_link_rows,
    empty_detection,
    link_rows,
    map_column,
    run_steps,
    sql_literals,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame


def detect(
    events: DataFrame,
    *,
    episode_seconds: float = 2.0,
    reset_seconds: float = 3.0,
    stall_seconds: float = 65.0,
    nearby_seconds: float = 5.0,
    history_seconds: float = 10.0,
    burst_seconds: float = 15.0,
    min_failures: int = MIN_FAILURES,
    max_p_value: float = 0.01,
    min_harmed_share: float = 0.3,
    min_unharmed_uses: int = 20,
    shortest_hop_seconds: float = 200.0,
    instant_share: float = 0.5,
    instant_subjects: int = 3,
) -> Detection:
    """Return the observations of every link, and the points of the page.

    episode_seconds: lines of one subject that are closer together than this belong to one failure.
    reset_seconds: a failure follows a gap if the gap ended at most this long before (RST, or a close seen at once);
        a gap shorter than this cannot be distinguished from busy writing.
    stall_seconds: how long a request can stall before it fails; the longest default is 60 s (librdkafka).
    nearby_seconds: a refused connection or a failed login this close to a failure suggests another cause.
    history_seconds: a subject that wrote for this long before a failure, without a gap, was not idle.
    burst_seconds: where two busy subjects fail this close to a failure of a third, the three have a common cause.
    min_failures: fewer failures after long gaps can be a coincidence, whatever the test says.
    max_p_value: the highest probability with which failures may follow long gaps by coincidence (Fisher's exact test,
        multiplied by the number of gap lengths that were tried).
    min_harmed_share: at least this share of the gaps above the limit must have ended in a failure; some clients lose
        only every second record (Java 4.3.1), because a failure leaves them without a connection to lose.
    min_unharmed_uses: a limit below every known hop needs so many unharmed uses, a thousandth of `max_p_value`, and no
        configured limit that contradicts it.
    shortest_hop_seconds: slightly less than the shortest limit of a known hop (Azure, 240 s).
    instant_share: an instant that lies in at least this share of the failing gaps explains them.
    instant_subjects: the gaps that share the instant must be of at least so many subjects.
    """
    seconds = {"episode": episode_seconds, "reset": reset_seconds, "stall": stall_seconds, "near": nearby_seconds}
    frames = {"events": events}
    add_materialized(frames, {"captures": CAPTURE_SETTINGS})
    relevant_events = add_shared(frames, {"relevant_events": RELEVANT_EVENTS})
    add_materialized(frames, {**relevant_events, **lost_request_steps(**seconds, history=history_seconds)})
    if frames["lost_requests"].isEmpty():
        return empty_detection(*list(frames.values())[1:])
    gaps = {"activity": ACTIVITY, "failed_gaps": FAILED_GAPS, "gaps": GAPS.format(stall=stall_seconds)}
    add_materialized(frames, gaps)
    add_materialized(
        frames, common_cause.steps(share=instant_share, subjects=instant_subjects, burst_seconds=burst_seconds)
    )
    add_materialized(frames, WORKERS)
    thresholds = Thresholds(min_failures, max_p_value, min_harmed_share, min_unharmed_uses, shortest_hop_seconds)
    frames["groups"] = significance.tested_groups(run_steps(frames, significance.STEPS), thresholds)
    add_materialized(frames, FAILURES_BY_LIMIT)
    return Detection(run_steps(frames, _links()), run_steps(frames, {"points": POINTS}), tuple(frames.values())[1:])


ACTIVITY = f"""
    SELECT gap.*, max({HAS_BROKER_LINES}) OVER (PARTITION BY capture, subject) AS is_broker,
        before.in_line IS NOT NULL OR after.in_line IS NOT NULL AS has_closing
    FROM events AS gap LEFT JOIN ({CLOSINGS}) AS before ON {BEGINS_WITH.format("before")}
        LEFT JOIN ({CLOSINGS}) AS after ON {ENDS_WITH.format("after")}
    WHERE name IN ({sql_literals(names.SUBJECT_IDLE, names.SUBJECT_ACTIVE, names.FILE_READ)})
"""

FAILED_GAPS = """
    SELECT capture, subject, at, ended, min(seconds) AS idle_seconds FROM (
        SELECT capture, subject, inline(array(
            struct(gap.at AS at, 'failed' AS ended, idle_seconds AS seconds),
            struct(IF(timed_out AND gap.at < failed_at, failed_at, NULL) AS at, 'stalled' AS ended, NULL AS seconds)
        ))
        FROM lost_requests
    ) GROUP BY capture, subject, at, ended
"""

GAPS = f"""
    SELECT capture, subject, name, at, coalesce(idle_seconds, value) AS length, ended, file,
        try_to_timestamp(labels['since']) AS since,
        try_to_timestamp(labels['until']) AS until,
        NOT has_closing AND NOT coalesce(text RLIKE '{ALARM}', false)
            AND NOT coalesce(labels['before_text'] RLIKE '{ALARM}' AND value <= {{stall}}D, false) AS is_use
    FROM activity LEFT JOIN failed_gaps USING (capture, subject, at)
    WHERE NOT is_broker AND name <> '{names.FILE_READ}' AND coalesce(ended, '') <> 'stalled'
"""
"""Every idle gap and every span of a subject that is no broker, and whether a failure followed the gap.

The silence of a request that stalls until its timeout is the failure itself, and no idle gap. A gap that ends with a
warning does not end with an ordinary use. A gap that begins with a warning and is no longer than a stall belongs to the
failure. The line of a connection that was closed is no use of it, and what follows is no use of the same connection."""

FIGURES_ALWAYS = (
    "failures",
    "after_gap",
    "while_busy",
    "history_not_visible",
    "affected_workers",
    "limit_high",
    "longest_gap",
    "subjects",
    "broker_limit",
    "client_limit",
    "connect_failed",
    "auth_failed",
    "restarted",
    "uses_above",
    "probability",
    "odds",
    "insignificant_probability",
    "too_few",
    "without_unharmed_uses",
    "limit_below_hops",
    "harm_not_logged",
    "proven_limit",
)  # fmt: skip - a list of names
FIGURES_UNLESS_ZERO = (
    "connect_failed_ever",
    "auth_failed_ever",
    "unanswered_at_first",
    "broker_lines",
    "excluded",
    "common_cause",
    "stalled",
    "longest_wait",
    "killed",
    "reset",
    "retried",
    "lost",
    "frozen",
    "limit_low",
    "unharmed_below",
    "failed_below",
    "unharmed_above",
    "too_many_unharmed",
    "unordered",
    "never_idle",
    "never_idle_longest",
    "closed",
    "cure_idle_ms",
    "interval",
    *(f"{name}_limit" for name in HOPS),
)  # fmt: skip - a list of names
"""Figures that are omitted where they are 0, together with the sentences about them."""


def _links() -> Mapping[str, str]:
    """Return the steps to the observations: each link of each subject, the capture's limit, each alternative."""
    return {
        **capture_figure_steps(),
        "per_subject": PER_SUBJECT,
        "subject_links": _subject_links(),
        "capture_links": _capture_links(),
        "observations": f"SELECT {COLUMNS} FROM subject_links UNION ALL SELECT {COLUMNS} FROM capture_links",
    }


COLUMNS = ", ".join(OBSERVATION)

EDGES = """IF(gap IS NULL, NULL, array(
            struct(gap.labels['before_file'] AS file, try_cast(gap.labels['before_line'] AS BIGINT) AS line,
                gap_since AS at, gap.labels['before_text'] AS text),
            struct(gap.file, gap.line, gap.at, gap.text)
        ))"""
"""The lines before and after an idle gap."""

PER_SUBJECT = f"""
    SELECT capture, subject,
        CASE WHEN max(fits_limit) THEN 'observed'
            WHEN max(is_coincidence) OR max(capture_fits_limit) AND NOT max(idle = 'not visible') THEN 'contradicted'
            WHEN count_if(idle <> 'contradicted' AND NOT other_cause) = 0 THEN 'contradicted'
            ELSE 'not visible' END AS idle,
        IF(max(fits_limit) OR NOT min(other_cause), 'observed', 'contradicted') AS severed,
        IF(max(harmed), 'observed', 'not visible') AS failed,
        min_by(gap_since, failed_at) AS gap_since,
        min(failed_at) AS failed_at,
        max(failed_until) AS failed_until,
        count(*) AS failures,
        min(idle_seconds) AS shortest_gap,
        max(client_id) AS client_id,
        flatten(collect_list({EDGES})) AS idle_lines,
        flatten(collect_list(severed_lines)) AS severed_lines,
        flatten(collect_list(harmed_lines)) AS harmed_lines
    FROM attributed WHERE fits_limit OR NOT subject_fits_limit
    GROUP BY capture, subject
"""
"""The states of the links `idle`, `severed` and `failed` of each subject, from the failures that an idle limit explains
where there are any, else from all its failures."""


def _subject_links() -> str:
    figures = map_column(("failures", "shortest_gap"), "double")
    links = (
        LinkRow("idle", "idle", "gap_since", "failed_at", "idle_lines"),
        LinkRow("severed", "severed", "failed_at", "failed_until", "severed_lines"),
        LinkRow("failed", "failed", "failed_at", "failed_until", "harmed_lines"),
    )
    facts = map_column(("client_id",), "string")
    shared = {"capture": "capture", "subject": "subject", "figures": figures, "facts": facts}
    return link_rows("per_subject", shared, links)


def _capture_links() -> str:
    """Return the inferred limit, and each alternative: `observed`, or `contradicted` where it is ruled out."""
    spread = "after_gap >= 3 AND common_cause = 0 AND no_unharmed_uses IS NULL AND unordered = 0"
    states = {
        "alternative.broker_restart": _alternative_state("restarted > 0", f"broker_lines > 0 OR {spread}"),
        "alternative.one_instant": _alternative_state("common_cause > 0", spread),
        "alternative.coincidence": _alternative_state("is_coincidence", "group_state = 'observed'"),
        "alternative.unreachable": _alternative_state(
            "connect_failed > 0 OR unanswered_at_first > 0", "from_client_logs > 0 AND connect_failed_ever = 0"
        ),
        "alternative.authentication": _alternative_state(
            "auth_failed > 0", "from_client_logs > 0 AND auth_failed_ever = 0"
        ),
        "alternative.busy": _alternative_state(
            "while_busy > 0", "after_gap > 0 AND no_unharmed_uses IS NULL AND unordered = 0"
        ),
    }
    figures = map_column(FIGURES_ALWAYS, "double", unless_zero=FIGURES_UNLESS_ZERO)
    facts = map_column(("hop", "fleets", "python_idle_ms", "dotted_idle_ms"), "string")
    return capture_link_rows("capture_figures", states, figures=figures, facts=facts)


def _alternative_state(observed: str, ruled_out: str) -> str:
    """Return the SQL for the state of an alternative; null where no data that was read decides it."""
    return f"CASE WHEN {observed} THEN 'observed' WHEN {ruled_out} THEN 'contradicted' END"


POINTS = f"""
    SELECT capture, subject,
        CASE WHEN NOT {IS_GAP} THEN 'active' WHEN ended = 'failed' THEN 'failed' WHEN is_use THEN 'unharmed'
            ELSE 'unused' END AS outcome,
        IF({IS_GAP}, since, at) AS since,
        IF({IS_GAP}, at, until) AS at,
        IF({IS_GAP}, length, NULL) AS value
    FROM gaps
    UNION ALL
    SELECT capture, subject, 'failed', NULL, failed_at, NULL FROM failures WHERE failed_at IS NOT NULL
"""
"""The page draws each gap with its outcome, the span of each subject, and each failure."""
