"""From events to heaps: the size of a broker's heap, the live data in it, and OutOfMemoryErrors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.producer_id_leak.broker_versions import JAVA_BYTES, SCALA_BYTES, VERSION_RANGES, expires_after
from leadsman.modes.producer_id_leak.id_counts import BROKER, ENTRY, IS_ENTRY
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, sql_columns, sql_literals

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from leadsman.modes.producer_id_leak.broker_versions import VersionRange

IS_HOLDER = f"name = '{names.HEAP_HOLDERS}' AND labels['class'] RLIKE '{ENTRY}'"
READ = (names.HEAP_CLASS, names.HEAP_HOLDERS, names.HEAP_SIZE, names.GC_PAUSED, names.MEMORY_EXHAUSTED)
UNIT = "CASE labels['unit'] WHEN 'G' THEN 1073741824D WHEN 'M' THEN 1048576D ELSE 1024D END"
IS_GC = f"name = '{names.GC_PAUSED}'"
OLD_POOL = "(Tenured|Old) Gen"
HEAP_METRIC = f"labels['area'] = 'heap' AND name = '{names.METRIC}' AND labels['metric'] RLIKE"
BROKER_METRIC = "(?i)replica_?manager"
"""Metrics that only brokers have, not other Java programs."""

PARTITIONS = "(?i)replica_?manager_?(value_?)?partition_?count$"
IS_PARTITIONS = (
    f"(name = '{names.METRIC}' AND (labels['metric'] RLIKE '{PARTITIONS}' OR "
    f"(labels['metric'] RLIKE '{BROKER_METRIC}' AND labels['name'] = 'PartitionCount')))"
)
"""Metrics that count the partitions of which a broker has a replica."""

WRITTEN = "(?i)messages_?in(_?per_?sec)?_?(total|count)$"
"""Counters of records written to a broker, without rates per second and without those of single topics."""

LIMIT = (
    f"CASE WHEN name = '{names.HEAP_SIZE}' AND labels['kind'] = 'max' THEN value "
    f"WHEN {HEAP_METRIC} 'memory(_bytes)?_max' THEN value "
    f"WHEN {IS_GC} THEN try_cast(labels['size'] AS DOUBLE) * {UNIT} END"
)
LIVE = (
    f"CASE WHEN name = '{names.HEAP_CLASS}' AND labels['class'] = 'total' THEN value "
    f"WHEN {IS_GC} AND labels['kind'] LIKE '%Full%' THEN try_cast(labels['after'] AS DOUBLE) * {UNIT} "
    f"WHEN name = '{names.METRIC}' AND labels['metric'] RLIKE 'collection_used' AND labels['pool'] RLIKE '{OLD_POOL}' "
    "THEN value END"
)
"""The live heap after a garbage collection: used memory includes garbage, so it says little."""

USED = f"({HEAP_METRIC} 'memory(_bytes)?_used(_bytes)?$')"
"""A single sample of used memory includes garbage; the minimum of many samples approximates the live heap."""

MIN_USED_SAMPLES, USED_SHARE, USED_TIMES = 12, 0.6, 1.5
"""Samples of heap usage that are needed; the least share of the limit in use at the end; and the least growth
factor."""

OUT_OF_HEAP = ("Java heap space", "GC overhead limit exceeded")
IS_OOM = f"(name = '{names.MEMORY_EXHAUSTED}' AND labels['reason'] IN ({sql_literals(*OUT_OF_HEAP)}))"
"""An OutOfMemoryError for threads, metaspace or direct memory does not concern the heap."""

CLIENTS = ("aiokafka", "franz_go", "java_client", "kafka_python", "kafkajs", "librdkafka", "sarama")
IS_CLIENT_FILE = (
    f"name = '{names.FILE_READ}' AND arrays_overlap(split(labels['sources'], ','), array({sql_literals(*CLIENTS)})) "
    "AND NOT array_contains(split(labels['sources'], ','), 'broker')"
)
"""An application that runs out of memory is no broker."""

IS_JVM_FILE = (
    f"name = '{names.FILE_READ}' AND arrays_overlap(split(labels['sources'], ','), array('broker', 'jvm_log'))"
)
"""A broker's log, or the last output of a Java runtime."""

PATTERN = "concat('^', replace(replace(replace(labels['key'], '.', '[.]'), '*', '.*'), '?', '.'), '$')"
"""A shell pattern of topics, as a regular expression."""


