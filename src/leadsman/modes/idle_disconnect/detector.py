"""How an idle disconnect shows in the telemetry.

A failure is an episode of lines that say a request was lost under way. For each one the quiet gap before it is looked
up in the stream of the subject that failed; over all of a capture's gaps, failed and unharmed, the limit is inferred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.model import EVERY_SUBJECT
from leadsman.pipeline.shapes import EVIDENCE, all_of, episodes, facts, figures, first_lines, line, seconds

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SEVERED = (names.CONNECTION_LOST, names.CONNECTION_RESET, names.REQUEST_TIMED_OUT)
RETRIED = (names.PRODUCE_RETRIED,)
FAILED = (names.RECORD_FAILED, names.RECORD_EXPIRED)
UNREACHABLE = (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT)
BROKER_LIFE = (names.BROKER_STARTED, names.BROKER_STOPPING)
NETWORK_RETRY = "NETWORK|TIMED_OUT|[Dd]isconnect|Connection"
FROZEN = r"(?:REPORT|END) RequestId|platform\.(?:report|runtimeDone)"
IDLE_SETTING = "connections.max.idle.ms"
HOPS = {
    240.0: "Azure's load balancers (240 s)",
    350.0: "AWS NAT gateways, network load balancers and Nitro V6 (350 s)",
    600.0: "the broker's default (connections.max.idle.ms, 600 s)",
}
"""Documented idle limits in seconds; sources in page.md."""


class Detection(NamedTuple):
    """What the detector hands on: observations of the chain's links, and the points that the page draws."""

    observations: DataFrame
    points: DataFrame


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
    stall_seconds: the same where the request timed out; the longest default is socket.timeout.ms of librdkafka, 60 s.
    nearby_seconds: a refused connection or failed login this near to a failure speaks for another cause.
    history_seconds: a subject that wrote for this long before a failure, without a gap, was not quiet.
    least_contrast: so many unharmed shorter gaps make the limit credible where no setting names it.
    shortest_hop_seconds: below the shortest limit of a known hop (Azure, 240 s) a limit needs a setting or contrast.
    least_share: of the failures whose history is visible, at least this share must follow a gap.
    """
    found = _failures(events, episode_seconds)
    set_near = _with_surroundings(found, events, reset=reset_seconds, stall=stall_seconds, near=nearby_seconds)
    failures = _judged(set_near, _captures(events), history_seconds)
    gaps = _gaps(events, failures)
    pooled = _pooled(
        gaps, failures, _captures(events), contrast=least_contrast, hop=shortest_hop_seconds, share=least_share,
    )
    per_failure = failures.join(pooled.select("capture", "quiet_state"), "capture")
    links = [_quiet(per_failure), _severed(per_failure), _failed(per_failure), _limit(pooled), *_rivals(pooled)]
    return Detection(all_of(links), _points(gaps, failures))


def _failures(events: DataFrame, episode_seconds: float) -> DataFrame:
    """Return one row a failure of a subject, with the lines that tell of it."""
    network_retry = F.col("name").isin(*RETRIED) & F.coalesce(F.col("labels")["error"], F.lit("NETWORK")).rlike(NETWORK_RETRY)
    harmed = events.where(F.col("name").isin(*SEVERED, *FAILED) | network_retry).where("subject IS NOT NULL")
    timed = episodes(harmed.withColumn("at_or_start", F.coalesce("at", F.timestamp_seconds(F.lit(0)))), apart_seconds=episode_seconds)
    severed = F.col("name").isin(*SEVERED, *RETRIED)
    told = timed.groupBy("capture", "subject", "episode").agg(
        F.min("at").alias("failed_at"),
        F.max("at").alias("failed_until"),
        F.collect_set(F.when(severed, line())).alias("severed_lines"),
        F.collect_set(line()).alias("told_lines"),
        _any_of(severed).alias("severed"),
        _any_of(F.col("name") == names.REQUEST_TIMED_OUT).alias("timed_out"),
        _any_of(F.col("name") == names.CONNECTION_RESET).alias("reset"),
        _any_of(F.col("name").isin(*RETRIED)).alias("retried"),
        _any_of(F.col("name").isin(*FAILED)).alias("lost"),
        F.max(F.col("labels")["client_id"]).alias("client_id"),
    )
    return told.where("severed")


def _with_surroundings(failures: DataFrame, events: DataFrame, *, reset: float, stall: float, near: float) -> DataFrame:
    """Add to each failure the quiet gap before it, and what else broke around it."""
    kinds = (names.SUBJECT_QUIET, names.SUBJECT_ACTIVE, names.AUTHENTICATION_FAILED, *UNREACHABLE)
    around = events.where(F.col("name").isin(*kinds)).select(
        "capture", "subject", F.col("name").alias("kind"), F.col("at").alias("then"), F.col("value").alias("length"),
        F.struct("file", "line", F.col("at"), "text", "value", "labels").alias("gap"),
    )  # fmt: skip - the struct is one column
    early = seconds("failed_at") - F.when(F.col("timed_out"), stall).otherwise(reset)
    quiet = (F.col("kind") == names.SUBJECT_QUIET) & seconds("then").between(early, seconds("failed_at") + 0.001)  # noqa: PLR2004 - clocks of one line
    nearby = seconds("then").between(seconds("failed_at") - near, seconds("failed_until") + near)
    refused = F.col("kind").isin(*UNREACHABLE) & nearby
    denied = (F.col("kind") == names.AUTHENTICATION_FAILED) & nearby
    active = F.col("kind") == names.SUBJECT_ACTIVE
    return (
        failures.join(around, ["capture", "subject"], "left")
        .groupBy(*failures.columns)
        .agg(
            F.max_by("gap", F.when(quiet, F.col("length"))).alias("gap"),
            F.count_if(refused).alias("refused"),
            F.count_if(denied).alias("denied"),
            F.min(F.when(active, F.col("then"))).alias("first_seen"),
        )
    )


def _captures(events: DataFrame) -> DataFrame:
    """Return one row a capture: what was configured, and when brokers came and went."""
    is_idle = (F.col("name") == names.SETTING) & (F.col("labels")["key"] == IDLE_SETTING)
    number = F.expr("try_cast(labels['value'] AS double)") / 1000
    by_broker = F.coalesce(F.col("labels")["owner"], F.lit("")) == "broker"
    return events.groupBy("capture").agg(
        F.min(F.when(is_idle & by_broker, number)).alias("broker_limit"),
        F.min(F.when(is_idle & ~by_broker & (number > 0), number)).alias("client_limit"),
        F.collect_set(F.when(F.col("name").isin(*BROKER_LIFE), F.col("at"))).alias("broker_life"),
        F.count_if(F.col("source") == "broker").alias("broker_lines"),
        F.count_if(F.col("name") == names.CONNECTION_CLOSED).alias("closed"),
    )


def _judged(failures: DataFrame, captures: DataFrame, history_seconds: float) -> DataFrame:
    """Say of each failure whether it was quiet before, and whether something else broke as well."""
    with_broker = failures.join(captures.select("capture", "broker_life"), "capture", "left")
    gap_since = F.try_to_timestamp(F.col("gap.labels")["since"])
    came_or_went = F.exists(
        F.coalesce("broker_life", F.array().cast("array<timestamp>")),
        lambda then: then.between(F.coalesce(gap_since, F.col("failed_at")) , F.col("failed_until") + F.expr("INTERVAL 5 SECONDS")),
    )
    followed = F.col("gap").isNotNull()
    seen_before = seconds("failed_at") - seconds("first_seen")
    quiet = F.when(followed, "observed").when(seen_before >= history_seconds, "contradicted")
    other = (F.col("refused") > 0) | (F.col("denied") > 0) | F.col("restarted")
    return (
        with_broker.withColumn("restarted", came_or_went)
        .withColumn("quiet_seconds", F.col("gap.value"))
        .withColumn("gap_since", gap_since)
        .withColumn("frozen", F.coalesce(F.col("gap.labels")["before_text"].rlike(FROZEN), F.lit(False)))
        .withColumn("quiet", F.coalesce(quiet, F.lit("not visible")))
        .withColumn("other_cause", other)
    )


def _gaps(events: DataFrame, failures: DataFrame) -> DataFrame:
    """Return every quiet gap of a subject that is no broker, and whether a failure followed it."""
    ends = failures.where("gap IS NOT NULL").select("capture", "subject", F.col("gap.at").alias("at"), F.lit(True).alias("failed"))
    of_subject = Window.partitionBy("capture", "subject")
    clients = events.where(F.col("name").isin(names.SUBJECT_QUIET, names.SUBJECT_ACTIVE) | (F.col("source") == "broker"))
    told = clients.withColumn("is_broker", _any_of(F.col("source") == "broker").over(of_subject)).where("NOT is_broker")
    return (
        told.where(F.col("name").isin(names.SUBJECT_QUIET, names.SUBJECT_ACTIVE))
        .select("capture", "subject", "name", "at", F.col("value").alias("length"), F.col("labels")["since"].alias("since"))
        .join(ends.distinct(), ["capture", "subject", "at"], "left")
        .withColumn("failed", F.coalesce("failed", F.lit(False)))
    )


def _pooled(gaps: DataFrame, failures: DataFrame, captures: DataFrame, *, contrast: int, hop: float, share: float) -> DataFrame:
    """Return one row a capture: the limit that its gaps imply, and everything that speaks for or against it."""
    counted = failures.groupBy("capture").agg(
        F.count("*").alias("failures"),
        F.count_if(F.col("quiet") == "observed").alias("after_gap"),
        F.count_if(F.col("quiet") == "contradicted").alias("while_busy"),
        F.count_if(F.col("quiet") == "not visible").alias("unseen"),
        F.count_if("timed_out").alias("stalled"),
        F.count_if("reset").alias("reset"),
        F.count_if("retried").alias("retried"),
        F.count_if("lost").alias("lost"),
        F.count_if("frozen").alias("frozen"),
        F.sum("refused").alias("refused"),
        F.sum("denied").alias("denied"),
        F.count_if("restarted").alias("restarted"),
        F.count_distinct("subject").alias("suffering"),
        F.min("quiet_seconds").alias("limit_high"),
        F.max("quiet_seconds").alias("longest_gap"),
        F.min("failed_at").alias("since"),
        F.max("failed_until").alias("until"),
    )
    lengths = gaps.join(counted.select("capture", "limit_high"), "capture")
    quiet, shorter = F.col("name") == names.SUBJECT_QUIET, F.col("length") < F.col("limit_high")
    unharmed = quiet & ~F.col("failed")
    per_subject = lengths.groupBy("capture", "subject").agg(
        F.max(F.when(quiet, F.col("length"))).alias("longest"),
        F.max(F.when(unharmed & shorter, F.col("length"))).alias("longest_shorter"),
        F.count_if(unharmed & shorter).alias("shorter"),
        F.count_if(unharmed & ~shorter).alias("longer_unharmed"),
        F.max("limit_high").alias("limit_high"),
    )
    never_quiet = F.coalesce("longest", F.lit(0.0)) < F.col("limit_high")
    unharmed_gaps = per_subject.groupBy("capture").agg(
        F.max("longest_shorter").alias("limit_low"),
        F.sum("shorter").alias("shorter"),
        F.sum("longer_unharmed").alias("longer_unharmed"),
        F.count("*").alias("subjects"),
        F.count_if(never_quiet).alias("never_quiet"),
        F.max(F.when(never_quiet, F.coalesce("longest", F.lit(0.0)))).alias("never_quiet_longest"),
    )
    known = F.coalesce(F.col("limit_high") >= F.col("broker_limit") * 0.9, F.col("limit_high") >= hop)
    credible = known | (F.coalesce("shorter", F.lit(0)) >= contrast)
    enough = F.col("after_gap") >= share * (F.col("after_gap") + F.col("while_busy"))
    state = F.when(F.col("after_gap") == 0, F.when(F.col("while_busy") > 0, "contradicted").otherwise("not visible"))
    return (
        counted.join(unharmed_gaps, "capture", "left")
        .join(captures.drop("broker_life"), "capture", "left")
        .withColumn("quiet_state", state.when(~enough, "contradicted").when(credible, "observed").otherwise("not visible"))
    )


def _quiet(failures: DataFrame) -> DataFrame:
    """Link: the subject was quiet for longer than the shortest idle limit of its path."""
    state = F.when(F.col("quiet") != "observed", F.col("quiet")).otherwise(F.col("quiet_state"))
    before = F.struct(
        F.coalesce(F.col("gap.labels")["before_file"], F.col("gap.file")).alias("file"),
        F.col("gap.labels")["before_line"].cast("long").alias("line"),
        F.col("gap_since").alias("at"),
        F.col("gap.labels")["before_text"].alias("text"),
    )
    edges = F.when(F.col("gap").isNotNull(), F.array(before, F.struct("gap.file", "gap.line", "gap.at", "gap.text")))
    return _per_subject(failures, "quiet", state, edges, since="gap_since", until="failed_at")


def _severed(failures: DataFrame) -> DataFrame:
    """Link: the connection was gone, and a request was under way on it; nothing else kept the broker from answering."""
    state = F.when(F.col("other_cause"), "contradicted").otherwise("observed")
    return _per_subject(failures, "severed", state, F.col("severed_lines"), since="failed_at", until="failed_until")


def _failed(failures: DataFrame) -> DataFrame:
    """Link: the next use failed or stalled."""
    return _per_subject(failures, "failed", F.lit("observed"), F.col("told_lines"), since="failed_at", until="failed_until")


def _per_subject(failures: DataFrame, link: str, state: Column, lines: Column, *, since: str, until: str) -> DataFrame:
    """Return one observation a subject: what most of its failures say."""
    told = failures.withColumn("state", state).withColumn("lines", lines)
    empty = F.array().cast(f"array<{EVIDENCE}>")
    return (
        told.groupBy("capture", "subject")
        .agg(
            F.mode("state", True).alias("state"),
            F.min(since).alias("since"),
            F.max(until).alias("until"),
            F.count("*").alias("failures"),
            F.min("quiet_seconds").alias("shortest_gap"),
            F.max("client_id").alias("client_id"),
            F.flatten(F.collect_list(F.coalesce("lines", empty))).alias("evidence"),
        )
        .select(
            "capture", "subject", F.lit(link).alias("link"), "state", "since", "until",
            figures({"failures": "failures", "shortest_gap": "shortest_gap"}).alias("figures"),
            facts({"client_id": "client_id"}).alias("facts"),
            first_lines(F.col("evidence")).alias("evidence"),
        )
    )  # fmt: skip - the columns of an observation


ALWAYS = (
    "failures", "after_gap", "while_busy", "unseen", "suffering", "limit_high", "longest_gap", "subjects", "broker_limit",
    "client_limit", "broker_lines", "refused", "denied", "restarted",
)  # fmt: skip - a list of names
WHERE_ANY = (
    "stalled", "reset", "retried", "lost", "frozen", "limit_low", "shorter", "longer_unharmed", "never_quiet",
    "never_quiet_longest", "closed",
)  # fmt: skip - a list of names
"""Figures that are left out where they are 0, and the sentences about them with them."""


def _limit(pooled: DataFrame) -> DataFrame:
    """The limit that the whole capture implies, for the summary."""
    return _for_capture(pooled, "limit", F.col("quiet_state"))


def _rivals(pooled: DataFrame) -> list[DataFrame]:
    """Return what speaks for each rival: `observed` it stands, `contradicted` it is ruled out."""
    restarted = F.when(F.col("restarted") > 0, "observed").when(
        (F.col("broker_lines") > 0) | (F.col("refused") == 0), "contradicted",
    )
    return [
        _for_capture(pooled, "rival.broker_restart", restarted),
        _for_capture(pooled, "rival.unreachable", _stands(F.col("refused") > 0)),
        _for_capture(pooled, "rival.authentication", _stands(F.col("denied") > 0)),
        _for_capture(pooled, "rival.busy", _stands(F.col("while_busy") > 0)),
    ]


def _stands(condition: Column) -> Column:
    return F.when(condition, "observed").otherwise("contradicted")


def _for_capture(pooled: DataFrame, link: str, state: Column) -> DataFrame:
    told: dict[str, Column | str] = {name: name for name in ALWAYS}
    told |= {name: F.nullif(F.col(name), F.lit(0)) for name in WHERE_ANY}
    return pooled.select(
        "capture", F.lit(EVERY_SUBJECT).alias("subject"), F.lit(link).alias("link"), state.alias("state"), "since", "until",
        figures(told).alias("figures"), facts({"hop": _hops()}).alias("facts"), F.array().cast(f"array<{EVIDENCE}>").alias("evidence"),
    )  # fmt: skip - the columns of an observation


def _hops() -> Column:
    """Return the known hops whose limit lies where the data put it; null where a setting names the limit anyway."""
    low = F.coalesce("limit_low", F.lit(0.0))
    fits = [F.when((low < limit * 1.02) & (F.col("limit_high") >= limit), F.lit(hop)) for limit, hop in HOPS.items()]
    return F.when(F.col("broker_limit").isNull(), F.nullif(F.concat_ws(" or ", *fits), F.lit("")))


def _points(gaps: DataFrame, failures: DataFrame) -> DataFrame:
    """Return what the page draws: each gap with its outcome, and failures that no gap comes before."""
    silences = gaps.where(F.col("name") == names.SUBJECT_QUIET).select(
        "capture", "subject", F.when(F.col("failed"), "failed").otherwise("unharmed").alias("outcome"),
        F.try_to_timestamp("since").alias("since"), "at", F.col("length").alias("value"),
    )  # fmt: skip - the columns of a point
    spans = gaps.where(F.col("name") == names.SUBJECT_ACTIVE).select(
        "capture", "subject", F.lit("active").alias("outcome"), F.col("at").alias("since"), "at", F.lit(None).cast("double").alias("value"),
    )  # fmt: skip - the columns of a point
    errors = failures.select(
        "capture", "subject", F.lit("error").alias("outcome"), F.lit(None).cast("timestamp").alias("since"),
        F.col("failed_at").alias("at"), F.lit(None).cast("double").alias("value"),
    )  # fmt: skip - the columns of a point
    return all_of([silences, spans, errors])


def _any_of(condition: Column) -> Column:
    return F.max(F.coalesce(condition, F.lit(False)))
