"""Detects idle disconnects in the telemetry.

A failure is an episode of log lines that report a request lost in flight. For each failure the steps look up the idle
gap before it in the log of the same subject. From all gaps of a capture, failed and unharmed, they infer the limit.

There are many steps and few statements: on a small capture, planning costs more than computing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.idle_disconnect import common_cause, many_failures, significance
from leadsman.modes.idle_disconnect.failures import CAPTURE_SETTINGS, LINE_COLUMNS, Distances, lost_request_steps
from leadsman.modes.idle_disconnect.gaps import gap_steps
from leadsman.modes.idle_disconnect.limits import HOPS, capture_figure_steps, failures_by_limit
from leadsman.modes.idle_disconnect.many_failures import IS_SHOWN, SUBJECT_STATES
from leadsman.modes.idle_disconnect.relevant_events import QUOTED_EVENTS
from leadsman.modes.idle_disconnect.significance import IS_GAP, Thresholds
from leadsman.modes.idle_disconnect.thresholds import MIN_FAILURES
from leadsman.modes.idle_disconnect.workers import WORKERS
from leadsman.pipeline.detector_sql import (
    OBSERVATION,
    Detection,
    LinkRow,
    add_materialized,
    capture_link_rows,
    empty_detection,
    link_rows,
    map_column,
    run_steps,
)
from leadsman.pipeline.spark.embedded import has_many_rows

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
    distances = Distances(episode_seconds, reset_seconds, stall_seconds, nearby_seconds, history_seconds)
    has_many = has_many_rows(events.sparkSession)
    frames = {"events": events}
    add_materialized(frames, {"captures": CAPTURE_SETTINGS})
    if has_many:
        many_failures.add_lost_requests(frames, distances)
    else:
        add_materialized(frames, {**QUOTED_EVENTS, **lost_request_steps(distances, quoted=True)})
    if frames["lost_requests"].isEmpty():
        return empty_detection(*list(frames.values())[1:])
    add_materialized(frames, {**({} if has_many else QUOTED_EVENTS), **gap_steps(stall=stall_seconds)})
    add_materialized(
        frames, common_cause.steps(share=instant_share, subjects=instant_subjects, burst_seconds=burst_seconds)
    )
    add_materialized(frames, WORKERS)
    thresholds = Thresholds(min_failures, max_p_value, min_harmed_share, min_unharmed_uses, shortest_hop_seconds)
    frames["groups"] = significance.tested_groups(run_steps(frames, significance.STEPS), thresholds)
    add_materialized(frames, failures_by_limit(() if has_many else LINE_COLUMNS))
    if has_many:
        many_failures.add_failures_with_lines(frames, distances)
    else:
        frames["failures_with_lines"] = frames["attributed"]
    return Detection(run_steps(frames, _links()), run_steps(frames, {"points": POINTS}), tuple(frames.values())[1:])


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

PER_SUBJECT = f"""
    SELECT capture, subject, {SUBJECT_STATES},
        min(file) AS file,
        min_by(gap_since, failed_at) AS gap_since,
        min(failed_at) AS failed_at,
        max(failed_until) AS failed_until,
        count(*) AS failures,
        min(idle_seconds) AS shortest_gap,
        max(client_id) AS client_id,
        flatten(collect_list(idle_lines)) AS idle_lines,
        flatten(collect_list(severed_lines)) AS severed_lines,
        flatten(collect_list(harmed_lines)) AS harmed_lines
    FROM failures_with_lines WHERE {IS_SHOWN}
    GROUP BY capture, subject
"""


def _subject_links() -> str:
    figures = map_column(("failures", "shortest_gap"), "double")
    links = (
        LinkRow("idle", "idle", "gap_since", "failed_at", "idle_lines"),
        LinkRow("severed", "severed", "failed_at", "failed_until", "severed_lines"),
        LinkRow("failed", "failed", "failed_at", "failed_until", "harmed_lines"),
    )
    facts = map_column(("client_id", "file"), "string")
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
