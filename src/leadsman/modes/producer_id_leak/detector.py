"""How a leak of producer ids shows in the telemetry.

Each topic is judged by what its ids are (one batch and silence, or a fleet that sends on) and by when they came (all
the time, or once). One census can say both; where there are several, their growth must agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.producer_id_leak.counts import TENTHS, topics_of
from leadsman.modes.producer_id_leak.eras import JAVA_BYTES
from leadsman.modes.producer_id_leak.heaps import captures_of, heaps_of
from leadsman.modes.producer_id_leak.values import points_of
from leadsman.pipeline.shapes import EVIDENCE, Detection, accounted, columns, first_lines, map_of, observations, table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOPICS_NAMED = 5
LATELY = 3
"""Tenths of the time in which some ids must have come, or it is over."""

SERIES = 3
"""Counts at different times from which it can be seen whether growth goes on."""

WHERE_ANY = (
    "single",
    "few",
    "transactional",
    "tenths",
    "span",
    "grown",
    "per_hour",
    "records_an_id",
    "idle",
    "taken",
    "held_bytes",
    "limit",
    "share",
    "live",
    "bytes_an_hour",
    "until_full_low",
    "until_full_high",
    "exhausted",
    "fulls",
    "gc_seconds",
    "entries",
    "plateau_bytes",
    "partitions",
)  # fmt: skip - a list of names
"""Figures that are left out where they are 0, and the sentences about them with them."""


def detect(
    events: DataFrame,
    *,
    least_ids: int = 50,
    least_per_hour: float = 60.0,
    one_shot_share: float = 0.5,
    few_records: float = 10.0,
    least_tenths: int = 6,
    short_span_seconds: float = 600.0,
    least_half: float = 0.1,
    freed_share: float = 0.5,
) -> Detection:
    """Return the observations of every link for each topic that holds many ids, or for a heap that nobody explains.

    least_ids: fewer ids than this are a handful of services, whatever they do with them.
    least_per_hour: one producer a minute is what a cron job makes; brokers live with it for years.
    one_shot_share: of a leak's ids nearly all sent one batch (measured: 18,246 of 18,246); of a fleet's few (8 of 578).
    few_records: an id that sent no more than this was made for one piece of work.
    least_tenths: a leak fills all tenths of the time from its oldest id to now; a burst or a fleet one or two.
    short_span_seconds: in a shorter time a deployment looks like a leak: then the count must be seen to grow on.
    least_half: first half and last quarter of the time must each bring this share of the growth, or it was a burst.
    freed_share: where fewer than this share of the most ids are left, brokers do free them.
    """
    topics = _judged(
        topics_of(events).where(f"ids >= {least_ids}"),
        one_shot=one_shot_share,
        few=few_records,
        tenths=least_tenths,
        short=short_span_seconds,
        half=least_half,
        freed=freed_share,
        per_hour=least_per_hour,
    ).persist()
    heaps = heaps_of(events).persist()
    pooled = _pooled(topics, heaps, captures_of(events))
    unexplained = _unexplained(heaps, topics, least=least_ids, half=least_half)
    return Detection(
        observations(
            _of_topics(topics, heaps), _of_heaps(unexplained), _of_captures(pooled, unexplained), _accounts(topics)
        ),
        points_of(events),
        (topics, heaps),
    )


def _judged(
    topics: DataFrame,
    *,
    one_shot: float,
    few: float,
    tenths: int,
    short: float,
    half: float,
    freed: float,
    per_hour: float,
) -> DataFrame:
    """Say of each topic what its ids are, whether they keep coming, and whether they are kept."""
    enough = f"n -> n >= aggregate(shape.arrivals, 0D, (s, x) -> s + x) / {4 * TENTHS}"
    filled = f"size(filter(shape.arrivals, {enough}))"
    lately = f"exists(slice(shape.arrivals, -{LATELY}, {LATELY}), {enough})"
    silent = f"aggregate(slice(shape.arrivals, 1, {TENTHS // 2}), 0D, (s, x) -> s + x)"
    span = "(unix_millis(coalesce(shape.ended, ended)) - unix_millis(shape.oldest)) / 1000"
    known = topics.selectExpr(
        "*",
        "shape.single AS single",
        "shape.few AS few",
        "shape.transactional AS transactional",
        f"{filled} AS tenths",
        f"{lately} AS lately",
        f"{silent} AS idle",
        f"{span} AS span",
        "series.last - series.first AS grown",
        "series.halfway - series.first AS grown_first",
        "series.last - series.late AS grown_late",
        f"round(coalesce((series.last - series.first) / series.seconds, ids / nullif({span}, 0)) * 3600) AS per_hour",
    )
    links = _links(one_shot=one_shot, few=few, tenths=tenths, short=short, half=half, freed=freed, per_hour=per_hour)
    return known.selectExpr("*", *(f"{state} AS {link}" for link, state in links.items()))


def _links(
    *, one_shot: float, few: float, tenths: int, short: float, half: float, freed: float, per_hour: float
) -> dict[str, str]:
    """Return what the telemetry says of each link of a topic, as expressions over what is known of it."""
    on_and_on = f"(grown > 0 AND grown_first >= {half}D * grown AND grown_late >= {half}D * grown)"
    return {
        "one_shot": (
            f"CASE WHEN transactional >= {one_shot}D * shape.ids THEN 'contradicted' "
            f"WHEN single >= {one_shot}D * shape.ids OR records_an_id <= {few}D THEN 'observed' "
            f"WHEN few >= {one_shot}D * shape.ids AND {on_and_on} THEN 'observed' "
            "WHEN single IS NOT NULL OR records_an_id IS NOT NULL OR grown <= 0 THEN 'contradicted' "
            "ELSE 'not visible' END"
        ),
        "growing": (
            f"CASE WHEN per_hour < {per_hour}D OR grown <= 0 OR tenths < {tenths} OR NOT lately THEN 'contradicted' "
            f"WHEN series.times >= {SERIES} AND NOT {on_and_on} THEN 'contradicted' "
            f"WHEN series.times >= {SERIES} OR (tenths >= {tenths} AND span >= {short}D) THEN 'observed' "
            "ELSE 'not visible' END"
        ),
        "retained": (
            f"CASE WHEN series.last < {freed}D * series.most THEN 'contradicted' "
            "WHEN idle > 0 OR series.last >= series.first THEN 'observed' ELSE 'not visible' END"
        ),
    }


def _pooled(topics: DataFrame, heaps: DataFrame, captures: DataFrame) -> DataFrame:
    """Return one row a capture: the ids of its leaking topics, the fullest heap, and how long that will last."""
    leaking = "one_shot = 'observed' AND growing = 'observed'"
    ranked = f"struct({leaking} AS leaking, ids, topic, per_hour)"
    of_topics = topics.groupBy("capture").agg(
        *columns(
            "sum(ids) AS ids",
            "count(*) AS topics",
            f"sort_array(collect_list({ranked}), false) AS ranked",
            *(
                f"sum({name}) AS {name}"
                for name in ("single", "few", "transactional", "idle", "grown", "per_hour", "partitions")
            ),
            "max_by(tenths, ids) AS tenths",
            "max_by(span, ids) AS span",
            "max_by(records_an_id, ids) AS records_an_id",
            "max_by(series, ids) AS series",
            "max_by(ways, ids) AS ways",
            "min(began) AS since",
            "max(ended) AS until",
            f"count_if({leaking}) AS leaks",
            "count_if(one_shot = 'contradicted') AS fleets",
            "count_if(one_shot = 'observed' AND growing = 'contradicted') AS bursts",
        ),
    )
    of_heaps = heaps.groupBy("capture").agg(
        *columns(
            "max(last) AS entries",
            "max(limit) AS limit",
            "max(live) AS live",
            "max(live) - min(live_first) AS live_grown",
            f"coalesce(max(IF(last IS NULL, NULL, bytes_an_id)), {JAVA_BYTES}D) AS bytes_an_id",
            "sum(gc_seconds) AS gc_seconds",
            "sum(fulls) AS fulls",
            "max(held_by) AS held_by",
            "sum(exhausted) AS exhausted",
        ),
    )
    joined = captures.join(of_topics, "capture", "left").join(of_heaps, "capture", "left")
    return _foreseen(joined)


def _foreseen(joined: DataFrame) -> DataFrame:
    """Add what the ids weigh on the broker that holds most of them, and when its heap will be full."""
    halves = "array(series.halfway - series.first, series.last - series.halfway)"
    fastest, slowest = (
        f"coalesce(greatest(per_hour, 2 * array_{pick}({halves}) / series.seconds * 3600), per_hour)"
        if pick == "max"
        else f"coalesce(least(per_hour, 2 * array_{pick}({halves}) / series.seconds * 3600), per_hour)"
        for pick in ("max", "min")
    )
    return (
        joined.selectExpr(
            "*", f"coalesce(bytes_an_id, {JAVA_BYTES}D) AS weight", f"{fastest} AS fastest", f"{slowest} AS slowest"
        )
        .selectExpr(
            "*",
            "coalesce(entries, ids) * weight AS held_bytes",
            "per_hour * weight AS bytes_an_hour",
            "per_hour * expiry / 3600 * weight AS plateau_bytes",
            "limit - coalesce(live, coalesce(entries, ids) * weight) AS free",
        )
        .selectExpr(
            "*",
            "100 * held_bytes / limit AS share",
            "IF(plateau_bytes < free, NULL, greatest(free, 0) / nullif(fastest * weight, 0) * 3600) AS until_full_low",
            "IF(plateau_bytes < free, NULL, greatest(free, 0) / nullif(slowest * weight, 0) * 3600) AS until_full_high",
            "IF(plateau_bytes < free, plateau_bytes, NULL) AS plateau",
        )
    )


def _of_topics(topics: DataFrame, heaps: DataFrame) -> DataFrame:
    """Return the four links of each topic. The ids themselves are on the heap: whoever counts them has seen it."""
    of_heaps = heaps.groupBy("capture").agg(*columns("collect_list(died) AS deaths"))
    rows = ", ".join(
        f"struct('{link}' AS link, {state} AS state, {since} AS since, {first_lines(lines)} AS evidence)"
        for link, state, since, lines in (
            ("one_shot", "one_shot", "began", "told"),
            ("growing", "growing", "greatest(began, shape.oldest)", "told"),
            ("retained", "retained", "ended", "latest"),
            ("heap", "'observed'", "ended", f"concat(coalesce(deaths, array()), CAST(latest AS array<{EVIDENCE}>))"),
        )
    )
    return topics.join(of_heaps, "capture", "left").selectExpr(
        "capture",
        "concat('topic ', topic) AS subject",
        f"{map_of(('ids', 'per_hour'), 'double')} AS figures",
        "CAST(map() AS map<string,string>) AS facts",
        "ended AS until",
        f"inline(array({rows}))",
    )


def _unexplained(heaps: DataFrame, topics: DataFrame, *, least: int, half: float) -> DataFrame:
    """Return heaps with many ids, or that ran out of memory, in captures that do not show whose ids they are."""
    shown = topics.groupBy("capture").agg(*columns("sum(ids) AS shown"))
    grown = "(last - first)"
    on_and_on = f"({grown} > 0 AND halfway - first >= {half}D * {grown} AND last - late >= {half}D * {grown})"
    growing = (
        f"CASE WHEN times >= {SERIES} AND NOT {on_and_on} THEN 'contradicted' WHEN times >= {SERIES} THEN 'observed' "
        "ELSE 'not visible' END AS growing"
    )
    return (
        heaps.join(shown, "capture", "left")
        .where(f"coalesce(shown, 0) < coalesce(last, 0) / 2 AND last >= {least}")
        .selectExpr("*", growing)
    )


def _accounts(topics: DataFrame) -> DataFrame:
    """Say that every broker's want of memory is accounted for: each holds the ids of the partitions that it keeps."""
    leaks = "SELECT DISTINCT capture, NULL AS since, NULL AS until FROM topics"
    return table({"topics": topics}, {"leaks": leaks, "accounts": accounted("leaks")})


