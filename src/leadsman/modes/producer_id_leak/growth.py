"""From looks to growth: whether ids kept coming, until when, and how fast; from looks at any times.

Two things show it: counts of several looks, and the times at which the ids themselves sent. Each becomes a curve of
how many there were by when. A curve's steps are compared one by one with a least rate, so that neither looks far apart
nor a look from long ago, a broker's restart or one large step decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.pipeline.shapes import table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STEPS_KEPT = 48
"""Steps of a curve: of three days one in 90 minutes. More cost time and show no more."""

DIP = 3
"""Looks, after thinning: a count that is back within as many was a broker that started again, and read its ids."""

OWN = "own times"
"""The `via` of a curve that is made of the ids' own times."""

PARTS = 3
"""Partitions at least that new ids spread over: one of them gets so much less of the least rate."""

BREAK, DAILY = 4 * 3600, (18 * 3600, 30 * 3600)
"""Seconds without new ids that part one working day, or one run of a nightly job, from the next; how far apart they
begin."""

OF_PART = "PARTITION BY capture, kind, who, via, part"
OF_CURVE = "PARTITION BY capture, kind, who, via"

BETWEEN = "s.b.v + (s.a.v - s.b.v) * (g.t - s.b.t) / (s.a.t - s.b.t)"
AT_GRID = (
    "get(transform(array(struct(try_element_at(filter(points, p -> p.t <= g.t), -1) AS b, "
    "get(filter(points, p -> p.t > g.t), 0) AS a)), "
    f"s -> CASE WHEN s.b IS NULL THEN s.a.v WHEN s.a IS NULL THEN s.b.v ELSE {BETWEEN} END), 0)"
)
"""What a partition held at the time `g.t`, between its own looks; before its first one no less, so that a partition
that is first seen late is no growth."""

COUNTS = {
    "once": "SELECT capture, kind, who, via, part, at, max(value) AS value FROM looks"
    " WHERE at IS NOT NULL GROUP BY capture, kind, who, via, part, at",
    "numbered": f"SELECT *, row_number() OVER ({OF_PART} ORDER BY at) - 1 AS place,"
    f" count(*) OVER ({OF_PART}) - 1 AS last_place FROM once",
    "thinned": f"SELECT * FROM numbered WHERE last_place <= {STEPS_KEPT} OR place = 0"
    f" OR floor(place * {STEPS_KEPT} / nullif(last_place, 0))"
    f" > floor((place - 1) * {STEPS_KEPT} / nullif(last_place, 0))",
    "beside": "SELECT *,"
    f" max(value) OVER ({OF_PART} ORDER BY at ROWS BETWEEN {DIP} PRECEDING AND 1 PRECEDING) AS before,"
    f" max(value) OVER ({OF_PART} ORDER BY at ROWS BETWEEN 1 FOLLOWING AND {DIP} FOLLOWING) AS after FROM thinned",
    "parts": "SELECT capture, kind, who, via, part, array_sort(collect_list(struct(unix_millis(at) / 1000D AS t,"
    " IF(before IS NULL OR after IS NULL, value, greatest(value, least(before, after))) AS v))) AS points"
    " FROM beside GROUP BY capture, kind, who, via, part",
    "gridded": "SELECT *,"
    f" max_by(points, struct(size(points), get(points, 0).t, part)) OVER ({OF_CURVE}) AS best FROM parts",
    "valued": f"SELECT capture, kind, who, via, posexplode(transform(best, g -> struct(g.t, {AT_GRID} AS v)))"
    " FROM gridded",
    "summed": "SELECT capture, kind, who, via, struct(first(col.t) AS t, sum(col.v) AS v) AS point"
    " FROM valued GROUP BY capture, kind, who, via, pos",
    "counted": "SELECT capture, kind, who, via, 0D AS width, array_sort(collect_list(point)) AS curve"
    " FROM summed GROUP BY capture, kind, who, via",
}
"""Curves of counts: at the times of the partition that was looked at most often, all partitions together."""

BINNED = "capture, kind, who, width, ended"

