"""Everything that a capture shows about one pair of a client and a server's port, in one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.stale_neighbour.identity import ENTRY, SOCKET, routers_of
from leadsman.modes.stale_neighbour.knocks import LINE, connections_of
from leadsman.pipeline.shapes import columns, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

THRESHOLDS = {family: f"net.{family}.neigh.default.gc_thresh1" for family in ("ipv4", "ipv6")}
"""Each family has a table of its own."""
WORKER = r"regexp_extract(subject, '([^/]+?)(?:\\.[a-z]+)?$', 1)"
"""A log is its host's or worker's where the last part of its path is the name: clients/worker-3.log."""

NO_LINES = "CAST(array() AS array<struct<file:string,line:bigint,at:timestamp,text:string>>)"


def judged_of(events: DataFrame, pairs: DataFrame, *, known: DataFrame, near: float, logs: DataFrame) -> DataFrame:
    """Return one row a pair, with the state of each link and its lines.

    `known` is what is known of their addresses (`identities_of`); `near` is in seconds.
    """
    told = (
        pairs.join(_as(known, "client"), ["capture", "client"], "left")
        .join(_as(known, "server"), ["capture", "server"], "left")
        .join(routers_of(events, pairs), ["capture", "client"], "left")
        .join(_context(_of_hosts(events, pairs, known)), "capture", "left")
        .join(_reach(events, pairs), ["capture", "client", "server", "port"], "left")
    )
    named = told.selectExpr(
        "*",
        "array_distinct(filter(concat(coalesce(client_hosts, array()), array(client_host)), h -> h IS NOT NULL)) "
        "AS clients",
        "array_distinct(filter(concat(coalesce(server_hosts, array()), array(server_host)), h -> h IS NOT NULL)) "
        "AS servers",
    )
    believed = named.selectExpr("*", *_BELIEFS)
    return _with_logs(believed.selectExpr("*", *_compared(near)), logs)


def _as(known: DataFrame, who: str) -> DataFrame:
    """Return what is known of addresses under the names of one side."""
    return known.selectExpr("capture", *(f"{name} AS {who}{alias}" for name, alias in _SIDE))


_SIDE = (
    ("address", ""),
    ("hosts", "_hosts"),
    ("looked_at", "_looked_at"),
    ("listed", "_listed"),
    ("entries", "_entries"),
    ("mac", "_mac"),
    ("mac_by", "_mac_by"),
    ("proof", "_proof"),
    ("owners", "_owners"),
    ("launched", "_launched"),
    ("name", "_name"),
)


def _of_hosts(events: DataFrame, pairs: DataFrame, known: DataFrame) -> DataFrame:
    """Return the events of hosts that are an end of a pair, and of unnamed ones: not of a whole fleet."""
    ends = pairs.selectExpr("capture", "explode(array(client_host, server_host)) AS subject")
    hosts = ends.union(known.selectExpr("capture", "explode(hosts) AS subject")).where("subject IS NOT NULL")
    named = events.join(hosts.distinct(), ["capture", "subject"], "leftsemi")
    return named.unionByName(events.where("subject IS NULL"))


def _context(events: DataFrame) -> DataFrame:
    """Return what holds for hosts rather than pairs: whose tables are seen, thresholds, sizes, full queues."""
    number = "try_cast(labels['value'] AS DOUBLE)"
    threshold = f"name = '{names.SETTING}' AND labels['key'] IN ({quoted(*THRESHOLDS.values())})"
    full = f"{SOCKET} AND labels['state'] = 'LISTEN' AND CAST(labels['recv_q'] AS INT) > CAST(labels['send_q'] AS INT)"
    size = f"name = '{names.METRIC}' AND labels['metric'] = 'neighbour_entries'"
    return (
        events.where(f"{ENTRY} OR {threshold} OR {size} OR ({full}) OR {SOCKET}")
        .groupBy("capture")
        .agg(
            *columns(
                f"collect_set(CASE WHEN {ENTRY} THEN subject END) AS tables",
                f"collect_set(CASE WHEN {threshold} THEN struct(subject AS host, labels['key'] AS key, "
                f"{number} AS value, {LINE} AS line) END) "
                "AS thresholds",
                f"max(CASE WHEN {size} THEN value END) AS entries",
                f"collect_set(CASE WHEN {full} AND CAST(labels['send_q'] AS INT) > 0 "
                f"THEN struct(subject AS host, labels['local_port'] AS port, {LINE} AS line) END) AS full",
            ),
        )
    )


def _reach(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return how many others reach the server's port, and how many other servers of that port the client reaches."""
    connected = connections_of(events)
    ends = pairs.select("capture", "client", "server", "port")
    others = ends.join(connected, ["capture", "server", "port"]).where("peer <> client")
    elsewhere = ends.join(
        connected.selectExpr("capture", "peer AS client", "server AS reached", "port", "line"),
        ["capture", "client", "port"],
    ).where("reached <> server")
    keys = ("capture", "client", "server", "port")
    return (
        others.groupBy(*keys)
        .agg(*columns("count(DISTINCT peer) AS others_reach", "min(line) AS others_line"))
        .join(
            elsewhere.groupBy(*keys).agg(*columns("count(DISTINCT reached) AS reaches", "min(line) AS reaches_line")),
            list(keys),
            "full",
        )
    )


