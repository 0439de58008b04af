"""The figures of a whole capture for the card, and the state of each alternative."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.producer_id_leak.heap_usage import with_heap_forecast
from leadsman.modes.producer_id_leak.heaps import SETTING
from leadsman.modes.producer_id_leak.thresholds import FULL_SHARE
from leadsman.pipeline.detector_sql import (
    capture_link_rows,
    iso_8601,
    map_column,
    run_steps,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

KINDS = ("topic", "broker")
TOPICS_NAMED = 5

MANY_STEPS = 5
"""So many steps of growth are more than the deployments of a few days."""

LEVEL_SHARE = 0.5
"""Where a number rose for at least this share of the ids' expiry and not after that, new ids may still come as fast as
others expire: that is not shown to be a burst."""

FIGURES_ALWAYS = ("ids", "topics")
FIGURES_UNLESS_ZERO = (
    "expiry",
    "leaking",
    "single_batch",
    "few_records",
    "transactional",
    "rises",
    "steps",
    "span",
    "ids_added",
    "per_hour",
    "records_per_new_id",
    "written_per_new_id",
    "connections",
    "ids_beyond_connections",
    "ids_beyond_fleet",
    "connections_grown",
    "idle_ids",
    "ids_allocated",
    "id_heap_bytes",
    "limit",
    "live",
    "bytes_an_hour",
    "per_day",
    "bytes_a_day",
    "until_full_low",
    "until_full_high",
    "assumed",
    "assumed_plateau",
    "broker_ids",
    "peak_ids",
    "in_use",
    "recent_ids",
    "recent_span",
    "undescribed_per_hour",
    "reused_ids",
    "arrival_rises",
    "arrival_steps",
    "bytes_to_free",
    "level_leak_ids",
    "oom_errors",
    "full_gcs",
    "gc_seconds",
    "entries",
    "plateau_bytes",
    "calm_plateau_bytes",
    "unattributed_ids",
    "remaining",
    "heap_percent",
    "suspected_ids",
    "described",
    "level_ids",
    "oom_ids",
    "heap_used_peak",
    "slow_per_hour",
    "counted_for",
)  # fmt: skip - a list of names
"""Figures that are omitted where they are 0, together with the sentences about them."""

FACTS = (
    "version",
    "frees",
    "expiry_setting",
    "clients",
    "by_topic",
    "by_broker",
    "time_to_full_range",
    "time_to_full",
    "time_to_full_without_expiry",
    "counts_text",
    "fullest",
    "growing_broker",
    "main_entity",
    "oom_brokers",
    "came_until",
    "stopped_by",
    "version_at_least",
    "heap_holders",
    "stopped_at",
    "heap_percent_text",
    "grew_since",
    "rose_since",
    "rose_until",
    "rose_once_by",
)  # fmt: skip - a list of names

SUMS = ("single_batch", "few_records", "transactional", "idle_ids")

RANKING = "struct(is_leak, growing = 'observed', kind = 'topic', per_hour, ids)"
"""The order of rows by which a capture's main row is chosen: a leak before other growth, a topic before a broker, the
fastest first."""

MAIN_COLUMNS = (
    "rises",
    "steps",
    "span",
    "ids_added",
    "grew_since",
    "stopped_at",
    "stopped_by",
    "came_until",
    "from_arrivals",
    "partition_factor",
    "records_per_new_id",
    "written_per_new_id",
    "connections",
    "ids_beyond_connections",
    "ids_beyond_fleet",
    "connections_grown",
    "counts_by_source",
    "sample_count",
    "first_seen",
    "last_seen",
    "is_level",
)  # fmt: skip - a list of names


def summarized(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return one row for each capture with ids or a full heap. `frames`: rows, heap_usage, uncounted and captures."""
    main_columns = ", ".join(f"max_by({name}, {RANKING}) AS {name}" for name in MAIN_COLUMNS)
    slowest, fastest = (f"max_by({each}, {RANKING})" for each in ("slow_rate", "fast_rate"))
    sums = ", ".join(f"sum({name}) AS {name}" for name in SUMS)
    leaking, remaining = (
        f"coalesce(sum(IF({each} AND kind = 'topic', ids, NULL)), max(IF({each}, ids, NULL)))"
        for each in ("is_leak", "stopped_at IS NOT NULL")
    )
    still_growing = (
        "(growing = 'observed' OR has_grown AND growing <> 'contradicted' AND NOT stopped AND NOT is_recent)"
    )
    topic_sum = f"sum(IF({still_growing} AND kind = 'topic', {{}}, NULL))"
    broker_max = f"max(IF({still_growing} AND kind = 'broker', {{}}, NULL))"
    no_more = "growing = 'contradicted' AND stopped"
    # The figures of topics add up to the capture's; those of brokers count the same ids again.
    steps = {
        "ranked_entities": f"""
            SELECT capture, sum(IF(kind = 'topic', ids, NULL)) AS ids, count_if(kind = 'topic') AS topics,
                sort_array(collect_list(struct(is_leak, ids, entity,
                    IF(is_recent OR growing = 'contradicted', NULL, per_hour) AS per_hour,
                    per_day, kind,
                    stopped, is_stale, partitions, partitions_known)), false) AS ranked, {sums},
                max_by(entity, {RANKING}) AS main_entity, max_by(kind, {RANKING}) AS main_entity_kind,
                max(IF(is_leak AND kind = 'broker', ids, NULL)) AS leaking_broker_ids,
                sum(IF(is_recent, ids_added, NULL)) AS recent_ids, max(IF(is_recent, span, NULL)) AS recent_span,
                {main_columns},
                {slowest} AS slowest, {fastest} AS fastest,
                {topic_sum.format("per_hour")} AS topics_per_hour, {broker_max.format("per_hour")} AS broker_per_hour,
                {topic_sum.format("per_day")} AS topics_per_day, {broker_max.format("per_day")} AS broker_per_day,
                max_by(entity, IF({still_growing} AND kind = 'broker', per_hour, NULL)) AS fastest_broker,
                {leaking} AS leaking_all, {remaining} AS remaining,
                sum(composition.ids) AS described, sum(IF(is_leak AND caused_oom, 1, 0)) AS oom_leaks,
                count_if(is_leak) AS leak_count, count_if(kind = 'topic' AND one_shot = 'contradicted') AS fleets,
                count_if({no_more}) AS bursts, min(IF({no_more}, growth_seconds, NULL)) AS rose_for,
                min_by(stopped_at, IF({no_more}, growth_seconds, NULL)) AS rose_until,
                min_by(grew_from, IF({no_more}, growth_seconds, NULL)) AS rose_since,
                max(IF(growing = 'contradicted' AND has_grown AND NOT stopped, per_hour, NULL)) AS slow_per_hour,
                max(IF(growing = 'not visible' AND NOT has_grown, single_rise_by, NULL)) AS rose_once_by,
                max(counted_seconds) AS counted_for, count_if(long_lasting) AS long_lasting,
                count_if(growing = 'observed' AND rises >= {MANY_STEPS}) AS growths
            FROM rows GROUP BY capture
        """,
        "oom_heaps": "SELECT capture, count(*) AS oom_count, max(IF(oom_line IS NULL, used.most, NULL))"
        " AS heap_used_peak"
        " FROM uncounted GROUP BY capture",
        "rates": "SELECT *, greatest(topics_per_hour, broker_per_hour) AS per_hour,"
        " coalesce(broker_per_hour, 0) > coalesce(topics_per_hour, 0) AS is_broker_rate FROM ranked_entities",
        "joined": "SELECT * FROM captures LEFT JOIN rates USING (capture) LEFT JOIN heap_usage USING (capture)"
        " LEFT JOIN oom_heaps USING (capture) WHERE ranked IS NOT NULL OR oom_count > 0",
    }
    heap_usage = frames["heap_usage"].drop("oom_lines", "used_line")
    return with_heap_forecast(run_steps({**frames, "heap_usage": heap_usage}, steps))