TIMES = {
    "binned": "SELECT capture, kind, who, via, part, at, value, CAST(get(split(bins, ':'), 0) AS BIGINT) AS w,"
    " CAST(get(split(bins, ':'), 1) AS BIGINT) AS first, split(get(split(bins, ':'), 2), ',') AS numbers"
    " FROM looks WHERE bins IS NOT NULL",
    "wide": "SELECT *, max_by(w, value) OVER (PARTITION BY capture, kind, who) AS width,"
    " max(at) OVER (PARTITION BY capture, kind, who) AS ended FROM binned",
    "spread": "SELECT *, posexplode(numbers) FROM wide",
    "by_look": "SELECT capture, kind, who, width, ended, part, via, at,"
    " floor(((first + pos + 1) * w - 1) / width) AS bin, sum(CAST(col AS DOUBLE)) AS n"
    " FROM spread WHERE col <> '0' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9",
    "by_part": f"SELECT {BINNED}, part, bin, max(n) AS n FROM by_look GROUP BY {BINNED}, part, bin",
    "by_bin": f"SELECT {BINNED}, bin, sum(n) AS n FROM by_part GROUP BY {BINNED}, bin",
    "tiled": f"SELECT *, ntile({STEPS_KEPT}) OVER (PARTITION BY capture, kind, who ORDER BY bin) AS tile FROM by_bin",
    "tiles": f"SELECT {BINNED}, tile, min(bin) AS bin, max(bin) AS until, sum(n) AS n"
    f" FROM tiled GROUP BY {BINNED}, tile",
    "summed_tiles": "SELECT *, sum(n) OVER (PARTITION BY capture, kind, who ORDER BY tile) AS v FROM tiles",
    "listed": f"SELECT {BINNED}, array_sort(collect_list(struct(tile, bin, until, n, v))) AS s"
    f" FROM summed_tiles GROUP BY {BINNED}",
    "edges": "SELECT *, flatten(transform(s, s -> array(struct(s.bin * width / 1000D AS t, s.v - s.n AS v),"
    " struct((s.until + 1) * width / 1000D AS t, s.v AS v)))) AS edges FROM listed",
    "timed": f"SELECT capture, kind, who, '{OWN}' AS via, width / 1000D AS width, concat(edges,"
    " array(struct(greatest(unix_millis(ended) / 1000D, element_at(edges, -1).t) AS t, element_at(edges, -1).v AS v)))"
    " AS curve FROM edges",
}
"""Curves of the single ids' own times. What several looks saw at one time counts once; what expired between is kept."""


def curves_of(looks: DataFrame, *, least_per_hour: float, short_span_seconds: float) -> DataFrame:
    """Return one row a curve: how it grew. Times are seconds since 1970.

    `grows`: it rose in several steps, over a good part of the looks or of the time. `first` and `last` are the ends of
    that, `last_since` the beginning of its last step, `pause` the longest time between two steps. `slopes` are rates
    an hour over half of the time from `first` to `last`, sorted.
    """
    both = {"every": "SELECT * FROM counted UNION ALL SELECT * FROM timed"}
    return table(
        {"looks": looks}, COUNTS | TIMES | both | _steps(least_per_hour) | _measures() | _grows(short_span_seconds)
    )


def _steps(least_per_hour: float) -> dict[str, str]:
    """Return the queries for the steps of each curve, and those in which it grew.

    A quarter of the least rate, because a step can be one good hour and three of the night; of the ids' own times less,
    because the partition that somebody looked at gets only its part of them.
    """
    enough = f"IF(via = '{OWN}', {least_per_hour / 4 / PARTS}D, {least_per_hour / 4}D)"
    rose = f"s.d > 0 AND s.d / (s.until - s.since) * 3600 >= {enough}"
    return {
        "stepped": "SELECT *, filter(transform(sequence(0, greatest(size(curve) - 2, 0)), i ->"
        " struct(get(curve, i).t AS since, get(curve, i + 1).t AS until, get(curve, i + 1).v - get(curve, i).v AS d)),"
        " s -> s.until > s.since) AS steps FROM every",
        "rising": f"SELECT *, filter(steps, s -> {rose}) AS rose FROM stepped",
    }


