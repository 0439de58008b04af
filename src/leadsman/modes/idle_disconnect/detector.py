"""How an idle disconnect shows in the telemetry.

A failure is an episode of lines that say a request was lost under way. For each one the quiet gap before it is looked
up in the stream of the subject that failed; over all of a capture's gaps, failed and unharmed, the limit is inferred.

Steps are many and statements few: on a small capture, planning costs more than computing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.defaults import seconds
from leadsman.modes.idle_disconnect.failures import CAPTURES, OF_BROKER, failures_of
from leadsman.pipeline.shapes import EVIDENCE, OBSERVATION, Detection, first_lines, map_of, quoted, settled, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

BROKER_IDLE = seconds("broker", "connections.max.idle.ms")

HOPS = {
    "azure_lb": (240, "Azure's load balancers (240 s)"),
    "aws_nat_nlb": (350, "AWS NAT gateways, network load balancers and Nitro V6 (350 s)"),
    "broker_default": (BROKER_IDLE, f"the broker's default (connections.max.idle.ms, {BROKER_IDLE:g} s)"),
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
    least_struck: float = 0.34,
) -> Detection:
    """Return the observations of every link, and the points of the page.

    episode_seconds: lines of one subject that lie closer than this belong to one failure.
    reset_seconds: a failure follows a gap if the gap ended at most this long before (RST, or a close seen at once).
    stall_seconds: how long a request can stall before it fails; the longest default is librdkafka's, 60 s.
    nearby_seconds: a refused connection or failed login this near to a failure speaks for another cause.
    history_seconds: a subject that wrote for this long before a failure, without a gap, was not quiet.
    least_contrast: so many unharmed shorter gaps make the limit credible where no setting names it.
    shortest_hop_seconds: below the shortest limit of a known hop (Azure, 240 s) a limit needs a setting or contrast.
    least_share: of a subject's failures whose history is visible, at least this share must follow a gap.
    least_struck: of a subject's gaps as long as these, at least this share must have ended in a failure; some clients
        lose every second one (Java 4.3.1), because a failure leaves them without a connection to lose.
    """
    seconds = {"apart": episode_seconds, "reset": reset_seconds, "stall": stall_seconds, "near": nearby_seconds}
    found = {"events": events}
    for steps in (
        failures_of(**seconds, history=history_seconds),
        {"spans": SPANS, "ends": ENDS, "gaps": GAPS},
        _subjects(share=least_share, struck=least_struck),
        _limits(contrast=least_contrast, hop=shortest_hop_seconds),
    ):
        found[list(steps)[-1]] = settled(table(found, steps))
    return Detection(table(found, _links()), table(found, {"points": POINTS}), tuple(found.values())[1:])


QUIET = f"name = '{names.SUBJECT_QUIET}'"

SPANS = f"""
    SELECT *, max({OF_BROKER}) OVER (PARTITION BY capture, subject) AS is_broker
    FROM events
    WHERE name IN ({quoted(names.SUBJECT_QUIET, names.SUBJECT_ACTIVE, names.FILE_READ)})
"""

ENDS = """
    SELECT DISTINCT capture, subject, inline(array(
        struct(gap.at AS at, 'failed' AS ended),
        struct(IF(timed_out AND gap.at < failed_at, failed_at, NULL) AS at, 'stalled' AS ended)
    ))
    FROM failures
"""

GAPS = f"""
    SELECT capture, subject, name, at, value AS length, ended,
        to_timestamp(labels['since']) AS since,
        to_timestamp(labels['until']) AS until
    FROM spans LEFT JOIN ends USING (capture, subject, at)
    WHERE NOT is_broker AND name <> '{names.FILE_READ}' AND coalesce(ended, '') <> 'stalled'
"""
"""Every quiet gap and span of a subject that is no broker, and whether a failure followed the gap.

