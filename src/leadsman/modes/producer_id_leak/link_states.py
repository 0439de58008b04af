"""The state of each link of the chain, for each topic and each broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.producer_id_leak.growth import MIN_PARTITIONS
from leadsman.modes.producer_id_leak.thresholds import OOM_SHARE
from leadsman.pipeline.detector_sql import run_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

LONG_SECONDS = 6 * 3600
"""Seconds of growth that no deployment takes: growth of this length that has stopped was a leak and no burst."""

A_DAY = 86_400
"""Seconds without new ids after which a single sample shows that a burst is over: a nightly job would have run
again."""

PER_PARTITION = 1 / MIN_PARTITIONS
"""Share of the least rate that is enough for a sampled partition: topics have several partitions, most not sampled."""

TYPICAL_FACTOR = 0.5
"""Where a broker's partitions hold on average so many times the ids of the sampled partitions, the sampled partitions
are typical, and their rate is the rate of each partition."""

MIXED_FACTOR = 2.0
"""Ids with few records and ids with a single batch come from the same kind of producer, where there are at most so many
times as many of the former."""

STALE_SECONDS = 6 * 3600
"""Where the last counts of two partitions of a topic are so many seconds apart, their sum is only a lower bound."""

MIXED_SHARE = 0.1
"""Share of single-batch ids beside a fleet: too many to belong to the fleet, too few to be all ids."""

FREED_FACTOR = 1.5
"""Where so many times as many ids came as brokers hold, other ids were freed meanwhile."""

NEGLIGIBLE_PERCENT = 1.0
"""Ids that take less than this percentage of a heap do not fill it."""

STEADY_FACTOR = 1.25
"""Connections are steady where the most are at most so many times the least: deployments and office hours change
some."""

STEADY_SHARE = 0.8
"""Connections must have been sampled over this share of the time of growth."""

IDS_PER_CONNECTION, CONNECTION_SECONDS = 1000, 3 * A_DAY
"""More new ids per connection in up to three days than live producers have: a live producer has one entry for each
partition that it writes to, a few dozen, and a fleet that is deployed ten times makes some hundreds."""

FLEET_IDS_PER_DAY = 100_000
"""New ids per day on one broker or topic, more than any fleet of live producers makes."""

MANY_RISES = 3
"""So many steps of growth are more than one or two deployments."""

EVEN_RISES, EVEN_STEP = 5, 45_000
"""Daily deployments make fewer steps of growth than this, or longer ones than this many seconds (12.5 h)."""

CONNECTED_SHARE = 0.5
"""Where connections grow by at least this share of the growth of ids, the ids belong to connected producers."""

NEWEST, OLDEST = (f"{each}(array_{each}(ends.at)) OVER (PARTITION BY capture)" for each in ("max", "min"))
"""The times of the last and of the first count of the capture, of any topic or broker."""

LONG_ENOUGH_SECONDS, ENOUGH_SAMPLES = 1800, 3
"""So many counts, over at least so many seconds, would show a leak."""

EVEN_FACTOR = 1.25
"""Counts of a topic's partitions are even where none of the later ones is more than so many times the earlier ones."""

MEASURED = (
    "from_arrivals, rises, steps, since, first, last, last_since, until, longest_pause, rising_seconds, ids_added,"
    " climb, per_hour, per_day, "
    "next_sample_at, even_rises, slow_rate, fast_rate, is_growing, has_stopped, sample_count"
)
"""The columns of a curve that the next steps use."""


def link_state_rows(frames: Mapping[str, DataFrame], thresholds: Mapping[str, float]) -> DataFrame:
    """Return one row for each topic or broker with at least `min_ids` ids: its figures, and the state of each link.

    `frames`: counts, curves, heaps, heap_usage and connections. Where several curves show growth, the curve of
    arrivals gives the rate, because expiry does not hide growth there. `is_level`: as many ids expire as come.
    """
    return run_steps(frames, _shapes(thresholds["min_ids"]) | _growth() | _lifetimes() | _states(thresholds))