def _measures() -> dict[str, str]:
    """Return the queries for when and how fast a curve grew."""
    pauses = "transform(sequence(0, greatest(size(rose) - 2, 0)), i -> get(rose, i + 1).since - get(rose, i).until)"
    slope = "(get(later, i + half).v - get(later, i).v) / nullif(get(later, i + half).t - get(later, i).t, 0) * 3600"
    mean = "(element_at(later, -1).v - later[0].v) / nullif(element_at(later, -1).t - later[0].t, 0) * 3600"
    return {
        "measured": "SELECT *, get(rose, 0).since AS first, try_element_at(rose, -1).until AS last,"
        " try_element_at(rose, -1).since AS last_since, element_at(curve, -1).t AS until, size(steps) + 1 AS looks,"
        f" IF(size(rose) < 2, 0D, array_max({pauses})) AS pause,"
        " aggregate(rose, 0D, (sum, s) -> sum + s.until - s.since) AS seconds,"
        " element_at(curve, -1).v - curve[0].v AS grown,"
        " array_max(transform(curve, p -> p.v)) - curve[0].v AS climbed,"
        " get(filter(steps, s -> s.since >= try_element_at(rose, -1).until), 0).until AS next_look,"
        f" filter(transform(rose, (s, i) -> IF(i = 0 OR s.since - get(rose, i - 1).until >= {BREAK}, s.since, NULL)),"
        " t -> t IS NOT NULL) AS begins FROM rising",
        "later": "SELECT *, filter(curve, p -> p.t >= first AND p.t <= last) AS later FROM measured",
        "halved": "SELECT *, greatest(1, size(later) DIV 2) AS half FROM later",
        "sloped": "SELECT *, array_sort(array_compact(transform("
        f"sequence(0, greatest(size(later) - 1 - half, 0)), i -> {slope}))) AS slopes,"
        f" IF(size(later) < 2, NULL, {mean}) AS mean"
        " FROM halved",
    }


def _grows(short: float) -> dict[str, str]:
    """Return the queries for what a curve amounts to."""
    quartile = "get(slopes, CAST(floor(size(slopes) * {}) AS INT))"
    own = f"via = '{OWN}'"
    period = "(element_at(begins, -1) - begins[0]) / (size(begins) - 1)"
    daily = f"IF(size(begins) < 2, false, {period} BETWEEN {DAILY[0]} AND {DAILY[1]})"
    return {
        "paced": f"SELECT *, IF({daily}, climbed / size(begins) * 86400D / ({period}), NULL) AS per_day FROM sloped",
        "rated": f"SELECT *, greatest(coalesce(per_day / 24, IF({quartile.format(0.5)} > 0, {quartile.format(0.5)},"
        f" mean)), 0D) AS per_hour, {quartile.format(0.25)} AS slow, {quartile.format(0.75)} AS fast FROM paced",
        "judged": f"""
            SELECT capture, kind, who, via, {own} AS own, width, looks, size(rose) AS rises, size(steps) AS steps,
                get(curve, 0).t AS since, first, last, last_since, until, pause, seconds, grown, climbed, per_hour,
                per_day, IF({own}, NULL, next_look) AS next_look, slow, fast,
                IF({own}, size(rose) >= {OWN_RISES} AND seconds >= {short}D, looks >= {LOOKS}
                    AND size(rose) >= 2 AND (seconds >= {short}D OR size(rose) >= {OF_LOOKS}D * size(steps))) AS grows,
                until - last > {LONGER}D * pause AND IF({own}, until - last > {WIDTHS} * width,
                    size(filter(steps, s -> s.since >= last)) >= {LOOKS}
                    AND until - last > {OF_SPAN}D * (last - first)) AS stops
            FROM rated
        """,
    }


LOOKS = 3
"""Looks from which it can be seen whether growth goes on; and steps without any by which it is seen to have ended."""

OWN_RISES = 3
"""Stretches of time in which ids came, of 32."""

OF_LOOKS = 0.2
"""Share of the steps that bring more, where all of them together are short: in a lab, or in a look at one minute."""

LONGER = 1.5
"""A pause so much longer than the longest before it is an end: office hours and nightly jobs pause every day."""

WIDTHS = 3
OF_SPAN = 0.05
"""An end is seen only where nothing came for longer than the times are exact."""