_BELIEFS = (
    (
        "filter(coalesce(client_entries, array()), e -> e.mac IS NOT NULL AND (e.holder IS NULL OR "
        "array_contains(servers, e.holder))) AS of_client"
    ),
    (
        "filter(coalesce(server_entries, array()), e -> e.mac IS NOT NULL AND (e.holder IS NULL OR "
        "array_contains(clients, e.holder))) AS of_server"
    ),
    "array_except(array_except(answered_to, asked_from), coalesce(routers, array())) AS wrong_answers",
    "arrays_overlap(coalesce(tables, array()), servers) AS server_table",
)


def _compared(near: float) -> tuple[str, ...]:
    """Return the comparisons of beliefs with facts. An entry from before the new owner's launch was right then."""
    wrong = "e.mac <> {who}_mac AND coalesce(e.at >= {who}_launched, true)"
    meanwhile = (
        f"t BETWEEN since - make_interval(0, 0, 0, 0, 0, 0, {near}) AND until + make_interval(0, 0, 0, 0, 0, 0, {near})"
    )
    looked = f"IF(since IS NULL, server_listed, exists(server_looked_at, t -> {meanwhile}))"
    return (
        f"filter(of_client, e -> {wrong.format(who='client')}) AS stale_at_server",
        f"filter(of_server, e -> {wrong.format(who='server')}) AS stale_at_client",
        "exists(of_client, e -> e.mac = client_mac) AS right_at_server",
        "exists(of_server, e -> e.mac = server_mac) AS right_at_client",
        f"coalesce({looked}, false) AS server_looked",
        "received > 0 OR answers_repeated > 0 AS answered",
        (
            "filter(coalesce(thresholds, array()), t -> (t.host IS NULL OR array_contains(servers, t.host) OR "
            f"array_contains(clients, t.host)) AND t.key = IF(contains(client, ':'), '{THRESHOLDS['ipv6']}', "
            f"'{THRESHOLDS['ipv4']}')) AS limits"
        ),
        (
            "filter(coalesce(full, array()), f -> f.port = port AND (f.host IS NULL OR array_contains(servers, "
            "f.host))) "
            "AS full_queues"
        ),
    )


def _with_logs(judged: DataFrame, logs: DataFrame) -> DataFrame:
    """Add what the clients' own logs say of it: those that name no server, or one of that port."""
    keys = ("capture", "client", "server", "port")
    of_pairs = (
        judged.selectExpr(*keys, "explode(clients) AS worker")
        .join(logs, ["capture", "worker"])
        .where("servers IS NULL OR endswith(servers, concat(':', port))")
        .groupBy(*keys)
        .agg(
            *columns(
                "flatten(collect_list(lines)) AS log_lines",
                "collect_set(struct(subject AS log, timeouts, expired, first, last)) AS told",
            )
        )
    )
    return judged.join(of_pairs, list(keys), "left")


def logs_of(events: DataFrame) -> DataFrame:
    """Return of each log what it says of connections that did not come about, and of records given up for it."""
    timed_out = f"name = '{names.CONNECTION_SETUP_TIMED_OUT}'"
    expired = f"name IN ('{names.RECORD_EXPIRED}', '{names.RECORD_FAILED}')"
    servers = f"name = '{names.SETTING}' AND labels['key'] = 'bootstrap.servers'"
    return (
        events.where(f"{timed_out} OR {expired} OR ({servers})")
        .selectExpr("*", f"{WORKER} AS worker")
        .groupBy("capture", "subject", "worker")
        .agg(
            *columns(
                f"array_sort(collect_set(CASE WHEN {timed_out} OR {expired} THEN {LINE} END)) AS lines",
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
