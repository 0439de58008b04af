"""How partitions without a working leader, and consumers that die of it, show in the telemetry.

Metadata go on naming a broker that is gone, so nobody waits for `Leader: none` here. Clients tell that their
coordinator or a leader does not answer, again and again of the same broker; the controller tells when it took that
broker for dead and gave its partitions to others. Between the two the cluster settles, and a commit that has less
patience than that takes its consumer with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.leaderless_partition.consumers import consumers_of
from leadsman.modes.leaderless_partition.leaders import captures_of, leaders_of
from leadsman.pipeline.shapes import EVIDENCE, Detection, columns, first_lines, map_of, observations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def detect(
    events: DataFrame,
    *,
    least_leaderless_seconds: float = 3.0,
    near_seconds: float = 30.0,
    history_seconds: float = 2.0,
    fenced_seconds: float = 300.0,
    maintenance_seconds: float = 600.0,
) -> Detection:
    """Return the observations of every link, and the points of the page.

    least_leaderless_seconds: an orderly change of leader is over sooner; a rolling restart stalled nobody for longer.
    near_seconds: a consumer that ends this long after a commit's time-out ended of it; Streams closes its tasks first.
    history_seconds: a log that began this long before a time-out, without a word of a broker, shows that none was lost.
    fenced_seconds: a broker that the controller gives up this soon after a commit timed out was missing already.
    maintenance_seconds: a host's maintenance this near to the loss of a broker may be its cause.
    """
    consumers = consumers_of(events, near=near_seconds).persist()
    captures = captures_of(events, consumers, near=maintenance_seconds)
    judged = _judged(
        consumers, captures, least=least_leaderless_seconds, history=history_seconds, late=fenced_seconds
    ).persist()
    pooled = _pooled(judged)
    points = leaders_of(events).unionByName(_lives(judged))
    return Detection(observations(_of_subjects(judged), _of_captures(pooled)), points, (consumers, judged))


def _judged(consumers: DataFrame, captures: DataFrame, *, least: float, history: float, late: float) -> DataFrame:
    """Say of each consumer what became of it, and whether a leader was missing before."""
    lasted = "CAST(coalesce(settled_at, least(trouble_until, timed_out_at)) AS DOUBLE) - CAST(trouble_at AS DOUBLE)"
    before = "trouble_at <= timed_out_at"
    given_up = (
        "exists(fenced_lines, f -> CAST(f.at AS DOUBLE) - CAST(timed_out_at AS DOUBLE) "
        f"BETWEEN -coalesce(patience, 0D) AND {late}D)"
    )
    seen = "CAST(timed_out_at AS DOUBLE) - CAST(first_seen AS DOUBLE)"
    return (
        consumers.join(captures, "capture")
        .selectExpr("*", f"{lasted} AS leaderless_seconds")
        .selectExpr(
            "*",
            f"CASE WHEN {given_up} OR ({before} AND leaderless_seconds >= {least}D) THEN 'observed' "
            f"WHEN trouble_at IS NULL AND coalesce({seen} < {history}D, true) THEN 'not visible' "
            "ELSE 'contradicted' END AS leaderless",
            "CASE WHEN died THEN 'observed' ELSE 'contradicted' END AS died_state",
        )
        .selectExpr(
            "*",
            "CASE WHEN timed_out_at IS NULL THEN 'contradicted' WHEN leaderless <> 'observed' THEN 'not visible' "
            "ELSE 'observed' END AS gave_up",
        )
    )


def _pooled(judged: DataFrame) -> DataFrame:
    """Return one row a capture: how long it took to settle, and what became of whom."""
    dead = "died AND leaderless <> 'contradicted'"
    return judged.groupBy("capture").agg(
        *columns(
            "max(lost_broker) AS broker",
            "max(settling_seconds) AS settling",
            "max(fenced) AS fenced",
            "max(moved) AS moved",
            "max(session) AS session",
            "max(maintenance) AS maintenance",
            "max(action) AS action",
            "max(elsewhere) AS elsewhere",
            "max(refilled) AS refilled",
            "max(broker_lines) AS broker_lines",
            "max(stopping) AS stopping",
            "max(unreplicated) AS unreplicated",
            "max(patience_set) AS patience_set",
            "count(*) AS consumers",
            f"count_if({dead}) AS dead",
            f"sum(IF({dead}, threads, 0)) AS dead_threads",
            "count_if(healed_at IS NOT NULL AND NOT died) AS healed",
            "max(IF(NOT died, CAST(healed_at AS DOUBLE) - CAST(trouble_at AS DOUBLE), NULL)) AS healed_after",
            "count_if(stuck) AS stuck",
            f"min(IF({dead}, patience, NULL)) AS patience",
            f"max(IF({dead}, version, NULL)) AS dead_version",
            "max(IF(healed_at IS NOT NULL AND NOT died, version, NULL)) AS healed_version",
            "max(IF(healed_at IS NOT NULL AND NOT died, own_patience, NULL)) AS healed_patience",
            f"max(IF({dead} AND streams, 1, 0)) AS streams",
            f"count_if({dead} AND rebalances > 5) AS storm",
            "count_if(timed_out_at IS NOT NULL AND leaderless = 'contradicted') AS without_loss",
            "min(trouble_at) AS since",
            "max(coalesce(settled_at, trouble_until)) AS until",
        )
    )


ALWAYS = (
    "consumers",
    "dead",
    "patience",
    "broker_lines",
    "without_loss",
    "storm",
    "settling",
    "broker",
)
WHERE_ANY = (
    "dead_threads",
    "fenced",
    "moved",
    "session",
    "healed",
    "healed_after",
    "healed_patience",
    "stuck",
    "maintenance",
    "stopping",
    "unreplicated",
    "elsewhere",
    "refilled",
    "streams",
)  # fmt: skip - a list of names


def _of_subjects(judged: DataFrame) -> DataFrame:
    """Leaderless, gave up, died: one row each for every consumer that a commit failed on."""
    links = (
        (
            "leaderless",
            "leaderless",
            "least(trouble_at, gave_up_at)",
            "coalesce(settled_at, trouble_until)",
            "concat(slice(trouble_lines, 1, 4), fenced_lines)",
        ),
        ("impatient", "gave_up", "gave_up_at", "timed_out_until", "timed_out_lines"),
        ("died", "died_state", "died_at", "died_at", "died_lines"),
    )
    rows = ", ".join(
        f"struct('{link}' AS link, {state} AS state, {since} AS since, {until} AS until, "
        f"{first_lines(lines)} AS evidence)"
        for link, state, since, until, lines in links
    )
    figures = map_of(("patience", "leaderless_seconds", "threads"), "double")
    return judged.where("timed_out_at IS NOT NULL").selectExpr(
        "capture",
        "subject",
        f"{figures} AS figures",
        f"{map_of(('version',), 'string')} AS facts",
        f"inline(array({rows}))",
    )


def _of_captures(pooled: DataFrame) -> DataFrame:
    """Return each rival: `observed` where it stands, `contradicted` where it is ruled out."""
    states = {
        "settling": "'observed'",
        "rival.own_exception": "IF(without_loss > 0, 'observed', 'contradicted')",
        "rival.rolling_restart": (
            "CASE WHEN stopping > 0 AND fenced = 0 THEN 'observed' WHEN broker_lines > 0 THEN 'contradicted' END"
        ),
        "rival.rebalance_storm": "IF(storm > 0, 'observed', 'contradicted')",
        "rival.not_enough_replicas": "IF(unreplicated > 0, 'observed', 'contradicted')",
    }
    rows = ", ".join(f"struct('{link}' AS link, {state} AS state)" for link, state in states.items())
    return pooled.selectExpr(
        "capture",
        "'*' AS subject",
        f"{map_of(ALWAYS, 'double', where_any=WHERE_ANY)} AS figures",
        f"{map_of(('dead_version', 'healed_version', 'action'), 'string')} AS facts",
        "since",
        "until",
        f"CAST(array() AS array<{EVIDENCE}>) AS evidence",
        f"inline(array({rows}))",
    )


def _lives(judged: DataFrame) -> DataFrame:
    """Return what the page draws of each consumer: its span, its stall, and its end."""
    stall = (
        "struct('stalled' AS outcome, trouble_at AS since, coalesce(IF(died, died_at, NULL), healed_at, settled_at, "
        "trouble_until) AS at, leaderless_seconds AS value)"
    )
    end = "struct('died' AS outcome, CAST(NULL AS TIMESTAMP) AS since, died_at AS at, CAST(NULL AS DOUBLE) AS value)"
    parts = ", ".join(
        (
            "struct('active' AS outcome, first_seen AS since, last_seen AS at, CAST(NULL AS DOUBLE) AS value)",
            f"IF(trouble_at IS NULL, NULL, {stall})",
            f"IF(NOT died, NULL, {end})",
        )
    )
    return judged.where("first_seen IS NOT NULL").selectExpr(
        "capture", "subject", f"inline(filter(array({parts}), part -> part IS NOT NULL))"
    )
