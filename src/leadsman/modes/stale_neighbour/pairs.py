"""Everything that a capture shows about one pair of a client and a server's port, in one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.modes.stale_neighbour.identity import ENTRY, SOCKET, routers_of
from leadsman.modes.stale_neighbour.knocks import LINE, connections_of
from leadsman.modes.stale_neighbour.liveness import VIRTUAL, reasons_of
from leadsman.pipeline.shapes import columns, quoted, settled, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

PAIR = ("capture", "client", "server", "port")
"""What makes a pair one."""

THRESHOLDS = {family: f"net.{family}.neigh.default.gc_thresh1" for family in ("ipv4", "ipv6")}
"""Each family has a table of its own."""
WORKER = r"regexp_extract(subject, '([^/]+?)(?:\\.[a-z]+)?$', 1)"
"""A log is its host's or worker's where the last part of its path is the name: clients/worker-3.log."""

NO_LINES = "CAST(array() AS array<struct<file:string,line:bigint,at:timestamp,text:string>>)"


def judged_of(events: DataFrame, pairs: DataFrame, *, known: DataFrame, near: float, logs: DataFrame) -> DataFrame:
    """Return one row a pair, with the state of each link and its lines.

    `known` is what is known of their addresses (`identities_of`); `near` is in seconds.
    """
    of_ends = _of_hosts(events, pairs, known)
    of_hosts = settled(_of_each_host(of_ends))
    told = (
        pairs.join(_as(known, "client"), ["capture", "client"], "left")
        .join(_as(known, "server"), ["capture", "server"], "left")
        .join(routers_of(events, pairs), ["capture", "client"], "left")
        .join(of_hosts.groupBy("capture").agg(*columns("max(entries) AS entries")), "capture", "left")
        .join(_reach(events, pairs), list(PAIR), "left")
    )
    named = settled(
        told.selectExpr(
            "*",
            "array_distinct(filter(concat(coalesce(client_hosts, array()), array(client_host)), h -> h IS NOT NULL)) "
            "AS clients",
            "array_distinct(filter(concat(coalesce(server_hosts, array()), array(server_host)), h -> h IS NOT NULL)) "
            "AS servers",
        )
    )
    placed = named.join(table({"pairs": named, "hosts": of_hosts}, OF_BOTH), list(PAIR), "left")
    compared = settled(placed.selectExpr("*", *_BELIEFS).selectExpr("*", *_compared(near)))
    suspects = settled(_suspects(compared, "client").union(_suspects(compared, "server")))
    reasons = settled(reasons_of(events, suspects))
    weighed = compared
    for side in ("client", "server"):
        of_side = reasons.withColumnsRenamed({"about": side, "reasons": f"{side}_reasons"})
        weighed = weighed.join(of_side, ["capture", side], "left")
    return _with_logs(weighed.selectExpr("*", *_WEIGHED), logs)


def _suspects(compared: DataFrame, side: str) -> DataFrame:
    """Return the MACs that differ from what a side has, with whose table has them."""
    entries = f"transform(differs_at_{_OTHER[side]}, e -> struct(e.mac, e.holder))"
    answers = "transform(other_answers, m -> struct(m AS mac, server_host AS holder))"
    differing = f"concat({entries}, {answers})" if side == "client" else entries
    return compared.selectExpr("capture", f"{side} AS about", "since", f"inline({differing})").distinct()


_ASKED = "(size(asked_from) > 0 OR client_mac IS NOT NULL)"
_PASSED_ON = f"(array_contains(coalesce(routers, array()), m) OR m RLIKE '{VIRTUAL}')"
"""A router's MAC, or a virtual one: the answer was sent where the network wants it."""

_NEAR = """(
    size(of_client) > 0 OR contains(client, ':') AND split_part(client, ':', 1) = split_part(server, ':', 1)
    OR split_part(client, '.', 1) = split_part(server, '.', 1)
        AND split_part(client, '.', 2) = split_part(server, '.', 2)
        AND try_cast(split_part(client, '.', 3) AS INT) DIV 16 = try_cast(split_part(server, '.', 3) AS INT) DIV 16
)"""
"""Whether two hosts can be neighbours: nobody says which subnet it is, and a cloud's has 4,096 addresses at most."""

