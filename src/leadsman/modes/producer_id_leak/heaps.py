"""From events to heaps: how much memory a broker has, what lives on it, and whether it runs out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.producer_id_leak.counts import BROKER, ENTRY, IS_ENTRY, LINE
from leadsman.modes.producer_id_leak.eras import ERAS, JAVA_BYTES, SCALA_BYTES, expires_after
from leadsman.pipeline.shapes import columns, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from leadsman.modes.producer_id_leak.eras import Era

IS_HELD = f"name = '{names.HEAP_HELD}' AND labels['class'] RLIKE '{ENTRY}'"
READ = (names.HEAP_CLASS, names.HEAP_HELD, names.HEAP_SIZE, names.GC_PAUSED, names.MEMORY_EXHAUSTED)
UNIT = "CASE labels['unit'] WHEN 'G' THEN 1073741824D WHEN 'M' THEN 1048576D ELSE 1024D END"
IS_GC = f"name = '{names.GC_PAUSED}'"
OLD_POOL = "(Tenured|Old) Gen"
OF_HEAP = f"labels['area'] = 'heap' AND name = '{names.METRIC}' AND labels['metric'] RLIKE"
OF_BROKER = "(?i)replica_?manager"
"""Metrics that brokers have and no other Java program."""

PARTITIONS = "(?i)replica_?manager_?(value_?)?partition_?count$"
IS_PARTITIONS = (
    f"(name = '{names.METRIC}' AND (labels['metric'] RLIKE '{PARTITIONS}' OR "
    f"(labels['metric'] RLIKE '{OF_BROKER}' AND labels['name'] = 'PartitionCount')))"
)
"""How many partitions a broker has replicas of."""

WRITTEN = "(?i)messages_?in(_?per_?sec)?_?(total|count)$"
"""Counters of records written to a broker, of which a rate a second is none; those of single topics are left out."""

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

USED = f"({OF_HEAP} 'memory(_bytes)?_used(_bytes)?$')"
"""Of single looks it holds garbage too; the least of many looks is what lives."""

USED_LOOKS, USED_SHARE, USED_TIMES = 12, 0.6, 1.5
"""Looks in which heap in use must be seen; share of the limit in use at the end, and times as much as at first."""

OUT_OF_HEAP = ("Java heap space", "GC overhead limit exceeded")
EXHAUSTED = f"(name = '{names.MEMORY_EXHAUSTED}' AND labels['reason'] IN ({quoted(*OUT_OF_HEAP)}))"
"""Want of threads, metaspace or direct memory is no want of heap."""

CLIENTS = ("aiokafka", "franz_go", "java_client", "kafka_python", "kafkajs", "librdkafka", "sarama")
OF_CLIENT = (
    f"name = '{names.FILE_READ}' AND arrays_overlap(split(labels['sources'], ','), array({quoted(*CLIENTS)})) "
    "AND NOT array_contains(split(labels['sources'], ','), 'broker')"
)
"""An application that runs out of memory is no broker."""

OF_JVM = f"name = '{names.FILE_READ}' AND arrays_overlap(split(labels['sources'], ','), array('broker', 'jvm_log'))"
"""A broker's log, or the last words of a Java runtime."""

PATTERN = "concat('^', replace(replace(replace(labels['key'], '.', '[.]'), '*', '.*'), '?', '.'), '$')"
"""Of topics, as shells write it, as a regular expression."""


# Where Java says that it ran out of memory, there is often no time.
DIED = "max(IF(exhausted, struct(at, quote), NULL)).quote"


LOOKS = "array_sort(collect_list(look))"
THIRD = f"size({LOOKS}) DIV 3"
FILLING = (
    f"IF(count(look) < {USED_LOOKS}, NULL, struct("
    f"array_min(transform(slice({LOOKS}, 1, {THIRD}), l -> l.v)) AS first, "
    f"array_min(transform(slice({LOOKS}, -({THIRD}), {THIRD}), l -> l.v)) AS last, "
    f"array_max(transform(slice({LOOKS}, -({THIRD}), {THIRD}), l -> l.v)) AS most, "
    "max_by(look, look.t).quote AS quote))"
)
FILLED = f"of_broker AND used.last >= {USED_SHARE}D * limit AND used.last >= {USED_TIMES}D * used.first"
"""The least that was in use, in the first and in the last third of the looks."""


