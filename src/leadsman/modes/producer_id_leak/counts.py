"""From events to looks: how many ids somebody counted, when, of which topic or broker, and what the ids were.

Counts come from whatever there is: DescribeProducers, snapshots, the broker's own log, histograms, metrics. What an id
is (one batch or many, when) only the first two show; the others show how many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import columns, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

TENTHS = 10

ENTRY = r"[.]ProducerStateEntry$"
"""The class of which a broker holds one object for each producer id of each partition, whatever its package."""

ID_COUNT = "(?i)producer_?id_?count"
"""The metric of KIP-847 (since 3.5), however an exporter spells it."""

COUNTED = f"name = '{names.PRODUCERS_COUNTED}'"
OF_PARTITION = "labels['via'] IN ('describe_producers', 'snapshot', 'dump_log', 'broker_log')"
OF_TOPIC = f"({COUNTED} AND {OF_PARTITION})"
IS_ENTRY = f"(name = '{names.HEAP_CLASS}' AND labels['class'] RLIKE '{ENTRY}')"
IS_METRIC = f"(name = '{names.METRIC}' AND (labels['metric'] RLIKE '{ID_COUNT}' OR labels['name'] RLIKE '{ID_COUNT}'))"
OF_HEAP = f"({COUNTED} AND labels['via'] IN ('histogram', 'heap_dump'))"
OF_BROKER = f"({OF_HEAP} OR {IS_ENTRY} OR {IS_METRIC})"
COUNT = f"IF({IS_ENTRY}, CAST(labels['instances'] AS DOUBLE), value)"

STAMP = "[0-9]{4,}[0-9TZ:_.-]*"
"""A date or time within a file's name: scrapes that differ in it alone are of one broker."""

OF_FILE = f"regexp_replace(file, '{STAMP}', '')"
"""Whose an output is that names nobody: its file's, so that two brokers' outputs stay two."""

ENDING = "([.](prom|txt|log|out|json|csv|err)|[.]+)+$"
"""What says what kind of file it is, and not whose."""

NODE = "(kafka|broker|node|host)[-_.]?[0-9]+"
OF_NODE, IS_NODE = f"(?i)((^|/)[^/]*{NODE})/[^/]*$", f"(?i){NODE}[^/]*$"
"""A file in a folder that has one broker's name is that broker's, unless it is called by a broker's name itself."""

WHOSE = f"coalesce(subject, {OF_FILE})"
BROKER = (
    "coalesce(labels['instance'], regexp_replace("
    f"IF({WHOSE} RLIKE '{IS_NODE}', {WHOSE}, regexp_replace({WHOSE}, '{OF_NODE}', '$1')), '{ENDING}', ''))"
)

OUTPUT = (
    f"regexp_replace(regexp_extract({OF_FILE}, '([^/]*)$', 1), "
    "'^(kafka[-_]transactions([.]sh)?[-_.])?(describe[-_]producers|producers?|kafka[-_]dump[-_]log([.]sh)?)[-_.]', '')"
)
OF_PARTITION_FILE = "^([A-Za-z0-9._-]*[A-Za-z0-9_])-([0-9]+)[.]*([.][a-z]+)?$"
"""People name the answers of DescribeProducers for the partition that they asked about, `orders-0`."""

IN_NAME = (
    f"(nullif(labels['topic'], '?') IS NULL AND {OUTPUT} RLIKE '{OF_PARTITION_FILE}' "
    f"AND NOT {OUTPUT} RLIKE '(?i)^{NODE}([.].*)?$' "
    f"AND {OUTPUT} <> regexp_extract({OF_FILE}, '([^/]*)$', 1))"
)
"""Whether a file's name says of which partition it is: behind the tool's name a topic's and a number, no broker's."""

NUMBER = "[-_.]?[0-9]*([.][a-z]+)?$"
"""The end of a file's name: a partition's number perhaps, and what kind of file it is."""

TOPIC = (
    f"CASE WHEN {IN_NAME} THEN regexp_extract({OUTPUT}, '{OF_PARTITION_FILE}', 1) "
    f"ELSE coalesce(nullif(labels['topic'], '?'), concat('of ', regexp_replace({OF_FILE}, '{NUMBER}', ''))) END"
)
PART = (
    f"CASE WHEN {IN_NAME} THEN regexp_extract({OUTPUT}, '{OF_PARTITION_FILE}', 2) "
    f"ELSE coalesce(labels['partition'], IF(nullif(labels['topic'], '?') IS NULL, {OF_FILE}, '')) END"
)
"""Where an output names no partition, files whose names differ in their last number alone are of one topic."""

VIA = f"CASE WHEN {IS_ENTRY} THEN 'histogram' WHEN {IS_METRIC} THEN 'metric' ELSE labels['via'] END"

AT = "coalesce(at, to_timestamp(labels['newest']))"
"""When a count held: a snapshot lies in a folder without a time of its own; it is as old as its newest batch."""

LINE = "struct(file, line, at, text)"