def _shapes(least: float) -> dict[str, str]:
    """Return the queries that join counts, curves, heaps and connections of each topic or broker."""
    curve = f"struct({MEASURED})"
    silent = "aggregate(slice(composition.arrivals, 1, 5), 0D, (sum, n) -> sum + n)"
    return {
        "curves_by_entity": f"SELECT capture, kind, entity, collect_list({curve}) AS curves FROM curves"
        " GROUP BY capture, kind, entity",
        "dated_counts": f"""
            SELECT *, unix_seconds({NEWEST}) - unix_seconds({OLDEST}) AS counted_seconds,
                sum(samples) OVER (PARTITION BY capture) AS all_samples,
                array_max(ends.at) AS newest, array_min(ends.at) AS oldest
            FROM counts
        """,
        "entities": f"""
            SELECT c.*, coalesce(d.curves, array()) AS curves, composition.single_batch AS single_batch,
                composition.few_records AS few_records,
                composition.transactional AS transactional, {silent} AS idle_ids,
                w.heap_percent, w.heap_full, w.heap_has_room, w.mean_partition_ids, w.broker_partitions,
                w.used_line, w.is_significant, w.is_large, w.is_negligible, w.caused_oom, w.oom_lines,
                h.records_written,
                coalesce(w.others_fill_heap AND c.ids * w.id_bytes < {OOM_SHARE}D * w.live, false) AS others_fill_heap,
                n.is_sampled, n.since AS sampled_since, n.until AS sampled_until,
                n.low, n.middle, n.high, n.first_lines AS connection_lines
            FROM dated_counts c LEFT JOIN curves_by_entity d ON c.capture = d.capture AND c.kind = d.kind
                AND c.entity = d.entity
                LEFT JOIN heap_usage w ON c.capture = w.capture
                LEFT JOIN heaps h ON c.capture = h.capture AND c.entity = h.entity AND c.kind = 'broker'
                LEFT JOIN connections n ON c.capture = n.capture AND c.kind = n.kind
                    AND (c.kind = 'topic' OR c.entity = n.entity)
            WHERE c.ids >= {least} OR c.peak >= {least}
        """,
    }


def _growth() -> dict[str, str]:
    """Return the queries that compare the curves of each topic or broker.

    Where arrivals are known for some partitions only, the rate is the highest of the growing curves. Arrivals are those
    of single-batch ids; ids with a few records come at the same rate. `partition_factor`: how many times as many
    partitions get new ids as were sampled. Growth has not ended where another curve still rose after the end.
    Growth began no earlier than the latest first rise among the curves that had been flat before.
    """
    ended = (
        "c -> c.has_stopped AND c.last IS NOT NULL AND NOT exists(curves, o -> coalesce(o.last_since >= c.last, false))"
    )
    mixed = (
        f"IF(few_records BETWEEN single_batch AND {MIXED_FACTOR}D * single_batch AND single_batch > 0, "
        "few_records / nullif(single_batch, 0), 1D)"
    )
    counts_factor, arrivals_factor = f"IF(c.from_arrivals, {mixed}, 1D)", f"IF(curve.from_arrivals, {mixed}, 1D)"
    flat_before = "filter(curves, c -> NOT c.from_arrivals AND c.first > c.since AND c.since <= earliest)"
    return {
        "compared_curves": f"""
            SELECT *, array_max(transform(filter(curves, c -> c.is_growing), c -> struct(c.from_arrivals, c.rises,
                c))).c AS curve,
                exists(curves, c -> c.is_growing AND NOT c.from_arrivals) AS counts_grow,
                get(array_sort(transform(filter(curves, {ended}), c -> struct(c.last, c.first, c.next_sample_at))), 0)
                    AS ending,
                exists(curves, c -> NOT c.from_arrivals AND c.sample_count >= 3 AND c.rises = 0) AS flat,
                exists(curves, c -> c.from_arrivals AND c.is_growing) AS arrivals_grow,
                array_max(transform(filter(curves, c -> NOT c.from_arrivals), c -> c.sample_count)) AS sample_count,
                array_min(transform(curves, c -> c.first)) AS earliest
            FROM entities
        """,
        "growth_figures": f"""
            SELECT *, round(IF(curve.from_arrivals AND described_partitions < partitions,
                    array_max(transform(filter(curves, c -> c.is_growing), c -> c.per_hour * {counts_factor})),
                    curve.per_hour * {arrivals_factor})) AS per_hour,
                round(curve.per_day * {arrivals_factor}) AS per_day, round(curve.ids_added) AS ids_added,
                curve.slow_rate / nullif(curve.per_hour, 0) AS slow_rate, curve.fast_rate / nullif(curve.per_hour,
                    0) AS fast_rate,
                timestamp_millis(CAST(curve.last * 1000 AS BIGINT)) AS came_until,
                curve.from_arrivals AS from_arrivals, coalesce(sample_count, 1) < 2 AS sampled_once,
                    curve.rises AS rises,
                curve.steps AS steps, curve.last - curve.first AS span,
                timestamp_millis(CAST(coalesce(array_max(transform({flat_before}, c -> c.first)), curve.first) * 1000
                    AS BIGINT)) AS grew_since,
                round(IF(caused_oom, curve.climb, curve.ids_added)) AS most_ids_added, curve IS NOT NULL AS has_grown,
                arrivals_grow AND (flat OR curve.ids_added >= {FREED_FACTOR}D * ids) AS is_level,
                ending IS NOT NULL AS stopped, timestamp_millis(CAST(ending.last * 1000 AS BIGINT)) AS stopped_at,
                timestamp_millis(CAST(ending.next_sample_at * 1000 AS BIGINT)) AS stopped_by,
                unix_millis(last_seen) / 1000 - ending.last AS seconds_since_stop,
                    ending.last - ending.first AS growth_seconds,
                    timestamp_millis(CAST(ending.first * 1000 AS BIGINT)) AS grew_from,
                records_written / nullif(curve.ids_added, 0) AS written_per_id,
                timestamp_millis(CAST(get(filter(curves, c -> c.rises = 1 AND NOT c.from_arrivals), 0).last * 1000
                    AS BIGINT)) AS single_rise_by,
                kind = 'topic' AND partitions > 1
                    AND unix_seconds(last_seen) - unix_seconds(oldest_sample_at) >= {STALE_SECONDS}
                    AS is_stale,
                IF(mean_partition_ids >= {TYPICAL_FACTOR}D * ids / partitions, broker_partitions / partitions,
                    1D) AS partition_factor
            FROM compared_curves
        """,
    }


