"""How partitions without a working leader, and consumers that die of it, show in the telemetry.

Metadata go on naming a broker that is gone, so nobody waits for `Leader: none` here. Clients tell that their
coordinator or a leader does not answer, again and again of the same broker; the controller tells when it took that
broker for dead and gave its partitions to others. Between the two the cluster settles, and a commit that has less
patience than that takes its consumer with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.consumers import consumers_of
from leadsman.modes.leaderless_partition.leaders import (
    CHANGES,
    ELECTIONS,
    IMBALANCE,
    LEADERS_OF,
    LED,
    METERED,
    SETTLING,
    SPANS,
    STRUCK,
    captures_of,
)
from leadsman.modes.leaderless_partition.stolen import stolen_of
from leadsman.pipeline.shapes import EVIDENCE, OBSERVATION, Detection, accounted, first_lines, map_of, settled, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame


def detect(
    events: DataFrame,
    *,
    least_leaderless_seconds: float = 3.0,
    near_seconds: float = 30.0,
    history_seconds: float = 2.0,
    fenced_seconds: float = 300.0,
    maintenance_seconds: float = 600.0,
    stolen_share: float = 0.1,
    stolen_times: float = 2.0,
    usual_seconds: float = 300.0,
) -> Detection:
    """Return the observations of every link, and the points of the page.

    least_leaderless_seconds: an orderly change of leader is over sooner; a rolling restart stalled nobody for longer.
    near_seconds: a consumer that ends this long after a commit's time-out ended of it; Streams closes its tasks first.
    history_seconds: a log that began this long before a time-out, without a word of a broker, shows that none was lost.
    fenced_seconds: a broker that the controller gives up this soon after a commit timed out was missing already.
    maintenance_seconds: a host's maintenance this near to the loss of a broker may be its cause.
    stolen_share: of its processors' time a host was kept from running; at a tenth alert rules for node_exporter call it
        a noisy neighbour (awesome-prometheus-alerts, HostCpuStealNoisyNeighbor).
    stolen_times: so many times what was usual before the loss; a neighbour that always steals is no maintenance.
    usual_seconds: what is usual on a host is known from looks of so long before the loss: five at a minute each.
    """
    found = {"events": events}
    stolen = {"near": maintenance_seconds, "share": stolen_share, "times": stolen_times, "history": usual_seconds}
    for steps in (
        consumers_of(near=near_seconds),
        {
            "struck": STRUCK,
            **stolen_of(**stolen),
            **captures_of(near=maintenance_seconds),
            "judged": _judged(least=least_leaderless_seconds, history=history_seconds, late=fenced_seconds),
        },
        {"led": LED, "changes": CHANGES, "spans": SPANS},
    ):
        found[list(steps)[-1]] = settled(table(found, steps))
    points = {
        "leaders": LEADERS_OF,
        "metered": METERED,
        "imbalance": IMBALANCE,
        "elections": ELECTIONS,
        "settling": SETTLING,
        "lives": LIVES,
        "points": POINTS,
    }
    return Detection(table(found, _links()), table(found, points), tuple(found.values())[1:])


def _judged(*, least: float, history: float, late: float) -> str:
    """Say of each consumer what became of it, and whether a leader was missing before."""
    lasted = "CAST(coalesce(settled_at, least(trouble_until, timed_out_at)) AS DOUBLE) - CAST(trouble_at AS DOUBLE)"
    given_up = (
        "exists(fenced_lines, f -> CAST(f.at AS DOUBLE) - CAST(timed_out_at AS DOUBLE) "
        f"BETWEEN -coalesce(patience, 0D) AND {late}D)"
    )
    seen = "CAST(timed_out_at AS DOUBLE) - CAST(first_seen AS DOUBLE)"
    leaderless = f"""
        CASE WHEN {given_up} OR (trouble_at <= timed_out_at AND {lasted} >= {least}D) THEN 'observed'
            WHEN trouble_at IS NULL AND coalesce({seen} < {history}D, true) THEN 'not visible'
            ELSE 'contradicted' END
    """
    return f"""
        SELECT *, {lasted} AS leaderless_seconds, {leaderless} AS leaderless,
            IF(died, 'observed', 'contradicted') AS died_state,
            CASE WHEN timed_out_at IS NULL THEN 'contradicted'
                WHEN {leaderless} <> 'observed' THEN 'not visible'
                ELSE 'observed' END AS gave_up
        FROM consumers JOIN captures USING (capture)
    """


DEAD = "died AND leaderless <> 'contradicted'"
HEALED = "healed_at IS NOT NULL AND NOT died"
OF_THE_CAPTURE = (
    "settling_seconds AS settling",
    "unanswered",
    "fenced",
    "moved",
    "session",
    "maintenance",
    "action",
    "jumped",
    "stolen",
    "stolen_of",
    "stolen_from",
    "refilled",
    "broker_lines",
    "stopping",
    "unreplicated",
    "abandoned",
    "behind",
)  # fmt: skip - a list of names

POOLED = f"""
    SELECT capture,
        {", ".join(f"max({name.split()[0]}) AS {name.split()[-1]}" for name in OF_THE_CAPTURE)},
        max(lost_broker) AS broker,
        count(*) AS consumers,
        count_if({DEAD}) AS dead,
        sum(IF({DEAD}, threads, 0)) AS dead_threads,
        count_if({HEALED}) AS healed,
        max(IF({HEALED}, CAST(healed_at AS DOUBLE) - CAST(trouble_at AS DOUBLE), NULL)) AS healed_after,
        count_if(stuck) AS stuck,
        min(IF({DEAD}, patience, NULL)) AS patience,
        max(IF({DEAD}, version, NULL)) AS dead_version,
    max(IF({DEAD}, decided_by, NULL)) AS decided_by,
        max(IF({HEALED}, own_patience, NULL)) AS healed_patience,
        count_if({DEAD} AND rebalances > 5) AS storm,
        count_if(timed_out_at IS NOT NULL AND leaderless = 'contradicted') AS without_loss,
        min(trouble_at) AS since,
        max(coalesce(settled_at, trouble_until)) AS until
    FROM judged GROUP BY capture
