"""From samples to growth: whether new producer ids kept coming, until when, and how fast.

Two kinds of data show growth: the counts of several samples, and the times at which the ids themselves sent (arrivals).
Each becomes a curve of the number of ids over time. Every step of a curve is compared with a least rate. So neither
samples far apart, nor a very old sample, nor a restart of a broker, nor one large step decides alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import run_steps, sql_literals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STEPS_KEPT = 48
"""Steps of a curve: over three days one in 90 minutes. More steps cost time and show no more."""

DIP_SAMPLES = 3
"""Samples after thinning: a count that recovers within so many samples was a broker that restarted and loaded its
ids."""

ARRIVALS = "arrivals"
"""The `via` of a curve that is made of the times at which the ids sent."""

MIN_PARTITIONS = 3
"""New ids spread over at least so many partitions, so each partition gets only this fraction of the least rate."""

BREAK, DAILY = 4 * 3600, (18 * 3600, 30 * 3600)
"""Seconds without new ids that separate one working day, or one run of a nightly job, from the next; and how far apart
these begin."""

BY_PARTITION = "PARTITION BY capture, kind, entity, via, part"
BY_CURVE = "PARTITION BY capture, kind, entity, via"

BETWEEN = "s.b.v + (s.a.v - s.b.v) * (g.t - s.b.t) / nullif(s.a.t - s.b.t, 0)"
AT_GRID = (
    "get(transform(array(struct(try_element_at(filter(points, p -> p.t <= g.t), -1) AS b, "
    "get(filter(points, p -> p.t > g.t), 0) AS a)), "
    f"s -> CASE WHEN s.b IS NULL THEN s.a.v WHEN s.a IS NULL THEN s.b.v ELSE {BETWEEN} END), 0)"
)
"""The number of ids of a partition at the time `g.t`, interpolated between its samples. Before the first sample the
number is that of the first sample, so that a partition that is sampled late does not look like growth."""

DISTANCE_FROM_NEIGHBOURS = (
    "greatest(0D, get(counted, i) - greatest(get(counted, i - 1), get(counted, i + 1)),"
    " least(get(counted, i - 1), get(counted, i + 1)) - get(counted, i))"
)
"""How far a count lies outside its two neighbours. Where a number only grows, falls or makes a step, that is 0."""

DEVIATIONS = (
    "IF(size(counted) < 3, CAST(array() AS array<double>),"
    " transform(sequence(1, size(counted) - 2),"
    f" i -> coalesce({DISTANCE_FROM_NEIGHBOURS} / nullif(get(counted, i), 0), 0D)))"
)
ALL_DEVIATIONS = "array_sort(flatten(collect_list(deviations)))"
UPPER_QUARTILE = f"coalesce(get({ALL_DEVIATIONS}, CAST(floor(0.75D * size({ALL_DEVIATIONS})) AS INT)), 0D)"
"""The fluctuation of counts, as a share of them: the upper quartile, so that restarts of brokers do not matter."""

FLUCTUATIONS_IN_BAND = 6
"""Counts that only fluctuate stay within a band of so many times the fluctuation: six standard deviations of a normal
distribution. The band is a share of the curve: the sum of several partitions fluctuates less than each alone."""

FEW_SAMPLES, STANDARD_DEVIATIONS = 5, 3
"""Fewer samples do not show how much a count fluctuates. Then the band is so many standard deviations of the number of
producers that come and go independently: one is the square root of the number."""

SMOOTHED_CURVE = (
    "aggregate(slice(summed, 2, size(summed)), slice(summed, 1, 1), (curve, p) -> concat(curve, array(struct(p.t AS t,"
    " IF(abs(p.v - try_element_at(curve, -1).v) > band * greatest(p.v, try_element_at(curve, -1).v), p.v,"
    " try_element_at(curve, -1).v) AS v))))"
)
"""A curve that moves to a count only where that is further away than the counts fluctuate. So a number that only
fluctuates does not move, and slow growth moves as soon as it exceeds the fluctuation."""

LATE_SMALL_STEP = (
    "coalesce(s.d <= 1.5D * band * (s.v + s.d) AND s.d < 0.1D * (s.v - get(curve, 0).v)"
    " AND s.since - get(risen, i - 1).until > get(risen, i - 1).until - get(risen, 0).since, false)"
)
"""A small step, hardly more than the fluctuation, long after all growth: a curve that stopped just below the level
reaches it once more."""

COUNTS = {
    "samples_by_time": "SELECT capture, kind, entity, via, part, at, max(value) AS value FROM samples"
    " WHERE at IS NOT NULL GROUP BY capture, kind, entity, via, part, at",
    "numbered_samples": f"SELECT *, row_number() OVER ({BY_PARTITION} ORDER BY at) - 1 AS position,"
    f" count(*) OVER ({BY_PARTITION}) - 1 AS last_position FROM samples_by_time",
    "thinned_samples": f"SELECT * FROM numbered_samples WHERE last_position <= {STEPS_KEPT} OR position = 0"
    f" OR floor(position * {STEPS_KEPT} / nullif(last_position, 0))"
    f" > floor((position - 1) * {STEPS_KEPT} / nullif(last_position, 0))",
    "samples_with_neighbours": "SELECT *,"
    f" max(value) OVER ({BY_PARTITION} ORDER BY at ROWS BETWEEN {DIP_SAMPLES} PRECEDING AND 1 PRECEDING) AS before,"
    f" max(value) OVER ({BY_PARTITION} ORDER BY at ROWS BETWEEN 1 FOLLOWING AND {DIP_SAMPLES} FOLLOWING) AS after"
    " FROM thinned_samples",
    "partition_points": "SELECT capture, kind, entity, via, part, avg(value) AS mean,"
    " array_sort(collect_list(struct(unix_millis(at) / 1000D AS t,"
    " IF(before IS NULL OR after IS NULL, value, greatest(value, least(before, after))) AS v))) AS points,"
    " transform(array_sort(collect_list(struct(at, value))), s -> s.value) AS counted"
    " FROM samples_with_neighbours GROUP BY capture, kind, entity, via, part",
    "points_with_deviations": f"SELECT *, {DEVIATIONS} AS deviations FROM partition_points",
    "fluctuations": "SELECT capture, kind, entity, via, sum(mean) AS level,"
    f" {UPPER_QUARTILE} * sqrt(sum(mean * mean)) / nullif(sum(mean), 0) AS fluctuation"
    " FROM points_with_deviations GROUP BY capture, kind, entity, via",
    "gridded_points": "SELECT capture, kind, entity, via, points,"
    f" max_by(points, struct(size(points), get(points, 0).t, part)) OVER ({BY_CURVE}) AS best"
    " FROM partition_points",
    "interpolated_points": "SELECT capture, kind, entity, via,"
    f" greatest({FLUCTUATIONS_IN_BAND}D * coalesce(fluctuation, 0D), IF(size(best) < {FEW_SAMPLES} AND level > 0,"
    f" {STANDARD_DEVIATIONS}D / nullif(sqrt(level), 0), 0D)) AS band,"
    f" posexplode(transform(best, g -> struct(g.t, {AT_GRID} AS v)))"
    " FROM gridded_points LEFT JOIN fluctuations USING (capture, kind, entity, via)",
    "summed_points": "SELECT capture, kind, entity, via, max(band) AS band,"
    " struct(first(col.t) AS t, sum(col.v) AS v) AS point"
    " FROM interpolated_points GROUP BY capture, kind, entity, via, pos",
    "counted_curves": "SELECT capture, kind, entity, via, max(band) AS band, array_sort(collect_list(point)) AS summed"
    " FROM summed_points GROUP BY capture, kind, entity, via",
    "count_curves": f"SELECT capture, kind, entity, via, 0D AS width, band, {SMOOTHED_CURVE} AS curve"
    " FROM counted_curves",
}
"""Curves of counts: the sum over all partitions, at the times of the partition with the most samples, without the
counts' own fluctuation."""

