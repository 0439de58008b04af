"""Detects producer-id leaks in the telemetry.

Each topic is evaluated by what its ids sent (a single batch, or many batches as in a fleet) and by when they came (all
the time, or once). A single sample shows both if it contains the times of the ids; several samples show how the number
of ids grows. A broker whose ids no topic explains is evaluated by its number of ids alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.producer_id_leak.capture_figures import capture_observations, summarized
from leadsman.modes.producer_id_leak.connections import connection_rows
from leadsman.modes.producer_id_leak.growth import growth_curves
from leadsman.modes.producer_id_leak.heap_usage import heap_usage_rows
from leadsman.modes.producer_id_leak.heaps import capture_rows, heap_rows
from leadsman.modes.producer_id_leak.id_counts import id_count_rows, id_sample_rows
from leadsman.modes.producer_id_leak.link_states import link_state_rows
from leadsman.modes.producer_id_leak.panel_values import panel_points
from leadsman.modes.producer_id_leak.thresholds import MIN_IDS, MIN_IDS_PER_HOUR
from leadsman.pipeline.detector_sql import (
    EVIDENCE,
    NO_FACTS,
    NO_FIGURES,
    Detection,
    LinkRow,
    earliest_lines,
    empty_detection,
    explained_events_query,
    link_rows,
    map_column,
    materialized,
    observations,
    run_steps,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


ONE_SHOT_LINES = (
    "CASE WHEN size(composition_lines) > 0 THEN composition_lines WHEN connections IS NOT NULL"
    " OR connections_grown IS NOT NULL "
    "THEN concat(connection_lines, latest_lines, first_lines) ELSE concat(latest_lines, first_lines) END"
)
"""The evidence for what the ids sent: the samples that show it, else the connections, else the counts."""


HEAP_LINES = (
    f"concat(coalesce(oom_lines, array()), CAST(array_compact(array(used_line)) AS array<{EVIDENCE}>), "
    f"CAST(IF(used_line IS NULL, latest_lines, slice(latest_lines, 1, 2)) AS array<{EVIDENCE}>))"
)


def detect(
    events: DataFrame,
    *,
    min_ids: int = MIN_IDS,
    min_ids_per_hour: float = MIN_IDS_PER_HOUR,
    one_shot_share: float = 0.5,
    few_records: float = 10.0,
    short_span_seconds: float = 600.0,
    freed_share: float = 0.5,
) -> Detection:
    """Return the observations of every link for each topic with many ids, and for each broker that no topic explains.

    min_ids: fewer ids than this belong to a handful of services, whatever the services do with them.
    min_ids_per_hour: one producer per minute is what a cron job creates; brokers tolerate that for years.
    one_shot_share: nearly all ids of a leak sent one batch (measured: 18,246 of 18,246); few of a fleet (8 of 578).
    few_records: an id that sent at most so many records was created for one piece of work.
    short_span_seconds: within less time a deployment looks like a leak; then most samples must show new ids.
    freed_share: where less than this share of the maximum of ids is left, brokers do free ids.
    """
    samples = materialized(id_sample_rows(events))
    counts = materialized(id_count_rows(samples))
    heaps = materialized(heap_rows(events))
    uncounted = _uncounted_heaps(heaps, counts)
    if counts.isEmpty() and uncounted.isEmpty():
        return empty_detection(samples, counts, heaps)
    curves = materialized(
        growth_curves(samples, events, min_ids_per_hour=min_ids_per_hour, short_span_seconds=short_span_seconds)
    )
    heap_usage = materialized(heap_usage_rows(counts, heaps))
    thresholds = {
        "min_ids": min_ids,
        "min_ids_per_hour": min_ids_per_hour,
        "one_shot_share": one_shot_share,
        "few_records": few_records,
        "freed_share": freed_share,
    }
    connections = connection_rows(events)
    frames = {"counts": counts, "curves": curves, "heaps": heaps, "heap_usage": heap_usage, "connections": connections}
    rows = materialized(_reported_rows(link_state_rows(frames, thresholds)))
    capture = summarized(
        {"rows": rows, "heap_usage": heap_usage, "uncounted": uncounted, "captures": capture_rows(events)}
    )
    return Detection(
        observations(
            _row_observations(rows),
            _oom_observations(uncounted),
            capture_observations(capture),
            _explained_events(rows, heaps),
        ),
        panel_points(events),
        (samples, counts, curves, heaps, heap_usage, rows),
    )


def _reported_rows(rows: DataFrame) -> DataFrame:
    """Return the rows without the brokers whose ids belong to reported topics: every id is in some broker's heap.

    A broker that ran out of memory stays if no topic shows the composition of its ids: by the end the producers may be
    fixed too.
    """
    of_capture = "OVER (PARTITION BY capture)"
    return rows.selectExpr(
        "*",
        f"sum(IF(kind = 'topic', ids, 0)) {of_capture} AS topic_ids",
        f"bool_or(kind = 'topic' AND (is_leak OR single_batch IS NOT NULL)) {of_capture} AS known_by_topic",
    ).where("kind = 'topic' OR topic_ids < ids / 2 OR (is_leak AND caused_oom AND NOT known_by_topic)")


def _uncounted_heaps(heaps: DataFrame, counts: DataFrame) -> DataFrame:
    """Return the heaps of brokers that ran out of memory or filled up, in captures without any count of ids."""
    uncounted = "(is_jvm_file OR heap_filled) AND capture NOT IN (SELECT capture FROM counts)"
    return run_steps({"heaps": heaps, "counts": counts}, {"uncounted": f"SELECT * FROM heaps WHERE {uncounted}"})


def _row_observations(rows: DataFrame) -> DataFrame:
    """Return the four links of each topic and broker."""
    links = (
        LinkRow("one_shot", "one_shot", since="first_seen", lines=ONE_SHOT_LINES),
        LinkRow(
            "growing",
            "growing",
            since="greatest(first_seen, grew_since)",
            lines="concat(first_lines, latest_lines)",
        ),
        LinkRow("retained", "retained", since="last_seen", lines="latest_lines"),
        LinkRow("heap", "heap", since="last_seen", lines=HEAP_LINES),
    )
    shared = {
        "capture": "capture",
        "subject": "IF(kind = 'topic', concat('topic ', entity), entity)",
        "figures": map_column(("ids", "per_hour"), "double"),
        "facts": NO_FACTS,
        "until": "last_seen",
    }
    return run_steps({"rows": rows}, {"row_links": link_rows("rows", shared, links)})


def _oom_observations(uncounted: DataFrame) -> DataFrame:
    """Return the links of a heap that filled while the ids were not counted: only the link `heap` is observed."""
    links = (
        LinkRow("one_shot", "'not visible'"),
        LinkRow("growing", "'not visible'"),
        LinkRow("retained", "'not visible'"),
        LinkRow("heap", "'observed'"),
    )
    shared = {
        "capture": "capture",
        "subject": "entity",
        "since": "coalesce(oom_line.at, last_seen)",
        "until": "coalesce(oom_line.at, last_seen)",
        "figures": NO_FIGURES,
        "facts": NO_FACTS,
        "evidence": earliest_lines("array_compact(array(oom_line, used.evidence_line))"),
    }
    return run_steps({"uncounted": uncounted}, {"oom_links": link_rows("uncounted", shared, links)})


def _explained_events(rows: DataFrame, heaps: DataFrame) -> DataFrame:
    """Return the OutOfMemoryErrors that the finding explains, where leaked ids took a good part of a heap."""
    steps = {
        "oom_writers": "SELECT DISTINCT h.capture, explode(h.writers) AS entity, CAST(NULL AS TIMESTAMP) AS since,"
        " CAST(NULL AS TIMESTAMP) AS until"
        " FROM heaps h JOIN rows r ON h.capture = r.capture AND r.is_leak AND r.caused_oom WHERE h.oom_errors > 0",
        "explained_events": explained_events_query("oom_writers", writer="entity"),
    }
    return run_steps({"rows": rows, "heaps": heaps}, steps)