# Where Java says that it ran out of memory, there is often no time.
OOM_LINE = "max(IF(is_oom, struct(at, evidence_line), NULL)).evidence_line"


USED_SAMPLES = "array_sort(collect_list(used_sample))"
THIRD = f"size({USED_SAMPLES}) DIV 3"
USED_TREND = (
    f"IF(count(used_sample) < {MIN_USED_SAMPLES}, NULL, struct("
    f"array_min(transform(slice({USED_SAMPLES}, 1, {THIRD}), l -> l.v)) AS first, "
    f"array_min(transform(slice({USED_SAMPLES}, -({THIRD}), {THIRD}), l -> l.v)) AS last, "
    f"array_max(transform(slice({USED_SAMPLES}, -({THIRD}), {THIRD}), l -> l.v)) AS most, "
    "max_by(used_sample, used_sample.t).evidence_line AS evidence_line))"
)
IS_FILLED = f"is_broker AND used.last >= {USED_SHARE}D * limit AND used.last >= {USED_TIMES}D * used.first"
"""The minimum of heap usage in the first and in the last third of the samples."""


def heap_rows(events: DataFrame) -> DataFrame:
    """Return one row for each subject with data about a broker's heap: a broker, or a log of its garbage collector."""
    heap_events = (
        _heap_events(events)
        .where("NOT is_client_file")
        .selectExpr(
            "capture",
            f"{BROKER} AS entity",
            "at",
            f"{LIMIT} AS limit",
            f"{LIVE} AS live",
            f"IF(name = '{names.METRIC}' AND labels['metric'] RLIKE '{WRITTEN}', value, NULL) AS records_written",
            f"IF({IS_ENTRY}, IF(labels['class'] LIKE 'kafka.log%', {SCALA_BYTES}D, {JAVA_BYTES}D), NULL)"
            " AS bytes_per_id",
            f"IF({IS_HOLDER}, struct(value, labels['holder'] AS holder), NULL) AS holder",
            f"IF({IS_GC}, value, NULL) AS gc_seconds",
            f"IF({USED}, struct(unix_millis(at) / 1000D AS t, value AS v, {EVIDENCE_LINE} AS evidence_line), NULL)"
            " AS used_sample",
            f"{IS_GC} AND labels['kind'] LIKE '%Full%' AS is_full_gc",
            f"{IS_OOM} AS is_oom",
            "is_jvm_file",
            f"name = '{names.METRIC}' AND labels['metric'] RLIKE '{BROKER_METRIC}' AS is_broker",
            f"IF({IS_OOM}, {EVIDENCE_LINE}, NULL) AS evidence_line",
            f"IF({IS_OOM}, subject, NULL) AS writer",
            f"IF({IS_PARTITIONS}, value, NULL) AS partition_count",
        )
    )  # fmt: skip - the columns of an event
    return (
        heap_events.groupBy("capture", "entity")
        .agg(
            *sql_columns(
                f"{USED_TREND} AS used",
                "max(limit) AS limit",
                f"coalesce({_latest('live')}, max(live)) AS live",
                f"{_latest('records_written')} - {_latest('records_written').replace('max', 'min')} AS records_written",
                "max(bytes_per_id) AS bytes_per_id",
                "max(holder).holder AS heap_holders",
                f"{_latest('partition_count')} AS partition_count",
                "collect_set(writer) AS writers",
                "round(sum(gc_seconds), 6) AS gc_seconds",
                "count_if(is_full_gc) AS full_gcs",
                "count_if(is_oom) AS oom_errors",
                f"{OOM_LINE} AS oom_line",
                "bool_or(is_oom AND is_jvm_file) AS is_jvm_file",
                "bool_or(is_broker) AS is_broker",
                "max(at) AS last_seen",
            ),
        )
        .selectExpr("*", f"coalesce({IS_FILLED}, false) AS heap_filled")
    )


def _heap_events(events: DataFrame) -> DataFrame:
    """Return the events about heaps, and whether a client's or a broker's file contains them."""
    return events.where(
        f"name IN ({sql_literals(*READ)}) OR (name = '{names.METRIC}' AND labels['topic'] IS NULL AND "
        f"labels['metric'] RLIKE 'memory|collection_used|{BROKER_METRIC}|{WRITTEN}') OR {IS_CLIENT_FILE}"
        f" OR {IS_JVM_FILE}"
    ).selectExpr(
        "*",
        *(
            f"max(coalesce({each}, false)) OVER (PARTITION BY capture, file) AS {of}"
            for of, each in (("is_client_file", IS_CLIENT_FILE), ("is_jvm_file", IS_JVM_FILE))
        ),
    )


