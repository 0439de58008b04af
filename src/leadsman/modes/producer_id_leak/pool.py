"""The figures that the card names, of a whole capture, and what is known of each alternative."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.producer_id_leak.heaps import SETTING
from leadsman.modes.producer_id_leak.weight import FULL, foreseen
from leadsman.pipeline.shapes import EVIDENCE, iso, map_of, nullable, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

KINDS = ("topic", "broker")
TOPICS_NAMED = 5

MANY_STEPS = 5
"""Steps of growth that are more than the deployments of a few days make."""

FIGURES = ("ids", "topics")
WHERE_ANY = (
    "expiry",
    "leaking",
    "single",
    "few",
    "transactional",
    "rises",
    "steps",
    "span",
    "grown",
    "per_hour",
    "records_an_id",
    "written_an_id",
    "connections",
    "beside",
    "beyond",
    "connections_grown",
    "idle",
    "taken",
    "held_bytes",
    "limit",
    "live",
    "bytes_an_hour",
    "per_day",
    "bytes_a_day",
    "until_full_low",
    "until_full_high",
    "assumed",
    "assumed_plateau",
    "held_ids",
    "peak_ids",
    "in_use",
    "fresh",
    "fresh_span",
    "unsent",
    "sent_often",
    "own_rises",
    "own_steps",
    "to_free",
    "level_leak",
    "exhausted",
    "fulls",
    "gc_seconds",
    "entries",
    "plateau_bytes",
    "remaining",
    "share",
    "suspected",
    "described",
    "level_ids",
    "out_of_memory",
    "filled",
)  # fmt: skip - a list of names
"""Figures that are left out where they are 0, and the sentences about them with them."""

FACTS = (
    "version",
    "frees",
    "expires_by",
    "clients",
    "by_topic",
    "by_broker",
    "full_between",
    "full_within",
    "kept_full_between",
    "agreed",
    "fullest",
    "leader",
    "speaker",
    "dead_brokers",
    "came_until",
    "stopped_by",
    "version_at_least",
    "held_by",
    "stopped_at",
    "percent",
    "grew_since",
)  # fmt: skip - a list of names

SUMS = ("single", "few", "transactional", "idle")

LEADING = "struct(leaks, growing = 'observed', kind = 'topic', per_hour, ids)"
"""The row that speaks for the capture: a leak before what only grows, a topic before a broker, the fastest first."""

SPEAKS = (
    "rises",
    "steps",
    "span",
    "grown",
    "grew_since",
    "stopped_at",
    "stopped_by",
    "came_until",
    "own",
    "spread",
    "records_an_id",
    "written_an_id",
    "connections",
    "beside",
    "beyond",
    "connections_grown",
    "ways",
    "looks",
    "began",
    "ended",
    "level",
)  # fmt: skip - a list of names


def pooled(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return one row a capture of which anything is to be said. `frames` are rows, weights, dead and captures."""
    speaking = ", ".join(f"max_by({name}, {LEADING}) AS {name}" for name in SPEAKS)
    slowest, fastest = (f"max_by({each}, {LEADING})" for each in ("slow", "fast"))
    sums = ", ".join(f"sum({name}) AS {name}" for name in SUMS)
    leaking, remaining = (
        f"coalesce(sum(IF({each} AND kind = 'topic', ids, NULL)), max(IF({each}, ids, NULL)))"
        for each in ("leaks", "stopped_at IS NOT NULL")
    )
    still = "(growing = 'observed' OR grew AND NOT stopped AND NOT young)"
    of_topics = f"sum(IF({still} AND kind = 'topic', {{}}, NULL))"
    of_broker = f"max(IF({still} AND kind = 'broker', {{}}, NULL))"
    # What is of single topics adds up to the capture's; a broker's is no topic's.
    steps = {
        "ranked": f"""
            SELECT capture, sum(IF(kind = 'topic', ids, NULL)) AS ids, count_if(kind = 'topic') AS topics,
                sort_array(collect_list(struct(leaks, ids, who, IF(young, NULL, per_hour) AS per_hour, per_day, kind,
                    stopped, stale, partitions, part_seen)), false) AS ranked, {sums},
                max_by(who, {LEADING}) AS speaker, max_by(kind, {LEADING}) AS speaker_kind,
                max(IF(leaks AND kind = 'broker', ids, NULL)) AS of_leaking_broker,
                sum(IF(young, grown, NULL)) AS fresh, max(IF(young, span, NULL)) AS fresh_span,
                {speaking},
                {slowest} AS slowest, {fastest} AS fastest,
                {of_topics.format("per_hour")} AS topics_per_hour, {of_broker.format("per_hour")} AS broker_per_hour,
                {of_topics.format("per_day")} AS topics_per_day, {of_broker.format("per_day")} AS broker_per_day,
                max_by(who, IF({still} AND kind = 'broker', per_hour, NULL)) AS fastest_broker,
                {leaking} AS leaking_all, {remaining} AS remaining,
                sum(shape.ids) AS described, sum(IF(leaks AND deadly, 1, 0)) AS fatal,
                count_if(leaks) AS leaks, count_if(kind = 'topic' AND one_shot = 'contradicted') AS fleets,
                count_if(growing = 'contradicted' AND stopped) AS bursts, count_if(lasting) AS lasting,
                count_if(growing = 'observed' AND rises >= {MANY_STEPS}) AS growths
            FROM rows GROUP BY capture
        """,
        "died": "SELECT capture, count(*) AS deaths_seen, max(IF(died IS NULL, used.most, NULL)) AS filled"
        " FROM dead GROUP BY capture",
        "rated": "SELECT *, greatest(topics_per_hour, broker_per_hour) AS per_hour,"
        " coalesce(broker_per_hour, 0) > coalesce(topics_per_hour, 0) AS by_a_broker FROM ranked",
        "joined": "SELECT * FROM captures LEFT JOIN rated USING (capture) LEFT JOIN weights USING (capture)"
        " LEFT JOIN died USING (capture) WHERE ranked IS NOT NULL OR deaths_seen > 0",
    }
    weights = frames["weights"].drop("deaths", "used_quote")
    return foreseen(table({**frames, "weights": weights}, steps))


