"""From judged consumers to the figures of a finding: one row an incident, and of each capture the worst one."""

from __future__ import annotations

from leadsman.pipeline.shapes import iso

DEAD = "died AND leaderless = shown_state"
LOST_IT = "(time_outs > 0 OR felt)"
HEALED = f"{LOST_IT} AND recovered_at IS NOT NULL AND NOT died"
WENT_ON = (
    f"{LOST_IT} AND time_outs = 0 AND NOT died AND recovered_at IS NULL "
    "AND last_seen > trouble_until + INTERVAL 1 MINUTE"
)
"""A client that does not name its coordinator when it finds one: its log goes on without another failure."""

OF_THE_INCIDENT = (
    "settling_seconds AS settling",
    "unanswered",
    "fenced",
    "fenced_after",
    "of_zookeeper",
    "moved",
    "led_by_lost",
    "session",
    "maintenance",
    "action",
    "maintained_host",
    "maintained_at",
    "tied",
    "paused",
    "pause_kind",
    "back_at",
    "again_at",
    "last_fenced_at",
    "jumped",
    "stolen",
    "stolen_of",
    "stolen_from",
    "refilled",
    "broker_logs",
    "broker",
    "unreplicated",
    "abandoned",
    "behind",
    "listed_at",
    "struck_at",
    "troubled_until",
)  # fmt: skip - a list of names

SUMMED = f"""
    SELECT capture, incident,
        {", ".join(f"max({name.split()[0]}) AS {name.split()[-1]}" for name in OF_THE_INCIDENT)},
        max(size(stopped)) AS stopping,
        max(CAST(orderly AS INT)) AS orderly,
        max(CAST(controlled AS INT)) AS controlled,
        count_if({LOST_IT}) AS consumers,
        count_if({DEAD}) AS dead,
        count_if(died AND leaderless = 'observed') AS proven,
        sum(IF({DEAD}, threads, 0)) AS dead_threads,
        count_if({HEALED}) AS healed,
        max(IF({HEALED}, CAST(recovered_at AS DOUBLE) - CAST(trouble_at AS DOUBLE), NULL)) AS healed_after,
        count_if({WENT_ON}) AS went_on,
        count_if(stuck) AS stuck,
        count_if(time_outs > 0) AS timed_out,
        count_if({DEAD} AND threads > 0) AS streams_dead,
        min(IF(time_outs > 0 AND leaderless = shown_state, patience, NULL)) AS patience,
        collect_list(IF(time_outs > 0 AND leaderless = shown_state, patience, NULL)) AS patiences,
        max(IF({DEAD}, version, NULL)) AS dead_version,
        max(IF(time_outs > 0 AND leaderless = shown_state, decided_by, NULL)) AS decided_by,
        max(IF({HEALED}, own_patience, NULL)) AS healed_patience,
        max(IF(time_outs > 0 AND leaderless = shown_state, affected, NULL)) AS affected,
        max(IF(time_outs > 0 AND leaderless = shown_state, moved_away, NULL)) AS moved_away,
        count_if(time_outs > 0 AND lacked) AS lacked,
        max(well) AS well,
        count_if({DEAD} AND rebalances > 5) AS storm,
        count_if({DEAD} AND size(joins) = 0) AS unjoined,
        count_if(time_outs > 0 AND leaderless = 'contradicted') AS without_loss,
        count_if(time_outs > 0 AND leaderless = 'not visible') AS unexplained,
        min(trouble_at) FILTER (WHERE time_outs > 0 OR array_contains(brokers, broker)) AS since,
        max(coalesce(settled_at, trouble_until)) AS until
    FROM (
        SELECT *, CASE min(IF(time_outs > 0,
                CASE leaderless WHEN 'observed' THEN 1 WHEN 'not visible' THEN 2 ELSE 3 END, NULL)
            ) OVER (PARTITION BY capture, incident)
                WHEN 1 THEN 'observed' WHEN 2 THEN 'not visible' WHEN 3 THEN 'contradicted' END AS shown_state
        FROM judged
    ) GROUP BY capture, incident
"""
"""One row an incident: how long the cluster took to recover, and what became of whom."""