_OTHER = {"client": "server", "server": "client"}


def _innocent(mac: str, side: str) -> str:
    """Return whether a MAC that differs belongs to somebody who lives, and to nobody who is known to be dead."""
    reasons = f"coalesce(try_element_at({side}_reasons, {mac}), array())"
    dead = f"array_contains({reasons}, 'dead') OR array_contains(coalesce({side}_former_macs, array()), {mac})"
    return f"({side}_duplicates IS NOT NULL OR size({reasons}) > 0 AND NOT ({dead}))"


_WEIGHED = (
    f"filter(differs_at_server, e -> NOT {_innocent('e.mac', 'client')}) AS stale_at_server",
    f"filter(differs_at_client, e -> NOT {_innocent('e.mac', 'server')}) AS stale_at_client",
    f"filter(other_answers, m -> NOT {_innocent('m', 'client')}) AS wrong_answers",
    "coalesce(client_duplicates, server_duplicates) AS duplicates",
    "IF(client_duplicates IS NULL, IF(server_duplicates IS NULL, NULL, server), client) AS duplicate",
)


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
    ("own_macs", "_own_macs"),
    ("former_macs", "_former_macs"),
    ("duplicates", "_duplicates"),
)


def _of_hosts(events: DataFrame, pairs: DataFrame, known: DataFrame) -> DataFrame:
    """Return the events of hosts that are an end of a pair, and of unnamed ones: not of a whole fleet."""
    ends = pairs.selectExpr("capture", "explode(array(client_host, server_host)) AS subject")
    hosts = ends.union(known.selectExpr("capture", "explode(hosts) AS subject")).where("subject IS NOT NULL")
    named = events.join(F.broadcast(hosts.distinct()), ["capture", "subject"], "leftsemi")
    return named.unionByName(events.where("subject IS NULL"))


def _of_each_host(events: DataFrame) -> DataFrame:
    """Return of each host (or NULL): looks at its table and their sizes, thresholds, listeners, how much it holds."""
    number = "try_cast(labels['value'] AS DOUBLE)"
    threshold = f"name = '{names.SETTING}' AND labels['key'] IN ({quoted(*THRESHOLDS.values())})"
    listener = f"{SOCKET} AND labels['state'] = 'LISTEN'"
    full = "CAST(labels['recv_q'] AS INT) > CAST(labels['send_q'] AS INT) AND CAST(labels['send_q'] AS INT) > 0"
    size = f"name = '{names.METRIC}' AND labels['metric'] = 'neighbour_entries'"
    sizes = (
        events.where(ENTRY)
        .groupBy("capture", "subject", "at")
        .agg(*columns("count(*) AS n", "count_if(contains(labels['address'], ':')) AS v6"))
        .groupBy("capture", "subject")
        .agg(*columns("collect_list(struct(subject AS host, at, n - v6 AS v4, v6)) AS tables"))
    )
    settings = (
        events.where(f"{threshold} OR {size} OR {listener}")
        .groupBy("capture", "subject")
        .agg(
            *columns(
                f"collect_set(CASE WHEN {threshold} THEN struct(subject AS host, labels['key'] AS key, "
                f"{number} AS value, {LINE} AS line) END) "
                "AS thresholds",
                f"max(CASE WHEN {size} THEN value END) AS entries",
                f"collect_set(CASE WHEN {listener} THEN struct(subject AS host, labels['local_port'] AS port, at, "
                f"{full} AS full, {LINE} AS line) END) AS listeners",
            ),
        )
    )
    return table({"sizes": sizes, "settings": settings}, HOSTS)


