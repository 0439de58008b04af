"""How an idle disconnect shows in the telemetry.

A failure is an episode of lines that say a request was lost under way. For each one the quiet gap before it is looked
up in the stream of the subject that failed; over all of a capture's gaps, failed and unharmed, the limit is inferred.

Frames are few and wide on purpose: on a small capture, planning costs more than computing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.idle_disconnect.failures import OF_BROKER, captures_of, failures_of
from leadsman.pipeline.shapes import EVIDENCE, Detection, columns, first_lines, map_of, observations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HOPS = {
    "azure_lb": (240, "Azure's load balancers (240 s)"),
    "aws_nat_nlb": (350, "AWS NAT gateways, network load balancers and Nitro V6 (350 s)"),
    "broker_default": (600, "the broker's default (connections.max.idle.ms, 600 s)"),
}
"""Documented idle limits in seconds; sources in page.md. As figures they are called <name>_limit."""


def detect(
    events: DataFrame,
    *,
    episode_seconds: float = 2.0,
    reset_seconds: float = 3.0,
    stall_seconds: float = 65.0,
    nearby_seconds: float = 5.0,
    history_seconds: float = 10.0,
    least_contrast: int = 5,
    shortest_hop_seconds: float = 200.0,
    least_share: float = 0.8,
) -> Detection:
    """Return the observations of every link, and the points of the page.

    episode_seconds: lines of one subject that lie closer than this belong to one failure.
    reset_seconds: a failure follows a gap if the gap ended at most this long before (RST, or a close seen at once).
    stall_seconds: how long a request can stall before it fails; the longest default is librdkafka's, 60 s.
    nearby_seconds: a refused connection or failed login this near to a failure speaks for another cause.
    history_seconds: a subject that wrote for this long before a failure, without a gap, was not quiet.
    least_contrast: so many unharmed shorter gaps make the limit credible where no setting names it.
    shortest_hop_seconds: below the shortest limit of a known hop (Azure, 240 s) a limit needs a setting or contrast.
    least_share: of the failures whose history is visible, at least this share must follow a gap.
    """
    captures = captures_of(events)
    failures = failures_of(
        events,
        captures,
        apart=episode_seconds,
        reset=reset_seconds,
        stall=stall_seconds,
        near=nearby_seconds,
        history=history_seconds,
    ).persist()
    gaps = _gaps(events, failures).persist()
    pooled = _pooled(gaps, failures, captures, contrast=least_contrast, hop=shortest_hop_seconds, share=least_share)
    return Detection(_links(failures, pooled), _points(gaps, failures), (failures, gaps))


def _gaps(events: DataFrame, failures: DataFrame) -> DataFrame:
    """Return every quiet gap and span of a subject that is no broker, and whether a failure followed the gap.

    The silence of a request that stalls until its time-out is the failure itself, and no quiet gap.
    """
    stall = "struct(IF(timed_out AND gap.at < failed_at, failed_at, NULL) AS at, 'stalled' AS ended)"
    ends = failures.selectExpr(
        "capture", "subject", f"inline(array(struct(gap.at AS at, 'failed' AS ended), {stall}))"
    ).distinct()
    spans = f"name IN ('{names.SUBJECT_QUIET}', '{names.SUBJECT_ACTIVE}')"
    return (
        events.where(f"{spans} OR name = '{names.FILE_READ}'")
        .selectExpr("*", f"max({OF_BROKER}) OVER (PARTITION BY capture, subject) AS is_broker")
        .where(f"NOT is_broker AND {spans}")
        .selectExpr(
            "capture",
            "subject",
            "name",
            "at",
            "value AS length",
            "to_timestamp(labels['since']) AS since",
            "to_timestamp(labels['until']) AS until",
        )
        .join(ends, ["capture", "subject", "at"], "left")
        .where("coalesce(ended, '') <> 'stalled'")
    )  # fmt: skip - the columns of a gap


def _counted(failures: DataFrame) -> DataFrame:
    """Return the failures of each capture in figures."""
    return failures.groupBy("capture").agg(
        *columns(
            "count(*) AS failures",
            "count_if(quiet = 'observed') AS after_gap",
            "count_if(quiet = 'contradicted') AS while_busy",
            "count_if(quiet = 'not visible') AS unseen",
            "count_if(timed_out) AS stalled",
            "count_if(reset) AS reset",
            "count_if(retried) AS retried",
            "count_if(lost) AS lost",
            "count_if(frozen) AS frozen",
            "sum(refused) AS refused",
            "sum(denied) AS denied",
            "count_if(restarted) AS restarted",
            "count(DISTINCT subject) AS suffering",
            "min(quiet_seconds) AS limit_high",
            "max(quiet_seconds) AS longest_gap",
            "min(failed_at) AS since",
            "max(failed_until) AS until",
        ),
    )


def _spared(gaps: DataFrame, counted: DataFrame) -> DataFrame:
    """Return what each capture's unharmed gaps say: the longest below the limit, and who was never so quiet."""
    quiet = f"name = '{names.SUBJECT_QUIET}'"
    unharmed = f"{quiet} AND ended IS NULL"
    per_subject = (
        gaps.join(counted.select("capture", "limit_high"), "capture")
        .groupBy("capture", "subject")
        .agg(
            *columns(
                f"coalesce(max(CASE WHEN {quiet} THEN length END), 0D) < max(limit_high) AS never_quiet",
                f"max(CASE WHEN {quiet} THEN length END) AS longest",
                f"max(CASE WHEN {unharmed} AND length < limit_high THEN length END) AS longest_shorter",
                f"count_if({unharmed} AND length < limit_high) AS shorter",
                f"count_if({unharmed} AND length >= limit_high) AS longer_unharmed",
            ),
        )
    )
    return per_subject.groupBy("capture").agg(
        *columns(
            "max(longest_shorter) AS limit_low",
            "sum(shorter) AS shorter",
            "sum(longer_unharmed) AS longer_unharmed",
            "count(*) AS subjects",
            "count_if(never_quiet) AS never_quiet",
            "max(CASE WHEN never_quiet THEN longest END) AS never_quiet_longest",
        ),
    )


