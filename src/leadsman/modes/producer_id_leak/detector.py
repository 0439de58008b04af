"""How a leak of producer ids shows in the telemetry.

Each topic is judged by what its ids are (one batch and silence, or a fleet that sends on) and by when they came (all
the time, or once). One look can show both, where it shows the ids' own times; several looks show how their number
grows. A broker whose ids no topic explains is judged by its number alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.producer_id_leak.connections import connections_of
from leadsman.modes.producer_id_leak.counts import counts_of, looks_of
from leadsman.modes.producer_id_leak.growth import curves_of
from leadsman.modes.producer_id_leak.heaps import captures_of, heaps_of
from leadsman.modes.producer_id_leak.links import judged
from leadsman.modes.producer_id_leak.pool import of_captures, pooled
from leadsman.modes.producer_id_leak.values import points_of
from leadsman.modes.producer_id_leak.weight import weights_of
from leadsman.pipeline.shapes import (
    EVIDENCE,
    Detection,
    accounted,
    first_lines,
    map_of,
    nullable,
    observations,
    settled,
    silent,
    table,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


ONE_SHOT_LINES = (
    "CASE WHEN size(shapes) > 0 THEN shapes WHEN connections IS NOT NULL OR connections_grown IS NOT NULL "
    "THEN concat(connection_quotes, latest, quotes) ELSE concat(latest, quotes) END"
)
"""What ids are is shown by the looks that tell it; else by connections, where they say it, and the numbers."""


HEAP_LINES = (
    f"concat(coalesce(deaths, array()), CAST(array_compact(array(used_quote)) AS array<{EVIDENCE}>), "
    f"CAST(IF(used_quote IS NULL, latest, slice(latest, 1, 2)) AS array<{EVIDENCE}>))"
)


def detect(
    events: DataFrame,
    *,
    least_ids: int = 50,
    least_per_hour: float = 60.0,
    one_shot_share: float = 0.5,
    few_records: float = 10.0,
    short_span_seconds: float = 600.0,
    freed_share: float = 0.5,
) -> Detection:
    """Return the observations of every link for each topic that holds many ids, or for a broker that nobody explains.

    least_ids: fewer ids than this are a handful of services, whatever they do with them.
    least_per_hour: one producer a minute is what a cron job makes; brokers live with it for years.
    one_shot_share: of a leak's ids nearly all sent one batch (measured: 18,246 of 18,246); of a fleet's few (8 of 578).
    few_records: an id that sent no more than this was made for one piece of work.
    short_span_seconds: in a shorter time a deployment looks like a leak: then most looks must show that ids come.
    freed_share: where fewer than this share of the most ids are left, brokers do free them.
    """
    looks = settled(looks_of(events))
    counts = settled(counts_of(looks))
    heaps = settled(heaps_of(events))
    dead = _uncounted(heaps, counts)
    if counts.isEmpty() and dead.isEmpty():
        return silent(looks, counts, heaps)
    curves = settled(curves_of(looks, least_per_hour=least_per_hour, short_span_seconds=short_span_seconds))
    weights = settled(weights_of(counts, heaps))
    thresholds = {
        "least_ids": least_ids,
        "least_per_hour": least_per_hour,
        "one_shot_share": one_shot_share,
        "few_records": few_records,
        "freed_share": freed_share,
    }
    connections = connections_of(events)
    frames = {"counts": counts, "curves": curves, "heaps": heaps, "weights": weights, "connections": connections}
    rows = settled(_shown(judged(frames, thresholds)))
    capture = pooled({"rows": rows, "weights": weights, "dead": dead, "captures": captures_of(events)})
    return Detection(
        observations(_of_rows(rows), _of_dead(dead), of_captures(capture), _accounts(rows, heaps)),
        points_of(events),
        (looks, counts, curves, heaps, weights, rows),
    )


def _shown(rows: DataFrame) -> DataFrame:
    """Leave out brokers whose ids are those of topics that are shown: each id is on some broker's heap.

    Of a broker that died the topics say less, where nobody looked at their ids: at the end they are mended too.
    """
    of_capture = "OVER (PARTITION BY capture)"
    return rows.selectExpr(
        "*",
        f"sum(IF(kind = 'topic', ids, 0)) {of_capture} AS of_topics",
        f"bool_or(kind = 'topic' AND (leaks OR single IS NOT NULL)) {of_capture} AS known_by_topic",
    ).where("kind = 'topic' OR of_topics < ids / 2 OR (leaks AND deadly AND NOT known_by_topic)")


def _uncounted(heaps: DataFrame, counts: DataFrame) -> DataFrame:
    """Return the heaps of brokers that ran out or filled up, in captures that hold no count of ids at all."""
    uncounted = "(of_jvm OR filled) AND capture NOT IN (SELECT capture FROM counts)"
    return table({"heaps": heaps, "counts": counts}, {"uncounted": f"SELECT * FROM heaps WHERE {uncounted}"})


def _of_rows(rows: DataFrame) -> DataFrame:
    """Return the four links of each topic and broker."""
    links = ", ".join(
        f"struct('{link}' AS link, {nullable(link)} AS state, {since} AS since, {first_lines(lines)} AS evidence)"
        for link, since, lines in (
            ("one_shot", "began", ONE_SHOT_LINES),
            ("growing", "greatest(began, grew_since)", "concat(quotes, latest)"),
            ("retained", "ended", "latest"),
            ("heap", "ended", HEAP_LINES),
        )
    )
    return rows.selectExpr(
        "capture",
        "IF(kind = 'topic', concat('topic ', who), who) AS subject",
        f"{map_of(('ids', 'per_hour'), 'double')} AS figures",
        "CAST(map() AS map<string,string>) AS facts",
        "ended AS until",
        f"inline(array({links}))",
    )


def _of_dead(dead: DataFrame) -> DataFrame:
    """Return the links of a heap that filled while nobody counted ids: that is all that is seen."""
    links = ", ".join(
        f"struct('{link}' AS link, '{state}' AS state)"
        for link, state in (
            ("one_shot", "not visible"),
            ("growing", "not visible"),
            ("retained", "not visible"),
            ("heap", "observed"),
        )
    )
    return dead.selectExpr(
        "capture",
        "who AS subject",
        "coalesce(died.at, ended) AS since",
        "coalesce(died.at, ended) AS until",
        "CAST(map() AS map<string,double>) AS figures",
        "CAST(map() AS map<string,string>) AS facts",
        f"{first_lines('array_compact(array(died, used.quote))')} AS evidence",
        f"inline(array({links}))",
    )


def _accounts(rows: DataFrame, heaps: DataFrame) -> DataFrame:
    """Say that the brokers' want of memory is accounted for, where ids of a leak held a good part of a heap."""
    steps = {
        "died": "SELECT DISTINCT h.capture, explode(h.writers) AS who, CAST(NULL AS TIMESTAMP) AS since,"
        " CAST(NULL AS TIMESTAMP) AS until"
        " FROM heaps h JOIN rows r ON h.capture = r.capture AND r.leaks AND r.deadly WHERE h.exhausted > 0",
        "accounts": accounted("died", who="who"),
    }
    return table({"rows": rows, "heaps": heaps}, steps)
