"""How an idle disconnect shows in the telemetry.

A failure is an episode of lines that say a request was lost under way. For each one the quiet gap before it is looked
up in the stream of the subject that failed; over all of a capture's gaps, failed and unharmed, the limit is inferred.

Frames are few and wide on purpose: on a small capture, planning costs more than computing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import EVIDENCE, Detection, first_lines, map_of, observations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEVERED = (names.CONNECTION_LOST, names.CONNECTION_RESET, names.REQUEST_TIMED_OUT)
FAILED = (names.RECORD_FAILED, names.RECORD_EXPIRED)
UNREACHABLE = (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT)
BROKER_LIFE = (names.BROKER_STARTED, names.BROKER_STOPPING)
AROUND = (names.SUBJECT_QUIET, names.SUBJECT_ACTIVE, names.AUTHENTICATION_FAILED, names.FILE_READ, *UNREACHABLE)

OF_BROKER = f"coalesce(name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker'), false)"
"""A broker's log: what it says as a client of other brokers is not what this mode is about."""

NETWORK = "NETWORK_EXCEPTION|REQUEST_TIMED_OUT|RequestTimedOut|TRANSPORT|transport|[Dd]isconnect|ConnectionError"
"""What a retry or a failed record must have failed with: one after NOT_LEADER is another story."""

LOST_UNDER_WAY = f"name IN {SEVERED} AND coalesce(labels['api'], '') <> 'FETCH'"
"""A consumer's fetch is asked for again: nothing is lost with it."""

GAVE_UP = (
    f"name IN ('{names.PRODUCE_RETRIED}', '{names.RECORD_FAILED}') AND "
    f"coalesce(labels['error'], IF(name = '{names.PRODUCE_RETRIED}', 'NETWORK_EXCEPTION', '')) RLIKE '{NETWORK}'"
)

IS_SEVERED = f"(({LOST_UNDER_WAY}) OR ({GAVE_UP}))"

FROZEN = "(?:REPORT|END) RequestId|platform[.](?:report|runtimeDone)"
"""The last line before a gap in which AWS Lambda froze the runtime."""

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
    harmed = _harmed(events, reset=reset_seconds, stall=stall_seconds, near=nearby_seconds)
    captures = _captures(events)
    episodes = _episodes(harmed, apart=episode_seconds, reset=reset_seconds, stall=stall_seconds)
    failures = _failures(episodes, captures, history=history_seconds).persist()
    gaps = _gaps(events, failures).persist()
    pooled = _pooled(gaps, failures, captures, contrast=least_contrast, hop=shortest_hop_seconds, share=least_share)
    return Detection(_links(failures, pooled), _points(gaps, failures), (failures, gaps))


def _harmed(events: DataFrame, *, reset: float, stall: float, near: float) -> DataFrame:
    """Return the lines that tell of harm, each with the quiet gap before it and with what else broke around it."""
    of_subject = "PARTITION BY capture, subject ORDER BY second RANGE BETWEEN"
    nearby = f"{near}D PRECEDING AND {near}D FOLLOWING"
    gap = f"CASE WHEN name = '{names.SUBJECT_QUIET}' THEN struct(value, file, line, at, text, labels) END"
    shown = (
        events.where(F.col("name").isin(*SEVERED, *FAILED, names.PRODUCE_RETRIED, *AROUND))
        .where("subject IS NOT NULL")
        .selectExpr("*", "coalesce(CAST(at AS DOUBLE), 0D) AS second", f"{gap} AS gap")
        .selectExpr(
            "*",
            f"collect_list(gap) OVER ({of_subject} {stall + reset}D PRECEDING AND 0.001D FOLLOWING) AS gaps_before",
            f"count_if(name IN {UNREACHABLE}) OVER ({of_subject} {nearby}) AS refused",
            f"count_if(name = '{names.AUTHENTICATION_FAILED}') OVER ({of_subject} {nearby}) AS denied",
            f"min(IF(name = '{names.SUBJECT_ACTIVE}', at, NULL)) OVER (PARTITION BY capture, subject) AS first_seen",
            f"max({OF_BROKER}) OVER (PARTITION BY capture, subject) AS is_broker",
        )
    )
    return shown.where(f"NOT is_broker AND ({IS_SEVERED} OR name IN {FAILED})").withColumn(
        "severed", F.expr(IS_SEVERED)
    )


def _captures(events: DataFrame) -> DataFrame:
    """Return one row a capture: what was configured, and when brokers came and went."""
    is_idle = f"name = '{names.SETTING}' AND labels['key'] = 'connections.max.idle.ms'"
    number = "try_cast(labels['value'] AS DOUBLE) / 1000"
    by_broker = "coalesce(labels['owner'], '') = 'broker'"
    return events.groupBy("capture").agg(
        F.expr(f"min(CASE WHEN {is_idle} AND {by_broker} THEN {number} END) AS broker_limit"),
        F.expr(f"min(CASE WHEN {is_idle} AND NOT {by_broker} AND {number} > 0 THEN {number} END) AS client_limit"),
        F.expr(f"collect_set(CASE WHEN name IN {BROKER_LIFE} THEN at END) AS broker_life"),
        F.expr(f"coalesce(sum(IF({OF_BROKER}, value, 0)), 0) AS broker_lines"),
        F.expr(f"count_if(name = '{names.CONNECTION_CLOSED}') AS closed"),
    )