def _pooled(
    gaps: DataFrame, failures: DataFrame, captures: DataFrame, *, contrast: int, hop: float, share: float
) -> DataFrame:
    """Return one row a capture: the limit that its gaps imply, and everything that speaks for or against it."""
    counted = _counted(failures)
    spared = _spared(gaps, counted)
    credible = f"coalesce(limit_high >= broker_limit * 0.9, limit_high >= {hop}D) OR coalesce(shorter, 0) >= {contrast}"
    state = (
        "CASE WHEN after_gap = 0 AND while_busy > 0 THEN 'contradicted' WHEN after_gap = 0 THEN 'not visible' "
        f"WHEN after_gap < {share}D * (after_gap + while_busy) THEN 'contradicted' "
        f"WHEN {credible} THEN 'observed' ELSE 'not visible' END AS quiet_state"
    )
    drawn = [
        f"IF(broker_limit IS NULL AND {_fits(limit)}, {limit}, NULL) AS {name}_limit"
        for name, (limit, _) in HOPS.items()
    ]
    everything = counted.join(spared, "capture", "left").join(captures, "capture")
    return everything.selectExpr("*", state, f"{_hops()} AS hop", *drawn)


def _hops() -> str:
    """Return the known hops whose limit lies where the data put it; null where a setting names the limit anyway."""
    fits = ", ".join(f'IF({_fits(limit)}, "{hop}", NULL)' for limit, hop in HOPS.values())
    return f"IF(broker_limit IS NULL, nullif(concat_ws(' or ', {fits}), ''), NULL)"


def _fits(limit: int) -> str:
    return f"coalesce(limit_low, 0D) < {limit * 1.02}D AND limit_high >= {limit}"


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
    "broker_lines",
    "refused",
    "denied",
    "restarted",
)  # fmt: skip - a list of names
WHERE_ANY = (
    "stalled",
    "reset",
    "retried",
    "lost",
    "frozen",
    "limit_low",
    "shorter",
    "longer_unharmed",
    "never_quiet",
    "never_quiet_longest",
    "closed",
    *(f"{name}_limit" for name in HOPS),
)  # fmt: skip - a list of names
"""Figures that are left out where they are 0, and the sentences about them with them."""


def _links(failures: DataFrame, pooled: DataFrame) -> DataFrame:
    """Return an observation for each link of each subject, and for the capture's limit and each rival."""
    return observations(_of_subjects(failures, pooled), _of_captures(pooled))


