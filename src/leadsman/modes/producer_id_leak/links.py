"""What the telemetry says of each link of the chain, for each topic and each broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.producer_id_leak.growth import PARTS
from leadsman.pipeline.shapes import table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

LONG = 6 * 3600
"""Seconds of growth that no deployment takes: where it has stopped, it was a leak and no burst."""

A_DAY = 86_400
"""Seconds without new ids after which one look may say that a burst is over: a nightly job would have come again."""

OF_PARTITION = 1 / PARTS
"""Share of the least rate that is enough on each partition that was looked at: topics have several, most not seen."""

TYPICAL = 0.5
"""Times as many ids as the partition that was looked at holds, that a broker's partitions hold on average: from here on
it is one like the others, and its rate is that of each."""

MIXED = 2.0
"""Times as many ids that wrote few records as such that wrote one batch, where both are of one kind of producer."""

STALE = 6 * 3600
"""Seconds between the last counts of two partitions of a topic, from which on their sum is only a least number."""

SOME = 0.1
"""Share of ids that sent once, beside a fleet: too many to be of the fleet, too few to be all."""

FREED = 1.5
"""Times as many ids that came as are held, from which on others were freed meanwhile."""

LITTLE = 1.0
"""Percent of a heap, with which ids do not fill it."""

STEADY = 1.25
"""Times as many connections at most as at least, where they stay as many: deployments and office hours move some."""

STEADY_SHARE = 0.8
"""Share of the time of growth in which connections were looked at."""

A_CONNECTION, CONNECTION_SECONDS = 1000, 3 * A_DAY
"""New ids for each connection in up to three days that no live producers have: one holds an entry for each partition
that it writes to, a few dozen, and a fleet that is deployed ten times makes some hundreds."""

NO_FLEET = 100_000
"""New ids a day, on one broker or topic, that no fleet of live producers makes."""

MANY_RISES = 3
"""Steps of growth from which it is no deployment or two."""

EVEN_RISES, EVEN_STEP = 5, 45_000
"""Steps of growth, and seconds of each at most, that no deployment once a day makes: 12 h and a half."""

IN_STEP = 0.5
"""Share of the growth of ids by which connections grew, from which on the ids are of producers that are connected."""

MEASURED = (
    "own, rises, steps, since, first, last, last_since, until, pause, seconds, grown, climbed, per_hour, per_day, "
    "next_look, slow, fast, grows, stops, looks"
)
"""What a topic keeps of each of its curves."""


def judged(frames: Mapping[str, DataFrame], thresholds: Mapping[str, float]) -> DataFrame:
    """Return one row a topic or broker with at least `least_ids` ids: its figures, and a state for each link.

    `frames` are counts, curves, heaps, weights and connections. Where several curves show growth, the one of the ids'
    own times says how fast, because what expires does not hide in it. `level`: as many expire as come.
    """
    return table(frames, _shapes(thresholds["least_ids"]) | _growth() | _lives() | _states(thresholds))


def _shapes(least: float) -> dict[str, str]:
    """Return the queries that put together what is known of each topic or broker."""
    curve = f"struct({MEASURED})"
    silent = "aggregate(slice(shape.arrivals, 1, 5), 0D, (sum, n) -> sum + n)"
    return {
        "drawn": f"SELECT capture, kind, who, collect_list({curve}) AS curves FROM curves GROUP BY capture, kind, who",
        "known": f"""
            SELECT c.*, coalesce(d.curves, array()) AS curves, shape.single AS single, shape.few AS few,
                shape.transactional AS transactional, {silent} AS idle,
                w.share, w.full, w.roomy, w.mean_ids, w.broker_parts,
                w.used_quote, w.matters, w.deadly, w.deaths, h.written,
                n.seen, n.since AS seen_since, n.until AS seen_until,
                n.low, n.middle, n.high, n.quotes AS connection_quotes
            FROM counts c LEFT JOIN drawn d ON c.capture = d.capture AND c.kind = d.kind AND c.who = d.who
                LEFT JOIN weights w ON c.capture = w.capture
                LEFT JOIN heaps h ON c.capture = h.capture AND c.who = h.who AND c.kind = 'broker'
                LEFT JOIN connections n ON c.capture = n.capture AND c.kind = n.kind
                    AND (c.kind = 'topic' OR c.who = n.who)
            WHERE c.ids >= {least} OR c.most >= {least}
        """,
    }


def _growth() -> dict[str, str]:
    """Return the queries that put the curves of each topic or broker side by side.

    Where the ids' own times are those of some partitions only, the rate is the highest of the curves that grow. They
    are those of single batches; ids that wrote a few more come as they do. `spread`: over how many times as many
    partitions as were looked at the ids come. An end that one curve shows is none where another still grew after it.
    Growth began no earlier than the latest of the steps with which curves began to rise that had been flat before.
    """
    ended = "c -> c.stops AND c.last IS NOT NULL AND NOT exists(curves, o -> coalesce(o.last_since >= c.last, false))"
    mixed = f"IF(few BETWEEN single AND {MIXED}D * single AND single > 0, few / single, 1D)"
    alike, of_own = f"IF(c.own, {mixed}, 1D)", f"IF(curve.own, {mixed}, 1D)"
    flat_before = "filter(curves, c -> NOT c.own AND c.first > c.since AND c.since <= earliest)"
    return {
        "compared": f"""
            SELECT *, array_max(transform(filter(curves, c -> c.grows), c -> struct(c.own, c.rises, c))).c AS curve,
                exists(curves, c -> c.grows AND NOT c.own) AS counted,
                get(array_sort(transform(filter(curves, {ended}), c -> struct(c.last, c.first, c.next_look))), 0)
                    AS ending,
                exists(curves, c -> NOT c.own AND c.looks >= 3 AND c.rises = 0) AS flat,
                exists(curves, c -> c.own AND c.grows) AS came,
                array_max(transform(filter(curves, c -> NOT c.own), c -> c.looks)) AS looks,
                array_min(transform(curves, c -> c.first)) AS earliest
            FROM known
        """,
        "timed": f"""
            SELECT *, round(IF(curve.own AND described_parts < partitions,
                    array_max(transform(filter(curves, c -> c.grows), c -> c.per_hour * {alike})),
                    curve.per_hour * {of_own})) AS per_hour,
                round(curve.per_day * {of_own}) AS per_day, round(curve.grown) AS grown,
                curve.slow / nullif(curve.per_hour, 0) AS slow, curve.fast / nullif(curve.per_hour, 0) AS fast,
                timestamp_millis(CAST(curve.last * 1000 AS BIGINT)) AS came_until,
                curve.own AS own, coalesce(looks, 1) < 2 AS seen_once, curve.rises AS rises,
                curve.steps AS steps, curve.last - curve.first AS span,
                timestamp_millis(CAST(coalesce(array_max(transform({flat_before}, c -> c.first)), curve.first) * 1000
                    AS BIGINT)) AS grew_since,
                round(IF(deadly, curve.climbed, curve.grown)) AS grown_most, curve IS NOT NULL AS grew,
                came AND (flat OR curve.grown >= {FREED}D * ids) AS level,
                ending IS NOT NULL AS stopped, timestamp_millis(CAST(ending.last * 1000 AS BIGINT)) AS stopped_at,
                timestamp_millis(CAST(ending.next_look * 1000 AS BIGINT)) AS stopped_by,
                unix_millis(ended) / 1000 - ending.last AS still, ending.last - ending.first AS lasted,
                written / nullif(curve.grown, 0) AS written_each,
                kind = 'topic' AND partitions > 1 AND unix_seconds(ended) - unix_seconds(oldest_look) >= {STALE}
                    AS stale,
                IF(mean_ids >= {TYPICAL}D * ids / partitions, broker_parts / partitions, 1D) AS spread
            FROM compared
        """,
    }


def _lives() -> dict[str, str]:
    """Return the queries for what the number of connections says of the new ids: whether live producers can have them.

    `short_lived`: connections stayed as many while ids came in numbers that so few live producers do not have, or,
    where nobody counted connections meanwhile, in numbers that no fleet has. `in_step`: connections grew as ids did.
    """
    watched = f"seen AND least(seen_until, curve.last) - greatest(seen_since, curve.first) >= {STEADY_SHARE}D * span"
    return {
        "watched": f"""
            SELECT *, coalesce({watched}, false) AS watched,
                grew AND (deadly OR NOT stopped) AND (rises >= {MANY_RISES} OR span >= {LONG}) AND grown_most > 0
                    AS sustained
            FROM timed
        """,
        "lived": f"""
            SELECT *, watched AND sustained AND high <= {STEADY}D * low
                    AND grown_most >= {A_CONNECTION}D * high * greatest(1D, span / {CONNECTION_SECONDS})
                    AS beside_connections,
                NOT watched AND sustained AND span >= {A_DAY} AND grown_most >= {NO_FLEET}D * span / {A_DAY}
                    AND rises >= {EVEN_RISES} AND rises >= steps / 2 AND span <= {EVEN_STEP}D * rises AS beyond_fleets,
                watched AND grew AND high > {STEADY}D * low AND grown < {A_CONNECTION}D * (high - low)
                    AND (high - low) / nullif(low, 0) >= {IN_STEP}D * grown / nullif(ids - grown, 0) AS in_step
            FROM watched
        """,
        "alive": """
            SELECT *, coalesce(beside_connections OR beyond_fleets, false) AS short_lived,
                IF(beside_connections, round(middle), NULL) AS connections,
                IF(beyond_fleets, grown_most, NULL) AS beyond,
                IF(beside_connections, grown_most, NULL) AS beside, IF(in_step, round(high), NULL) AS connections_grown
            FROM lived
        """,
    }


def _states(t: Mapping[str, float]) -> dict[str, str]:
    """Return the queries for the state of each link.

    What a look said of ids holds for those that it saw: of ids that came after it nothing is known.
    """
    kept = f"ids >= {t['freed_share']}D * most"
    growing = f"""
        CASE WHEN grew AND per_hour * greatest(coalesce(spread, 1D), 1D) < {t["least_per_hour"]}D
                AND (kind = 'broker' OR per_hour < {t["least_per_hour"] * OF_PARTITION}D * partitions)
            THEN 'contradicted'
            WHEN grew AND deadly THEN 'observed'
            WHEN grew AND NOT stopped AND own AND seen_once AND span < {LONG} THEN 'not visible'
            WHEN grew AND NOT stopped THEN 'observed'
            WHEN stopped AND {kept} AND (matters OR (grew AND lasted >= {LONG})) THEN 'not visible'
            WHEN flat AND {kept} AND (matters OR deadly) THEN 'not visible'
            WHEN stopped AND (looks >= 3 OR still >= {A_DAY}) THEN 'contradicted'
            WHEN flat THEN 'contradicted'
            ELSE 'not visible' END
    """
    share, few = t["one_shot_share"], t["few_records"]
    one_shot = f"""
        CASE WHEN kind = 'broker' THEN CASE WHEN in_step THEN 'contradicted'
                WHEN short_lived OR (grew AND written_each <= {few}D) THEN 'observed' ELSE 'not visible' END
            WHEN transactional >= {share}D * greatest(ids, shape.ids) THEN 'contradicted'
            WHEN single >= {share}D * shape.ids THEN 'observed'
            WHEN few >= {share}D * shape.ids AND counted AND growing = 'observed' THEN 'observed'
            WHEN single >= {t["least_ids"]} AND single >= {SOME}D * shape.ids AND grew THEN 'not visible'
            WHEN single + greatest(ids - shape.ids, 0) < {share}D * ids THEN 'contradicted'
            WHEN single IS NOT NULL THEN 'not visible'
            WHEN records_each <= {few}D OR short_lived THEN 'observed'
            ELSE 'not visible' END
    """
    return {
        "first": f"SELECT *, {growing} AS growing FROM alive",
        "second": f"""
            SELECT *, {one_shot} AS one_shot, IF({kept} OR (deadly AND grew), 'observed', 'contradicted') AS retained,
                CASE WHEN full OR deadly THEN 'observed' WHEN roomy OR share < {LITTLE} THEN 'contradicted'
                    ELSE 'not visible' END AS heap
            FROM first
        """,
        "last": f"""
            SELECT *, IF(records_each <= {few}D, records_each, NULL) AS records_an_id,
                IF(written_each <= {few}D, written_each, NULL) AS written_an_id,
                coalesce(grew AND stopped AND lasted >= {LONG}, false) AS lasting,
                coalesce(one_shot = 'observed' AND growing = 'not visible' AND own AND seen_once, false) AS young,
                coalesce(one_shot = 'observed' AND growing = 'observed' AND retained = 'observed', false) AS leaks
            FROM second
        """,
    }