def _latest(column: str) -> str:
    """Return the SQL for the latest value of a column that is null in many rows."""
    return f"max_by({column}, IF({column} IS NULL, NULL, at))"


SETTING, OLD_SETTING = "producer.id.expiration.ms", "transactional.id.expiration.ms"
"""The settings that expire ids: since 3.4, and before."""

MIN_IDS_TAKEN = 5
"""More ids than a client with a single producer takes, even if the client restarts several times in the capture."""


def capture_rows(events: DataFrame) -> DataFrame:
    """Return one row for each capture: the brokers' version, the expiry of ids, and the clients that took ids."""
    broker = f"name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker')"
    setting = f"IF(name = '{names.SETTING}' AND labels['key'] = '%s' AND coalesce(labels['owner'], '') = 'broker', "
    seconds = "try_cast(labels['value'] AS DOUBLE) / 1000, NULL)"
    current, old = (setting % key + seconds for key in (SETTING, OLD_SETTING))
    relevant_events = events.where(
        f"name IN ('{names.FILE_READ}', '{names.CLIENT_STARTED}', '{names.PRODUCER_ID_TAKEN}', '{names.SETTING}')"
    ).selectExpr("*", f"max(coalesce({broker}, false)) OVER (PARTITION BY capture, subject) AS is_broker")
    is_owner = f"name = '{names.SETTING}' AND labels['owner'] = 'topics'"
    is_taken = f"name = '{names.PRODUCER_ID_TAKEN}'"
    allocating_client = (
        "concat(coalesce(concat('client.id ', labels['client_id']), 'a client without a name'), "
        "coalesce(concat(' from ', labels['host']), concat(' in ', subject)))"
    )
    return (
        relevant_events.groupBy("capture")
        .agg(
            *sql_columns(
                f"max(IF(is_broker AND name = '{names.CLIENT_STARTED}', labels['version'], NULL)) AS version",
                f"coalesce(min({current}), min({old})) AS expiry",
                f"IF(min({current}) IS NULL, '{OLD_SETTING}', '{SETTING}') AS expiry_setting",
                f"count_if({is_taken}) AS ids_allocated",
                f"slice(collect_list(IF({is_taken}, {allocating_client}, NULL)), 1, 10000) AS allocating_clients",
                f"array_sort(collect_list(IF({is_owner}, struct(line, {PATTERN} AS pattern, labels['value'] AS owner), "
                "NULL))) AS owners",
            ),
        )
        .selectExpr(
            "capture",
            "version",
            "expiry",
            "expiry_setting",
            "ids_allocated",
            f"{_ranked('allocating_clients')} AS clients",
            f"{_by_version(lambda versions: sql_literals(versions.frees))} AS frees",
            f"{_by_version(_expiry)} AS default_expiry",
            "owners",
        )
    )


def _ranked(names: str) -> str:
    """Return the SQL for the three clients that took most ids, with their counts; null where there is none.

    A client that took only a few ids has one producer and was restarted.
    """
    by_count = (
        f"transform(array_distinct({names}), "
        f"n -> IF(n IS NULL, NULL, struct(size(filter({names}, m -> m = n)) AS ids, n AS name)))"
    )
    most = f"slice(filter(sort_array({by_count}, false), t -> t.ids >= {MIN_IDS_TAKEN}), 1, 3)"
    return f"nullif(array_join(transform({most}, t -> concat(t.name, ' (', t.ids, ' ids)')), ', '), '')"


def _expiry(versions: VersionRange) -> str:
    return f"{expires_after('.'.join(map(str, versions.since)))}D"


def _by_version(value: Callable[[VersionRange], str]) -> str:
    """Return the SQL for a value that depends on the brokers' `version`; null where the version is not known."""
    numbers = "CAST(split(version, '[.]')[{}] AS INT)"
    newest_first = " ".join(
        f"WHEN ({numbers.format(0)}, {numbers.format(1)}) >= {versions.since} THEN {value(versions)}"
        for versions in reversed(VERSION_RANGES)
    )
    return f"CASE {newest_first} END"
