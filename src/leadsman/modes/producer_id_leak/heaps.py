"""From events to heaps: what a broker's memory holds, how much of it there is, and whether it runs out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.producer_id_leak.counts import LINE, MOMENTS, after
from leadsman.modes.producer_id_leak.eras import ERAS, JAVA_BYTES, SCALA_BYTES
from leadsman.pipeline.shapes import columns, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENTRY = r"[.]ProducerStateEntry$"
"""The class of which a broker holds one object for each producer id of each partition, whatever its package."""

ID_COUNT = "(?i)producer_?id_?count"
"""The metric of KIP-847 (since 3.5), however an exporter spells it."""

IS_ENTRY = f"(name = '{names.HEAP_CLASS}' AND labels['class'] RLIKE '{ENTRY}')"
IS_COUNT = (
    f"({IS_ENTRY} OR (name = '{names.PRODUCERS_COUNTED}' AND labels['topic'] IS NULL) "
    f"OR (name = '{names.METRIC}' AND labels['metric'] RLIKE '{ID_COUNT}'))"
)
IS_HELD = f"name = '{names.HEAP_HELD}' AND labels['class'] RLIKE '{ENTRY}'"
TOLD = (names.HEAP_CLASS, names.HEAP_HELD, names.HEAP_SIZE, names.GC_PAUSED, names.MEMORY_EXHAUSTED)
UNIT = "CASE labels['unit'] WHEN 'G' THEN 1073741824D WHEN 'M' THEN 1048576D ELSE 1024D END"
IS_GC = f"name = '{names.GC_PAUSED}'"
OLD_POOL = "(Tenured|Old) Gen"
OF_HEAP = f"labels['area'] = 'heap' AND name = '{names.METRIC}' AND labels['metric'] RLIKE"

COUNT = f"IF({IS_COUNT}, IF({IS_ENTRY}, CAST(labels['instances'] AS DOUBLE), value), NULL)"
LIMIT = (
    f"CASE WHEN name = '{names.HEAP_SIZE}' AND labels['kind'] = 'max' THEN value "
    f"WHEN {OF_HEAP} 'memory(_bytes)?_max' THEN value WHEN {IS_GC} THEN CAST(labels['size'] AS DOUBLE) * {UNIT} END"
)
LIVE = (
    f"CASE WHEN name = '{names.HEAP_CLASS}' AND labels['class'] = 'total' THEN value "
    f"WHEN {IS_GC} AND labels['kind'] LIKE '%Full%' THEN CAST(labels['after'] AS DOUBLE) * {UNIT} "
    f"WHEN name = '{names.METRIC}' AND labels['metric'] RLIKE 'collection_used' AND labels['pool'] RLIKE '{OLD_POOL}' "
    "THEN value END"
)
"""What is left after garbage was collected: used memory says little, because it holds garbage."""

EXHAUSTED = f"name = '{names.MEMORY_EXHAUSTED}'"


PATTERN = "concat('^', replace(replace(replace(labels['key'], '.', '[.]'), '*', '.*'), '?', '.'), '$')"
"""Of topics, as shells write it, as a regular expression."""


# Where Java says that it ran out of memory, there is often no time.
DIED = "max(IF(exhausted, struct(at, told), NULL)).told"


def heaps_of(events: DataFrame) -> DataFrame:
    """Return one row for each subject that shows something of a heap: a broker, a log of its collector."""
    chosen = events.where(
        f"name IN ({quoted(*TOLD)}) "
        f"OR (name = '{names.METRIC}' AND labels['metric'] RLIKE '{ID_COUNT}|memory|collection_used') OR {IS_COUNT}"
    ).selectExpr(
        "capture",
        "coalesce(subject, '-') AS subject",
        "at",
        f"{COUNT} AS entries",
        f"{LIMIT} AS limit",
        f"{LIVE} AS live",
        f"IF({IS_ENTRY} AND labels['class'] LIKE 'kafka.log%', {SCALA_BYTES}D, {JAVA_BYTES}D) AS bytes_an_id",
        f"IF({IS_HELD}, struct(value, labels['holder'] AS holder), NULL) AS held",
        f"IF({IS_GC}, value, NULL) AS gc_seconds",
        f"{IS_GC} AND labels['kind'] LIKE '%Full%' AS full",
        f"{EXHAUSTED} AS exhausted",
        f"IF({EXHAUSTED} OR {IS_COUNT}, {LINE}, NULL) AS told",
    )  # fmt: skip - the columns of a sight
    of_subject = "OVER (PARTITION BY capture, subject)"
    least = f"min_by(entries, IF(entries IS NULL, NULL, at)) {of_subject} AS least"
    first = chosen.selectExpr("*", least, f"min(at) {of_subject} AS born", f"max(at) {of_subject} AS ended")
    began = f"coalesce(max(IF(entries <= least, at, NULL)) {of_subject}, born) AS began"
    moments = [f"{after(share)} AS {name}" for name, share in MOMENTS.items()]
    spanned = first.selectExpr("*", began).selectExpr("*", *moments)
    return spanned.groupBy("capture", "subject").agg(
        *columns(
            "min_by(entries, IF(entries IS NULL, NULL, struct(at, entries))) AS first",
            "max(IF(at <= middle, entries, NULL)) AS halfway",
            "max(IF(at <= evening, entries, NULL)) AS late",
            "max_by(entries, IF(entries IS NULL, NULL, struct(at, entries))) AS last",
            "count(DISTINCT IF(entries IS NULL, NULL, at)) AS times",
            "max(limit) AS limit",
            "min_by(live, IF(live IS NULL, NULL, at)) AS live_first",
            "max_by(live, IF(live IS NULL, NULL, at)) AS live",
            "max(bytes_an_id) AS bytes_an_id",
            "max(held).holder AS held_by",
            "sum(gc_seconds) AS gc_seconds",
            "count_if(full) AS fulls",
            "count_if(exhausted) AS exhausted",
            "min(began) AS began",
            "max(ended) AS ended",
            f"array_compact(array({DIED}, min_by(told, IF(entries IS NULL, NULL, at)), "
            "max_by(told, IF(entries IS NULL, NULL, at)))) AS told",
            f"{DIED} AS died",
        ),
    )


MANY_IDS = 5
"""More ids than a client with one producer takes, however often it is started again while one looks."""


def captures_of(events: DataFrame) -> DataFrame:
    """Return one row a capture: the brokers' version, what expires ids there, and who took ids."""
    broker = f"name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker')"
    setting = f"IF(name = '{names.SETTING}' AND labels['key'] = '%s' AND coalesce(labels['owner'], '') = 'broker', "
    seconds = "try_cast(labels['value'] AS DOUBLE) / 1000, NULL)"
    own, old = (setting % key + seconds for key in ("producer.id.expiration.ms", "transactional.id.expiration.ms"))
    seen = events.where(
        f"name IN ('{names.FILE_READ}', '{names.CLIENT_STARTED}', '{names.PRODUCER_ID_TAKEN}', '{names.SETTING}')"
    ).selectExpr("*", f"max(coalesce({broker}, false)) OVER (PARTITION BY capture, subject) AS of_broker")
    owned = f"name = '{names.SETTING}' AND labels['owner'] = 'topics'"
    taken = f"name = '{names.PRODUCER_ID_TAKEN}'"
    who = (
        "concat(coalesce(labels['client_id'], 'a client without a name'), ' (', coalesce(labels['host'], subject), ')')"
    )
    return (
        seen.groupBy("capture")
        .agg(
            *columns(
                f"max(IF(of_broker AND name = '{names.CLIENT_STARTED}', labels['version'], NULL)) AS version",
                f"coalesce(min({own}), min({old})) AS expiry",
                f"count_if({taken}) AS taken",
                f"slice(collect_list(IF({taken}, {who}, NULL)), 1, 10000) AS takers",
                f"array_sort(collect_list(IF({owned}, struct(line, {PATTERN} AS pattern, labels['value'] AS owner), "
                "NULL))) AS owners",
            ),
        )
        .selectExpr(
            "capture", "version", "expiry", "taken", f"{_ranked('takers')} AS clients", f"{_frees()} AS frees", "owners"
        )
    )


def _ranked(names: str) -> str:
    """Return the three that took most ids, each with how many, as an expression for one text; null where nobody did.

    Whoever took few has one producer and was started again.
    """
    often = f"transform(array_distinct({names}), n -> struct(size(filter({names}, m -> m = n)) AS ids, n AS name))"
    most = f"slice(filter(sort_array({often}, false), t -> t.ids >= {MANY_IDS}), 1, 3)"
    return f"nullif(array_join(transform({most}, t -> concat(t.name, ' ', t.ids)), ', '), '')"


def _frees() -> str:
    """Return what frees ids on brokers of `version`, as an expression; null where that is not known."""
    numbers = "CAST(split(version, '[.]')[{}] AS INT)"
    newest_first = " ".join(
        f"WHEN ({numbers.format(0)}, {numbers.format(1)}) >= ({era.since[0]}, {era.since[1]}) THEN '{era.frees}'"
        for era in reversed(ERAS)
    )
    return f"CASE {newest_first} END"
