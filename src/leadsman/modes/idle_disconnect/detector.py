"""How an idle disconnect shows in the telemetry.

A failure is an episode of lines that say a request was lost under way. For each one the quiet gap before it is looked
up in the stream of the subject that failed; over all of a capture's gaps, failed and unharmed, the limit is inferred.

Steps are many and statements few: on a small capture, planning costs more than computing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.idle_disconnect import coincidence, instants
from leadsman.modes.idle_disconnect.coincidence import ALARM, QUIET, Demands
from leadsman.modes.idle_disconnect.failures import CAPTURES, OF_BROKER, failures_of
from leadsman.modes.idle_disconnect.limits import ATTRIBUTED, HOPS, pooled
from leadsman.modes.idle_disconnect.workers import WORKERS
from leadsman.pipeline.shapes import (
    EVIDENCE,
    OBSERVATION,
    Detection,
    first_lines,
    map_of,
    nullable,
    quoted,
    settle,
    silent,
    table,
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
    least_failures: int = 3,
    most_chance: float = 0.01,
    least_harmed: float = 0.3,
    least_contrast: int = 20,
    shortest_hop_seconds: float = 200.0,
    instant_share: float = 0.5,
    instant_subjects: int = 3,
) -> Detection:
    """Return the observations of every link, and the points of the page.

    episode_seconds: lines of one subject that lie closer than this belong to one failure.
    reset_seconds: a failure follows a gap if the gap ended at most this long before (RST, or a close seen at once);
        a shorter gap than this cannot be told from busy writing.
    stall_seconds: how long a request can stall before it fails; the longest default is librdkafka's, 60 s.
    nearby_seconds: a refused connection or failed login this near to a failure speaks for another cause.
    history_seconds: a subject that wrote for this long before a failure, without a gap, was not quiet.
    burst_seconds: two busy subjects that fail this near to a failure of a third were struck by what struck it.
    least_failures: fewer failures after long gaps can be a coincidence whatever the figures say.
    most_chance: failures follow long gaps by chance with at most this probability (Fisher's exact test, multiplied by
        the number of lengths that were tried).
    least_harmed: at least this share of the gaps above the limit must have ended in a failure; some clients lose every
        second record (Java 4.3.1), because a failure leaves them without a connection to lose.
    least_contrast: a limit below every known hop needs so many unharmed uses, a thousandth of `most_chance`, and no
        configured limit that contradicts it.
    shortest_hop_seconds: a little less than the shortest limit of a known hop (Azure, 240 s).
    instant_share: an instant that so large a share of the failing gaps have in common explains them.
    instant_subjects: so many subjects at least must have it in common.
    """
    seconds = {"apart": episode_seconds, "reset": reset_seconds, "stall": stall_seconds, "near": nearby_seconds}
    found = {"events": events}
    settle(found, {"captures": CAPTURES})
    settle(found, failures_of(**seconds, history=history_seconds))
    if found["lost"].isEmpty():
        return silent(*list(found.values())[1:])
    settle(found, {"spans": SPANS, "ends": ENDS, "gaps": GAPS.format(stall=stall_seconds)})
    settle(found, instants.steps(share=instant_share, subjects=instant_subjects, burst_seconds=burst_seconds))
    settle(found, WORKERS)
    demands = Demands(least_failures, most_chance, least_harmed, least_contrast, shortest_hop_seconds)
    found["groups"] = coincidence.groups_of(table(found, coincidence.STEPS), demands)
    settle(found, ATTRIBUTED)
    return Detection(table(found, _links()), table(found, {"points": POINTS}), tuple(found.values())[1:])


SPANS = f"""
    SELECT *, max({OF_BROKER}) OVER (PARTITION BY capture, subject) AS is_broker
    FROM events
    WHERE name IN ({quoted(names.SUBJECT_QUIET, names.SUBJECT_ACTIVE, names.FILE_READ)})
"""

ENDS = """
    SELECT DISTINCT capture, subject, at, ended FROM (
        SELECT capture, subject, inline(array(
            struct(gap.at AS at, 'failed' AS ended),
            struct(IF(timed_out AND gap.at < failed_at, failed_at, NULL) AS at, 'stalled' AS ended)
        ))
        FROM lost
    )
"""

GAPS = f"""
    SELECT capture, subject, name, at, value AS length, ended, file,
        to_timestamp(labels['since']) AS since,
        to_timestamp(labels['until']) AS until,
        NOT coalesce(text RLIKE '{ALARM}', false)
            AND NOT coalesce(labels['before_text'] RLIKE '{ALARM}' AND value <= {{stall}}D, false) AS is_use
    FROM spans LEFT JOIN ends USING (capture, subject, at)
    WHERE NOT is_broker AND name <> '{names.FILE_READ}' AND coalesce(ended, '') <> 'stalled'
"""
"""Every quiet gap and span of a subject that is no broker, and whether a failure followed the gap.

The silence of a request that stalls until its time-out is the failure itself, and no quiet gap. A gap that ends with a
warning ends with no ordinary use, and what follows a warning within the time of a stall is the failure's own."""