def of_captures(pooled: DataFrame) -> DataFrame:
    """Return the figures of each capture, and each alternative."""
    links = ", ".join(
        f"struct('{link}' AS link, {nullable(state)} AS state)" for link, state in _alternatives().items()
    )
    agreed = (
        "IF(size(ways) < 2, NULL, array_join(transform(array_sort(ways), "
        "w -> concat(w.via, ' ', format_number(w.ids, 0))), ', '))"
    )
    percent = (
        "CASE WHEN share IS NULL THEN NULL WHEN share < 0.1 THEN 'less than 0.1 %' "
        "WHEN share < 10 THEN concat(format_number(share, 1), ' %') ELSE concat(format_number(share, 0), ' %') END"
    )
    moments = ("stopped_at", "stopped_by", "came_until", "grew_since")
    said_anew = {*moments, "expires_by", "fullest", "rises", "steps", "speaker"}
    return pooled.selectExpr(
        *(name for name in pooled.columns if name not in said_anew),
        *_of_the_leak(),
        f"{_listed('topic')} AS by_topic",
        f"{_listed('broker')} AS by_broker",
        "IF(level AND NOT coalesce(spread > 1, false), ids, NULL) AS level_ids",
        f"{_between('until_full')} AS full_between",
        f"{_days('until_full_high')} AS full_within",
        f"{_between('kept_full')} AS kept_full_between",
        "IF(expiry IS NULL, NULL, expires_by) AS expires_by",
        f"{agreed} AS agreed",
        f"{percent} AS percent",
        *(f"{iso(each)} AS {each}" for each in moments),
    ).selectExpr(
        "capture",
        "'*' AS subject",
        f"{map_of(FIGURES, 'double', where_any=WHERE_ANY)} AS figures",
        f"{map_of(FACTS, 'string')} AS facts",
        "began AS since",
        "ended AS until",
        f"CAST(array() AS array<{EVIDENCE}>) AS evidence",
        f"inline(array({links}))",
    )


def _of_the_leak() -> tuple[str, ...]:
    """Return the columns for whose number and whose rate the sentences give: those of one broker, or of the topics."""
    topics_daily = f"IF(topics_per_day * {ALL_DAILY} >= topics_per_hour * 24, topics_per_day, NULL)"
    matters = f"stopped_at IS NULL OR coalesce(100 * left_bytes / limit >= {LEFT_PERCENT}, true)"
    by_setting = f"IF(expiry IS NOT NULL AND expires_by = '{SETTING}', '3.4', NULL)"
    return (
        "fullest",
        "IF(speaker_kind = 'broker', speaker, NULL) AS speaker",
        "IF(by_a_broker, fastest_broker, NULL) AS leader",
        f"IF(by_a_broker, broker_per_day, {topics_daily}) AS per_day",
        "IF(by_a_broker, broker_per_day, topics_per_day) * weight AS bytes_a_day",
        "IF(by_a_broker, coalesce(of_leaking_broker, leaking_all), leaking_all) AS leaking",
        "IF(leaks > 0 AND level, IF(spread > 1, held_ids, ids), NULL) AS level_leak",
        "IF(own, rises, NULL) AS own_rises",
        "IF(own, steps, NULL) AS own_steps",
        "IF(own, NULL, rises) AS rises",
        "IF(own, NULL, steps) AS steps",
        "IF(fatal > 0, peak_ids, NULL) AS out_of_memory",
        "IF(deadly AND leaks = 0, peak_ids, NULL) AS suspected",
        f"IF({matters}, left_bytes, NULL) AS to_free",
        "IF(leaks = 0 AND per_hour > 0 AND coalesce(single, 0) < described / 2, per_hour, NULL) AS unsent",
        "IF(speaker_kind = 'broker', described - few, NULL) AS sent_often",
        f"nullif(concat(array_join(slice(dead, 1, {TOPICS_NAMED}), ', '), {_more('dead')}), '') AS dead_brokers",
        f"IF(modern, '3.5', {by_setting}) AS version_at_least",
    )


