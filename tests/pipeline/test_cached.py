"""Cached events are unchanged, and a query for a rare name does not scan a frequent one."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.pipeline.spark.cached import cache_events


def frames_in(query) -> int:
    return str(query._jdf.queryExecution().optimizedPlan()).count("LogicalRDD")


@pytest.fixture
def events(spark):
    is_state = F.col("id") % 10 != 0
    name = F.when(is_state, names.PARTITION_STATE).otherwise(names.ERROR)
    return spark.range(500).select("id", name.alias("name"), F.col("id").cast("string").alias("text"))


def test_cached_events_are_the_events_that_were_read(events) -> None:
    cached, present = cache_events(events, many=100)

    assert present == {names.PARTITION_STATE, names.ERROR}
    assert sorted(tuple(row) for row in cached.select("id", "name", "text").collect()) == sorted(
        tuple(row) for row in events.collect()
    )


def test_a_query_for_other_names_does_not_scan_a_frequent_name(events) -> None:
    cached, _ = cache_events(events, many=100)

    selected = cached.where(f"name IN ('{names.ERROR}', '{names.NOT_LEADER}')")

    assert frames_in(cached) == 2
    assert frames_in(selected) == 1
    assert cached.where(f"name = '{names.ERROR}'").count() == 50


def test_few_events_of_each_name_share_one_frame(events) -> None:
    cached, _ = cache_events(events, many=1000)

    assert frames_in(cached) == 1
    assert cached.count() == 500