def _lifetimes() -> dict[str, str]:
    """Return the queries that compare new ids with connections: whether live producers can own the new ids.

    `short_lived`: connections were steady while more ids came than so few live producers can have. Where connections
    were not sampled, more ids came than any fleet has. `grows_with_connections`: connections grew as the ids did.
    """
    sampled = (
        "is_sampled AND least(sampled_until, curve.last) - greatest(sampled_since, curve.first) "
        f">= {STEADY_SHARE}D * span"
    )
    return {
        "connection_checks": f"""
            SELECT *, coalesce({sampled}, false) AS connections_sampled,
                has_grown AND (caused_oom OR NOT stopped) AND (rises >= {MANY_RISES} OR span >= {LONG_SECONDS})
                    AND most_ids_added > 0
                    AS sustained
            FROM growth_figures
        """,
        "lifetimes": f"""
            SELECT *, connections_sampled AND sustained AND high <= {STEADY_FACTOR}D * low
                    AND most_ids_added >= {IDS_PER_CONNECTION}D * high * greatest(1D, span / {CONNECTION_SECONDS})
                    AS beyond_connections,
                NOT connections_sampled AND sustained AND span >= {A_DAY}
                    AND most_ids_added >= {FLEET_IDS_PER_DAY}D * span / {A_DAY}
                    AND rises >= {EVEN_RISES} AND rises >= curve.even_rises
                        AND span <= {EVEN_STEP}D * rises AS is_beyond_fleet,
                connections_sampled AND has_grown AND high > {STEADY_FACTOR}D * low
                    AND ids_added < {IDS_PER_CONNECTION}D * (high - low)
                    AND (high - low) / nullif(low, 0) >= {CONNECTED_SHARE}D * ids_added / nullif(ids - ids_added,
                        0) AS grows_with_connections
            FROM connection_checks
        """,
        "lifetime_figures": """
            SELECT *, coalesce(beyond_connections OR is_beyond_fleet, false) AS short_lived,
                IF(beyond_connections, round(middle), NULL) AS connections,
                IF(is_beyond_fleet, most_ids_added, NULL) AS ids_beyond_fleet,
                IF(beyond_connections, most_ids_added, NULL) AS ids_beyond_connections, IF(grows_with_connections,
                    round(high), NULL) AS connections_grown
            FROM lifetimes
        """,
    }


def _few_ids(least: float, least_rate: float) -> dict[str, str]:
    """Return the query for rows whose counts show no curve of growth, but are so few that no leak can be in them.

    `is_small`: hours of counts, and each partition has the ids of a handful of producers, or all ids together came more
    slowly than those of a leak. `is_even`: partitions that were counted later have as many ids as those before, and all
    ids use next to nothing of the heap. Neither is said of ids that are known to be new ones of a single batch.
    """
    hours = f"all_samples >= {ENOUGH_SAMPLES} AND counted_seconds >= {LONG_ENOUGH_SECONDS}"
    single = f"coalesce(single_batch, 0) >= {least}"
    slow = f"peak * 3600D < {least_rate}D * counted_seconds"
    middle = "timestamp_millis((unix_millis(oldest) + unix_millis(newest)) DIV 2)"
    early, late = (
        f"array_max(transform(filter(ends, e -> e.at {side} {middle}), e -> e.value))" for side in ("<=", ">")
    )
    own_hours = f"samples >= {ENOUGH_SAMPLES} AND unix_seconds(newest) - unix_seconds(oldest) >= {LONG_ENOUGH_SECONDS}"
    return {
        "small_rows": f"""
            SELECT *, coalesce({hours} AND NOT {single} AND (largest_partition < {least} OR {slow}), false) AS is_small,
                coalesce({own_hours} AND NOT {single} AND is_negligible AND {late} <= {EVEN_FACTOR}D * {early}, false)
                    AS is_even
            FROM lifetime_figures
        """
    }


