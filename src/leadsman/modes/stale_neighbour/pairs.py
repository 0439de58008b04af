"""All data of a capture about one pair of a client and a server's port, in one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.modes.stale_neighbour.connection_attempts import established_connections
from leadsman.modes.stale_neighbour.identity import ENTRY, SOCKET, router_macs
from leadsman.modes.stale_neighbour.mac_liveness import VIRTUAL, liveness_reasons
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, materialized, run_steps, sql_columns, sql_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

PAIR = ("capture", "client", "server", "port")
"""The key of a pair."""

GC_THRESHOLDS = {family: f"net.{family}.neigh.default.gc_thresh1" for family in ("ipv4", "ipv6")}
"""Each address family has its own neighbour table."""
WORKER = r"regexp_extract(subject, '([^/]+?)(?:\\.[a-z]+)?$', 1)"
"""A log belongs to the host or worker whose name is the last part of its path: clients/worker-3.log."""


def evaluate_pairs(
    events: DataFrame, pairs: DataFrame, *, identities: DataFrame, near: float, logs: DataFrame
) -> DataFrame:
    """Return one row for each pair, with the columns that decide the state of each link, and the lines.

    `identities` describes the pairs' addresses (`address_identities`); `near` is in seconds.
    """
    host_events = _pair_host_events(events, pairs, identities)
    host_rows = materialized(_host_rows(host_events))
    joined = (
        pairs.join(_side_columns(identities, "client"), ["capture", "client"], "left")
        .join(_side_columns(identities, "server"), ["capture", "server"], "left")
        .join(router_macs(events, pairs), ["capture", "client"], "left")
        .join(host_rows.groupBy("capture").agg(*sql_columns("max(entries) AS entries")), "capture", "left")
        .join(_reachability(events, pairs), list(PAIR), "left")
    )
    named = materialized(
        joined.selectExpr(
            "*",
            "array_distinct(filter(concat(coalesce(client_hosts, array()), array(client_host)), h -> h IS NOT NULL)) "
            "AS clients",
            "array_distinct(filter(concat(coalesce(server_hosts, array()), array(server_host)), h -> h IS NOT NULL)) "
            "AS servers",
        )
    )
    with_hosts = named.join(run_steps({"pairs": named, "hosts": host_rows}, PAIR_HOST_DATA), list(PAIR), "left")
    compared = materialized(with_hosts.selectExpr("*", *_ENTRIES).selectExpr("*", *_comparisons(near)))
    suspects = materialized(_suspects(compared, "client").union(_suspects(compared, "server")))
    reasons = materialized(liveness_reasons(events, suspects))
    checked = compared
    for side in ("client", "server"):
        of_side = reasons.withColumnsRenamed({"entry_address": side, "reasons": f"{side}_reasons"})
        checked = checked.join(of_side, ["capture", side], "left")
    return _with_logs(checked.selectExpr("*", *_WITHOUT_LIVE_MACS), logs)


def _suspects(compared: DataFrame, side: str) -> DataFrame:
    """Return the MACs that differ from a side's true MAC, with the hosts whose tables have them."""
    entries = f"transform(differs_at_{_OTHER[side]}, e -> struct(e.mac, e.holder))"
    answers = "transform(other_answers, m -> struct(m AS mac, server_host AS holder))"
    differing = f"concat({entries}, {answers})" if side == "client" else entries
    return compared.selectExpr("capture", f"{side} AS entry_address", "since", f"inline({differing})").distinct()


_CLIENT_MAC_KNOWN = "(size(syn_macs) > 0 OR client_mac IS NOT NULL)"
_IS_ROUTER = f"(array_contains(coalesce(routers, array()), m) OR m RLIKE '{VIRTUAL}')"
"""A router's MAC or a virtual MAC: the answer was sent along the intended route."""

_SAME_SUBNET = """(
    size(client_entries_at_server) > 0 OR contains(client, ':') AND split_part(client, ':', 1) = split_part(server,
        ':', 1)
    OR split_part(client, '.', 1) = split_part(server, '.', 1)
        AND split_part(client, '.', 2) = split_part(server, '.', 2)
        AND try_cast(split_part(client, '.', 3) AS INT) DIV 16 = try_cast(split_part(server, '.', 3) AS INT) DIV 16
)"""
"""Whether two hosts can be neighbours. The subnet is not known; a subnet of a cloud has at most 4,096 addresses."""

_OTHER = {"client": "server", "server": "client"}


def _is_live(mac: str, side: str) -> str:
    """Return the SQL for whether a differing MAC belongs to a live host, and to no known dead one."""
    reasons = f"coalesce(try_element_at({side}_reasons, {mac}), array())"
    dead = f"array_contains({reasons}, 'dead') OR array_contains(coalesce({side}_former_macs, array()), {mac})"
    return f"({side}_duplicates IS NOT NULL OR size({reasons}) > 0 AND NOT ({dead}))"