def capture_observations(summarized: DataFrame) -> DataFrame:
    """Return the figures of each capture, and each alternative."""
    counts_text = (
        "IF(size(counts_by_source) < 2, NULL, array_join(transform(array_sort(counts_by_source), "
        "w -> concat(replace(w.via, '_', ' '), ' ', format_number(w.ids, 0))), ', '))"
    )
    heap_percent_text = (
        "CASE WHEN heap_percent IS NULL THEN NULL WHEN heap_percent < 0.1 THEN 'less than 0.1 %' "
        "WHEN heap_percent < 10 THEN concat(format_number(heap_percent, 1), ' %')"
        " ELSE concat(format_number(heap_percent, 0), ' %') END"
    )
    times = ("stopped_at", "stopped_by", "came_until", "grew_since", "rose_since", "rose_until", "rose_once_by")
    replaced = {*times, "expiry_setting", "fullest", "rises", "steps", "main_entity"}
    with_texts = summarized.selectExpr(
        *(name for name in summarized.columns if name not in replaced),
        *_leak_columns(),
        f"{_entities_text('topic')} AS by_topic",
        f"{_entities_text('broker')} AS by_broker",
        "IF(is_level AND NOT coalesce(partition_factor > 1, false), ids, NULL) AS level_ids",
        f"{_time_range('until_full')} AS time_to_full_range",
        f"{_time_text('until_full_high')} AS time_to_full",
        f"{_time_range('full_without_expiry')} AS time_to_full_without_expiry",
        "IF(expiry IS NULL, NULL, expiry_setting) AS expiry_setting",
        f"{counts_text} AS counts_text",
        f"{heap_percent_text} AS heap_percent_text",
        *(f"{iso_8601(each)} AS {each}" for each in times),
    )
    capture_links = capture_link_rows(
        "with_texts",
        _alternatives(),
        figures=map_column(FIGURES_ALWAYS, "double", unless_zero=FIGURES_UNLESS_ZERO),
        facts=map_column(FACTS, "string"),
        since="first_seen",
        until="last_seen",
    )
    return run_steps({"with_texts": with_texts}, {"capture_links": capture_links})