HOSTS: Mapping[str, str] = {
    "hosts": """
        SELECT coalesce(s.capture, t.capture) AS capture, coalesce(s.subject, t.subject) AS host, tables, thresholds,
            listeners, entries
        FROM sizes AS s FULL JOIN settings AS t ON s.capture = t.capture AND s.subject <=> t.subject
    """
}
OF_BOTH: Mapping[str, str] = {
    "ends": f"""
        SELECT {", ".join(PAIR)}, explode(array_distinct(concat(clients, servers, array(CAST(NULL AS STRING))))) AS host
        FROM pairs
    """,
    "both": f"""
        SELECT {", ".join(f"ends.{name}" for name in PAIR)}, flatten(collect_list(tables)) AS tables,
            flatten(collect_list(thresholds)) AS thresholds, flatten(collect_list(listeners)) AS listeners
        FROM ends JOIN hosts ON ends.capture = hosts.capture AND ends.host <=> hosts.host
        GROUP BY {", ".join(f"ends.{name}" for name in PAIR)}
    """,
}
"""What is known of a pair's own hosts, and of those that nobody names: a list of all hosts with each of many pairs is
more than a fleet's memory holds."""


def _reach(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return how many others reach the server's port, and how many other servers of that port the client reaches.

    Who fails on the one hand is not counted on the other, though it was connected before or after. `again` is when the
    pair itself was last seen connected.
    """
    connected = settled(connections_of(events).withColumnRenamed("peer", "client"))
    ends = pairs.select(*PAIR)
    working = connected.join(ends, list(PAIR), "leftanti")
    others = working.groupBy("capture", "server", "port").agg(
        *columns("count(DISTINCT client) AS others_reach", "min(line) AS others_line")
    )
    elsewhere = working.groupBy("capture", "client", "port").agg(
        *columns("count(DISTINCT server) AS reaches", "min(line) AS reaches_line")
    )
    served = connected.groupBy("capture", "port").agg(*columns("count(DISTINCT server) AS port_servers"))
    return (
        ends.join(others, ["capture", "server", "port"], "left")
        .join(elsewhere, ["capture", "client", "port"], "left")
        .join(served, ["capture", "port"], "left")
        .join(connected.selectExpr(*PAIR, "at AS again"), list(PAIR), "left")
    )


TABLE_SECONDS = 900
"""A table that was looked at this near to the attempts shows what was believed then: somebody collects by hand, host by
host. One of another hour may be from before the entry was made, or from after it was deleted."""


def _timely(look: str) -> str:
    away = f"make_interval(0, 0, 0, 0, 0, 0, {TABLE_SECONDS})"
    return f"coalesce({look}.at BETWEEN since - {away} AND until + {away}, true)"


_BELIEFS = (
    (
        "filter(coalesce(client_entries, array()), e -> e.mac IS NOT NULL AND (e.holder IS NULL OR "
        "array_contains(servers, e.holder))) AS of_client"
    ),
    (
        "filter(coalesce(server_entries, array()), e -> e.mac IS NOT NULL AND (e.holder IS NULL OR "
        "array_contains(clients, e.holder))) AS of_server"
    ),
    "array_except(array_except(answered_to, asked_from), coalesce(client_own_macs, array())) AS elsewhere",
    f"exists(coalesce(tables, array()), t -> array_contains(servers, t.host) AND {_timely('t')}) AS server_table",
)


def _meanwhile(at: str, near: float) -> str:
    """Return whether a look was near enough to the attempts to show them."""
    away = f"make_interval(0, 0, 0, 0, 0, 0, {near})"
    return f"{at} BETWEEN since - {away} AND until + {away}"


_AT_CLIENT = "filter(coalesce(server_entries, array()), e -> e.holder IS NULL OR array_contains(clients, e.holder))"
"""Of `unresolved`: the client asked who has the server's address, and nobody answered: no MAC, so no wrong one."""


def _compared(near: float) -> tuple[str, ...]:
    """Return the comparisons of beliefs with facts. An entry from before the new owner's launch was right then.

    Sockets that were pasted without a time were listed, as far as anybody says, when the attempts were made.
    """
    differs = (
        "e.mac <> {who}_mac AND NOT array_contains({who}_own_macs, e.mac) AND coalesce(e.at >= {who}_launched, true) "
        f"AND NOT e.mac RLIKE '{VIRTUAL}' AND ({_timely('e')} OR e.at > until AND {{who}}_launched <= since)"
    )
    right = f"(array_contains({{who}}_own_macs, e.mac) OR e.mac RLIKE '{VIRTUAL}') AND {_timely('e')}"
    ours = "l -> l.port = port AND (l.host IS NULL OR array_contains(servers, l.host))"
    undated = "(since IS NULL OR size(server_looked_at) = 0)"
    looked = f"IF({undated}, server_listed, exists(server_looked_at, t -> {_meanwhile('t', near)}))"
    return (
        f"filter(of_client, e -> {differs.format(who='client')}) AS differs_at_server",
        f"filter(of_server, e -> {differs.format(who='server')}) AS differs_at_client",
        (
            f"IF({_ASKED} AND {_NEAR} AND NOT arrays_overlap(asked_from, coalesce(routers, array())), "
            f"filter(elsewhere, m -> NOT {_PASSED_ON}), array()) AS other_answers"
        ),
        f"size(answered_to) > 0 AND {_ASKED} AND forall(elsewhere, m -> {_PASSED_ON}) AS answered_right",
        f"exists(of_client, e -> {right.format(who='client')}) AS right_at_server",
        f"exists(of_server, e -> {right.format(who='server')}) AS right_at_client",
        (
            f"exists({_AT_CLIENT}, e -> e.mac IS NULL AND e.state IN ('FAILED', 'INCOMPLETE') AND "
            f"{_meanwhile('e.at', near)}) AND NOT exists({_AT_CLIENT}, e -> e.mac IS NOT NULL AND {_timely('e')}) "
            "AS unresolved"
        ),
        f"coalesce({looked}, false) AS server_looked",
        "received > 0 OR answers_repeated > 0 AS answered",
        "size(servers) = 0 AND others_reach IS NULL AND port_servers > 0 AS nobody_there",
        (
            "filter(coalesce(thresholds, array()), t -> (t.host IS NULL OR array_contains(servers, t.host) OR "
            f"array_contains(clients, t.host)) AND t.key = IF(contains(client, ':'), '{THRESHOLDS['ipv6']}', "
            f"'{THRESHOLDS['ipv4']}')) AS limits"
        ),
        (
            "exists(coalesce(thresholds, array()), t -> (t.host IS NULL OR array_contains(servers, t.host) OR "
            f"array_contains(clients, t.host)) AND t.key <> IF(contains(client, ':'), '{THRESHOLDS['ipv6']}', "
            f"'{THRESHOLDS['ipv4']}')) AS other_family"
        ),
        f"filter(coalesce(listeners, array()), {ours} AND coalesce(l.full, false)) AS full_queues",
        (
            f"exists(coalesce(listeners, array()), {ours} AND ({undated} OR coalesce({_meanwhile('l.at', near)}, "
            "false))) AS listening"
        ),
    )


def _with_logs(judged: DataFrame, logs: DataFrame) -> DataFrame:
    """Add what the clients' own logs say of it: those that name no server, or one of that port."""
    of_pairs = (
        judged.selectExpr(*PAIR, "explode(clients) AS worker")
        .join(
            logs.selectExpr("*", "explode(array(worker, folder)) AS name")
            .drop("worker")
            .withColumnRenamed("name", "worker"),
            ["capture", "worker"],
        )
        .where("servers IS NULL OR endswith(servers, concat(':', port))")
        .groupBy(*PAIR)
        .agg(
            *columns(
                "flatten(collect_list(lines)) AS log_lines",
                "collect_set(struct(subject AS log, timeouts, expired, first, last)) AS told",
            )
        )
    )
    return judged.join(of_pairs, list(PAIR), "left")


def logs_of(events: DataFrame) -> DataFrame:
    """Return of each log what it says of connections that did not come about, and of records given up for it."""
    timed_out = f"name = '{names.CONNECTION_SETUP_TIMED_OUT}'"
    expired = f"name IN ('{names.RECORD_EXPIRED}', '{names.RECORD_FAILED}')"
    servers = f"name = '{names.SETTING}' AND labels['key'] = 'bootstrap.servers'"
    return (
        events.where(f"{timed_out} OR {expired} OR ({servers})")
        .selectExpr("*", f"{WORKER} AS worker", "regexp_replace(subject, '/[^/]*$', '') AS folder")
        .groupBy("capture", "subject", "worker", "folder")
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