_WITHOUT_LIVE_MACS = (
    f"filter(differs_at_server, e -> NOT {_is_live('e.mac', 'client')}) AS stale_at_server",
    f"filter(differs_at_client, e -> NOT {_is_live('e.mac', 'server')}) AS stale_at_client",
    f"filter(other_answers, m -> NOT {_is_live('m', 'client')}) AS wrong_answers",
    "coalesce(client_duplicates, server_duplicates) AS duplicates",
    "IF(client_duplicates IS NULL, IF(server_duplicates IS NULL, NULL, server), client) AS duplicate",
)


def _side_columns(identities: DataFrame, who: str) -> DataFrame:
    """Return the identities of addresses with the column names of one side."""
    return identities.selectExpr("capture", *(f"{name} AS {who}{alias}" for name, alias in _SIDE))


_SIDE = (
    ("address", ""),
    ("hosts", "_hosts"),
    ("listed_at", "_listed_at"),
    ("listed", "_listed"),
    ("entries", "_entries"),
    ("mac", "_mac"),
    ("mac_by", "_mac_by"),
    ("proof", "_proof"),
    ("owners", "_owners"),
    ("launched", "_launched"),
    ("name", "_name"),
    ("own_macs", "_own_macs"),
    ("former_macs", "_former_macs"),
    ("duplicates", "_duplicates"),
)


def _pair_host_events(events: DataFrame, pairs: DataFrame, identities: DataFrame) -> DataFrame:
    """Return the events of the pairs' hosts and of unnamed hosts, not those of a whole fleet."""
    pair_hosts = pairs.selectExpr("capture", "explode(array(client_host, server_host)) AS subject")
    hosts = pair_hosts.union(identities.selectExpr("capture", "explode(hosts) AS subject")).where("subject IS NOT NULL")
    named = events.join(F.broadcast(hosts.distinct()), ["capture", "subject"], "leftsemi")
    return named.unionByName(events.where("subject IS NULL"))


def _host_rows(events: DataFrame) -> DataFrame:
    """Return for each host (or NULL): its neighbour tables and their sizes, its thresholds and its listeners."""
    number = "try_cast(labels['value'] AS DOUBLE)"
    threshold = f"name = '{names.SETTING}' AND labels['key'] IN ({sql_literals(*GC_THRESHOLDS.values())})"
    listener = f"{SOCKET} AND labels['state'] = 'LISTEN'"
    received, room = (f"try_cast(labels['{queue}'] AS INT)" for queue in ("recv_q", "send_q"))
    full = f"{received} > {room} AND {room} > 0"
    size = f"name = '{names.METRIC}' AND labels['metric'] = 'neighbour_entries'"
    sizes = (
        events.where(ENTRY)
        .groupBy("capture", "subject", "at")
        .agg(*sql_columns("count(*) AS n", "count_if(contains(labels['address'], ':')) AS v6"))
        .groupBy("capture", "subject")
        .agg(*sql_columns("collect_list(struct(subject AS host, at, n - v6 AS v4, v6)) AS tables"))
    )
    settings = (
        events.where(f"{threshold} OR {size} OR {listener}")
        .groupBy("capture", "subject")
        .agg(
            *sql_columns(
                f"collect_set(CASE WHEN {threshold} THEN struct(subject AS host, labels['key'] AS key, "
                f"{number} AS value, {EVIDENCE_LINE} AS line) END) "
                "AS thresholds",
                f"max(CASE WHEN {size} THEN value END) AS entries",
                f"collect_set(CASE WHEN {listener} THEN struct(subject AS host, labels['local_port'] AS port, at, "
                f"{full} AS full, {EVIDENCE_LINE} AS line) END) AS listeners",
            ),
        )
    )
    return run_steps({"sizes": sizes, "settings": settings}, HOSTS)


HOSTS: Mapping[str, str] = {
    "hosts": """
        SELECT coalesce(s.capture, t.capture) AS capture, coalesce(s.subject, t.subject) AS host, tables, thresholds,
            listeners, entries
        FROM sizes AS s FULL JOIN settings AS t ON s.capture = t.capture AND s.subject <=> t.subject
    """
}
PAIR_HOST_DATA: Mapping[str, str] = {
    "pair_hosts": f"""
        SELECT {", ".join(PAIR)}, explode(array_distinct(concat(clients, servers, array(CAST(NULL AS STRING))))) AS host
        FROM pairs
    """,
    "both": f"""
        SELECT {", ".join(f"pair_hosts.{name}" for name in PAIR)}, flatten(collect_list(tables)) AS tables,
            flatten(collect_list(thresholds)) AS thresholds, flatten(collect_list(listeners)) AS listeners
        FROM pair_hosts JOIN hosts ON pair_hosts.capture = hosts.capture AND pair_hosts.host <=> hosts.host
        GROUP BY {", ".join(f"pair_hosts.{name}" for name in PAIR)}
    """,
}
"""The data of a pair's own hosts and of unnamed hosts: a list of all hosts for each of many pairs would not fit into
memory."""


