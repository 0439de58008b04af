"""Detects stale neighbour entries in the telemetry.

The subject is a pair: a client and a server's port between which no connection opens. A MAC decides: the MAC that the
neighbour table of either host, or the answer itself, has for the other host's address, compared with its true MAC.
Where the capture holds only logs, the subject is the worker that wrote them; logs do not show the cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.stale_neighbour.capture_figures import FAILING, capture_observations
from leadsman.modes.stale_neighbour.connection_attempts import attempt_pairs
from leadsman.modes.stale_neighbour.coverage import coverage_rows
from leadsman.modes.stale_neighbour.fenced_brokers import explained_logs
from leadsman.modes.stale_neighbour.identity import address_identities
from leadsman.modes.stale_neighbour.matrix import reachability_cells
from leadsman.modes.stale_neighbour.output_hosts import with_output_hosts
from leadsman.modes.stale_neighbour.pairs import client_log_rows, evaluate_pairs
from leadsman.modes.stale_neighbour.wrong_entries import IS_SERVER_ENTRY, WRONG_ENTRY_COLUMNS
from leadsman.pipeline.detector_sql import (
    NO_EVIDENCE,
    NO_FACTS,
    Detection,
    LinkRow,
    earliest_lines,
    empty_detection,
    explained_events_query,
    link_rows,
    map_column,
    materialized,
    observations,
    run_steps,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def detect(events: DataFrame, *, nearby_seconds: float = 20.0) -> Detection:
    """Return the observations of every link, and the points of the page.

    nearby_seconds: data of two hosts within this time show the same attempts: a SYN-ACK is repeated for a minute.
    """
    events = with_output_hosts(events)
    logs = client_log_rows(events)
    attempts = materialized(attempt_pairs(events))
    stuck = attempts.where("stuck")
    unexplained = logs
    if not logs.isEmpty():
        unexplained = materialized(logs.join(explained_logs(events), ["capture", "subject"], "leftanti"))
    if stuck.isEmpty() and unexplained.isEmpty():
        return empty_detection(attempts)
    identities = materialized(address_identities(events, stuck))
    evaluated = evaluate_pairs(events, stuck, identities=identities, near=nearby_seconds, logs=logs)
    for step in (*WRONG_ENTRY_COLUMNS, _STATES, _RANK):
        evaluated = evaluated.selectExpr("*", *step)
    pairs = materialized(evaluated)
    unmatched_logs = materialized(run_steps({"logs": unexplained, "pairs": pairs}, {"unmatched_logs": UNMATCHED_LOGS}))
    explained = {"logs": LOGS, "explained": explained_events_query("logs", subject="subject", writer="log")}
    failing = run_steps({"unmatched_logs": unmatched_logs, "pairs": pairs}, {"failing": FAILING})
    coverage = materialized(coverage_rows(events, failing))
    links = observations(
        _pair_observations(pairs),
        _log_observations(unmatched_logs),
        capture_observations(pairs, unmatched_logs, coverage),
        run_steps({"pairs": pairs}, explained),
    )
    return Detection(
        links,
        _points(pairs, unmatched_logs),
        (attempts, unexplained, identities, pairs, unmatched_logs, coverage),
        reachability_cells(events, attempts, pairs),
    )


_STATES = (
    (
        "CASE WHEN size(stale_at_server) + size(stale_at_client) + size(wrong_answers) > 0 THEN 'observed' "
        "WHEN size(differs_at_server) + size(differs_at_client) + size(other_answers) > 0 OR duplicates IS NOT NULL "
        "THEN 'not visible' WHEN answered AND (right_entry_at_server OR answered_to_right_mac "
        "OR server_table AND size(client_entries_at_server) = 0) THEN 'contradicted' "
        "WHEN NOT answered AND (right_entry_at_client AND address_unused OR unresolved) THEN 'contradicted' "
        "ELSE 'not visible' END AS wrong_mac"
    ),
    (
        "CASE WHEN answered OR size(stale_at_client) > 0 THEN 'observed' WHEN resets > 0 OR server_sockets_listed THEN "
        "'contradicted' WHEN size(stale_at_server) > 0 AND syn_sent_count > 0 THEN 'observed' "
        "ELSE 'not visible' END AS unanswered"
    ),
    "size(array_distinct(filter(transform(address_owners, o -> o.mac), m -> m IS NOT NULL))) AS owners_count",
    (
        f"filter(limits, l -> l.host IS NULL OR array_contains(IF({IS_SERVER_ENTRY}, clients, servers), l.host)) "
        "AS own_limits"
    ),
    (
        f"array_max(transform(filter(coalesce(tables, array()), s -> s.host IS NULL OR "
        f"array_contains(IF({IS_SERVER_ENTRY}, clients, servers), s.host)), s -> IF(contains(client, ':'), s.v6,"
        " s.v4))) "
        "AS table_rows"
    ),
    "size(wrong_entries) > 0 AND forall(wrong_entries, e -> e.state <=> 'PERMANENT') AS permanent",
)
_HOLDER = (
    f"IF({IS_SERVER_ENTRY}, coalesce(get(stale_at_client, 0).holder, client_host, client_name, client), "
    "coalesce(get(stale_at_server, 0).holder, server_host, server_name, server))"
)
_EXAMPLE = {
    "client": "client",
    "server": "server",
    "port": "port",
    "entry_address": f"IF({IS_SERVER_ENTRY}, server, client)",
    "entry_mac": "coalesce(get(stale_at_server, 0).mac, get(wrong_answers, 0), get(stale_at_client, 0).mac)",
    "device": "coalesce(get(stale_at_server, 0).device, get(stale_at_client, 0).device)",
    "true_mac": f"IF({IS_SERVER_ENTRY}, server_mac, coalesce(client_mac, get(syn_macs, 0)))",
    "true_mac_source": f"IF({IS_SERVER_ENTRY}, server_mac_by, coalesce(client_mac_by, 'by what it sends'))",
    "holder": _HOLDER,
    "launched": f"date_format(IF({IS_SERVER_ENTRY}, server_launched, client_launched), 'yyyy-MM-dd HH:mm:ss')",
    "live_mac": (
        "IF(wrong_mac = 'not visible' AND duplicates IS NULL, "
        "coalesce(get(differs_at_server, 0).mac, get(other_answers, 0), get(differs_at_client, 0).mac), NULL)"
    ),
    "duplicate": "duplicate",
    "duplicates": "array_join(duplicates, ', ')",
}
"""The figures of one example pair, so that a sentence about it names no other pair."""


def _name_and_address(side: str) -> str:
    """Return the SQL for a side's name and address, or the address alone where the name is not known."""
    name = f"coalesce({side}_host, {side}_name, {side})"
    return f"IF({name} = {side}, {side}, concat({name}, ' (', {side}, ')'))"