def _of_subjects(failures: DataFrame, pooled: DataFrame) -> DataFrame:
    """Quiet, severed, failed: what most failures of a subject say."""
    before = (
        "struct(gap.labels['before_file'] AS file, CAST(gap.labels['before_line'] AS BIGINT) AS line, gap_since AS at, "
        "gap.labels['before_text'] AS text)"
    )
    edges = f"CASE WHEN gap IS NULL THEN array() ELSE array({before}, struct(gap.file, gap.line, gap.at, gap.text)) END"
    told = failures.join(pooled.select("capture", "quiet_state"), "capture").groupBy("capture", "subject")
    per_subject = told.agg(
        *columns(
            "mode(CASE WHEN quiet = 'observed' THEN quiet_state ELSE quiet END) AS quiet",
            "mode(CASE WHEN other_cause THEN 'contradicted' ELSE 'observed' END) AS severed",
            "min(gap_since) AS gap_since",
            "min(failed_at) AS failed_at",
            "max(failed_until) AS failed_until",
            "count(*) AS failures",
            "min(quiet_seconds) AS shortest_gap",
            "max(client_id) AS client_id",
            f"flatten(collect_list({edges})) AS quiet_lines",
            "flatten(collect_list(severed_lines)) AS severed_lines",
            "flatten(collect_list(told_lines)) AS told_lines",
        ),
    )
    figures = map_of(("failures", "shortest_gap"), "double")
    links = (
        ("'quiet'", "quiet", "gap_since", "failed_at", "quiet_lines"),
        ("'severed'", "severed", "failed_at", "failed_until", "severed_lines"),
        ("'failed'", "'observed'", "failed_at", "failed_until", "told_lines"),
    )
    rows = ", ".join(
        f"struct({link} AS link, {state} AS state, {since} AS since, {until} AS until, {_lines(lines)})"
        for link, state, since, until, lines in links
    )
    return per_subject.selectExpr(
        "capture",
        "subject",
        f"{figures} AS figures",
        f"{map_of(('client_id',), 'string')} AS facts",
        f"inline(array({rows}))",
    )


def _lines(column: str) -> str:
    return f"{first_lines(column)} AS evidence"


def _of_captures(pooled: DataFrame) -> DataFrame:
    """Return the inferred limit, and each rival: `observed` where it stands, `contradicted` where it is ruled out."""
    states = {
        "limit": "quiet_state",
        "rival.broker_restart": (
            "CASE WHEN restarted > 0 THEN 'observed' WHEN broker_lines > 0 OR refused = 0 THEN 'contradicted' END"
        ),
        "rival.unreachable": _stands("refused > 0"),
        "rival.authentication": _stands("denied > 0"),
        "rival.busy": _stands("while_busy > 0"),
    }
    rows = ", ".join(f"struct('{link}' AS link, {state} AS state)" for link, state in states.items())
    figures = map_of(ALWAYS, "double", where_any=WHERE_ANY)
    return pooled.selectExpr(
        "capture",
        "'*' AS subject",
        f"{figures} AS figures",
        f"{map_of(('hop',), 'string')} AS facts",
        "since",
        "until",
        f"CAST(array() AS array<{EVIDENCE}>) AS evidence",
        f"inline(array({rows}))",
    )


def _stands(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 'observed' ELSE 'contradicted' END"


def _points(gaps: DataFrame, failures: DataFrame) -> DataFrame:
    """Return what the page draws: each gap with its outcome, each subject's span, and each failure."""
    quiet = f"name = '{names.SUBJECT_QUIET}'"
    spans = gaps.selectExpr(
        "capture",
        "subject",
        f"CASE WHEN NOT {quiet} THEN 'active' WHEN ended = 'failed' THEN 'failed' ELSE 'unharmed' END AS outcome",
        f"IF({quiet}, since, at) AS since",
        f"IF({quiet}, at, until) AS at",
        f"IF({quiet}, length, NULL) AS value",
    )  # fmt: skip - the columns of a point
    struck = failures.where("failed_at IS NOT NULL").selectExpr(
        "capture",
        "subject",
        "'failed' AS outcome",
        "CAST(NULL AS TIMESTAMP) AS since",
        "failed_at AS at",
        "CAST(NULL AS DOUBLE) AS value",
    )  # fmt: skip - the columns of a point
    return spans.unionByName(struck)