def _reachability(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return how many other clients reach the server's port, and how many other such servers the client reaches.

    A client with a failing pair does not count as another client, even if it was connected before or after.
    `reconnected_at` is when the pair itself was last seen connected.
    """
    connected = materialized(established_connections(events).withColumnRenamed("peer", "client"))
    pair_hosts = pairs.select(*PAIR)
    working = connected.join(pair_hosts, list(PAIR), "leftanti")
    others = working.groupBy("capture", "server", "port").agg(
        *sql_columns("count(DISTINCT client) AS other_clients_connected", "min(line) AS others_line")
    )
    client_reach = working.groupBy("capture", "client", "port").agg(
        *sql_columns("count(DISTINCT server) AS other_servers_reached", "min(line) AS reaches_line")
    )
    served = connected.groupBy("capture", "port").agg(*sql_columns("count(DISTINCT server) AS port_servers"))
    return (
        pair_hosts.join(others, ["capture", "server", "port"], "left")
        .join(client_reach, ["capture", "client", "port"], "left")
        .join(served, ["capture", "port"], "left")
        .join(connected.selectExpr(*PAIR, "at AS reconnected_at"), list(PAIR), "left")
    )


TABLE_SECONDS = 900
"""A neighbour table that was read within this time of the attempts shows the entries of that time: people collect by
hand, host by host. A table of another hour may be from before the entry was made, or from after it was deleted."""


def _is_near_attempts(look: str) -> str:
    margin = f"make_interval(0, 0, 0, 0, 0, 0, {TABLE_SECONDS})"
    return f"coalesce({look}.at BETWEEN since - {margin} AND until + {margin}, true)"


_ENTRIES = (
    (
        "filter(coalesce(client_entries, array()), e -> e.mac IS NOT NULL AND (e.holder IS NULL OR "
        "array_contains(servers, e.holder))) AS client_entries_at_server"
    ),
    (
        "filter(coalesce(server_entries, array()), e -> e.mac IS NOT NULL AND (e.holder IS NULL OR "
        "array_contains(clients, e.holder))) AS server_entries_at_client"
    ),
    "array_except(array_except(syn_ack_macs, syn_macs), coalesce(client_own_macs, array())) AS other_macs",
    (
        f"exists(coalesce(tables, array()), t -> array_contains(servers, t.host) AND {_is_near_attempts('t')}) "
        "AS server_table"
    ),
)


def _is_during_attempts(at: str, near: float) -> str:
    """Return the SQL for whether a sample is close enough to the attempts to show them."""
    margin = f"make_interval(0, 0, 0, 0, 0, 0, {near})"
    return f"{at} BETWEEN since - {margin} AND until + {margin}"


_ENTRIES_AT_CLIENT = (
    "filter(coalesce(server_entries, array()), e -> e.holder IS NULL OR array_contains(clients, e.holder))"
)
"""For `unresolved`: the client sent ARP or NDP requests for the server's address without an answer, so it has no MAC
and no wrong MAC."""


def _comparisons(near: float) -> tuple[str, ...]:
    """Return the comparisons of neighbour entries with true MACs.

    An entry from before the launch of the new owner was right at its time. Sockets that were listed without a time
    count as listed during the attempts.
    """
    differs = (
        "e.mac <> {who}_mac AND NOT array_contains({who}_own_macs, e.mac) AND coalesce(e.at >= {who}_launched, true) "
        f"AND NOT e.mac RLIKE '{VIRTUAL}' AND ({_is_near_attempts('e')} OR e.at > until AND {{who}}_launched <= since)"
    )
    right = f"(array_contains({{who}}_own_macs, e.mac) OR e.mac RLIKE '{VIRTUAL}') AND {_is_near_attempts('e')}"
    is_port_listener = "l -> l.port = port AND (l.host IS NULL OR array_contains(servers, l.host))"
    undated = "(since IS NULL OR size(server_listed_at) = 0)"
    looked = f"IF({undated}, server_listed, exists(server_listed_at, t -> {_is_during_attempts('t', near)}))"
    return (
        f"filter(client_entries_at_server, e -> {differs.format(who='client')}) AS differs_at_server",
        f"filter(server_entries_at_client, e -> {differs.format(who='server')}) AS differs_at_client",
        (
            f"IF({_CLIENT_MAC_KNOWN} AND {_SAME_SUBNET} AND NOT arrays_overlap(syn_macs, coalesce(routers, array())), "
            f"filter(other_macs, m -> NOT {_IS_ROUTER}), array()) AS other_answers"
        ),
        (
            f"size(syn_ack_macs) > 0 AND {_CLIENT_MAC_KNOWN} AND forall(other_macs, m -> {_IS_ROUTER}) "
            "AS answered_to_right_mac"
        ),
        f"exists(client_entries_at_server, e -> {right.format(who='client')}) AS right_entry_at_server",
        f"exists(server_entries_at_client, e -> {right.format(who='server')}) AS right_entry_at_client",
        (
            f"exists({_ENTRIES_AT_CLIENT}, e -> e.mac IS NULL AND e.state IN ('FAILED', 'INCOMPLETE') AND "
            f"{_is_during_attempts('e.at', near)}) AND NOT exists({_ENTRIES_AT_CLIENT}, e -> e.mac IS NOT NULL"
            f" AND {_is_near_attempts('e')}) "
            "AS unresolved"
        ),
        f"coalesce({looked}, false) AS server_sockets_listed",
        "syn_recv_count > 0 OR syn_acks_repeated > 0 AS answered",
        "size(servers) = 0 AND other_clients_connected IS NULL AND port_servers > 0 AS address_unused",
        (
            "filter(coalesce(thresholds, array()), t -> (t.host IS NULL OR array_contains(servers, t.host) OR "
            f"array_contains(clients, t.host)) AND t.key = IF(contains(client, ':'), '{GC_THRESHOLDS['ipv6']}', "
            f"'{GC_THRESHOLDS['ipv4']}')) AS limits"
        ),
        (
            "exists(coalesce(thresholds, array()), t -> (t.host IS NULL OR array_contains(servers, t.host) OR "
            f"array_contains(clients, t.host)) AND t.key <> IF(contains(client, ':'), '{GC_THRESHOLDS['ipv6']}', "
            f"'{GC_THRESHOLDS['ipv4']}')) AS other_family"
        ),
        f"filter(coalesce(listeners, array()), {is_port_listener} AND coalesce(l.full, false)) AS full_queues",
        (
            f"exists(coalesce(listeners, array()), {is_port_listener} AND ({undated}"
            f" OR coalesce({_is_during_attempts('l.at', near)}, "
            "false))) AS listening"
        ),
    )


def _with_logs(pairs: DataFrame, logs: DataFrame) -> DataFrame:
    """Return the pairs with their clients' own logs: logs that name no server, or a server of that port."""
    of_pairs = (
        pairs.selectExpr(*PAIR, "explode(clients) AS worker")
        .join(
            logs.selectExpr("*", "explode(array(worker, folder)) AS name")
            .drop("worker")
            .withColumnRenamed("name", "worker"),
            ["capture", "worker"],
        )
        .where("servers IS NULL OR endswith(servers, concat(':', port))")
        .groupBy(*PAIR)
        .agg(
            *sql_columns(
                "flatten(collect_list(lines)) AS log_lines",
                "collect_set(struct(subject AS log, timeouts, expired, first, last)) AS client_logs",
            )
        )
    )
    return pairs.join(of_pairs, list(PAIR), "left")


def client_log_rows(events: DataFrame) -> DataFrame:
    """Return for each log its failed connection attempts, and the records that were given up because of them."""
    timed_out = f"name = '{names.CONNECTION_SETUP_TIMED_OUT}'"
    expired = f"name IN ('{names.RECORD_EXPIRED}', '{names.RECORD_FAILED}')"
    servers = f"name = '{names.SETTING}' AND labels['key'] = 'bootstrap.servers'"
    return (
        events.where(f"{timed_out} OR {expired} OR ({servers})")
        .selectExpr("*", f"{WORKER} AS worker", "regexp_replace(subject, '/[^/]*$', '') AS folder")
        .groupBy("capture", "subject", "worker", "folder")
        .agg(
            *sql_columns(
                f"array_sort(collect_set(CASE WHEN {timed_out} OR {expired} THEN {EVIDENCE_LINE} END)) AS lines",
                f"max(CASE WHEN {servers} THEN labels['value'] END) AS servers",
                f"count_if({timed_out}) AS timeouts",
                f"count_if({expired}) AS expired",
                f"min(at) FILTER (WHERE {timed_out}) AS first",
                f"max(at) FILTER (WHERE {timed_out}) AS last",
                f"min(at) FILTER (WHERE {timed_out} OR {expired}) AS since",
                f"max(at) FILTER (WHERE {timed_out} OR {expired}) AS until",
            ),
        )
        .where("timeouts > 0")
    )
