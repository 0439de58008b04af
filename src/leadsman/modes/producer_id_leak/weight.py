"""What the ids weigh: on the broker whose heap they fill most, and when that will be full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.producer_id_leak.eras import JAVA_BYTES, expires_after
from leadsman.pipeline.shapes import table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FULL = 0.7
"""Share of a heap that is left in use after a collection, from which on it is nearly full."""

MATTERS, MATTERS_BYTES = 0.01, 26_000_000
"""Share of a heap that ids still take when a leak has stopped; 100,000 ids, where its limit is not known."""

DEADLY = 0.1
"""Share of a heap from which on ids have a part in its death. Ours died of 40 %, with 38 MB of 88."""

UNKNOWN_LIMIT = 1e18

STEPS = {
    "brokers": "SELECT capture, who, ids, most, exists(ways, way -> way.via = 'metric') AS gauged"
    " FROM counts WHERE kind = 'broker'",
    "heaps_and_counts": f"SELECT *, ids / coalesce(limit, {UNKNOWN_LIMIT}D) AS part"
    " FROM heaps FULL JOIN brokers USING (capture, who)",
    "of_heaps": f"""
        SELECT capture, max(limit) AS any_limit, IF(count(ids) > 1, NULL, max(live)) AS any_live,
            coalesce(max(bytes_an_id), {JAVA_BYTES}D) AS weight, max(ids) AS entries,
            max_by(struct(who, ids, most, limit, live, used, partition_count),
                IF(ids IS NULL, NULL, struct(exhausted > 0 AS died, IF(exhausted > 0, most, part) AS part))) AS fullest,
            round(sum(gc_seconds), 6) AS gc_seconds, sum(fulls) AS fulls,
            sum(exhausted) AS exhausted, max(held_by) AS held_by,
            sort_array(collect_list(IF(exhausted > 0, who, NULL))) AS dead,
            coalesce(bool_or(gauged OR bytes_an_id = {JAVA_BYTES}D), false) AS modern,
            array_compact(collect_list(died)) AS deaths
        FROM heaps_and_counts GROUP BY capture
    """,
    "of_topics": "SELECT capture, sum(ids) AS ids, sum(most) AS most FROM counts WHERE kind = 'topic' GROUP BY capture",
    "sized": f"""
        SELECT capture, coalesce(weight, {JAVA_BYTES}D) AS weight,
            entries, gc_seconds, fulls, exhausted, held_by, deaths, dead,
            coalesce(modern, false) AS modern, fullest.used.quote AS used_quote,
            fullest.who AS fullest, coalesce(fullest.ids, t.ids) AS any_held,
            coalesce(fullest.most, t.most) AS any_peak,
            coalesce(fullest.limit, any_limit) AS limit, coalesce(fullest.live, any_live) AS live,
            fullest.used.last AS used_low, fullest.partition_count AS broker_parts,
            fullest.ids / fullest.partition_count AS mean_ids
        FROM of_heaps FULL JOIN of_topics t USING (capture)
    """,
    "dying": f"""
        SELECT *, IF(deadly, any_peak, any_held) * weight AS held_bytes, greatest(live, used_low) AS in_use FROM (
            SELECT *, coalesce(exhausted > 0 AND any_peak * weight >= {DEADLY}D * coalesce(limit, live), false)
                AS deadly FROM sized)
    """,
    "shares": f"""
        SELECT *, IF(deadly, NULL, any_held) AS held_ids, IF(deadly, any_peak, NULL) AS peak_ids,
            100 * held_bytes / limit AS share,
            any_held * weight AS left_bytes,
            coalesce(exhausted > 0 OR greatest(in_use, held_bytes) >= {FULL}D * limit, false) AS full,
            coalesce(in_use IS NOT NULL AND greatest(in_use, held_bytes) < {FULL}D * limit, false) AS roomy,
            coalesce(IF(limit IS NULL, held_bytes >= {MATTERS_BYTES}, held_bytes >= {MATTERS}D * limit), false)
                AS matters
        FROM dying
    """,
}


def weights_of(counts: DataFrame, heaps: DataFrame) -> DataFrame:
    """Return one row a capture: the bytes that ids take on the fullest broker, and what share of its heap that is.

    `full`: that heap is nearly full, or one ran out; `roomy`: it is known to be far from full. `in_use`: what lives on
    it, ids and all else. `matters`: ids still take much of it. `deadly`: a heap with many of them ran out; then it is
    the fullest of those that did, and the bytes are the most that there were.
    """
    return table({"counts": counts, "heaps": heaps}, STEPS)


def foreseen(pooled: DataFrame) -> DataFrame:
    """Add how fast the heap fills and when it is full: at `per_hour`, between `slowest` and `fastest` times as fast.

    No time where expiry keeps the ids below what is free: as seen (`level`), or by the rate (`plateau_unbounded`).
    Where no expiry was read, the version's default is `assumed`, and the time is that without any (`kept_full_*`).
    Where more ids are held than come in that time, growing for longer, brokers keep them longer: then it is the older
    default.
    """
    low, high = (
        f"IF(level OR stopped_at IS NOT NULL OR free IS NULL OR per_hour = 0, NULL, "
        f"greatest(free, 0) / (per_hour * {times} * weight) * 3600)"
        for times in ("greatest(fastest, 1)", "IF(slowest > 0, least(slowest, 1), 1)")
    )
    defaults = f"IF(modern, {expires_after('3.5')}D, coalesce(default_expiry, {expires_after('3.3')}D))"
    lives = "coalesce(expiry, assumes)"
    proven = "least(span, held_ids / nullif(per_hour, 0) * 3600)"
    longer = f"IF({proven} > {PROVEN}D * {expires_after('3.3')}D, NULL, {expires_after('3.3')}D)"
    levels = "plateau_unbounded - held_bytes < free AND NOT level AND stopped_at IS NULL"
    return (
        pooled.selectExpr("*", f"{defaults} AS usual")
        .selectExpr("*", f"IF(expiry IS NULL, IF({proven} > {PROVEN}D * usual, {longer}, usual), NULL) AS assumes")
        .selectExpr(
            "*",
            "per_hour * weight AS bytes_an_hour",
            f"IF({lives} IS NULL, NULL, greatest(per_hour * {lives} / 3600 * weight, held_bytes)) AS plateau_unbounded",
            "limit - greatest(coalesce(in_use, held_bytes), held_bytes) AS free",
        )
        .selectExpr("*", f"coalesce({levels}, false) AS levels", f"{low} AS low", f"{high} AS high")
        .selectExpr(
            "*",
            "IF(levels, NULL, low) AS until_full_low",
            "IF(levels, NULL, high) AS until_full_high",
            "IF(levels AND expiry IS NULL, low, NULL) AS kept_full_low",
            "IF(levels AND expiry IS NULL, high, NULL) AS kept_full_high",
            "IF(levels AND expiry IS NULL, assumes, NULL) AS assumed",
            "IF(levels AND expiry IS NULL, plateau_unbounded, NULL) AS assumed_plateau",
            "IF(levels AND expiry IS NOT NULL, plateau_unbounded, NULL) AS plateau_bytes",
        )
    )


PROVEN = 1.2
"""Times an expiry for which ids kept growing, from which on it is not theirs: the last to come hide the first to go."""
