"""The figures of a whole capture for the card, and the state of each alternative."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.stale_neighbour.alternatives import STATES
from leadsman.modes.stale_neighbour.wrong_entries import unverified_entry_texts, wrong_entry_texts_of
from leadsman.pipeline.detector_sql import (
    capture_link_rows,
    map_column,
    materialized,
    run_steps,
    sql_columns,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FAILING = """
    SELECT capture, subject FROM unmatched_logs UNION
    SELECT capture, log.log AS subject FROM (SELECT capture, explode(client_logs) AS log FROM pairs)
"""
"""The logs that report failing connections."""

FIGURES_ALWAYS = ("pairs", "clients_hit", "servers_hit")
FIGURES_UNLESS_ZERO = (
    "timeouts",
    "expired",
    "other_clients_connected",
    "other_servers_reached",
    "both_ends",
    "syn_recv_count",
    "syn_sent_only",
    "syn_acks_repeated",
    "stale_at_server",
    "stale_at_client",
    "wrong_answers",
    "owners",
    "entries",
    "full_queue_count",
    "log_only",
    "inventory",
    "inventory_unrelated",
    "limits_on_other_hosts",
    "other_family",
    "sockets_unrelated",
    "tables_unrelated",
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
"""Figures that are omitted where they are 0, together with the sentences about them."""
FACTS = (
    "client",
    "server",
    "port",
    "entry_mac",
    "device",
    "true_mac",
    "true_mac_source",
    "launched",
    "holder",
    "holders",
    "holders_have",
    "entry_addresses",
    "mac_description",
    "wrong_entry_text",
    "true_mac_text",
    "repair_commands",
    "remedy_commands",
    "wrong_entry_places",
    "delete_commands",
    "delete_examples",
    "other_repair_commands",
    "last_failed",
    "ended_at",
    "ended_how",
    "logs_fail_after_end",
    "permanent",
    "affected_hosts",
    "ended_hosts",
    "repaired_hosts",
    "those_hosts",
    "unverified_entry",
    "unverified_entry_elsewhere",
    "earlier_entry",
    "sockets_from",
    "sockets_until",
    "tables_from",
    "tables_until",
    "failed_from",
    "failed_until",
    "unroutable",
    "cannot",
    "those_servers",
    "same_client",
    "same_server",
    "entry_address",
    "live_mac",
    "duplicate",
    "duplicates",
)


def capture_observations(pairs: DataFrame, unmatched_logs: DataFrame, coverage: DataFrame) -> DataFrame:
    """Return the figures of each capture and each alternative, over the pairs that decide the verdict."""
    top = materialized(
        pairs.selectExpr("*", "min(rank) OVER (PARTITION BY capture) = rank AS counts")
        .where("counts")
        .join(unmatched_logs.selectExpr("capture", "true AS logged").distinct(), "capture", "left")
        .where("rank < 3 OR logged IS NULL")
    )
    logged = unmatched_logs.groupBy("capture").agg(
        *sql_columns(
            "count(*) AS log_only",
            "sum(timeouts) AS log_timeouts",
            "min(since) AS log_since",
            "max(until) AS log_until",
        )
    )
    joined = (
        top.groupBy("capture")
        .agg(*sql_columns(*_PAIR_COUNTS))
        .join(logged, "capture", "full")
        .join(coverage, "capture", "left")
        .join(wrong_entry_texts_of(top), "capture", "left")
        .join(unverified_entry_texts(top), "capture", "left")
        .selectExpr("*", "example.*", *_DERIVED)
        .drop("example")
    )
    alternatives = {f"alternative.{name}": state for name, state in STATES.items()}
    figures = map_column(FIGURES_ALWAYS, "double", unless_zero=FIGURES_UNLESS_ZERO)
    threshold = "IF(threshold IS NULL, map(), map('threshold', threshold))"
    capture_links = capture_link_rows(
        "joined",
        alternatives,
        figures=f"map_concat({figures}, CAST({threshold} AS map<string,double>))",
        facts=map_column(FACTS, "string"),
        until="coalesce(last, log_until)",
    )
    return run_steps({"joined": joined}, {"capture_links": capture_links})


def _summed(figure: str) -> str:
    """Return the SQL for the sum over logs: a log about several pairs counts once."""
    return f"aggregate(client_logs, 0L, (sum, log) -> sum + log.{figure})"


_DERIVED = (
    f"IF(client_logs IS NULL, log_timeouts, {_summed('timeouts')}) AS timeouts",
    f"IF(client_logs IS NULL, NULL, {_summed('expired')}) AS expired",
    "coalesce(first, log_since) AS since",
    "IF(ended_at IS NULL, 'cannot', 'could not') AS cannot",
    "IF(ended_at IS NULL, holders, NULL) AS affected_hosts",
    "IF(ended_at IS NULL, NULL, holders) AS ended_hosts",
    "IF(repair_commands IS NULL OR permanent IS NOT NULL, NULL, holders) AS repaired_hosts",
    "IF(holders_count > 1, 'them', 'it') AS those_hosts",
    "IF(servers_hit > 1, 'these servers', 'this server') AS those_servers",
    "IF(clients_hit > 1, 'each of these clients', 'the same client') AS same_client",
    "IF(servers_hit > 1, 'each of these servers', 'the same server') AS same_server",
    "IF(pairs IS NULL, inventory_read, NULL) AS inventory_unrelated",
    "IF(pairs IS NULL, NULL, inventory_read) AS inventory",
    "IF(limits IS NULL OR limits = 0, limits_read, NULL) AS limits_on_other_hosts",
    "IF(pairs IS NULL, sockets_read, NULL) AS sockets_unrelated",
    "IF(pairs IS NULL, tables_read, NULL) AS tables_unrelated",
    "date_format(log_since, 'HH:mm:ss') AS failed_from",
    "date_format(log_until, 'HH:mm:ss') AS failed_until",
    f"IF(coalesce(refusals, 0) > 0, 0, IF(client_logs IS NULL, log_timeouts, {_summed('timeouts')})) AS all_timed_out",
    "IF(answered = 0, stale_at_client, 0) AS at_client_only",
)
"""Figures of a capture that are derived from the sums."""

_PAIR_COUNTS = (
    "count(*) AS pairs",
    "count(DISTINCT client) AS clients_hit",
    "count(DISTINCT server) AS servers_hit",
    "array_distinct(flatten(collect_list(client_logs))) AS client_logs",
    "min(coalesce(other_clients_connected, 0)) AS other_clients_connected",
    "min(coalesce(other_servers_reached, 0)) AS other_servers_reached",
    "sum(both_ends) AS both_ends",
    "sum(syn_recv_count) AS syn_recv_count",
    "sum(IF(answered, 0, syn_sent_count)) AS syn_sent_only",
    "sum(syn_acks_repeated) AS syn_acks_repeated",
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
    "min_by(example, struct(coalesce(since, TIMESTAMP '1970-01-01'), subject)) AS example",
    "count_if(size(full_queues) > 0) AS full_queue_count",
    "count_if(resets > 0) AS reset_count",
    "count_if(server_sockets_listed AND NOT answered AND size(stale_at_client) = 0) AS no_syn_at_server",
    "count_if(answered AND wrong_mac = 'contradicted') AS syn_ack_lost",
    "count_if(answered AND server_table AND size(client_entries_at_server) = 0) AS answered_via_router",
    "count_if(size(client_entries_at_server) > 0) AS entries_seen",
    "count_if(answered) AS answered",
    "count_if(size(coalesce(server_hosts, array())) > 0) AS servers_known",
    "count_if(wrong_mac = 'observed') AS wrong_mac_count",
    "count_if(address_unused) AS address_unused",
    "count_if(example.live_mac IS NOT NULL) AS live_mac_count",
    "count_if(client_hosts IS NOT NULL AND size(client_hosts) > 0) AS claimed",
)
