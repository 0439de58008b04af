"""From events to counts: one row for each topic, with what its ids are, how many, and how they grew.

Counts come from whatever there is: DescribeProducers, snapshots, the broker's own log, histograms, metrics. What an id
is (one batch or many, when) only the first two tell; the others tell how many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TENTHS = 10

OF_TOPIC = f"name = '{names.PRODUCERS_COUNTED}' AND labels['topic'] IS NOT NULL"
MOMENTS = {"middle": 0.6, "evening": 0.75}
"""Moments by which growth that goes on is told from a burst: something came before the one, and after the other.

Not the half: of three looks at even distances the second is to count as before it, however late it came.
"""

OF_WAY = "OVER (PARTITION BY capture, topic, via)"
OF_REPLICA = "OVER (PARTITION BY capture, topic, via, partition, broker)"

LINE = "struct(file, line, at, text)"


def topics_of(events: DataFrame) -> DataFrame:
    """Return one row a topic: how many ids its partitions hold, since when, and what they are."""
    counted = events.where(OF_TOPIC).selectExpr(
        "capture",
        "labels['topic'] AS topic",
        "labels['partition'] AS partition",
        "coalesce(labels['broker'], '') AS broker",
        "labels['via'] AS via",
        # A snapshot lies in a folder without a time of its own: it is as old as its newest batch, at least.
        "coalesce(at, to_timestamp(labels['newest'])) AS at",
        "value",
        "CAST(labels['single'] AS DOUBLE) AS single",
        "CAST(labels['few'] AS DOUBLE) AS few",
        "CAST(labels['transactional'] AS DOUBLE) AS transactional",
        "CAST(labels['offset'] AS DOUBLE) AS offset",
        "to_timestamp(labels['oldest']) AS oldest",
        "CAST(split(labels['arrivals'], ',') AS array<double>) AS arrivals",
        f"IF(line > 0, {LINE}, NULL) AS told",
    )
    return _of_topics(_of_partitions(counted))


def after(share: float) -> str:
    """Return the moment when such a share of the time from `began` to `ended` has passed, as an expression."""
    return (
        f"timestamp_millis(CAST(unix_millis(began) + {share}D * (unix_millis(ended) - unix_millis(began)) AS BIGINT))"
    )


def _of_partitions(counted: DataFrame) -> DataFrame:
    """Return one row for each way in which each partition was counted: its first, middle and last count.

    Of replicas the one that holds most speaks for the partition. Time counts from when the first of the partitions
    held no more than at the first count: a capture may have begun long before the leak.
    """
    first = counted.selectExpr("*", f"min_by(value, at) {OF_REPLICA} AS least", f"max(at) {OF_WAY} AS ended")
    still = first.selectExpr("*", f"max(IF(value <= least, at, NULL)) {OF_REPLICA} AS still")
    spanned = still.selectExpr("* EXCEPT (still, least)", f"min(still) {OF_WAY} AS began")
    ordered = spanned.selectExpr("*", *(f"{after(share)} AS {name}" for name, share in MOMENTS.items()))
    of_replica = ordered.groupBy("capture", "topic", "via", "partition", "broker").agg(
        *columns(
            "min_by(value, struct(at, value)) AS first",
            "max(IF(at <= middle, value, NULL)) AS halfway",
            "max(IF(at <= evening, value, NULL)) AS late",
            "max_by(value, struct(at, value)) AS last",
            "max(value) AS most",
            "count(DISTINCT at) AS times",
            "first(began) AS began",
            "max(at) AS ended",
            "max(offset) - min(offset) AS records",
            "max_by(struct(single, few, transactional, oldest, arrivals), struct(at, value)) AS shape",
            "array_compact(array(min_by(told, struct(at, value)), max_by(told, struct(at, value)))) AS told",
            "array_compact(array(max_by(told, struct(at, value)))) AS latest",
        ),
    )
    replica = "struct(last, first, halfway, late, most, times, began, ended, records, shape, told, latest)"
    return (
        of_replica.groupBy("capture", "topic", "via", "partition")
        .agg(*columns(f"max({replica}) AS most_held"))
        .selectExpr("capture", "topic", "via", "partition", "most_held.*")
    )


def _of_topics(partitions: DataFrame) -> DataFrame:
    """Return one row a topic, from its partitions and the ways in which they were counted."""
    arrived = ", ".join(f"sum(shape.arrivals[{n}])" for n in range(TENTHS))
    of_via = partitions.groupBy("capture", "topic", "via").agg(
        *columns(
            "sum(last) AS ids",
            "sum(first) AS first",
            "sum(halfway) AS halfway",
            "sum(late) AS late",
            "sum(most) AS most",
            "max(times) AS times",
            "min(began) AS began",
            "max(ended) AS ended",
            "sum(records) AS records",
            "sum(shape.single) AS single",
            "sum(shape.few) AS few",
            "sum(shape.transactional) AS transactional",
            "min(shape.oldest) AS oldest",
            f"array({arrived}) AS arrivals",
            "count(*) AS partitions",
            "flatten(collect_list(told)) AS told",
            "flatten(collect_list(latest)) AS latest",
        ),
    )
    seconds = "(unix_millis(ended) - unix_millis(began)) / 1000"
    in_time = of_via.selectExpr("*", f"{seconds} AS seconds")
    shape = "ended, ids, single, few, transactional, oldest, arrivals, partitions"
    shaped = f"IF(single IS NULL, NULL, struct(arrivals[0] IS NOT NULL AS timed, {shape}))"
    grown = (
        "IF(times > 1, struct(times, seconds, first, halfway, late, ids AS last, most, records, began, ended), NULL)"
    )
    return in_time.groupBy("capture", "topic").agg(
        *columns(
            f"max({shaped}) AS shape",
            f"max({grown}) AS series",
            "max(ids) AS ids",
            "max(partitions) AS partitions",
            "max(IF(via = 'broker_log' AND times > 1 AND ids > first, records / (ids - first), NULL)) AS records_an_id",
            "max(ended) AS ended",
            "min(least(oldest, began)) AS began",
            "collect_list(struct(via, ids, ended)) AS ways",
            "flatten(collect_list(told)) AS told",
            # A line with the count in it says more than the heading of a table.
            "flatten(coalesce(nullif(collect_list(IF(via = 'broker_log', latest, NULL)), array()), "
            "collect_list(latest))) AS latest",
        ),
    )  # fmt: skip - the columns of a topic