"""
"""One row a capture: how long it took to settle, and what became of whom."""

ALWAYS = ("consumers", "dead", "patience", "broker_lines", "without_loss", "storm", "settling", "broker")
WHERE_ANY = (
    "dead_threads",
    "fenced",
    "moved",
    "session",
    "healed",
    "healed_after",
    "healed_patience",
    "stuck",
    "maintenance",
    "jumped",
    "stolen",
    "stolen_of",
    "stopping",
    "unreplicated",
    "refilled",
    "frozen",
    "abandoned",
    "behind",
)  # fmt: skip - a list of names
"""Figures that are left out where they are 0, and the sentences about them with them."""

OF_THE_BROKER = (
    names.CONNECTION_LOST,
    names.CONNECTION_REFUSED,
    names.CONNECTION_SETUP_TIMED_OUT,
    names.REQUEST_TIMED_OUT,
    names.COORDINATOR_LOST,
)
"""What anybody says of the broker that is gone."""

OF_THE_CLUSTER = (
    names.NOT_LEADER,
    names.LEADER_NOT_AVAILABLE,
    names.BROKER_FENCED,
    names.SESSION_EXPIRED,
    names.ISR_SHRUNK,
    names.LEADERS_MOVED,
)
"""What brokers and clients say of leaders that move, whoever they are."""

ACCOUNTS = {
    "mourners": """
        SELECT capture, subject, coalesce(least(trouble_at, gave_up_at), trouble_at) - INTERVAL 2 SECONDS AS since,
            greatest(died_at, settled_at, trouble_until) + INTERVAL 30 SECONDS AS until
        FROM judged WHERE trouble_at IS NOT NULL OR gave_up_at IS NOT NULL
    """,
    "back": f"""
        SELECT capture, labels['node'] AS broker, at FROM events WHERE name = '{names.BROKER_UNFENCED}'
    """,
    "missing": """
        SELECT capture, broker, min(pooled.since) - INTERVAL 2 SECONDS AS since,
            min(IF(back.at > pooled.since, back.at, NULL)) + INTERVAL 30 SECONDS AS until
        FROM (SELECT capture, CAST(broker AS STRING) AS broker, since FROM pooled WHERE broker IS NOT NULL) AS pooled
            LEFT JOIN back USING (capture, broker)
        GROUP BY capture, broker
    """,
    "addresses": """
        SELECT DISTINCT capture, labels['node'] AS broker, regexp_replace(labels['address'], '^[^/]*/', '') AS address
        FROM events WHERE labels['address'] IS NOT NULL AND labels['node'] IS NOT NULL
    """,
    "at_address": "SELECT missing.*, address FROM missing JOIN addresses USING (capture, broker)",
    "moving": """
        SELECT capture, since - INTERVAL 2 SECONDS AS since, until + INTERVAL 30 SECONDS AS until FROM pooled
    """,
    "for_mourners": accounted("mourners", who="subject"),
    "for_broker": accounted("missing", server="broker", names=OF_THE_BROKER),
    "for_address": accounted("at_address", server="address", names=OF_THE_BROKER),
    "for_cluster": accounted("moving", names=OF_THE_CLUSTER),
}
"""What the loss of a broker accounts for: of consumers that felt it, healed or not, and of whoever names it."""

SILENT_SECONDS = 2
"""A request that waited so long was on a connection that stayed open: a killed broker's are reset at once."""


