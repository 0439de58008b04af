"""How partitions without a working leader, and consumers that die of it, show in the telemetry.

Metadata go on naming a broker that is gone, so nobody waits for `Leader: none` here. Clients tell that their
coordinator or a leader does not answer, again and again of the same broker; the controller tells when it took that
broker for dead and gave its partitions to others. Between the two the cluster settles, and a commit that has less
patience than that takes its consumer with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.aftermath import aftermath
from leadsman.modes.leaderless_partition.cluster import (
    BROKER_LOGS,
    HEARD,
    MOVES,
    READ,
    STRUCK,
    STRUCK_BROKER,
    cluster_of,
)
from leadsman.modes.leaderless_partition.consumers import consumers_of
from leadsman.modes.leaderless_partition.incidents import LINES, incidents_of
from leadsman.modes.leaderless_partition.leaders import (
    CHANGES,
    ELECTIONS,
    IMBALANCE,
    LEADERS_OF,
    LED,
    METERED,
    SETTLING,
    SPANS,
)
from leadsman.modes.leaderless_partition.pooled import ALWAYS, FACTS, POOLED, SUMMED, WHERE_ANY, reported
from leadsman.modes.leaderless_partition.stolen import stolen_of
from leadsman.modes.leaderless_partition.verdict import judged_of
from leadsman.pipeline.shapes import (
    EVIDENCE,
    OBSERVATION,
    Detection,
    accounted,
    first_lines,
    map_of,
    nullable,
    settle,
    silent,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame


def detect(
    events: DataFrame,
    *,
    least_leaderless_seconds: float = 3.0,
    near_seconds: float = 30.0,
    before_seconds: float = 120.0,
    back_seconds: float = 600.0,
    fenced_seconds: float = 300.0,
    maintenance_seconds: float = 600.0,
    stolen_share: float = 0.1,
    stolen_times: float = 2.0,
    usual_seconds: float = 300.0,
) -> Detection:
    """Return the observations of every link, and the points of the page.

    least_leaderless_seconds: an orderly change of leader is over sooner; a rolling restart stalled nobody for longer.
    near_seconds: a consumer that ends this long after a commit's time-out ended of it; Streams closes its tasks first.
    before_seconds: so long before a commit began to wait, a broker may have been lost: Streams commits every 30 s.
    back_seconds: a consumer that joins again this soon was started by its platform; later, somebody did it by hand.
    fenced_seconds: a broker that the controller gives up this soon after a commit timed out was missing already.
    maintenance_seconds: a host's maintenance this near to the loss of a broker may be its cause.
    stolen_share: of its processors' time a host was kept from running; at a tenth alert rules for node_exporter call it
        a noisy neighbour (awesome-prometheus-alerts, HostCpuStealNoisyNeighbor).
    stolen_times: so many times what was usual before the loss; a neighbour that always steals is no maintenance.
    usual_seconds: what is usual on a host is known from looks of so long before the loss: five at a minute each.
    """
    found = {"events": events}
    stolen = {"near": maintenance_seconds, "share": stolen_share, "times": stolen_times, "history": usual_seconds}
    settle(found, {"lines": LINES})
    settle(found, incidents_of(before=before_seconds, after=fenced_seconds))
    settle(found, consumers_of(near=near_seconds, back=back_seconds, silent=near_seconds))
    if found["consumers"].where("time_outs > 0").isEmpty():
        return silent(*list(found.values())[1:])
    settle(found, {"led": LED})
    settle(found, {"broker_logs": BROKER_LOGS})
    settle(found, {"struck_broker": STRUCK_BROKER, "struck": STRUCK})
    settle(
        found,
        {
            **stolen_of(**stolen),
            "windows": "SELECT * FROM incidents LEFT JOIN struck USING (capture, incident)",
            "moved": MOVES,
            "logs_read": READ,
            "heard": HEARD,
            **aftermath(near=maintenance_seconds),
            **cluster_of(near=maintenance_seconds),
            **judged_of(least=least_leaderless_seconds, late=fenced_seconds),
        },
    )
    settle(found, {"changes": CHANGES, "spans": SPANS})
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
        SELECT capture, broker, min(gone.since) - INTERVAL 2 SECONDS AS since,
            min(IF(back.at > gone.since, back.at, NULL)) + INTERVAL 30 SECONDS AS until
        FROM (
            SELECT capture, incident, CAST(broker AS STRING) AS broker, since FROM summed
            WHERE broker IS NOT NULL AND proven > 0
        ) AS gone LEFT JOIN back USING (capture, broker)
        GROUP BY capture, incident, broker
    """,
    "addresses": """
        SELECT DISTINCT capture, labels['node'] AS broker, regexp_replace(labels['address'], '^[^/]*/', '') AS address
        FROM events WHERE labels['address'] IS NOT NULL AND labels['node'] IS NOT NULL
    """,
    "at_address": "SELECT capture, broker, since, until, address FROM missing JOIN addresses USING (capture, broker)",
    "moving": """
        SELECT capture, since - INTERVAL 2 SECONDS AS since, until + INTERVAL 30 SECONDS AS until FROM summed
        WHERE proven > 0
    """,
    "heads": f"""
        SELECT capture, subject, events.at AS since, events.at AS until
        FROM events JOIN judged USING (capture, subject)
        WHERE name = '{names.ERROR}' AND coalesce(value, 1) = 1 AND (
            exists(timed_out_lines, said -> said.file = events.file AND said.line = events.line + 1)
            OR text RLIKE 'group coordinator' AND events.at BETWEEN trouble_at AND trouble_until
        )
    """,
    "for_heads": accounted("heads", who="subject", names=(names.ERROR,)),
    "for_mourners": accounted("mourners", who="subject"),
    "for_broker": accounted("missing", server="broker", names=OF_THE_BROKER),
    "for_address": accounted("at_address", server="address", names=OF_THE_BROKER),
    "for_cluster": accounted("moving", names=OF_THE_CLUSTER),
}
"""What the loss of a broker accounts for: of consumers that felt it, healed or not, and of whoever names it."""


