"""From events to samples: how many producer ids were counted, when, on which topic or broker, and what the ids sent.

The counts come from DescribeProducers, snapshots, the broker's own log, class histograms and metrics. Only the first
two show what an id sent (one batch or many, and when); the others show only how many ids there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, run_steps, sql_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

TENTHS = 10

ENTRY = r"[.]ProducerStateEntry$"
"""The class of which a broker has one object for each producer id of each partition, in any package."""

ID_COUNT = "(?i)producer_?id_?count"
"""The metric of KIP-847 (since 3.5), in the spellings of all exporters."""

COUNTED = f"name = '{names.PRODUCERS_COUNTED}'"
IS_PARTITION_COUNT = "labels['via'] IN ('describe_producers', 'snapshot', 'dump_log', 'broker_log')"
IS_TOPIC_COUNT = f"({COUNTED} AND {IS_PARTITION_COUNT})"
IS_ENTRY = f"(name = '{names.HEAP_CLASS}' AND labels['class'] RLIKE '{ENTRY}')"
IS_METRIC = f"(name = '{names.METRIC}' AND (labels['metric'] RLIKE '{ID_COUNT}' OR labels['name'] RLIKE '{ID_COUNT}'))"
IS_HEAP_COUNT = f"({COUNTED} AND labels['via'] IN ('histogram', 'heap_dump'))"
IS_BROKER_COUNT = f"({IS_HEAP_COUNT} OR {IS_ENTRY} OR {IS_METRIC})"
COUNT = f"IF({IS_ENTRY}, try_cast(labels['instances'] AS DOUBLE), round(value))"
"""Averages over time, as recording rules of Prometheus make them, are no whole numbers."""

STAMP = "[0-9]{4,}[0-9TZ:_.-]*"
"""A date or time within a file's name: scrapes whose names differ only in it are of one broker."""

FILE_WITHOUT_TIME = f"regexp_replace(file, '{STAMP}', '')"
"""The owner of an output that names no broker: its file, so that the outputs of two brokers stay separate."""

ENDING = "([.](prom|txt|log|out|json|csv|err)|[.]+)+$"
"""The part of a file's name that shows its type, not its owner."""

NODE = "(kafka|broker|node|host)[-_.]?[0-9]+"
IN_NODE_FOLDER, IS_NODE = f"(?i)((^|/)[^/]*{NODE})/[^/]*$", f"(?i){NODE}[^/]*$"
"""A file in a folder with a broker's name belongs to that broker, unless the file itself has a broker's name."""

WHOSE = f"coalesce(subject, {FILE_WITHOUT_TIME})"
BROKER = (
    "coalesce(labels['instance'], regexp_replace("
    f"IF({WHOSE} RLIKE '{IS_NODE}', {WHOSE}, regexp_replace({WHOSE}, '{IN_NODE_FOLDER}', '$1')), '{ENDING}', ''))"
)

OUTPUT = (
    f"regexp_replace(regexp_extract({FILE_WITHOUT_TIME}, '([^/]*)$', 1), "
    "'^(kafka[-_]transactions([.]sh)?[-_.])?(describe[-_]producers|producers?|kafka[-_]dump[-_]log([.]sh)?)[-_.]', '')"
)
PARTITION_FILE = "^([A-Za-z0-9._-]*[A-Za-z0-9_])-([0-9]+)[.]*([.][a-z]+)?$"
"""Files with responses of DescribeProducers are often named after the partition, such as `orders-0`."""

IN_NAME = (
    f"(nullif(labels['topic'], '?') IS NULL AND {OUTPUT} RLIKE '{PARTITION_FILE}' "
    f"AND NOT {OUTPUT} RLIKE '(?i)^{NODE}([.].*)?$' "
    f"AND {OUTPUT} <> regexp_extract({FILE_WITHOUT_TIME}, '([^/]*)$', 1))"
)
"""Whether a file's name shows its partition: after the tool's name a topic and a number, and no broker's name."""

NUMBER = "[-_.]?[0-9]*([.][a-z]+)?$"
"""The end of a file's name: possibly a partition's number, and the type of the file."""