ALL_DAILY = 1.1
"""Times what topics get whose ids come once a day, that all topics get at most, where their rate is told by the day."""

LEFT_PERCENT = 1
"""Percent of a heap, below which nothing has to be freed of what a leak has left."""


def _more(names: str) -> str:
    """Return the expression for how many of a list were not named."""
    rest = f"size({names}) - {TOPICS_NAMED}"
    return f"IF({rest} > 0, concat(' and ', {rest}, ' more'), '')"


def _listed(kind: str) -> str:
    """Return the expression for the topics or brokers that hold most ids, each with how many and how fast they come."""
    daily = "concat(', ', format_number(t.per_day, 0), ' a day')"
    hourly = "concat(', ', IF(t.stale, 'at least ', ''), format_number(t.per_hour, 0), ' an hour')"
    rate = f"IF(t.per_hour IS NULL OR t.per_hour < 1 OR t.stopped, '', coalesce({daily}, {hourly}))"
    owner = "coalesce(concat(', of ', get(filter(owners, o -> t.who RLIKE o.pattern), 0).owner), '')"
    parts = (
        "IF(t.kind = 'broker' OR NOT t.part_seen, '', "
        "concat(' on ', t.partitions, IF(t.partitions = 1, ' partition', ' partitions')))"
    )
    number = "concat(IF(t.stale, 'at least ', ''), format_number(t.ids, 0), ' ids')"
    one = f"concat(t.who, ' (', {number}, {parts}, {rate}, {owner}, ')')"
    of_kind = f"filter(ranked, t -> t.kind = '{kind}')"
    names = f"array_join(transform(slice({of_kind}, 1, {TOPICS_NAMED}), t -> {one}), '; ')"
    return f"nullif(concat({names}, {_more(of_kind)}), '')"


def _between(name: str) -> str:
    """Return the expression for a time that is foreseen to lie between two; the unit is said once."""
    low, high = (_days(f"{name}_{end}") for end in ("low", "high"))
    number, unit = f"split({low}, ' ')[0]", f"substring_index({low}, ' ', -1)"
    same_unit = f"{unit} = substring_index({high}, ' ', -1) AND {low} RLIKE '^[0-9]'"
    return (
        f"CASE WHEN {low} = {high} THEN concat('about ', {low}) "
        f"WHEN {same_unit} THEN concat({number}, ' to ', {high}) ELSE concat({low}, ' to ', {high}) END"
    )


def _days(seconds: str) -> str:
    """Return the expression for a time that is foreseen, in one unit: nobody knows it better."""
    minutes, hours, days = (f"format_number({seconds} / {unit}, 0)" for unit in (60, 3600, 86400))
    return (
        f"CASE WHEN {seconds} IS NULL THEN NULL WHEN {seconds} < 60 THEN 'a minute' "
        f"WHEN {seconds} < 7200 THEN concat({minutes}, ' min') "
        f"WHEN {seconds} < 172800 THEN concat({hours}, ' h') ELSE concat({days}, ' days') END"
    )


def _alternatives() -> dict[str, str]:
    """Return the state of each alternative, as expressions; null where nothing that was read bears on it."""
    return {
        "figures": "'observed'",
        "rival.fleet": "CASE WHEN leaks > 0 OR connections > 0 OR single >= described / 2 THEN 'contradicted' "
        "WHEN fleets > 0 THEN 'observed' END",
        "rival.burst": "CASE WHEN leaks > 0 OR lasting > 0 OR growths > 0 THEN 'contradicted' "
        "WHEN bursts > 0 THEN 'observed' END",
        "rival.transactional": "CASE WHEN transactional < described / 2 THEN 'contradicted' "
        "WHEN transactional IS NOT NULL THEN 'observed' END",
        "rival.heap_eater": "CASE WHEN limit IS NULL OR held_bytes IS NULL THEN NULL "
        "WHEN held_bytes >= limit / 2 THEN 'contradicted' "
        f"WHEN coalesce(exhausted, 0) = 0 AND in_use <= {FULL}D * limit THEN 'contradicted' "
        "WHEN live IS NULL THEN NULL WHEN held_bytes < 0.1D * live THEN 'observed' "
        "WHEN held_bytes >= live / 2 THEN 'contradicted' END",
    }