def heaps_of(events: DataFrame) -> DataFrame:
    """Return one row for each subject that shows something of a broker's heap: a broker, a log of its collector."""
    chosen = (
        _seen(events)
        .where("NOT of_client")
        .selectExpr(
            "capture",
            f"{BROKER} AS who",
            "at",
            f"{LIMIT} AS limit",
            f"{LIVE} AS live",
            f"IF(name = '{names.METRIC}' AND labels['metric'] RLIKE '{WRITTEN}', value, NULL) AS written",
            f"IF({IS_ENTRY}, IF(labels['class'] LIKE 'kafka.log%', {SCALA_BYTES}D, {JAVA_BYTES}D), NULL)"
            " AS bytes_an_id",
            f"IF({IS_HELD}, struct(value, labels['holder'] AS holder), NULL) AS held",
            f"IF({IS_GC}, value, NULL) AS gc_seconds",
            f"IF({USED}, struct(unix_millis(at) / 1000D AS t, value AS v, {LINE} AS quote), NULL) AS look",
            f"{IS_GC} AND labels['kind'] LIKE '%Full%' AS full",
            f"{EXHAUSTED} AS exhausted",
            "of_jvm",
            f"name = '{names.METRIC}' AND labels['metric'] RLIKE '{OF_BROKER}' AS of_broker",
            f"IF({EXHAUSTED}, {LINE}, NULL) AS quote",
            f"IF({EXHAUSTED}, subject, NULL) AS writer",
            f"IF({IS_PARTITIONS}, value, NULL) AS partition_count",
        )
    )  # fmt: skip - the columns of a sight
    return (
        chosen.groupBy("capture", "who")
        .agg(
            *columns(
                f"{FILLING} AS used",
                "max(limit) AS limit",
                f"coalesce({_last('live')}, max(live)) AS live",
                f"{_last('written')} - {_last('written').replace('max', 'min')} AS written",
                "max(bytes_an_id) AS bytes_an_id",
                "max(held).holder AS held_by",
                f"{_last('partition_count')} AS partition_count",
                "collect_set(writer) AS writers",
                "round(sum(gc_seconds), 6) AS gc_seconds",
                "count_if(full) AS fulls",
                "count_if(exhausted) AS exhausted",
                f"{DIED} AS died",
                "bool_or(exhausted AND of_jvm) AS of_jvm",
                "bool_or(of_broker) AS of_broker",
                "max(at) AS ended",
            ),
        )
        .selectExpr("*", f"coalesce({FILLED}, false) AS filled")
    )


def _seen(events: DataFrame) -> DataFrame:
    """Return what bears on heaps, and whether a client's or a broker's file shows it."""
    return events.where(
        f"name IN ({quoted(*READ)}) OR (name = '{names.METRIC}' AND labels['topic'] IS NULL AND "
        f"labels['metric'] RLIKE 'memory|collection_used|{OF_BROKER}|{WRITTEN}') OR {OF_CLIENT} OR {OF_JVM}"
    ).selectExpr(
        "*",
        *(
            f"max(coalesce({each}, false)) OVER (PARTITION BY capture, file) AS {of}"
            for of, each in (("of_client", OF_CLIENT), ("of_jvm", OF_JVM))
        ),
    )


def _last(column: str) -> str:
    """Return the expression for the latest value of a column that many rows do not have."""
    return f"max_by({column}, IF({column} IS NULL, NULL, at))"


SETTING, OLD_SETTING = "producer.id.expiration.ms", "transactional.id.expiration.ms"
"""What expires ids, since 3.4 and before."""

MANY_IDS = 5
"""More ids than a client with one producer takes, however often it is started again while one looks."""


def captures_of(events: DataFrame) -> DataFrame:
    """Return one row a capture: the brokers' version, what expires ids there, and who took ids."""
    broker = f"name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker')"
    setting = f"IF(name = '{names.SETTING}' AND labels['key'] = '%s' AND coalesce(labels['owner'], '') = 'broker', "
    seconds = "try_cast(labels['value'] AS DOUBLE) / 1000, NULL)"
    own, old = (setting % key + seconds for key in (SETTING, OLD_SETTING))
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
                f"IF(min({own}) IS NULL, '{OLD_SETTING}', '{SETTING}') AS expires_by",
                f"count_if({taken}) AS taken",
                f"slice(collect_list(IF({taken}, {who}, NULL)), 1, 10000) AS takers",
                f"array_sort(collect_list(IF({owned}, struct(line, {PATTERN} AS pattern, labels['value'] AS owner), "
                "NULL))) AS owners",
            ),
        )
        .selectExpr(
            "capture",
            "version",
            "expiry",
            "expires_by",
            "taken",
            f"{_ranked('takers')} AS clients",
            f"{_by_version(lambda era: quoted(era.frees))} AS frees",
            f"{_by_version(_expiry)} AS default_expiry",
            "owners",
        )
    )


def _ranked(names: str) -> str:
    """Return the three that took most ids, each with how many, as an expression for one text; null where nobody did.

    Whoever took few has one producer and was started again.
    """
    often = (
        f"transform(array_distinct({names}), "
        f"n -> IF(n IS NULL, NULL, struct(size(filter({names}, m -> m = n)) AS ids, n AS name)))"
    )
    most = f"slice(filter(sort_array({often}, false), t -> t.ids >= {MANY_IDS}), 1, 3)"
    return f"nullif(array_join(transform({most}, t -> concat(t.name, ' ', t.ids)), ', '), '')"


def _expiry(era: Era) -> str:
    return f"{expires_after('.'.join(map(str, era.since)))}D"


def _by_version(value: Callable[[Era], str]) -> str:
    """Return what holds of brokers of `version`, as an expression; null where that is not known."""
    numbers = "CAST(split(version, '[.]')[{}] AS INT)"
    newest_first = " ".join(
        f"WHEN ({numbers.format(0)}, {numbers.format(1)}) >= ({era.since[0]}, {era.since[1]}) THEN {value(era)}"
        for era in reversed(ERAS)
    )
    return f"CASE {newest_first} END"
