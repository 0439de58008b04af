"""How much heap producer ids use on the fullest broker, and when that heap will be full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.producer_id_leak.broker_versions import JAVA_BYTES, expires_after
from leadsman.modes.producer_id_leak.thresholds import FULL_SHARE, OOM_SHARE
from leadsman.pipeline.detector_sql import run_steps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIGNIFICANT_SHARE, SIGNIFICANT_BYTES = 0.01, 26_000_000
"""Ids of a stopped leak still matter at this share of the heap, or at 100,000 ids where the heap's limit is not
known."""

NEXT_TO_NOTHING, DEFAULT_LIMIT = 0.001, 2**30
"""Ids below this share of a heap harm no broker: of 1 GB where the limit is not known, the default of
`kafka-server-start.sh`."""

UNKNOWN_LIMIT = 1e18

STEPS = {
    "broker_counts": "SELECT capture, entity, ids, peak, exists(counts_by_source, way -> way.via = 'metric')"
    " AS has_metric"
    " FROM counts WHERE kind = 'broker'",
    "heaps_and_counts": f"SELECT *, ids / coalesce(nullif(limit, 0), {UNKNOWN_LIMIT}D) AS heap_fraction"
    " FROM heaps FULL JOIN broker_counts USING (capture, entity)",
    "fullest_heaps": f"""
        SELECT capture, max(limit) AS any_limit, IF(count(ids) > 1, NULL, max(live)) AS any_live,
            coalesce(max(bytes_per_id), {JAVA_BYTES}D) AS id_bytes, max(ids) AS entries,
            max_by(struct(entity, ids, peak, limit, live, used, partition_count),
                IF(ids IS NULL, NULL, struct(oom_errors > 0 AS is_oom, IF(oom_errors > 0, peak,
                    heap_fraction) AS heap_fraction))) AS fullest,
            round(sum(gc_seconds), 6) AS gc_seconds, sum(full_gcs) AS full_gcs,
            sum(oom_errors) AS oom_errors, max(heap_holders) AS heap_holders,
            sort_array(collect_list(IF(oom_errors > 0, entity, NULL))) AS oom_broker_list,
            coalesce(bool_or(has_metric OR bytes_per_id = {JAVA_BYTES}D), false) AS is_3_5_or_newer,
            array_compact(collect_list(oom_line)) AS oom_lines
        FROM heaps_and_counts GROUP BY capture
    """,
    "topic_totals": "SELECT capture, sum(ids) AS ids, sum(peak) AS peak FROM counts WHERE kind = 'topic'"
    " GROUP BY capture",
    "sized_heaps": f"""
        SELECT capture, coalesce(id_bytes, {JAVA_BYTES}D) AS id_bytes,
            entries, gc_seconds, full_gcs, oom_errors, heap_holders, oom_lines, oom_broker_list,
            coalesce(is_3_5_or_newer, false) AS is_3_5_or_newer, fullest.used.evidence_line AS used_line,
            fullest.entity AS fullest, coalesce(fullest.ids, t.ids) AS current_ids,
            coalesce(fullest.peak, t.peak) AS max_ids,
            coalesce(fullest.limit, any_limit) AS limit, coalesce(fullest.live, any_live) AS live,
            fullest.used.last AS used_low, fullest.partition_count AS broker_partitions,
            fullest.ids / nullif(fullest.partition_count, 0) AS mean_partition_ids
        FROM fullest_heaps FULL JOIN topic_totals t USING (capture)
    """,
    "heap_bytes": f"""
        SELECT *, IF(caused_oom, max_ids, current_ids) * id_bytes AS id_heap_bytes, greatest(live, used_low) AS in_use
        FROM (
            SELECT *, coalesce(oom_errors > 0 AND max_ids * id_bytes >= {OOM_SHARE}D * coalesce(limit, live), false)
                AS caused_oom FROM sized_heaps)
    """,
    "heap_shares": f"""
        SELECT *, IF(caused_oom, NULL, current_ids) AS broker_ids, IF(caused_oom, max_ids, NULL) AS peak_ids,
            100 * id_heap_bytes / nullif(limit, 0) AS heap_percent,
            current_ids * id_bytes AS remaining_bytes,
            coalesce(oom_errors > 0 OR greatest(in_use, id_heap_bytes) >= {FULL_SHARE}D * limit, false) AS heap_full,
            coalesce(in_use IS NOT NULL AND greatest(in_use, id_heap_bytes) < {FULL_SHARE}D * limit,
                false) AS heap_has_room,
            coalesce(IF(limit IS NULL, id_heap_bytes >= {SIGNIFICANT_BYTES},
                id_heap_bytes >= {SIGNIFICANT_SHARE}D * limit), false)
                AS is_significant,
            coalesce(IF(limit IS NULL, id_heap_bytes >= {SIGNIFICANT_BYTES},
                id_heap_bytes >= {OOM_SHARE}D * limit), false) AS is_large,
            coalesce(id_heap_bytes < {NEXT_TO_NOTHING}D * coalesce(limit, {DEFAULT_LIMIT}), false) AS is_negligible,
            coalesce((oom_errors > 0 OR in_use > {FULL_SHARE}D * limit) AND id_heap_bytes < {OOM_SHARE}D * live
                AND id_heap_bytes < limit / 2, false) AS others_fill_heap
        FROM heap_bytes
    """,
}


def heap_usage_rows(counts: DataFrame, heaps: DataFrame) -> DataFrame:
    """Return one row for each capture: the heap that ids use on the fullest broker, in bytes and as a percentage.

    `heap_full`: that heap is nearly full, or a broker ran out of memory; `heap_has_room`: it is known to be far from
    full; `others_fill_heap`: it is full, and ids hold a small share of it. `in_use`: the live heap, ids included.
    `is_significant`: ids still use much of the heap; `is_large`: a good part of it; `is_negligible`: next to nothing.
    `caused_oom`: a broker with many ids ran out of memory; then the fullest broker is one of those, and the bytes are
    its maximum.
    """
    return run_steps({"counts": counts, "heaps": heaps}, STEPS)


def with_heap_forecast(summarized: DataFrame) -> DataFrame:
    """Add how fast the heap fills and when it is full: at `per_hour`, times `slowest` to `fastest`.

    There is no such time where expiry keeps the ids below the free heap, by the samples (`is_level`) or by the rate
    (`plateau_unbounded`). Where no expiry was read, the default of the version is `assumed`, and the time is that
    without expiry (`full_without_expiry_*`). Where ids kept growing for longer than that default, the older default is
    assumed.
    """
    low, high = (
        f"IF(is_level OR stopped_at IS NOT NULL OR free_bytes IS NULL OR per_hour = 0, NULL, "
        f"greatest(free_bytes, 0) / nullif(per_hour * {times} * id_bytes, 0) * 3600)"
        for times in ("greatest(fastest, 1)", "IF(slowest > 0, least(slowest, 1), 1)")
    )
    defaults = f"IF(is_3_5_or_newer, {expires_after('3.5')}D, coalesce(default_expiry, {expires_after('3.3')}D))"
    lifetime = "coalesce(expiry, expiry_guess)"
    proven = "least(span, broker_ids / nullif(per_hour, 0) * 3600)"
    longer = f"IF({proven} > {PROVEN_FACTOR}D * {expires_after('3.3')}D, NULL, {expires_after('3.3')}D)"
    levels_off = "plateau_unbounded - id_heap_bytes < free_bytes AND NOT is_level AND stopped_at IS NULL"
    return (
        summarized.selectExpr("*", f"{defaults} AS default_lifetime")
        .selectExpr(
            "*",
            f"IF(expiry IS NULL, IF({proven} > {PROVEN_FACTOR}D * default_lifetime, {longer}, default_lifetime), NULL)"
            " AS expiry_guess",
        )
        .selectExpr(
            "*",
            "per_hour * id_bytes AS bytes_an_hour",
            f"IF({lifetime} IS NULL, NULL, greatest(per_hour * {lifetime} / 3600 * id_bytes, id_heap_bytes))"
            " AS plateau_unbounded",
            "limit - greatest(coalesce(in_use, id_heap_bytes), id_heap_bytes) AS free_bytes",
        )
        .selectExpr("*", f"coalesce({levels_off}, false) AS levels_off", f"{low} AS low", f"{high} AS high")
        .selectExpr(
            "*",
            "IF(levels_off, NULL, low) AS until_full_low",
            "IF(levels_off, NULL, high) AS until_full_high",
            "IF(levels_off AND expiry IS NULL, low, NULL) AS full_without_expiry_low",
            "IF(levels_off AND expiry IS NULL, high, NULL) AS full_without_expiry_high",
            "IF(levels_off AND expiry IS NULL, expiry_guess, NULL) AS assumed",
            "IF(levels_off AND expiry IS NULL, plateau_unbounded, NULL) AS assumed_plateau",
            "IF(levels_off AND expiry IS NOT NULL, plateau_unbounded, NULL) AS plateau_bytes",
        )
    )


PROVEN_FACTOR = 1.2
"""Where ids kept growing for so many times an expiry, that expiry does not apply to them. Growth of exactly one expiry
proves nothing: new ids hide the first ids that expire."""
