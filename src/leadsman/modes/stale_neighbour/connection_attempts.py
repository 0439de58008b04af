"""Finds connection attempts without an answer: pairs of a client and a server's port, from sockets and packets.

A connection that is being opened is listed as SYN-SENT at the client and, once the server has answered, as SYN-RECV
at the server. An attempt in one of these states that has been repeated is stuck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, sql_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OPENING_STATES = ("SYN-SENT", "SYN-RECV")

SOCKET_IS_STUCK = "coalesce(try_cast(labels['retransmits'] AS INT), 1) > 0"
"""`ss -tan` shows no retransmits, so every socket in these states counts as stuck: opening takes only milliseconds."""


def attempt_pairs(events: DataFrame) -> DataFrame:
    """Return one row for each client and server port between which no connection opens, with its evidence.

    A pair is either `stuck`, or the server refused it with a reset.
    """
    packet = f"name = '{names.HANDSHAKE_PACKET}'"
    socket = f"name = '{names.SOCKET_SEEN}' AND labels['state'] IN {OPENING_STATES} AND {SOCKET_IS_STUCK}"
    from_client = "labels['state'] = 'SYN-SENT' OR labels['flags'] IN ('S', 'A')"
    source = "coalesce(labels['local'], labels['src'])"
    destination = "coalesce(labels['remote'], labels['dst'])"
    source_port = "coalesce(labels['local_port'], labels['src_port'])"
    destination_port = "coalesce(labels['remote_port'], labels['dst_port'])"
    attempts = (
        events.where(f"({packet} AND labels['flags'] <> 'ARP') OR ({socket})")
        .selectExpr(
            "*",
            f"IF({from_client}, {source}, {destination}) AS client",
            f"IF({from_client}, {source_port}, {destination_port}) AS client_port",
            f"IF({from_client}, {destination}, {source}) AS server",
            f"IF({from_client}, {destination_port}, {source_port}) AS port",
            "coalesce(labels['state'], labels['flags']) AS kind",
        )
        .groupBy("capture", "client", "client_port", "server", "port")
        .agg(*sql_columns(*_ATTEMPT))
        .selectExpr("*", f"{_ATTEMPT_IS_STUCK} AS stuck")
        .where("stuck OR (syns > 0 AND resets > 0 AND acks = 0)")
    )
    return attempts.groupBy("capture", "client", "server", "port", "stuck").agg(*sql_columns(*_PAIR))


_ATTEMPT_IS_STUCK = "(syn_sent OR syn_recv OR (syns > 1 AND acks = 0) OR (syn_acks > 1 AND acks = 0))"


def _lines(kind: str) -> str:
    return f"collect_set(CASE WHEN kind = '{kind}' THEN {EVIDENCE_LINE} END)"


_ATTEMPT = (
    "max(kind = 'SYN-SENT') AS syn_sent",
    "max(kind = 'SYN-RECV') AS syn_recv",
    "max(CASE WHEN kind = 'SYN-SENT' THEN subject END) AS client_host",
    "max(CASE WHEN kind = 'SYN-RECV' THEN subject END) AS server_host",
    "coalesce(max(CASE WHEN kind = 'S' THEN value END), 0) AS syns",
    "coalesce(max(CASE WHEN kind = 'SA' THEN value END), 0) AS syn_acks",
    "coalesce(max(CASE WHEN kind = 'A' THEN value END), 0) AS acks",
    "count_if(kind = 'R') AS resets",
    "collect_set(CASE WHEN kind = 'S' THEN labels['src_mac'] END) AS syn_macs",
    "collect_set(CASE WHEN kind = 'SA' THEN labels['dst_mac'] END) AS syn_ack_macs",
    f"{_lines('SYN-SENT')} AS sent_lines",
    f"{_lines('SYN-RECV')} AS recv_lines",
    f"{_lines('S')} AS syn_lines",
    f"{_lines('SA')} AS syn_ack_lines",
    "min(at) AS since",
    "max(at) AS until",
)
_PAIR = (
    "max(client_host) AS client_host",
    "max(server_host) AS server_host",
    "count(*) AS attempts",
    "count_if(syn_sent) AS syn_sent_count",
    "count_if(syn_recv) AS syn_recv_count",
    "count_if(syn_sent AND syn_recv) AS both_ends",
    "count_if(syns > 1) AS syns_repeated",
    "count_if(syn_acks > 1) AS syn_acks_repeated",
    "sum(resets) AS resets",
    "array_distinct(flatten(collect_list(syn_macs))) AS syn_macs",
    "array_distinct(flatten(collect_list(syn_ack_macs))) AS syn_ack_macs",
    "flatten(collect_list(sent_lines)) AS sent_lines",
    "flatten(collect_list(recv_lines)) AS recv_lines",
    "flatten(collect_list(syn_lines)) AS syn_lines",
    "flatten(collect_list(syn_ack_lines)) AS syn_ack_lines",
    "min(since) AS since",
    "max(until) AS until",
)


def established_connections(events: DataFrame) -> DataFrame:
    """Return the established connections: one row for each client, server and port, with a line."""
    local_port, remote_port = (f"try_cast(labels['{side}_port'] AS INT)" for side in ("local", "remote"))
    is_server_side = f"labels['remote_port'] IS NULL OR {local_port} < {remote_port}"
    return (
        events.where(f"name = '{names.SOCKET_SEEN}' AND labels['state'] = 'ESTAB' AND labels['local'] IS NOT NULL")
        .selectExpr(
            "capture",
            f"IF({is_server_side}, labels['remote'], labels['local']) AS peer",
            f"IF({is_server_side}, labels['local'], labels['remote']) AS server",
            f"IF({is_server_side}, labels['local_port'], labels['remote_port']) AS port",
            "at",
            f"{EVIDENCE_LINE} AS line",
        )
        .groupBy("capture", "peer", "server", "port")
        .agg(*sql_columns("min(line) AS line", "max(at) AS at"))
    )