def _leak_columns() -> tuple[str, ...]:
    """Return the columns with the number and the rate of the leak: those of one broker, or those of the topics."""
    topics_daily = f"IF(topics_per_day * {ALL_DAILY} >= topics_per_hour * 24, topics_per_day, NULL)"
    must_be_freed = f"stopped_at IS NULL OR coalesce(100 * remaining_bytes / nullif(limit, 0) >= {LEFT_PERCENT}, true)"
    by_setting = f"IF(expiry IS NOT NULL AND expiry_setting = '{SETTING}', '3.4', NULL)"
    return (
        "fullest",
        "IF(main_entity_kind = 'broker', main_entity, NULL) AS main_entity",
        "IF(is_broker_rate, fastest_broker, NULL) AS growing_broker",
        f"IF(is_broker_rate, broker_per_day, {topics_daily}) AS per_day",
        "IF(is_broker_rate, broker_per_day, topics_per_day) * id_bytes AS bytes_a_day",
        f"{LEAKING} AS leaking",
        f"nullif(greatest({LEAKING} - ids_allocated, 0), 0) AS unattributed_ids",
        f"IF({CALM}, plateau_bytes, NULL) AS calm_plateau_bytes",
        "IF(leak_count > 0 AND is_level, IF(partition_factor > 1, broker_ids, ids), NULL) AS level_leak_ids",
        "IF(from_arrivals, rises, NULL) AS arrival_rises",
        "IF(from_arrivals, steps, NULL) AS arrival_steps",
        "IF(from_arrivals, NULL, rises) AS rises",
        "IF(from_arrivals, NULL, steps) AS steps",
        "IF(oom_leaks > 0, peak_ids, NULL) AS oom_ids",
        "IF(caused_oom AND leak_count = 0, peak_ids, NULL) AS suspected_ids",
        f"IF({must_be_freed}, remaining_bytes, NULL) AS bytes_to_free",
        (
            "IF(leak_count = 0 AND per_hour > 0 AND coalesce(single_batch, 0) < described / 2, per_hour, NULL) "
            "AS undescribed_per_hour"
        ),
        "IF(main_entity_kind = 'broker', described - few_records, NULL) AS reused_ids",
        (
            f"nullif(concat(array_join(slice(oom_broker_list, 1, {TOPICS_NAMED}), ', '),"
            f" {_more_text('oom_broker_list')}), "
            "'') AS oom_brokers"
        ),
        f"IF(is_3_5_or_newer, '3.5', {by_setting}) AS version_at_least",
    )


LEAKING = "IF(is_broker_rate, coalesce(leaking_broker_ids, leaking_all), leaking_all)"

CALM = f"coalesce(oom_errors, 0) = 0 AND in_use + plateau_bytes - id_heap_bytes < {FULL_SHARE}D * limit"
"""Whether the heap is far from full even when the ids have levelled off."""