BINNED = "capture, kind, entity, width, last_seen"

TIMES = {
    "binned_samples": "SELECT capture, kind, entity, via, part, at, value, CAST(get(split(arrival_bins, ':'), 0)"
    " AS BIGINT) AS w,"
    " CAST(get(split(arrival_bins, ':'), 1) AS BIGINT) AS first, split(get(split(arrival_bins, ':'), 2), ',')"
    " AS numbers"
    " FROM samples WHERE arrival_bins IS NOT NULL",
    "binned_with_width": "SELECT *, max_by(w, value) OVER (PARTITION BY capture, kind, entity) AS width,"
    " max(at) OVER (PARTITION BY capture, kind, entity) AS last_seen FROM binned_samples",
    "exploded_bins": "SELECT *, posexplode(numbers) FROM binned_with_width",
    "ids_by_sample": "SELECT capture, kind, entity, width, last_seen, part, via, at,"
    " floor(((first + pos + 1) * w - 1) / nullif(width, 0)) AS bin, sum(CAST(col AS DOUBLE)) AS n"
    " FROM exploded_bins WHERE col <> '0' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9",
    "ids_by_partition": f"SELECT {BINNED}, part, bin, max(n) AS n FROM ids_by_sample GROUP BY {BINNED}, part, bin",
    "ids_by_bin": f"SELECT {BINNED}, bin, sum(n) AS n FROM ids_by_partition GROUP BY {BINNED}, bin",
    "tiled": f"SELECT *, ntile({STEPS_KEPT}) OVER (PARTITION BY capture, kind, entity ORDER BY bin) AS tile"
    " FROM ids_by_bin",
    "tiles": f"SELECT {BINNED}, tile, min(bin) AS bin, max(bin) AS until, sum(n) AS n"
    f" FROM tiled GROUP BY {BINNED}, tile",
    "summed_tiles": "SELECT *, sum(n) OVER (PARTITION BY capture, kind, entity ORDER BY tile) AS v FROM tiles",
    "tile_lists": f"SELECT {BINNED}, array_sort(collect_list(struct(tile, bin, until, n, v))) AS s"
    f" FROM summed_tiles GROUP BY {BINNED}",
    "curve_edges": "SELECT *, flatten(transform(s, s -> array(struct(s.bin * width / 1000D AS t, s.v - s.n AS v),"
    " struct((s.until + 1) * width / 1000D AS t, s.v AS v)))) AS edges FROM tile_lists",
    "arrival_curves": f"SELECT capture, kind, entity, '{ARRIVALS}' AS via, width / 1000D AS width, 0D AS band,"
    " concat(edges, array(struct(greatest(unix_millis(last_seen) / 1000D, try_element_at(edges, -1).t) AS t,"
    " try_element_at(edges, -1).v AS v))) AS curve FROM curve_edges",
}
"""Curves of the arrivals of single-batch ids. Ids in several samples count once; ids that expired between samples count
too."""