POOLED = """
    SELECT * FROM (
        SELECT *, row_number() OVER (
            PARTITION BY capture ORDER BY proven DESC, dead DESC, timed_out DESC, incident
        ) AS place
        FROM summed
    ) WHERE place = 1
"""
"""The incident of each capture that killed most consumers: the finding's figures are its."""

ALWAYS = ("consumers", "patience", "without_loss", "storm", "settling", "outlasted", "at_least", "unended", "broker")
WHERE_ANY = (
    "dead",
    "broker_logs",
    "proven_dead",
    "dead_threads",
    "streams_dead",
    "patience_longest",
    "patient",
    "hasty",
    "fenced",
    "fenced_after",
    "removed_after",
    "moved",
    "led_by_lost",
    "went_on",
    "paused",
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
    "timed_out",
    "unexplained",
    "affected",
    "moved_away",
    "lacked",
    "well",
)  # fmt: skip - a list of names
"""Figures that are left out where they are 0, and the sentences about them with them."""

FACTS = (
    "dead_version",
    "action",
    "maintained_host",
    "own_host",
    "other_host",
    "migrated",
    "maintained_at",
    "pause_kind",
    "decided_by",
    "stolen_from",
    "back_at",
    "again_at",
    "listed_at",
    "unexplained_since",
)

READ = ("capture", "since", "until", "orderly", "unjoined")
"""What else is read of the pooled incident."""

LAST_FAILURE = "CAST(troubled_until AS DOUBLE) - CAST(struck_at AS DOUBLE)"

SILENT_SECONDS = 2
"""A request that waited so long was on a connection that stayed open: a killed broker's are reset at once."""


def reported() -> str:
    """Return the query for the pooled incident with the figures and facts that follow from its own.

    `outlasted` and `at_least`: for how long the leaders were away, where it is known that this is longer than any
    commit waited; `unended`: the commits' time-out, where it is not known when a leader worked again. `hasty` and
    `patient` count the consumers of the shortest time-out and the others. A pause is a cause where it is half of the
    loss.
    """
    shown = {name: iso(name) for name in ("maintained_at", "back_at", "again_at", "listed_at")}
    derived = shown | {
        "again_at": iso("IF(again_at < last_fenced_at, NULL, again_at)"),
        "proven_dead": "IF(proven > 0, dead, 0)",
        "patience_longest": "IF(array_max(patiences) > patience, array_max(patiences), 0)",
        "hasty": "size(filter(patiences, p -> p = patience AND array_max(patiences) > patience))",
        "patient": "size(filter(patiences, p -> p > patience))",
        "outlasted": "IF(settling > array_max(patiences), settling, NULL)",
        "at_least": f"IF(settling IS NULL AND {LAST_FAILURE} > array_max(patiences), {LAST_FAILURE}, NULL)",
        "unended": (f"IF(settling IS NULL AND coalesce({LAST_FAILURE} <= array_max(patiences), true), patience, NULL)"),
        "healed_patience": "IF(healed_patience > patience, healed_patience, 0)",
        "frozen": f"IF(unanswered >= {SILENT_SECONDS}, unanswered, 0)",
        "paused": "IF(paused >= known / 2, paused, 0)",
        "own_host": "IF(tied, maintained_host, NULL)",
        "other_host": "IF(tied, NULL, maintained_host)",
        "migrated": "IF(tied AND action = 'migrate', maintained_host, NULL)",
        "fenced_after": "IF(of_zookeeper, 0D, fenced_after)",
        "removed_after": "IF(of_zookeeper, fenced_after, 0)",
        "unexplained_since": (
            "IF(NOT coalesce(tied, false) AND NOT coalesce(paused >= known / 2, false) AND coalesce(jumped, 0) = 0 "
            f"AND stolen_from IS NULL, {iso('struck_at')}, NULL)"
        ),
    }
    as_they_are = [name for name in dict.fromkeys((*READ, *ALWAYS, *WHERE_ANY, *FACTS)) if name not in derived]
    columns = ", ".join(f"{expression} AS {name}" for name, expression in derived.items())
    return f"""
        SELECT {", ".join(as_they_are)}, {columns}
        FROM (SELECT *, coalesce(settling, {LAST_FAILURE}) AS known FROM pooled)
    """