def looks_of(events: DataFrame) -> DataFrame:
    """Return one row a look: what one partition of a topic held, or one broker, and what its ids were.

    `kind` is topic or broker, `who` its name, `part` the partition. `bins` are the times of the single ids, as the
    vocabulary says. The replicas of a partition hold the same ids: their looks are the partition's, whatever folder
    they lie in, unless two folders tell of two (`APART`).
    """
    looks = events.where(f"{OF_TOPIC} OR {OF_BROKER}").selectExpr(
        "capture",
        f"IF({OF_TOPIC}, 'topic', 'broker') AS kind",
        f"IF({OF_TOPIC}, {TOPIC}, {BROKER}) AS who",
        f"{VIA} AS via",
        f"IF({OF_TOPIC}, {PART}, '') AS part",
        f"IF({OF_TOPIC}, regexp_replace({OF_FILE}, '/?[^/]*$', ''), '') AS place",
        f"{AT} AS at",
        f"{COUNT} AS value",
        "CAST(labels['single'] AS DOUBLE) AS single",
        "CAST(labels['few'] AS DOUBLE) AS few",
        "CAST(labels['transactional'] AS DOUBLE) AS transactional",
        "CAST(labels['offset'] AS DOUBLE) AS records",
        "to_timestamp(labels['oldest']) AS oldest",
        "CAST(split(labels['arrivals'], ',') AS array<double>) AS arrivals",
        "labels['single_by_time'] AS bins",
        f"IF(line > 0, {LINE}, NULL) AS quote",
    )
    return table({"looks": looks}, APART)


APART_BY, A_JUMP = 2.0, 0.2
"""Times as far up and down as each folder's looks go alone that all together go, and how large their steps are
beside what is held. Replicas differ by a few ids; two clusters, production and its test, by what they are."""

APART: Mapping[str, str] = {
    "stepped": """
        SELECT capture, kind, who, part, via, place, value,
            abs(value - lag(value) OVER (PARTITION BY capture, who, part, via ORDER BY at)) AS jump,
            abs(value - lag(value) OVER (PARTITION BY capture, who, part, via, place ORDER BY at)) AS step
        FROM looks WHERE kind = 'topic' AND at IS NOT NULL
    """,
    "told": f"""
        SELECT capture, kind, who FROM stepped GROUP BY capture, kind, who, part, via
        HAVING min(place) < max(place) AND sum(jump) > {APART_BY}D * coalesce(sum(step), 0)
            AND count(step) > 1 AND avg(jump) > {A_JUMP}D * avg(value)
    """,
    "apart": "SELECT DISTINCT capture, kind, who, true AS apart FROM told",
    "named": """
        SELECT looks.capture, looks.kind, IF(apart, concat_ws(' in ', looks.who, nullif(place, '')), looks.who) AS who,
            via, part, at, value, single, few, transactional, records, oldest, arrivals, bins, quote
        FROM looks
            LEFT JOIN apart ON apart.capture = looks.capture AND apart.kind = looks.kind AND apart.who = looks.who
    """,
}
"""Looks of one partition that go up and down between two folders are of two partitions with one name."""

VIAS = ("broker_log", "describe_producers", "dump_log", "heap_dump", "histogram", "metric", "snapshot")
SHAPE = "struct(value AS ids, single, few, transactional, oldest, arrivals)"


def counts_of(looks: DataFrame) -> DataFrame:
    """Return one row a topic or broker: how many ids its last looks counted, what they were, and lines that show it.

    Of each partition the last look counts, whoever took it. `shape` is what the last looks say that show what ids are;
    `ways` how many ids each way of counting came to. `records_an_id`: how many records were written for each id that
    came, by the offsets in the brokers' logs.
    """
    of_part = looks.groupBy("capture", "kind", "who", "part").agg(
        *columns(
            "coalesce(max_by(value, at), max(value)) AS last",
            "max(value) AS most",
            "min(least(oldest, at)) AS began",
            "max(at) AS ended",
            f"{_logged('records')} / nullif({_logged('value')}, 0) AS each",
            f"max_by({SHAPE}, IF(single IS NULL, NULL, struct(at, value))) AS shape",
            # A line with the count in it says more of how many there are than a row of a table.
            "min_by(quote, IF(quote IS NULL, NULL, struct(via <> 'broker_log', at, value))) AS first_quote",
            "max_by(quote, IF(quote IS NULL, NULL, struct(via = 'broker_log', at, value))) AS last_quote",
            "max_by(quote, IF(quote IS NULL OR single IS NULL, NULL, struct(at, value))) AS shape_quote",
            *(f"max_by(value, at) FILTER (WHERE via = '{via}') AS {via}" for via in VIAS),
        )
    )
    return _of_whom(of_part)


def _logged(column: str) -> str:
    """Return by how much a column grew from the first line of the brokers' logs about a partition to its most ids."""
    logged = "FILTER (WHERE via = 'broker_log')"
    return f"(max_by({column}, struct(value, at)) {logged} - min_by({column}, at) {logged})"


def _of_whom(parts: DataFrame) -> DataFrame:
    """Add up the partitions."""
    ways = ", ".join(f"struct('{via}' AS via, sum({via}) AS ids)" for via in VIAS)
    arrived = ", ".join(f"sum(shape.arrivals[{n}])" for n in range(TENTHS))
    sums = ", ".join(f"sum(shape.{name}) AS {name}" for name in ("ids", "single", "few", "transactional"))
    return parts.groupBy("capture", "kind", "who").agg(
        *columns(
            "sum(last) AS ids",
            "sum(most) AS most",
            "count(*) AS partitions",
            f"struct({sums}, min(shape.oldest) AS oldest, array({arrived}) AS arrivals) AS shape",
            "median(IF(each > 0, each, NULL)) AS records_each",
            "min(began) AS began",
            "max(ended) AS ended",
            "min(ended) AS oldest_look",
            "count_if(shape IS NOT NULL) AS described_parts",
            "bool_and(part RLIKE '^[0-9]+$') AS part_seen",
            f"filter(array({ways}), way -> way.ids IS NOT NULL) AS ways",
            "array_compact(collect_list(first_quote)) AS quotes",
            "array_compact(collect_list(last_quote)) AS latest",
            "array_compact(collect_list(shape_quote)) AS shapes",
        )
    )