The silence of a request that stalls until its time-out is the failure itself, and no quiet gap."""


def _subjects(*, share: float, struck: float) -> Mapping[str, str]:
    """Return the steps to `subjects`: whether the failures of each bear on a limit.

    They do where nearly all follow a gap, and where its gaps as long as these mostly fail: subjects that fail for
    other reasons must not hide the few that fail for this one.
    """
    return {
        "suffering": """
            SELECT capture, subject,
                count_if(quiet = 'observed') AS after_gap,
                count_if(quiet = 'contradicted') AS while_busy,
                min(IF(quiet = 'observed', quiet_seconds, NULL)) AS shortest
            FROM failures GROUP BY capture, subject
        """,
        "compared": f"""
            SELECT capture, subject, after_gap, while_busy, shortest,
                count_if({QUIET} AND ended IS NULL AND length >= shortest) AS longer_unharmed
            FROM suffering LEFT JOIN gaps USING (capture, subject) GROUP BY ALL
        """,
        "inclined": f"""
            SELECT *, CASE
                WHEN after_gap = 0 THEN IF(while_busy > 0, 'contradicted', 'not visible')
                WHEN after_gap < {share}D * (after_gap + while_busy) THEN 'contradicted'
                WHEN after_gap < {struck}D * (after_gap + longer_unharmed) THEN 'contradicted'
                ELSE 'observed' END AS inclined
            FROM compared
        """,
        "measured": """
            SELECT *, percentile(IF(inclined = 'observed', shortest, NULL), 0.5) OVER (PARTITION BY capture) AS typical,
                max(inclined = 'observed') OVER (PARTITION BY capture) AS any_inclined
            FROM inclined
        """,
        "subjects": """
            SELECT capture, subject, any_inclined,
                IF(inclined = 'observed' AND shortest < typical / 2, 'contradicted', inclined) AS quiet_of_subject
            FROM measured
        """,
    }


def _limits(*, contrast: int, hop: float) -> Mapping[str, str]:
    """Return the steps to `pooled`: the limit that a capture's gaps imply, and what speaks for or against it."""
    return {
        "captures": CAPTURES,
        "counted": COUNTED,
        "unharmed": UNHARMED,
        "spared": SPARED,
        "pooled": _pooled(contrast=contrast, hop=hop),
    }


COUNTED = """
    SELECT capture,
        count(*) AS failures,
        count_if(quiet = 'observed') AS after_gap,
        count_if(quiet = 'contradicted') AS while_busy,
        count_if(quiet = 'not visible') AS unseen,
        count_if(timed_out) AS stalled,
        count_if(reset) AS reset,
        count_if(retried) AS retried,
        count_if(lost) AS lost,
        count_if(frozen) AS frozen,
        sum(refused) AS refused,
        sum(denied) AS denied,
        count_if(restarted) AS restarted,
        count(DISTINCT subject) AS suffering,
        min(quiet_seconds) AS limit_high,
        max(quiet_seconds) AS longest_gap,
        min(failed_at) AS since,
        max(failed_until) AS until
    FROM failures JOIN subjects USING (capture, subject)
    WHERE quiet_of_subject = 'observed' OR NOT any_inclined
    GROUP BY capture
"""
"""The failures of each capture in figures: of the subjects that fail after gaps, or of all where none does."""

UNHARMED = f"""
    SELECT capture, subject,
        coalesce(max(CASE WHEN {QUIET} THEN length END), 0D) < max(limit_high) AS never_quiet,
        max(CASE WHEN {QUIET} THEN length END) AS longest,
        max(CASE WHEN {QUIET} AND ended IS NULL AND length < limit_high THEN length END) AS longest_shorter,
        count_if({QUIET} AND ended IS NULL AND length < limit_high) AS shorter,
        count_if({QUIET} AND ended IS NULL AND length >= limit_high) AS longer_unharmed
    FROM gaps JOIN counted USING (capture) GROUP BY capture, subject
"""

SPARED = """
    SELECT capture,
        max(longest_shorter) AS limit_low,
        sum(shorter) AS shorter,
        sum(longer_unharmed) AS longer_unharmed,
        count(*) AS subjects,
        count_if(never_quiet) AS never_quiet,
        max(CASE WHEN never_quiet THEN longest END) AS never_quiet_longest
    FROM unharmed GROUP BY capture
"""
"""What each capture's unharmed gaps say: the longest below the limit, and who was never so quiet."""