def _links() -> Mapping[str, str]:
    """Return the steps to the observations: of each link of each consumer, of the capture, of each rival."""
    columns = ", ".join(OBSERVATION)
    return {
        "summed": SUMMED,
        "pooled": POOLED,
        "reported": reported(),
        "linked": _of_subjects(),
        "held": _of_captures(),
        **ACCOUNTS,
        "observations": " UNION ALL ".join(
            f"SELECT {columns} FROM {each}"
            for each in ("linked", "held", "for_heads", "for_mourners", "for_broker", "for_address", "for_cluster")
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
        ("impatient", "'observed'", "gave_up_at", "timed_out_until", "timed_out_lines"),
        ("died", "died_state", "died_at", "died_at", "died_lines"),
    )
    rows = ", ".join(
        f"struct('{link}' AS link, {nullable(state)} AS state, {since} AS since, {until} AS until, "
        f"{first_lines(lines)} AS evidence)"
        for link, state, since, until, lines in links
    )
    return f"""
        SELECT capture, subject,
            {map_of(("patience", "leaderless_seconds", "threads"), "double")} AS figures,
            {map_of(("version",), "string")} AS facts,
            inline(array({rows}))
        FROM judged WHERE shown AND time_outs > 0
    """


def _of_captures() -> str:
    """Return each rival: `observed` where it stands, `contradicted` where it is ruled out."""
    states = {
        "settling": "'observed'",
        "rival.own_exception": (
            "CASE WHEN without_loss > 0 THEN 'observed' WHEN unexplained = 0 AND timed_out > 0 THEN 'contradicted' END"
        ),
        "rival.rolling_restart": (
            "CASE WHEN orderly > 0 AND fenced = 0 THEN 'observed' WHEN fenced > 0 THEN 'contradicted' END"
        ),
        "rival.rebalance_storm": (
            "CASE WHEN storm > 0 THEN 'observed' WHEN dead > 0 AND unjoined = 0 THEN 'contradicted' END"
        ),
        "rival.not_enough_replicas": (
            "CASE WHEN unreplicated > 0 AND fenced = 0 THEN 'observed' "
            "WHEN unreplicated > 0 OR broker_logs > 0 THEN 'contradicted' END"
        ),
    }
    rows = ", ".join(f"struct('{link}' AS link, {nullable(state)} AS state)" for link, state in states.items())
    return f"""
        SELECT capture, '*' AS subject, since, until,
            {map_of(ALWAYS, "double", where_any=WHERE_ANY)} AS figures,
            {map_of(FACTS, "string")} AS facts,
            CAST(array() AS array<{EVIDENCE}>) AS evidence,
            inline(array({rows}))
        FROM reported
    """


LIVES = """
    SELECT capture, subject, inline(filter(array(
        struct('active' AS outcome, first_seen AS since, last_seen AS at, CAST(NULL AS DOUBLE) AS value),
        IF(trouble_at IS NULL, NULL, struct('stalled' AS outcome, trouble_at AS since,
            coalesce(IF(died, died_at, NULL), recovered_at, settled_at, trouble_until) AS at,
            leaderless_seconds AS value)),
        IF(NOT died, NULL, struct('died' AS outcome, CAST(NULL AS TIMESTAMP) AS since, died_at AS at,
            CAST(NULL AS DOUBLE) AS value))
    ), part -> part IS NOT NULL))
    FROM judged WHERE shown AND first_seen IS NOT NULL
"""
"""What the page draws of each consumer: its span, its stall, and its end."""

POINTS = """
    SELECT capture, subject, outcome, since, at, value FROM leaders
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM metered
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM imbalance
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM elections
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM settling
    UNION ALL SELECT capture, subject, outcome, since, at, value FROM lives
    UNION ALL SELECT capture, inline(at_hosts) FROM (
        SELECT capture, max_by(at_hosts, struct(size(at_hosts), incident)) AS at_hosts FROM judged GROUP BY capture
    )
"""