OUTAGES = f"""
    SELECT capture, collect_list(struct(since, until)) AS outages FROM (
        SELECT capture, name, unix_millis(at) / 1000D AS since, unix_millis(lead(at) OVER w) / 1000D AS until
        FROM events WHERE name IN ({sql_literals(names.BROKER_STOPPING, names.BROKER_STARTED)}) AND at IS NOT NULL
        WINDOW w AS (PARTITION BY capture, subject ORDER BY at)
    ) WHERE name = '{names.BROKER_STOPPING}' GROUP BY capture
"""
"""When brokers were stopped, in seconds since 1970; `until` is null where a broker did not start again."""


def growth_curves(
    samples: DataFrame, events: DataFrame, *, min_ids_per_hour: float, short_span_seconds: float
) -> DataFrame:
    """Return one row for each curve, with its growth. Times are seconds since 1970.

    While a broker is stopped it gives out no ids: such a pause is no end of the growth.

    `is_growing`: the curve rose in several steps, over a good part of the samples or of the time. `first` and `last`
    are the ends of that growth, `last_since` the start of its last step, `longest_pause` the longest time between two
    steps. `slopes` are rates per hour over half of the time from `first` to `last`, sorted.
    """
    both = {"all_curves": "SELECT * FROM count_curves UNION ALL SELECT * FROM arrival_curves"}
    return run_steps(
        {"samples": samples, "events": events},
        {"outages": OUTAGES}
        | COUNTS
        | TIMES
        | both
        | _steps(min_ids_per_hour)
        | _measures()
        | _growth_states(short_span_seconds),
    )