TOPIC = (
    f"CASE WHEN {IN_NAME} THEN regexp_extract({OUTPUT}, '{PARTITION_FILE}', 1) "
    f"ELSE coalesce(nullif(labels['topic'], '?'), concat('of ', regexp_replace({FILE_WITHOUT_TIME}, '{NUMBER}',"
    " ''))) END"
)
PART = (
    f"CASE WHEN {IN_NAME} THEN regexp_extract({OUTPUT}, '{PARTITION_FILE}', 2) "
    f"ELSE coalesce(labels['partition'], IF(nullif(labels['topic'], '?') IS NULL, {FILE_WITHOUT_TIME}, '')) END"
)
"""Where an output names no partition, files whose names differ only in their last number are of one topic."""

VIA = f"CASE WHEN {IS_ENTRY} THEN 'histogram' WHEN {IS_METRIC} THEN 'metric' ELSE labels['via'] END"

AT = "coalesce(at, try_to_timestamp(labels['newest']))"
"""The time of a count. A snapshot has no time of its own; its newest batch dates it."""


def id_sample_rows(events: DataFrame) -> DataFrame:
    """Return one row for each sample: the producer ids of one partition or of one broker, and what they sent.

    `kind` is topic or broker, `entity` its name, `part` the partition. `arrival_bins` are the times of the single-batch
    ids, in the format of the vocabulary. The replicas of a partition have the same ids, so the samples of all folders
    count for one partition, unless two folders show two different partitions (`SPLIT_FOLDERS`).
    """
    samples = events.where(f"{IS_TOPIC_COUNT} OR {IS_BROKER_COUNT}").selectExpr(
        "capture",
        f"IF({IS_TOPIC_COUNT}, 'topic', 'broker') AS kind",
        f"IF({IS_TOPIC_COUNT}, {TOPIC}, {BROKER}) AS entity",
        f"{VIA} AS via",
        f"IF({IS_TOPIC_COUNT}, {PART}, '') AS part",
        f"IF({IS_TOPIC_COUNT}, regexp_replace({FILE_WITHOUT_TIME}, '/?[^/]*$', ''), '') AS folder",
        f"{AT} AS at",
        f"{COUNT} AS value",
        "try_cast(labels['single'] AS DOUBLE) AS single_batch",
        "try_cast(labels['few'] AS DOUBLE) AS few_records",
        "try_cast(labels['transactional'] AS DOUBLE) AS transactional",
        "try_cast(labels['offset'] AS DOUBLE) AS records",
        "try_to_timestamp(labels['oldest']) AS oldest",
        "CAST(split(labels['arrivals'], ',') AS array<double>) AS arrivals",
        "labels['single_by_time'] AS arrival_bins",
        f"IF(line > 0, {EVIDENCE_LINE}, NULL) AS evidence_line",
    )
    return run_steps({"samples": samples}, SPLIT_FOLDERS)


SPLIT_RATIO, MIN_JUMP = 2.0, 0.2
"""Two folders show two partitions where all samples together go up and down by so many times as much as the samples of
each folder alone, with steps of at least this share of the ids. Replicas differ by a few ids; two clusters, such as
production and test, differ by much more."""

SPLIT_FOLDERS: Mapping[str, str] = {
    "sample_steps": """
        SELECT capture, kind, entity, part, via, folder, value,
            abs(value - lag(value) OVER (PARTITION BY capture, entity, part, via ORDER BY at)) AS jump,
            abs(value - lag(value) OVER (PARTITION BY capture, entity, part, via, folder ORDER BY at)) AS step
        FROM samples WHERE kind = 'topic' AND at IS NOT NULL
    """,
    "mixed_folders": f"""
        SELECT capture, kind, entity FROM sample_steps GROUP BY capture, kind, entity, part, via
        HAVING min(folder) < max(folder) AND sum(jump) > {SPLIT_RATIO}D * coalesce(sum(step), 0)
            AND count(step) > 1 AND avg(jump) > {MIN_JUMP}D * avg(value)
    """,
    "split_folder": "SELECT DISTINCT capture, kind, entity, true AS split_folder FROM mixed_folders",
    "named_samples": """
        SELECT samples.capture, samples.kind, IF(split_folder, concat_ws(' in ', samples.entity, nullif(folder, '')),
            samples.entity) AS entity,
            via, part, at, value, single_batch, few_records, transactional, records, oldest, arrivals, arrival_bins,
                evidence_line
        FROM samples
            LEFT JOIN split_folder ON split_folder.capture = samples.capture AND split_folder.kind = samples.kind
                AND split_folder.entity = samples.entity
    """,
}
"""Samples of one partition that go up and down between two folders are of two partitions with the same name."""

