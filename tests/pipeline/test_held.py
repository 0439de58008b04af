"""Events that are kept: the same ones, and a query for few need not walk over many."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.pipeline.held import held


def frames_in(query) -> int:
    return str(query._jdf.queryExecution().optimizedPlan()).count("LogicalRDD")


@pytest.fixture
def events(spark):
    is_state = F.col("id") % 10 != 0
    name = F.when(is_state, names.PARTITION_STATE).otherwise(names.ERROR)
    return spark.range(500).select("id", name.alias("name"), F.col("id").cast("string").alias("text"))


def test_the_events_are_those_that_were_read(events) -> None:
    kept, present = held(events, many=100)

    assert present == {names.PARTITION_STATE, names.ERROR}
    assert sorted(tuple(row) for row in kept.select("id", "name", "text").collect()) == sorted(
        tuple(row) for row in events.collect()
    )


def test_a_query_for_other_names_leaves_the_many_out(events) -> None:
    kept, _ = held(events, many=100)

    asked = kept.where(f"name IN ('{names.ERROR}', '{names.NOT_LEADER}')")

    assert frames_in(kept) == 2
    assert frames_in(asked) == 1
    assert kept.where(f"name = '{names.ERROR}'").count() == 50


def test_few_events_of_each_name_stay_together(events) -> None:
    kept, _ = held(events, many=1000)

    assert frames_in(kept) == 1
    assert kept.count() == 500