def _steps(min_ids_per_hour: float) -> dict[str, str]:
    """Return the queries for the steps of each curve, and for those in which it rose.

    A step needs a quarter of the least rate, because it can contain one hour of growth and three hours of night. A step
    of arrivals needs less, because a sampled partition gets only its fraction of the new ids.
    """
    enough = f"IF(via = '{ARRIVALS}', {min_ids_per_hour / 4 / MIN_PARTITIONS}D, {min_ids_per_hour / 4}D)"
    rising = f"s.d > 0 AND s.d / nullif(s.until - s.since, 0) * 3600 >= {enough}"
    return {
        "curve_steps": "SELECT *, filter(transform(sequence(0, greatest(size(curve) - 2, 0)), i ->"
        " struct(get(curve, i).t AS since, get(curve, i + 1).t AS until, get(curve, i).v AS v,"
        " get(curve, i + 1).v - get(curve, i).v AS d)),"
        " s -> s.until > s.since) AS steps FROM all_curves",
        "all_rising_steps": f"SELECT *, filter(steps, s -> {rising}) AS risen FROM curve_steps",
        "rising_steps": f"SELECT *, filter(risen, (s, i) -> NOT {LATE_SMALL_STEP}) AS rising FROM all_rising_steps",
    }


def _measures() -> dict[str, str]:
    """Return the queries for when and how fast a curve grew."""
    pauses = (
        "transform(sequence(0, greatest(size(rising) - 2, 0)), i -> get(rising, i + 1).since - get(rising, i).until)"
    )
    slope = (
        "(get(growth, i + half).v - get(growth, i).v) / nullif(get(growth, i + half).t - get(growth, i).t, 0) * 3600"
    )
    last = "try_element_at(growth, -1)"
    mean = f"({last}.v - get(growth, 0).v) / nullif({last}.t - get(growth, 0).t, 0) * 3600"
    return {
        "curve_measures": "SELECT *, get(rising, 0).since AS first, try_element_at(rising, -1).until AS last,"
        " try_element_at(rising, -1).since AS last_since, try_element_at(curve, -1).t AS until, size(steps) + 1"
        " AS sample_count,"
        f" IF(size(rising) < 2, 0D, array_max({pauses})) AS longest_pause,"
        " aggregate(rising, 0D, (sum, s) -> sum + s.until - s.since) AS rising_seconds,"
        " try_element_at(curve, -1).v - get(curve, 0).v AS ids_added,"
        " array_max(transform(curve, p -> p.v)) - get(curve, 0).v AS climb,"
        " get(filter(steps, s -> s.since >= try_element_at(rising, -1).until), 0).until AS next_sample_at,"
        f" filter(transform(rising, (s, i) -> IF(i = 0 OR s.since - get(rising, i - 1).until >= {BREAK}, s.since,"
        " NULL)),"
        " t -> t IS NOT NULL) AS begins FROM rising_steps",
        "growth_points": "SELECT *, filter(curve, p -> p.t >= first AND p.t <= last) AS growth FROM curve_measures",
        "half_windows": "SELECT *, greatest(1, size(growth) DIV 2) AS half FROM growth_points",
        "curve_slopes": "SELECT *, array_sort(array_compact(transform("
        f"sequence(0, greatest(size(growth) - 1 - half, 0)), i -> {slope}))) AS slopes,"
        f" IF(size(growth) < 2, NULL, {mean}) AS mean"
        " FROM half_windows",
    }


