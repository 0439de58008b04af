"""What holds for a capture as a whole: the figures of the sentences, and a state for each rival."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.stale_neighbour.rivals import STATES
from leadsman.modes.stale_neighbour.wrong_entries import held_of, wrong_entries_of
from leadsman.pipeline.shapes import EVIDENCE, columns, map_of, settled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FAILING = """
    SELECT capture, subject FROM alone UNION
    SELECT capture, log.log AS subject FROM (SELECT capture, explode(told) AS log FROM pairs)
"""
"""The logs that tell of failing connections."""

ALWAYS = ("pairs", "clients_hit", "servers_hit")
WHERE_ANY = (
    "timeouts",
    "expired",
    "others_reach",
    "reaches",
    "both_ends",
    "received",
    "sent_alone",
    "answers_repeated",
    "stale_at_server",
    "stale_at_client",
    "wrong_answers",
    "owners",
    "entries",
    "full",
    "log_only",
    "inventory",
    "inventory_untied",
    "limits_elsewhere",
    "other_family",
    "sockets_untied",
    "tables_untied",
    "claimed",
    "links_read",
    "refusals",
    "all_timed_out",
    "listening",
    "queue_has_room",
    "table_overflows",
    "at_client_only",
    "table_rows",
)
"""Figures that are left out where they are 0, and the sentences about them with them."""
FACTS = (
    "client",
    "server",
    "port",
    "believed",
    "device",
    "actual",
    "actual_by",
    "launched",
    "holder",
    "holders",
    "having",
    "abouts",
    "whose",
    "belief",
    "truth",
    "repairs",
    "elsewhere",
    "last_failed",
    "over_at",
    "over_by",
    "over_but_told",
    "permanent",
    "still_on",
    "ended_on",
    "repaired_on",
    "such",
    "held",
    "held_by_others",
    "held_before",
    "sockets_from",
    "sockets_until",
    "tables_from",
    "tables_until",
    "failed_from",
    "failed_until",
    "unroutable",
    "cannot",
    "these_lead",
    "same_client",
    "same_server",
    "about",
    "innocent",
    "duplicate",
    "duplicates",
)


def of_captures(pairs: DataFrame, alone: DataFrame, read: DataFrame) -> DataFrame:
    """Return the figures of each capture, and each rival, over the pairs that the verdict is about."""
    top = settled(
        pairs.selectExpr("*", "min(rank) OVER (PARTITION BY capture) = rank AS counts")
        .where("counts")
        .join(alone.selectExpr("capture", "true AS logged").distinct(), "capture", "left")
        .where("rank < 3 OR logged IS NULL")
    )
    logged = alone.groupBy("capture").agg(
        *columns(
            "count(*) AS log_only",
            "sum(timeouts) AS log_timeouts",
            "min(since) AS log_since",
            "max(until) AS log_until",
        )
    )
    joined = (
        top.groupBy("capture")
        .agg(*columns(*_COUNTED))
        .join(logged, "capture", "full")
        .join(read, "capture", "left")
        .join(wrong_entries_of(top), "capture", "left")
        .join(held_of(top), "capture", "left")
        .selectExpr("*", "chosen.*", *_TOLD)
        .drop("chosen")
    )
    rows = ", ".join(f"struct('rival.{name}' AS link, {state} AS state)" for name, state in STATES.items())
    figures = map_of(ALWAYS, "double", where_any=WHERE_ANY)
    threshold = "IF(threshold IS NULL, map(), map('threshold', threshold))"
    return joined.selectExpr(
        "capture",
        "'*' AS subject",
        f"map_concat({figures}, CAST({threshold} AS map<string,double>)) AS figures",
        f"{map_of(FACTS, 'string')} AS facts",
        "since",
        "coalesce(last, log_until) AS until",
        f"CAST(array() AS array<{EVIDENCE}>) AS evidence",
        f"inline(array({rows}))",
    )


def _summed(figure: str) -> str:
    """Return the sum over logs: one log tells of several pairs and counts once."""
    return f"aggregate(told, 0L, (sum, log) -> sum + log.{figure})"


_TOLD = (
    f"IF(told IS NULL, log_timeouts, {_summed('timeouts')}) AS timeouts",
    f"IF(told IS NULL, NULL, {_summed('expired')}) AS expired",
    "coalesce(first, log_since) AS since",
    "IF(over_at IS NULL, 'cannot', 'could not') AS cannot",
    "IF(over_at IS NULL, holders, NULL) AS still_on",
    "IF(over_at IS NULL, NULL, holders) AS ended_on",
    "IF(repairs IS NULL OR permanent IS NOT NULL, NULL, holders) AS repaired_on",
    "IF(holders_count > 1, 'them', 'it') AS such",
    "IF(servers_hit > 1, 'these servers lead', 'this server leads') AS these_lead",
    "IF(clients_hit > 1, 'each of these clients', 'the same client') AS same_client",
    "IF(servers_hit > 1, 'each of these servers', 'the same server') AS same_server",
    "IF(pairs IS NULL, inventory_read, NULL) AS inventory_untied",
    "IF(pairs IS NULL, NULL, inventory_read) AS inventory",
    "IF(limits IS NULL OR limits = 0, limits_read, NULL) AS limits_elsewhere",
    "IF(pairs IS NULL, sockets_read, NULL) AS sockets_untied",
    "IF(pairs IS NULL, tables_read, NULL) AS tables_untied",
    "date_format(log_since, 'HH:mm:ss') AS failed_from",
    "date_format(log_until, 'HH:mm:ss') AS failed_until",
    f"IF(coalesce(refusals, 0) > 0, 0, IF(told IS NULL, log_timeouts, {_summed('timeouts')})) AS all_timed_out",
    "IF(answered = 0, stale_at_client, 0) AS at_client_only",
)
"""What the sentences about a capture need beside the sums."""

_COUNTED = (
    "count(*) AS pairs",
    "count(DISTINCT client) AS clients_hit",
    "count(DISTINCT server) AS servers_hit",
    "array_distinct(flatten(collect_list(told))) AS told",
    "min(coalesce(others_reach, 0)) AS others_reach",
    "min(coalesce(reaches, 0)) AS reaches",
    "sum(both_ends) AS both_ends",
    "sum(received) AS received",
    "sum(IF(answered, 0, sent)) AS sent_alone",
    "sum(answers_repeated) AS answers_repeated",
    "count_if(size(stale_at_server) > 0) AS stale_at_server",
    "count_if(size(stale_at_client) > 0) AS stale_at_client",
    "count_if(size(wrong_answers) > 0) AS wrong_answers",
    "max(owners_count) AS owners",
    "max(entries) AS entries",
    "max(array_max(transform(own_limits, l -> l.value))) AS threshold",
    "sum(size(own_limits)) AS limits",
    "count_if(other_family) AS other_family",
    "max(table_rows) AS table_rows",
    "count_if(listening) AS listening",
    "count_if(listening AND size(full_queues) = 0) AS queue_has_room",
    "min(since) AS first",
    "max(until) AS last",
    "min_by(chosen, struct(coalesce(since, TIMESTAMP '1970-01-01'), subject)) AS chosen",
    "count_if(size(full_queues) > 0) AS full",
    "count_if(resets > 0) AS reset",
    "count_if(server_looked AND NOT answered AND size(stale_at_client) = 0) AS unheard",
    "count_if(answered AND wrong = 'contradicted') AS lost_behind",
    "count_if(answered AND server_table AND size(of_client) = 0) AS routed",
    "count_if(size(of_client) > 0) AS entries_seen",
    "count_if(answered) AS answered",
    "count_if(size(coalesce(server_hosts, array())) > 0) AS servers_known",
    "count_if(wrong = 'observed') AS wrong",
    "count_if(nobody_there) AS nobody_there",
    "count_if(chosen.innocent IS NOT NULL) AS innocents",
    "count_if(client_hosts IS NOT NULL AND size(client_hosts) > 0) AS claimed",
)