def _pooled(*, contrast: int, hop: float) -> str:
    """Return one row a capture: everything that speaks for or against the limit, and whether it is credible."""
    credible = f"coalesce(limit_high >= broker_limit * 0.9, limit_high >= {hop}D) OR coalesce(shorter, 0) >= {contrast}"
    drawn = ", ".join(
        f"IF(broker_limit IS NULL AND {_fits(limit)}, {limit}, NULL) AS {name}_limit"
        for name, (limit, _) in HOPS.items()
    )
    return f"""
        SELECT *, {_hops()} AS hop, {drawn}, IF({credible}, 'observed', 'not visible') AS limit_state
        FROM counted LEFT JOIN spared USING (capture) JOIN captures USING (capture)
    """


def _hops() -> str:
    """Return the known hops whose limit lies where the data put it; null where a setting names the limit anyway."""
    fits = ", ".join(f'IF({_fits(limit)}, "{hop}", NULL)' for limit, hop in HOPS.values())
    return f"IF(broker_limit IS NULL, nullif(concat_ws(' or ', {fits}), ''), NULL)"


def _fits(limit: float) -> str:
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


def _links() -> Mapping[str, str]:
    """Return the steps to the observations: of each link of each subject, of the capture's limit, of each rival."""
    return {
        "each": EACH,
        "linked": _of_subjects(),
        "held": _of_captures(),
        "observations": f"SELECT {COLUMNS} FROM linked UNION ALL SELECT {COLUMNS} FROM held",
    }


COLUMNS = ", ".join(OBSERVATION)

EDGES = """CASE WHEN gap IS NULL THEN array() ELSE array(
            struct(gap.labels['before_file'] AS file, CAST(gap.labels['before_line'] AS BIGINT) AS line,
                gap_since AS at, gap.labels['before_text'] AS text),
            struct(gap.file, gap.line, gap.at, gap.text)
        ) END"""
"""The lines before and after a quiet gap."""

EACH = f"""
    SELECT capture, subject,
        max(IF(quiet_of_subject = 'observed', limit_state, quiet_of_subject)) AS quiet,
        mode(CASE WHEN other_cause THEN 'contradicted' ELSE 'observed' END) AS severed,
        min(gap_since) AS gap_since,
        min(failed_at) AS failed_at,
        max(failed_until) AS failed_until,
        count(*) AS failures,
        min(quiet_seconds) AS shortest_gap,
        max(client_id) AS client_id,
        flatten(collect_list({EDGES})) AS quiet_lines,
        flatten(collect_list(severed_lines)) AS severed_lines,
        flatten(collect_list(told_lines)) AS told_lines
    FROM failures JOIN subjects USING (capture, subject) JOIN pooled USING (capture)
    GROUP BY capture, subject
"""
"""Quiet, severed, failed: what the failures of a subject say."""


def _of_subjects() -> str:
    figures = map_of(("failures", "shortest_gap"), "double")
    links = (
        ("'quiet'", "quiet", "gap_since", "failed_at", "quiet_lines"),
        ("'severed'", "severed", "failed_at", "failed_until", "severed_lines"),
        ("'failed'", "'observed'", "failed_at", "failed_until", "told_lines"),
    )
    rows = ", ".join(
        f"struct({link} AS link, {state} AS state, {since} AS since, {until} AS until, "
        f"{first_lines(lines)} AS evidence)"
        for link, state, since, until, lines in links
    )
    facts = map_of(("client_id",), "string")
    return f"SELECT capture, subject, {figures} AS figures, {facts} AS facts, inline(array({rows})) FROM each"


def _of_captures() -> str:
    """Return the inferred limit, and each rival: `observed` where it stands, `contradicted` where it is ruled out."""
    states = {
        "rival.broker_restart": (
            "CASE WHEN restarted > 0 THEN 'observed' WHEN broker_lines > 0 OR refused = 0 THEN 'contradicted' END"
        ),
        "rival.unreachable": _stands("refused > 0"),
        "rival.authentication": _stands("denied > 0"),
        "rival.busy": _stands("while_busy > 0"),
    }
    rows = ", ".join(f"struct('{link}' AS link, {state} AS state)" for link, state in states.items())
    return f"""
        SELECT capture, '*' AS subject, since, until,
            {map_of(ALWAYS, "double", where_any=WHERE_ANY)} AS figures,
            {map_of(("hop",), "string")} AS facts,
            CAST(array() AS array<{EVIDENCE}>) AS evidence,
            inline(array({rows}))
        FROM pooled
    """


def _stands(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 'observed' ELSE 'contradicted' END"


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