_RANK = (
    f"struct({', '.join(f'{value} AS {name}' for name, value in _EXAMPLE.items())}) AS example",
    (
        "CASE WHEN wrong_mac = 'contradicted' OR unanswered = 'contradicted' THEN 3 "
        "WHEN wrong_mac = 'observed' AND unanswered = 'observed' THEN 1 ELSE 2 END AS rank"
    ),
    (f"concat({_name_and_address('client')}, ' -> ', {_name_and_address('server')}, ':', port) AS subject"),
    (
        "CASE WHEN owners_count > 1 OR exists(address_owners, o -> array_contains(stale_macs, o.mac)) THEN 'observed' "
        "ELSE 'not visible' END AS reused"
    ),
    (
        "CASE WHEN permanent THEN 'contradicted' WHEN size(own_limits) = 0 THEN 'not visible' "
        "WHEN array_max(transform(own_limits, l -> l.value)) > greatest(coalesce(entries, 0), "
        "coalesce(table_rows, 0)) THEN 'observed' "
        "ELSE 'contradicted' END AS never_deleted"
    ),
)


_LIMIT_LINES = "IF(permanent, array(), transform(own_limits, l -> l.line))"


def _pair_observations(pairs: DataFrame) -> DataFrame:
    """Return an observation for each link of each pair."""
    links = (
        LinkRow("reused", "reused", "client_launched", lines="transform(address_owners, o -> o.line)"),
        LinkRow("never_deleted", "never_deleted", "CAST(NULL AS TIMESTAMP)", lines=_LIMIT_LINES),
        LinkRow("wrong_mac", "wrong_mac", "client_launched", lines=_WRONG),
        LinkRow("unanswered", "unanswered", "CAST(NULL AS TIMESTAMP)", lines=_UNANSWERED),
        LinkRow("failed", "'observed'", "since", lines=_FAILED),
    )
    shared = {
        "capture": "capture",
        "subject": "subject",
        "until": "until",
        "figures": map_column(("attempts", "syn_sent_count", "syn_recv_count"), "double"),
        "facts": map_column(("client", "server", "port"), "string"),
    }
    with_lines = (row._replace(lines=f"coalesce({row.lines}, {NO_EVIDENCE})") for row in links)
    return run_steps({"pairs": pairs}, {"pair_links": link_rows("pairs", shared, with_lines)})