def _episodes(harmed: DataFrame, *, apart: float, reset: float, stall: float) -> DataFrame:
    """Return one row a failure: its lines, when its request was sent, and the quiet gap that ended then."""
    of_subject = "PARTITION BY capture, subject ORDER BY second, line"
    line = "struct(file, line, at, text)"
    timed_out = f"name = '{names.REQUEST_TIMED_OUT}'"
    told = (
        harmed.selectExpr("*", f"second - lag(second) OVER ({of_subject}) < {apart}D AS goes_on")
        .selectExpr("*", f"count_if(NOT coalesce(goes_on, false)) OVER ({of_subject}) AS episode")
        .groupBy("capture", "subject", "episode")
        .agg(
            *map(
                F.expr,
                (
                    "min(at) AS failed_at",
                    "max(at) AS failed_until",
                    "min(first_seen) AS first_seen",
                    "min(second) AS second",
                    "min_by(gaps_before, second) AS gaps",
                    f"max(IF({timed_out}, value, NULL)) AS in_flight",
                    f"collect_set(CASE WHEN severed THEN {line} END) AS severed_lines",
                    f"collect_set({line}) AS told_lines",
                    "max(severed) AS severed",
                    f"max({timed_out}) AS timed_out",
                    f"max(name = '{names.CONNECTION_RESET}') AS reset",
                    f"max(name = '{names.PRODUCE_RETRIED}') AS retried",
                    f"max(name IN {FAILED}) AS lost",
                    "max(refused) AS refused",
                    "max(denied) AS denied",
                    "max(labels['client_id']) AS client_id",
                ),
            ),
        )
        .where("severed")
    )  # fmt: skip - one figure after the other
    silence = f"get(filter(gaps, g -> abs(CAST(g.at AS DOUBLE) - second) < 0.002D AND g.value <= {stall}D), 0).value"
    longest_first = "(a, b) -> CASE WHEN a.value > b.value THEN -1 WHEN a.value < b.value THEN 1 ELSE 0 END"
    ended_then = f"g -> CAST(g.at AS DOUBLE) BETWEEN sent - {reset}D AND sent + 0.1D"
    return told.selectExpr("*", f"second - IF(timed_out, coalesce(in_flight, {silence}, 0D), 0D) AS sent").selectExpr(
        *(column for column in told.columns if column not in {"gaps", "second", "severed"}),
        f"coalesce(get(array_sort(filter(gaps, {ended_then}), {longest_first}), 0), "
        f"IF(timed_out, get(array_sort(gaps, {longest_first}), 0), NULL)) AS gap",
    )


def _failures(told: DataFrame, captures: DataFrame, *, history: float) -> DataFrame:
    """Say of each failure whether it was quiet before, and whether something else broke as well."""
    since = "to_timestamp(gap.labels['since'])"
    seen_before = "CAST(failed_at AS DOUBLE) - CAST(first_seen AS DOUBLE)"
    restarted = (
        f"exists(broker_life, t -> t BETWEEN coalesce({since}, failed_at) AND failed_until + INTERVAL 5 SECONDS)"
    )
    return told.join(captures.select("capture", "broker_life"), "capture").selectExpr(
        *told.columns,
        f"{since} AS gap_since",
        "gap.value AS quiet_seconds",
        f"coalesce(gap.labels['before_text'] RLIKE '{FROZEN}', false) AS frozen",
        f"CASE WHEN gap IS NOT NULL THEN 'observed' WHEN {seen_before} >= {history}D THEN 'contradicted' "
        "ELSE 'not visible' END AS quiet",
        f"{restarted} AS restarted",
        f"refused > 0 OR denied > 0 OR {restarted} AS other_cause",
    )


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


def _pooled(
    gaps: DataFrame, failures: DataFrame, captures: DataFrame, *, contrast: int, hop: float, share: float
) -> DataFrame:
    """Return one row a capture: the limit that its gaps imply, and everything that speaks for or against it."""
    counted = failures.groupBy("capture").agg(
        *map(
            F.expr,
            (
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
        ),
    )  # fmt: skip - one figure after the other
    quiet = f"name = '{names.SUBJECT_QUIET}'"
    unharmed = f"{quiet} AND ended IS NULL"
    per_subject = (
        gaps.join(counted.select("capture", "limit_high"), "capture")
        .groupBy("capture", "subject")
        .agg(
            *map(
                F.expr,
                (
                    f"coalesce(max(CASE WHEN {quiet} THEN length END), 0D) < max(limit_high) AS never_quiet",
                    f"max(CASE WHEN {quiet} THEN length END) AS longest",
                    f"max(CASE WHEN {unharmed} AND length < limit_high THEN length END) AS longest_shorter",
                    f"count_if({unharmed} AND length < limit_high) AS shorter",
                    f"count_if({unharmed} AND length >= limit_high) AS longer_unharmed",
                ),
            ),
        )
    )  # fmt: skip - one figure after the other
    unharmed_gaps = per_subject.groupBy("capture").agg(
        *map(
            F.expr,
            (
                "max(longest_shorter) AS limit_low",
                "sum(shorter) AS shorter",
                "sum(longer_unharmed) AS longer_unharmed",
                "count(*) AS subjects",
                "count_if(never_quiet) AS never_quiet",
                "max(CASE WHEN never_quiet THEN longest END) AS never_quiet_longest",
            ),
        ),
    )  # fmt: skip - one figure after the other
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
    everything = counted.join(unharmed_gaps, "capture", "left").join(captures, "capture")
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
        *map(
            F.expr,
            (
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
        ),
    )  # fmt: skip - one figure after the other
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