def _links() -> Mapping[str, str]:
    """Return the steps to the observations: of each link of each consumer, of the capture, of each rival."""
    columns = ", ".join(OBSERVATION)
    return {
        "pooled": POOLED,
        "linked": _of_subjects(),
        "held": _of_captures(),
        **ACCOUNTS,
        "observations": " UNION ALL ".join(
            f"SELECT {columns} FROM {each}"
            for each in ("linked", "held", "for_mourners", "for_broker", "for_address", "for_cluster")
        ),
    }


OF_THE_LOSS = (
    f"IF(size(host_lines) = 0, concat({first_lines('trouble_lines', 4)}, {first_lines('fenced_lines')}), "
    f"concat({first_lines('host_lines', 3)}, {first_lines('trouble_lines', 2)}, {first_lines('fenced_lines', 1)}))"
)
"""What the first link quotes. A host tells late that it was stopped: six lines in all, or its own would be cut off."""


def _of_subjects() -> str:
    """Leaderless, gave up, died: one row each for every consumer that a commit failed on."""
    links = (
        (
            "leaderless",
            "leaderless",
            "least(trouble_at, gave_up_at)",
            "coalesce(settled_at, trouble_until)",
            OF_THE_LOSS,
        ),
        ("impatient", "gave_up", "gave_up_at", "timed_out_until", "timed_out_lines"),
        ("died", "died_state", "died_at", "died_at", "died_lines"),
    )
    rows = ", ".join(
        f"struct('{link}' AS link, {state} AS state, {since} AS since, {until} AS until, "
        f"{first_lines(lines)} AS evidence)"
        for link, state, since, until, lines in links
    )
    return f"""
        SELECT capture, subject,
            {map_of(("patience", "leaderless_seconds", "threads"), "double")} AS figures,
            {map_of(("version",), "string")} AS facts,
            inline(array({rows}))
        FROM judged WHERE timed_out_at IS NOT NULL
    """


def _of_captures() -> str:
    """Return each rival: `observed` where it stands, `contradicted` where it is ruled out."""
    states = {
        "settling": "'observed'",
        "rival.own_exception": "IF(without_loss > 0, 'observed', 'contradicted')",
        "rival.rolling_restart": (
            "CASE WHEN stopping > 0 AND fenced = 0 THEN 'observed' WHEN broker_lines > 0 THEN 'contradicted' END"
        ),
        "rival.rebalance_storm": "IF(storm > 0, 'observed', 'contradicted')",
        "rival.not_enough_replicas": "IF(unreplicated > 0 AND fenced = 0, 'observed', 'contradicted')",
    }
    rows = ", ".join(f"struct('{link}' AS link, {state} AS state)" for link, state in states.items())
    return f"""
        SELECT capture, '*' AS subject, since, until,
            {map_of(ALWAYS, "double", where_any=WHERE_ANY)} AS figures,
            {map_of(("dead_version", "action", "decided_by", "stolen_from"), "string")} AS facts,
            CAST(array() AS array<{EVIDENCE}>) AS evidence,
            inline(array({rows}))
        FROM (
            SELECT * EXCEPT (healed_patience),
                IF(healed_patience > patience, healed_patience, 0) AS healed_patience,
                IF(unanswered >= {SILENT_SECONDS}, unanswered, 0) AS frozen
            FROM pooled
        )
    """


LIVES = """
    SELECT capture, subject, inline(filter(array(
        struct('active' AS outcome, first_seen AS since, last_seen AS at, CAST(NULL AS DOUBLE) AS value),
        IF(trouble_at IS NULL, NULL, struct('stalled' AS outcome, trouble_at AS since,
            coalesce(IF(died, died_at, NULL), healed_at, settled_at, trouble_until) AS at,
            leaderless_seconds AS value)),
        IF(NOT died, NULL, struct('died' AS outcome, CAST(NULL AS TIMESTAMP) AS since, died_at AS at,
            CAST(NULL AS DOUBLE) AS value))
    ), part -> part IS NOT NULL))
    FROM judged WHERE first_seen IS NOT NULL
"""
"""What the page draws of each consumer: its span, its stall, and its end."""

POINTS = """
    SELECT capture, subject, outcome, since, at, value FROM leaders
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM metered
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM imbalance
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM elections
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM settling
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM lives
    UNION ALL SELECT capture, inline(at_hosts) FROM (SELECT capture, first(at_hosts) AS at_hosts FROM judged GROUP BY 1)
"""