def _first_line(lines: str) -> str:
    """Return the SQL for the first of an array of lines, or none: several kinds of lines are quoted for one link."""
    return f"slice(array_sort(coalesce({lines}, array())), 1, 1)"


def _mac_line(side: str) -> str:
    """Return the SQL for a line that shows the MAC of one side."""
    return _first_line(f"filter({side}_proof, l -> contains(lower(l.text), {side}_mac))")


_WRONG = (
    f"concat({_first_line('transform(stale_at_server, e -> e.line)')},"
    f" {_first_line('transform(stale_at_client, e -> e.line)')}, "
    f"IF(size(stale_at_server) + size(stale_at_client) = 0, concat({_first_line('syn_lines')},"
    f" {_first_line('syn_ack_lines')}), "
    f"array()), "
    f"IF(size(stale_at_client) > 0, {_mac_line('server')}, {_mac_line('client')}))"
)
_UNANSWERED = (
    f"IF(syn_recv_count > 0, concat({_first_line('recv_lines')}, {_first_line('sent_lines')}), "
    f"IF(syn_acks_repeated > 0, {_first_line('syn_ack_lines')}, {_first_line('sent_lines')}))"
)
_FAILED = (
    f"concat({earliest_lines(f'coalesce(log_lines, {NO_EVIDENCE})', 2)}, CASE WHEN syn_sent_count > 0"
    f" THEN {_first_line('sent_lines')} "
    f"WHEN syn_recv_count > 0 THEN {_first_line('recv_lines')} ELSE {_first_line('syn_lines')} END)"
)
"""A socket in an opening state is evidence by itself; a SYN is evidence only with its repeats."""


EXPIRY_DELAY = "INTERVAL 130 SECONDS"
"""A record may wait for 120 s by default (delivery.timeout.ms) before the client reports that it has expired."""

LOGS = f"""
    SELECT capture, subject, client_logs.log AS log,
        least(since, client_logs.first) - INTERVAL 15 SECONDS AS since,
        greatest(until, client_logs.last) + {EXPIRY_DELAY} AS until
    FROM (SELECT capture, subject, since, until, explode(client_logs) AS client_logs FROM pairs)
"""
"""The logs about a pair, and their time span: the first attempt began some seconds before it timed out."""


def _log_observations(unmatched_logs: DataFrame) -> DataFrame:
    """Return the observations of workers with logs only: the logs show that connections failed, not why."""
    unseen = (LinkRow(link, "'not visible'", lines=NO_EVIDENCE) for link in UNSEEN_LINKS)
    shared = {
        "capture": "capture",
        "subject": "subject",
        "since": "since",
        "until": "until",
        "figures": map_column(("timeouts", "expired"), "double"),
        "facts": NO_FACTS,
    }
    links = [*unseen, LinkRow("failed", "'observed'", lines="lines")]
    return run_steps({"unmatched_logs": unmatched_logs}, {"log_links": link_rows("unmatched_logs", shared, links)})


UNMATCHED_LOGS = f"""
    SELECT * FROM logs LEFT ANTI JOIN pairs ON logs.capture = pairs.capture AND (
        array_contains(pairs.clients, logs.worker) OR array_contains(pairs.clients, logs.folder) OR coalesce(
            logs.since <= pairs.until + {EXPIRY_DELAY} AND logs.until >= pairs.since - {EXPIRY_DELAY}, true
        )
    )
"""
"""Workers whose connections failed without data about sockets or packets: other pairs explain nothing about them."""

UNSEEN_LINKS = ("reused", "never_deleted", "wrong_mac", "unanswered")


def _points(pairs: DataFrame, unmatched_logs: DataFrame) -> DataFrame:
    """Return the points of the page: when each client was seen with unanswered attempts."""
    since = "CAST(NULL AS TIMESTAMP) AS since"
    value = "CAST(NULL AS DOUBLE) AS value"
    named = "coalesce(client_host, client_name, client) AS subject"
    stuck_points = pairs.selectExpr("capture", named, "'unanswered' AS outcome", since, "since AS at", value)
    logged = unmatched_logs.selectExpr("capture", "subject", "'unanswered' AS outcome", since, "since AS at", value)
    return stuck_points.unionByName(logged)