def _states(t: Mapping[str, float]) -> dict[str, str]:
    """Return the queries for the state of each link.

    A sample shows the composition only of the ids that it contains, not of ids that came later.
    """
    kept = f"ids >= {t['freed_share']}D * peak"
    growing = f"""
        CASE WHEN has_grown AND per_hour * greatest(coalesce(partition_factor, 1D), 1D) < {t["min_ids_per_hour"]}D
                AND (kind = 'broker' OR per_hour < {t["min_ids_per_hour"] * PER_PARTITION}D * partitions)
            THEN 'contradicted'
            WHEN has_grown AND caused_oom THEN 'observed'
            WHEN has_grown AND NOT stopped AND from_arrivals AND sampled_once
                AND span < {LONG_SECONDS} THEN 'not visible'
            WHEN has_grown AND NOT stopped THEN 'observed'
            WHEN stopped AND {kept} AND (is_significant OR (has_grown
                AND growth_seconds >= {LONG_SECONDS})) THEN 'not visible'
            WHEN flat AND {kept} AND (is_large OR caused_oom) THEN 'not visible'
            WHEN stopped AND (sample_count >= 3 OR seconds_since_stop >= {A_DAY}) THEN 'contradicted'
            WHEN flat THEN 'contradicted'
            WHEN NOT has_grown AND (others_fill_heap OR is_small OR is_even) THEN 'contradicted'
            ELSE 'not visible' END
    """
    one_shot_share, few_records = t["one_shot_share"], t["few_records"]
    one_shot = f"""
        CASE WHEN kind = 'broker' THEN CASE WHEN grows_with_connections THEN 'contradicted'
                WHEN short_lived OR (has_grown
                    AND written_per_id <= {few_records}D) THEN 'observed' ELSE 'not visible' END
            WHEN transactional >= {one_shot_share}D * greatest(ids, composition.ids) THEN 'contradicted'
            WHEN single_batch >= {one_shot_share}D * composition.ids THEN 'observed'
            WHEN few_records >= {one_shot_share}D * composition.ids AND counts_grow
                AND growing = 'observed' THEN 'observed'
            WHEN single_batch >= {t["min_ids"]} AND single_batch >= {MIXED_SHARE}D * composition.ids
                AND has_grown THEN 'not visible'
            WHEN single_batch + greatest(ids - composition.ids, 0) < {one_shot_share}D * ids THEN 'contradicted'
            WHEN single_batch IS NOT NULL THEN 'not visible'
            WHEN records_per_id <= {few_records}D OR short_lived THEN 'observed'
            ELSE 'not visible' END
    """
    return {
        **_few_ids(t["min_ids"], t["min_ids_per_hour"]),
        "growth_states": f"SELECT *, {growing} AS growing FROM small_rows",
        "states": f"""
            SELECT *, {one_shot} AS one_shot, IF({kept} OR (caused_oom AND has_grown), 'observed',
                'contradicted') AS retained,
                CASE WHEN heap_full OR caused_oom THEN 'observed' WHEN heap_has_room
                    OR heap_percent < {NEGLIGIBLE_PERCENT} THEN 'contradicted'
                    ELSE 'not visible' END AS heap
            FROM growth_states
        """,
        "link_states": f"""
            SELECT *, IF(records_per_id <= {few_records}D, records_per_id, NULL) AS records_per_new_id,
                IF(written_per_id <= {few_records}D, written_per_id, NULL) AS written_per_new_id,
                coalesce(has_grown AND stopped AND growth_seconds >= {LONG_SECONDS}, false) AS long_lasting,
                coalesce(one_shot = 'observed' AND growing = 'not visible' AND from_arrivals AND sampled_once,
                    false) AS is_recent,
                coalesce(one_shot = 'observed' AND growing = 'observed' AND retained = 'observed', false) AS is_leak
            FROM states
        """,
    }