def _growth_states(short: float) -> dict[str, str]:
    """Return the queries for the rates of a curve, and whether it grows or has stopped."""
    quartile = "get(slopes, CAST(floor(size(slopes) * {}) AS INT))"
    from_arrivals = f"via = '{ARRIVALS}'"
    stopped = (
        "aggregate(coalesce(outages, array()), 0D, (seconds, o) -> "
        "seconds + greatest(0D, least(until, coalesce(o.until, until)) - greatest(last, o.since)))"
    )
    pause = f"(until - last - {stopped})"
    period = "(try_element_at(begins, -1) - get(begins, 0)) / nullif(size(begins) - 1, 0)"
    daily = f"IF(size(begins) < 2, false, {period} BETWEEN {DAILY[0]} AND {DAILY[1]})"
    return {
        "daily_rates": f"SELECT *,"
        f" IF({daily}, climb / nullif(size(begins), 0) * 86400D / nullif({period}, 0), NULL) AS per_day"
        " FROM curve_slopes",
        "hourly_rates": f"SELECT *, greatest(coalesce(per_day / 24, IF({quartile.format(0.5)} > 0,"
        f" {quartile.format(0.5)},"
        f" mean)), 0D) AS per_hour, {quartile.format(0.25)} AS slow_rate, {quartile.format(0.75)} AS fast_rate"
        " FROM daily_rates",
        "evaluated_curves": f"""
            SELECT capture, kind, entity, via, {from_arrivals} AS from_arrivals, width, sample_count,
                size(rising) AS rises, size(steps) AS steps,
                get(curve, 0).t AS since, first, last, last_since, until, longest_pause, rising_seconds, ids_added,
                    climb, per_hour,
                {LEAST_EVEN_RISES} AS even_rises,
                per_day, IF({from_arrivals}, NULL, next_sample_at) AS next_sample_at, slow_rate, fast_rate,
                IF({from_arrivals}, size(rising) >= {ARRIVAL_RISES} AND rising_seconds >= {short}D,
                    sample_count >= {MIN_SAMPLES}
                    AND size(rising) >= 2 AND (rising_seconds >= {short}D
                        OR size(rising) >= {RISING_SHARE}D * size(steps))) AS is_growing,
                {pause} > {END_FACTOR}D * longest_pause AND IF({from_arrivals},
                    {pause} > {END_WIDTHS} * width,
                    size(filter(steps, s -> s.since >= last)) >= {MIN_SAMPLES}
                    AND {pause} > {END_SHARE}D * (last - first)) AS has_stopped
            FROM hourly_rates LEFT JOIN outages USING (capture)
        """,
    }


MANY_RISES = 10
"""More steps of growth than the deployments of a few days make."""

CLIMB_IN_BANDS = "climb / nullif(band * array_max(transform(curve, p -> p.v)), 0)"
LEAST_EVEN_RISES = (
    "least(size(steps) / 2, "
    f"IF(band > 0, greatest({MANY_RISES}D, coalesce({CLIMB_IN_BANDS} / 2, {MANY_RISES}D)), size(steps) / 2))"
)
"""Growth that goes on all the time rises in half of the steps, or half as often as it can exceed the fluctuation."""

MIN_SAMPLES = 3
"""Samples that are needed to see whether growth continues, and steps without growth that are needed to see its end."""

ARRIVAL_RISES = 3
"""In at least so many of the periods (`STEPS_KEPT` at most) new ids must have come."""

RISING_SHARE = 0.2
"""Share of the steps that must rise where all steps together are short, as in the lab."""

END_FACTOR = 1.5
"""Growth has ended after a pause that is so much longer than the longest before: office hours and nightly jobs pause
every day."""

END_WIDTHS = 3
END_SHARE = 0.05
"""Growth has ended only where no new ids came for longer than the resolution of the times."""