ALWAYS = (
    "failures",
    "after_gap",
    "while_busy",
    "unseen",
    "suffering",
    "limit_high",
    "longest_gap",
    "subjects",
    "broker_limit",
    "client_limit",
    "refused",
    "denied",
    "restarted",
    "long",
    "chance",
    "odds",
    "doubt",
    "too_few",
    "uncontrasted",
    "too_short",
    "unseen_harm",
    "proven_limit",
)  # fmt: skip - a list of names
WHERE_ANY = (
    "refused_ever",
    "denied_ever",
    "broker_lines",
    "apart",
    "at_once",
    "stalled",
    "waited",
    "killed",
    "reset",
    "retried",
    "lost",
    "frozen",
    "limit_low",
    "shorter",
    "shorter_failed",
    "longer_unharmed",
    "spared",
    "disordered",
    "never_quiet",
    "never_quiet_longest",
    "closed",
    "cure_idle_ms",
    "interval",
    *(f"{name}_limit" for name in HOPS),
)  # fmt: skip - a list of names
"""Figures that are left out where they are 0, and the sentences about them with them."""


def _links() -> Mapping[str, str]:
    """Return the steps to the observations: of each link of each subject, of the capture's limit, of each rival."""
    return {
        **pooled(),
        "each": EACH,
        "linked": _of_subjects(),
        "held": _of_captures(),
        "observations": f"SELECT {COLUMNS} FROM linked UNION ALL SELECT {COLUMNS} FROM held",
    }


COLUMNS = ", ".join(OBSERVATION)

EDGES = """IF(gap IS NULL, NULL, array(
            struct(gap.labels['before_file'] AS file, CAST(gap.labels['before_line'] AS BIGINT) AS line,
                gap_since AS at, gap.labels['before_text'] AS text),
            struct(gap.file, gap.line, gap.at, gap.text)
        ))"""
"""The lines before and after a quiet gap."""

EACH = f"""
    SELECT capture, subject,
        CASE WHEN max(fits) THEN 'observed'
            WHEN max(by_chance) OR max(any_fits) AND NOT max(quiet = 'not visible') THEN 'contradicted'
            WHEN count_if(quiet <> 'contradicted' AND NOT other_cause) = 0 THEN 'contradicted'
            ELSE 'not visible' END AS quiet,
        IF(max(fits) OR NOT min(other_cause), 'observed', 'contradicted') AS severed,
        IF(max(harmed), 'observed', 'not visible') AS failed,
        min_by(gap_since, failed_at) AS gap_since,
        min(failed_at) AS failed_at,
        max(failed_until) AS failed_until,
        count(*) AS failures,
        min(quiet_seconds) AS shortest_gap,
        max(client_id) AS client_id,
        flatten(collect_list({EDGES})) AS quiet_lines,
        flatten(collect_list(severed_lines)) AS severed_lines,
        flatten(collect_list(harmed_lines)) AS harmed_lines
    FROM attributed WHERE fits OR NOT any_fits_here
    GROUP BY capture, subject
"""
"""Quiet, severed, failed: what the failures of a subject say; of those that an idle limit explains, where any are."""


def _of_subjects() -> str:
    figures = map_of(("failures", "shortest_gap"), "double")
    links = (
        ("'quiet'", "quiet", "gap_since", "failed_at", "quiet_lines"),
        ("'severed'", "severed", "failed_at", "failed_until", "severed_lines"),
        ("'failed'", "failed", "failed_at", "failed_until", "harmed_lines"),
    )
    rows = ", ".join(
        f"struct({link} AS link, {nullable(state)} AS state, {since} AS since, {until} AS until, "
        f"{first_lines(lines)} AS evidence)"
        for link, state, since, until, lines in links
    )
    facts = map_of(("client_id",), "string")
    return f"SELECT capture, subject, {figures} AS figures, {facts} AS facts, inline(array({rows})) FROM each"


def _of_captures() -> str:
    """Return the inferred limit, and each rival: `observed` where it stands, `contradicted` where it is ruled out."""
    spread = "after_gap >= 3 AND at_once = 0 AND no_contrast IS NULL AND disordered = 0"
    states = {
        "rival.broker_restart": _told("restarted > 0", f"broker_lines > 0 OR {spread}"),
        "rival.one_instant": _told("at_once > 0", spread),
        "rival.coincidence": _told("by_chance", "group_state = 'observed'"),
        "rival.unreachable": _told("refused > 0", "by_clients > 0 AND refused_ever = 0"),
        "rival.authentication": _told("denied > 0", "by_clients > 0 AND denied_ever = 0"),
        "rival.busy": _told("while_busy > 0", "after_gap > 0 AND no_contrast IS NULL AND disordered = 0"),
    }
    rows = ", ".join(f"struct('{link}' AS link, {nullable(state)} AS state)" for link, state in states.items())
    return f"""
        SELECT capture, '*' AS subject, since, until,
            {map_of(ALWAYS, "double", where_any=WHERE_ANY)} AS figures,
            {map_of(("hop", "fleets", "python_idle_ms", "dotted_idle_ms"), "string")} AS facts,
            CAST(array() AS array<{EVIDENCE}>) AS evidence,
            inline(array({rows}))
        FROM pooled
    """


def _told(stands: str, ruled_out: str) -> str:
    """Return the state of a rival: it stands, what was read rules it out, or nothing was read that could (null)."""
    return f"CASE WHEN {stands} THEN 'observed' WHEN {ruled_out} THEN 'contradicted' END"


POINTS = f"""
    SELECT capture, subject,
        CASE WHEN NOT {QUIET} THEN 'active' WHEN ended = 'failed' THEN 'failed' ELSE 'unharmed' END AS outcome,
        IF({QUIET}, since, at) AS since,
        IF({QUIET}, at, until) AS at,
        IF({QUIET}, length, NULL) AS value
    FROM gaps
    UNION ALL
    SELECT capture, subject, 'failed', NULL, failed_at, NULL FROM failures WHERE failed_at IS NOT NULL
"""
"""What the page draws: each gap with its outcome, each subject's span, and each failure."""