def _of_heaps(unexplained: DataFrame) -> DataFrame:
    rows = ", ".join(
        f"struct('{link}' AS link, {state} AS state, {since} AS since)"
        for link, state, since in (
            ("one_shot", "'not visible'", "began"),
            ("growing", "growing", "began"),
            ("retained", "'not visible'", "began"),
            ("heap", "'observed'", "ended"),
        )
    )
    return unexplained.selectExpr(
        "capture",
        "subject",
        "map('entries', last) AS figures",
        "CAST(map() AS map<string,string>) AS facts",
        f"{first_lines('told')} AS evidence",
        "ended AS until",
        f"inline(array({rows}))",
    )


def _of_captures(pooled: DataFrame, unexplained: DataFrame) -> DataFrame:
    """Return the figures that the card names, and each rival."""
    known = unexplained.select("capture").distinct().selectExpr("capture", "true AS unknown")
    states = {
        "figures": "'observed'",
        "rival.fleet": "CASE WHEN single IS NULL THEN NULL WHEN leaks > 0 THEN 'contradicted' ELSE 'observed' END",
        "rival.burst": "CASE WHEN leaks > 0 THEN 'contradicted' WHEN bursts > 0 THEN 'observed' END",
        "rival.transactional": (
            "CASE WHEN transactional < ids / 2 THEN 'contradicted' WHEN transactional IS NOT NULL THEN 'observed' END"
        ),
        "rival.heap_eater": (
            "CASE WHEN live IS NULL OR limit IS NULL THEN NULL WHEN live > 0.7D * limit AND held_bytes < 0.1D * live "
            "THEN 'observed' ELSE 'contradicted' END"
        ),
    }
    rows = ", ".join(f"struct('{link}' AS link, {state} AS state)" for link, state in states.items())
    hourly = "IF(t.per_hour IS NULL, '', concat(', ', format_number(t.per_hour, 0), ' an hour'))"
    owner = "coalesce(concat(', of ', get(filter(owners, o -> t.topic RLIKE o.pattern), 0).owner), '')"
    one = f"concat(t.topic, ' (', format_number(t.ids, 0), ' ids', {hourly}, {owner}, ')')"
    agreed = (
        "IF(size(ways) < 2, NULL, array_join(transform(array_sort(ways), "
        "w -> concat(w.via, ' ', format_number(w.ids, 0))), ', '))"
    )
    return (
        pooled.join(known, "capture", "left")
        .where("ids IS NOT NULL OR unknown OR exhausted > 0")
        .selectExpr(
            "*",
            f"array_join(transform(slice(ranked, 1, {TOPICS_NAMED}), t -> {one}), '; ') AS by_topic",
            f"{agreed} AS agreed",
        )
        .withColumnRenamed("plateau_bytes", "plateau_unbounded")
        .withColumnRenamed("plateau", "plateau_bytes")
        .selectExpr(
            "capture",
            "'*' AS subject",
            f"{map_of(('ids', 'expiry', 'topics'), 'double', where_any=WHERE_ANY)} AS figures",
            f"{map_of(('version', 'frees', 'clients', 'by_topic', 'agreed', 'held_by'), 'string')} AS facts",
            "since",
            "until",
            f"CAST(array() AS array<{EVIDENCE}>) AS evidence",
            f"inline(array({rows}))",
        )
    )