ALL_DAILY = 1.1
"""The rate per day is used if topics with daily growth get nearly all new ids: the total is at most so many times
theirs."""

LEFT_PERCENT = 1
"""Where the remaining ids take less than this percentage of a heap, they need not be freed."""


def _more_text(names: str) -> str:
    """Return the SQL for how many elements of a list are not named."""
    rest = f"size({names}) - {TOPICS_NAMED}"
    return f"IF({rest} > 0, concat(' and ', {rest}, ' more'), '')"


def _entities_text(kind: str) -> str:
    """Return the SQL for the topics or brokers with most ids, each with its number of ids and its growth."""
    daily = "concat(', ', format_number(t.per_day, 0), ' a day')"
    hourly = "concat(', ', IF(t.is_stale, 'at least ', ''), format_number(t.per_hour, 0), ' an hour')"
    rate = f"IF(t.per_hour IS NULL OR t.per_hour < 1 OR t.stopped, '', coalesce({daily}, {hourly}))"
    owner = "coalesce(concat(', of ', get(filter(owners, o -> t.entity RLIKE o.pattern), 0).owner), '')"
    parts = (
        "IF(t.kind = 'broker' OR NOT t.partitions_known, '', "
        "concat(' on ', t.partitions, IF(t.partitions = 1, ' partition', ' partitions')))"
    )
    number = "concat(IF(t.is_stale, 'at least ', ''), format_number(t.ids, 0), ' ids')"
    one = f"concat(t.entity, ' (', {number}, {parts}, {rate}, {owner}, ')')"
    of_kind = f"filter(ranked, t -> t.kind = '{kind}')"
    names = f"array_join(transform(slice({of_kind}, 1, {TOPICS_NAMED}), t -> {one}), '; ')"
    return f"nullif(concat({names}, {_more_text(of_kind)}), '')"


def _time_range(name: str) -> str:
    """Return the SQL for a predicted time range; the unit appears once."""
    low, high = (_time_text(f"{name}_{end}") for end in ("low", "high"))
    number, unit = f"split({low}, ' ')[0]", f"substring_index({low}, ' ', -1)"
    same_unit = f"{unit} = substring_index({high}, ' ', -1) AND {low} RLIKE '^[0-9]'"
    return (
        f"CASE WHEN {low} = {high} THEN concat('about ', {low}) "
        f"WHEN {same_unit} THEN concat({number}, ' to ', {high}) ELSE concat({low}, ' to ', {high}) END"
    )


def _time_text(seconds: str) -> str:
    """Return the SQL for a predicted time in a single unit: the prediction is no more exact."""
    minutes, hours, days = (f"format_number({seconds} / {unit}, 0)" for unit in (60, 3600, 86400))
    return (
        f"CASE WHEN {seconds} IS NULL THEN NULL WHEN {seconds} < 60 THEN 'a minute' "
        f"WHEN {seconds} < 7200 THEN concat({minutes}, ' min') "
        f"WHEN {seconds} < 172800 THEN concat({hours}, ' h') ELSE concat({days}, ' days') END"
    )


def _alternatives() -> dict[str, str]:
    """Return the SQL for the state of each alternative; null where no data decides it."""
    return {
        "figures": "'observed'",
        "alternative.fleet": "CASE WHEN leak_count > 0 OR connections > 0 OR single_batch >= described / 2"
        " THEN 'contradicted' "
        "WHEN fleets > 0 THEN 'observed' END",
        "alternative.burst": "CASE WHEN leak_count > 0 OR long_lasting > 0 OR growths > 0 THEN 'contradicted' "
        f"WHEN bursts > 0 AND NOT coalesce(rose_for >= {LEVEL_SHARE}D * expiry, false) THEN 'observed' END",
        "alternative.transactional": "CASE WHEN transactional < described / 2 THEN 'contradicted' "
        "WHEN transactional IS NOT NULL THEN 'observed' END",
        "alternative.heap_eater": "CASE WHEN limit IS NULL OR id_heap_bytes IS NULL THEN NULL "
        "WHEN id_heap_bytes >= limit / 2 THEN 'contradicted' "
        f"WHEN coalesce(oom_errors, 0) = 0 AND in_use <= {FULL_SHARE}D * limit THEN 'contradicted' "
        "WHEN others_fill_heap THEN 'observed' "
        "WHEN id_heap_bytes >= live / 2 THEN 'contradicted' END",
    }
