"""From events to leaders: when a broker was lost, when others led its partitions, and who led how many at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.consumers import OF_BROKER
from leadsman.pipeline.shapes import columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LEADERS = "leaders"
"""Outcome of a point that says how many partitions a broker leads from `since` to `at`."""


def captures_of(events: DataFrame, consumers: DataFrame, *, near: float) -> DataFrame:
    """Return one row a capture: the loss of a broker, when the cluster had settled, and what else happened."""
    struck = (
        consumers.where("trouble_at IS NOT NULL")
        .groupBy("capture")
        .agg(
            *columns(
                "min(trouble_at) AS struck_at", "max(trouble_until) AS troubled_until", "min(healed_at) AS healed_first"
            )
        )
    )
    fenced = f"name = '{names.BROKER_FENCED}'"
    moved = f"(name = '{names.LEADERS_MOVED}' OR {fenced} OR name = '{names.PARTITION_STATE}')"
    told = (
        events.join(struck, "capture", "left")
        .groupBy("capture")
        .agg(
            *columns(
                "max(struck_at) AS struck_at",
                "max(healed_first) AS healed_first",
                f"count_if({fenced} AND at >= struck_at) AS fenced",
                f"max(IF({moved} AND at > struck_at + INTERVAL 1 SECOND AND at <= troubled_until + INTERVAL 2 SECONDS, "
                "at, NULL)) AS moved_at",
                f"collect_list(IF({fenced}, struct(file, line, at, text), NULL)) AS fenced_lines",
                f"sum(IF(name = '{names.LEADERS_MOVED}' AND at >= struck_at, value, 0)) AS moved",
                f"max(IF(name = '{names.SESSION_EXPIRED}' AND at >= struck_at, value, NULL)) AS session",
                f"count_if(name = '{names.BROKER_STOPPING}') AS stopping",
                f"count_if(name = '{names.HOST_MAINTENANCE}' AND abs(CAST(at AS DOUBLE) - CAST(struck_at AS DOUBLE)) "
                f"<= {near}D) AS maintenance",
                f"max(IF(name = '{names.HOST_MAINTENANCE}', labels['action'], NULL)) AS action",
                f"count_if(name = '{names.CLOCK_JUMPED}') AS elsewhere",
                f"count_if(name = '{names.PREFERRED_ELECTION}') AS refilled",
                "count_if(text LIKE '%NOT_ENOUGH_REPLICAS%' OR text LIKE '%NotEnoughReplicas%') AS unreplicated",
                f"coalesce(sum(IF({OF_BROKER}, value, 0)), 0) AS broker_lines",
                f"max(IF(name = '{names.SETTING}' AND labels['key'] = 'default.api.timeout.ms' "
                "AND labels['owner'] = 'consumer', try_cast(labels['value'] AS DOUBLE) / 1000, NULL)) AS patience_set",
            )
        )
    )
    settled = "coalesce(moved_at, healed_first)"
    return told.selectExpr(
        "capture",
        "fenced",
        "fenced_lines",
        "moved",
        "session",
        "stopping",
        "maintenance",
        "action",
        "elsewhere",
        "refilled",
        "unreplicated",
        "broker_lines",
        "patience_set",
        f"{settled} AS settled_at",
        f"CAST({settled} AS DOUBLE) - CAST(struck_at AS DOUBLE) AS settling_seconds",
    )


def leaders_of(events: DataFrame) -> DataFrame:
    """Return how many partitions each broker led, and from when to when.

    Each line or snapshot says who leads a partition from then on. The number changes with each, so it is a running sum
    of gains and losses.
    """
    of_partition = "PARTITION BY capture, labels['topic'], labels['partition'] ORDER BY at, line"
    of_broker = "PARTITION BY capture, broker ORDER BY at"
    changes = (
        events.where(f"name = '{names.PARTITION_STATE}' AND at IS NOT NULL AND labels['leader'] IS NOT NULL")
        .selectExpr(
            "capture", "at", "labels['leader'] AS leader", f"lag(labels['leader']) OVER ({of_partition}) AS before"
        )
        .where("before IS NULL OR before <> leader")
        .selectExpr(
            "capture",
            "at",
            "inline(array(struct(leader AS broker, 1 AS change), struct(before AS broker, -1 AS change)))",
        )
        .where("broker IS NOT NULL AND broker <> 'none'")
        .groupBy("capture", "broker", "at")
        .agg(*columns("sum(change) AS change"))
    )
    return changes.selectExpr(
        "capture",
        "concat('broker ', broker) AS subject",
        f"'{LEADERS}' AS outcome",
        "at AS since",
        f"coalesce(lead(at) OVER ({of_broker}), max(at) OVER (PARTITION BY capture)) AS at",
        f"CAST(sum(change) OVER ({of_broker}) AS DOUBLE) AS value",
    )