VIAS = ("broker_log", "describe_producers", "dump_log", "heap_dump", "histogram", "metric", "snapshot")
COMPOSITION = "struct(value AS ids, single_batch, few_records, transactional, oldest, arrivals)"


def id_count_rows(samples: DataFrame) -> DataFrame:
    """Return one row for each topic or broker: how many ids its last samples counted, what the ids sent, and the lines.

    Of each partition the last sample counts, of any source. `composition` comes from the last samples that show what
    ids sent; `counts_by_source` is the number of ids by each source. `records_per_id`: how many records were written
    for each new id, by the offsets in the brokers' logs.
    """
    by_partition = samples.groupBy("capture", "kind", "entity", "part").agg(
        *sql_columns(
            "coalesce(max_by(value, at), max(value)) AS latest_ids",
            "max(value) AS peak",
            "min(least(oldest, at)) AS first_seen",
            "max(at) AS last_seen",
            "count(at) AS samples",
            "array(struct(min(at) AS at, min_by(value, at) AS value),"
            " struct(max(at) AS at, max_by(value, at) AS value)) AS ends",
            f"{_logged('records')} / nullif({_logged('value')}, 0) AS records_per_id_logged",
            f"max_by({COMPOSITION}, IF(single_batch IS NULL, NULL, struct(at, value))) AS composition",
            # A log line that contains the count is better evidence of the number than a row of a table.
            "min_by(evidence_line, IF(evidence_line IS NULL, NULL, struct(via <> 'broker_log', at, value)))"
            " AS first_line",
            "max_by(evidence_line, IF(evidence_line IS NULL, NULL, struct(via = 'broker_log', at, value)))"
            " AS last_line",
            "max_by(evidence_line, IF(evidence_line IS NULL OR single_batch IS NULL, NULL, struct(at, value)))"
            " AS composition_line",
            *(f"max_by(value, at) FILTER (WHERE via = '{via}') AS {via}" for via in VIAS),
        )
    )
    return _by_entity(by_partition)


def _logged(column: str) -> str:
    """Return the SQL for the growth of a column from a partition's first line in the brokers' logs to its most ids."""
    logged = "FILTER (WHERE via = 'broker_log')"
    return f"(max_by({column}, struct(value, at)) {logged} - min_by({column}, at) {logged})"


def _by_entity(parts: DataFrame) -> DataFrame:
    """Return the sums over the partitions of each topic or broker."""
    sources = ", ".join(f"struct('{via}' AS via, sum({via}) AS ids)" for via in VIAS)
    arrived = ", ".join(f"sum(composition.arrivals[{n}])" for n in range(TENTHS))
    columns = ("ids", "single_batch", "few_records", "transactional")
    sums = ", ".join(f"sum(composition.{name}) AS {name}" for name in columns)
    return parts.groupBy("capture", "kind", "entity").agg(
        *sql_columns(
            "sum(latest_ids) AS ids",
            "sum(peak) AS peak",
            "count(*) AS partitions",
            f"struct({sums}, min(composition.oldest) AS oldest, array({arrived}) AS arrivals) AS composition",
            "median(IF(records_per_id_logged > 0, records_per_id_logged, NULL)) AS records_per_id",
            "min(first_seen) AS first_seen",
            "max(last_seen) AS last_seen",
            "min(last_seen) AS oldest_sample_at",
            "sum(samples) AS samples",
            "max(peak) AS largest_partition",
            "filter(flatten(collect_list(ends)), e -> e.at IS NOT NULL) AS ends",
            "count_if(composition IS NOT NULL) AS described_partitions",
            "bool_and(part RLIKE '^[0-9]+$') AS partitions_known",
            f"filter(array({sources}), way -> way.ids IS NOT NULL) AS counts_by_source",
            "array_compact(collect_list(first_line)) AS first_lines",
            "array_compact(collect_list(last_line)) AS latest_lines",
            "array_compact(collect_list(composition_line)) AS composition_lines",
        )
    )
