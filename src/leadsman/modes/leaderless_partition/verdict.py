"""From consumers and what the cluster shows to the state of each link: was a leader missing, and who died of it.

One client that cannot reach a broker proves nothing about the cluster. A missing leader is shown by a broker that the
controller fenced, by partitions that other brokers lead only after clients had waited, by partitions without any
leader, or by clients that are independent of one another and could not use the same broker at the same time. It is
ruled out by a controller's log of that time without a word of it, or by others that used the same broker meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.leaderless_partition.incidents import seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

USERS_WELL = 2
"""Consumers that kept their coordinator on a broker while one client could not use it: the broker answered. One alone
may have had nothing to commit."""

BROKERS_READ = 2
"""Brokers whose logs show that the cluster was well: the lost one would be missed by those that replicate from it."""

LASTED = (
    "CAST(coalesce(settled_at, least(trouble_until, timed_out_at), trouble_until) AS DOUBLE) "
    "- CAST(trouble_at AS DOUBLE)"
)

CONTROLLED = f"""
    exists(coalesce(controllers, array()), c -> c.first <= {{begin}} AND (
        c.last >= timed_out_at OR alarms = 0
        AND size(filter(brokers_read, b -> b.first <= {{begin}} AND b.last >= timed_out_at)) >= {BROKERS_READ}
    ))
"""
"""Whether a controller's log was read that would have said that a broker was lost. A quiet one ends before the commit
timed out: then the brokers' own logs must reach further, and say nothing of a lost broker either."""

FELT = """
    SELECT capture, incident, explode(IF(size(brokers) = 0, array(-1L), brokers)) AS lost,
        healed_at, trouble_at, trouble_until
    FROM consumers
    WHERE time_outs > 0 OR CAST(trouble_until AS DOUBLE) - CAST(trouble_at AS DOUBLE) >= {least}D
"""
FELT_BY = """
    SELECT capture, incident, lost, count(*) AS affected,
        count_if(CAST(healed_at AS DOUBLE) - CAST(trouble_at AS DOUBLE) >= {least}D) AS moved_away
    FROM felt GROUP BY capture, incident, lost
"""
"""How many consumers could not use a broker for long, and how many of them were then sent to another coordinator."""

WELL = """
    SELECT capture, incident, coalesce(home, get(array_sort(found), 0).broker) AS lost, count(*) AS well
    FROM consumers JOIN struck USING (capture, incident)
    WHERE trouble_at IS NULL AND time_outs = 0 AND last_seen >= troubled_until AND first_seen <= struck_at
        AND NOT exists(found, f -> f.broker <> coalesce(home, get(array_sort(found), 0).broker))
    GROUP BY 1, 2, 3
"""
"""Consumers that had a broker as their coordinator all the time, and no trouble."""


def judged_of(*, least: float, late: float) -> Mapping[str, str]:
    """Return the steps from `consumers`, `struck` and `seen` to `judged`, as `detect` says of its seconds."""
    begin = "least(trouble_at, waited_since)"
    span = f"{begin} - INTERVAL 5 SECONDS AND timed_out_until + {seconds(str(late))}"
    named = "(size(brokers) = 0 OR array_contains(brokers, try_cast({0} AS BIGINT)))"
    orderly = "exists(stopped, s -> array_contains(brokers, try_cast(s.node AS BIGINT)))"
    return {
        "felt": FELT.format(least=least),
        "felt_by": FELT_BY.format(least=least),
        "well": WELL,
        "shared": """
            SELECT capture, incident, map_from_entries(collect_list(struct(lost, affected))) AS affected_by,
                map_from_entries(collect_list(struct(lost, moved_away))) AS moved_by
            FROM felt_by GROUP BY capture, incident
        """,
        "served": """
            SELECT capture, incident, map_from_entries(collect_list(struct(lost, well))) AS well_by
            FROM well WHERE lost IS NOT NULL GROUP BY capture, incident
        """,
        "measured": f"""
            SELECT *, {LASTED} AS leaderless_seconds,
                {_affected("affected_by")}
                    + IF(size(brokers) > 0, coalesce(try_element_at(affected_by, -1L), 0), 0) AS affected,
                {_affected("moved_by")} AS moved_away,
                coalesce(CAST(trouble_until AS DOUBLE) - CAST(trouble_at AS DOUBLE) >= {least}D
                    AND (size(brokers) = 0 OR array_contains(brokers, broker)), false) AS felt,
                coalesce(healed_at, joined_at) AS recovered_at,
                coalesce(array_max(transform(brokers, b -> coalesce(try_element_at(well_by, b), 0))), 0) AS well,
                coalesce({orderly}, false) AS orderly,
                {CONTROLLED.format(begin=begin)} AS controlled,
                exists(lost, f -> f.at BETWEEN {span} AND {named.format("f.node")}) AS fenced_then,
                exists(coalesce(moves, array()), m -> {named.format("m.broker")} AND size(brokers) > 0
                    AND m.at BETWEEN trouble_at + {seconds(str(least))} AND {span.partition(" AND ")[2]}) AS moved_late,
                exists(offline_at, o -> o BETWEEN {span})
                    OR exists(coalesce(lacking, array()), n -> coalesce(n.at BETWEEN {span}, true) AND (
                    n.news OR exists(brokers, b -> array_contains(n.replicas, CAST(b AS STRING))))) AS lacked
            FROM consumers JOIN seen USING (capture, incident)
                LEFT JOIN shared USING (capture, incident) LEFT JOIN served USING (capture, incident)
        """,
        "stated": f"""
            SELECT *, CASE
                WHEN time_outs = 0 THEN 'not visible'
                WHEN fenced_then OR moved_late THEN 'observed'
                WHEN orderly THEN IF(controlled, 'contradicted', 'not visible')
                WHEN lacked OR moved_away > 0 THEN 'observed'
                WHEN affected > greatest(1, well) AND NOT controlled THEN 'observed'
                WHEN affected <= 1 AND (controlled OR well >= {USERS_WELL}) THEN 'contradicted'
                ELSE 'not visible' END AS leaderless
            FROM measured
        """,
        "judged": """
            SELECT *, row_number() OVER (PARTITION BY capture, subject ORDER BY
                    time_outs > 0 DESC, leaderless = 'observed' DESC, died DESC, timed_out_at DESC, incident
                ) = 1 AS shown,
                CASE WHEN died THEN 'observed' WHEN lives THEN 'contradicted' ELSE 'not visible' END AS died_state
            FROM stated
        """,
    }


def _affected(by: str) -> str:
    """Return how many consumers name the broker that most name, of those that this one names; or name none."""
    named = "IF(size(brokers) = 0, array(-1L), brokers)"
    return f"coalesce(array_max(transform({named}, b -> coalesce(try_element_at({by}, b), 0))), 0)"
