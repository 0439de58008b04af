"""Who knocks at whom and gets no answer: pairs of a client and a server's port, out of sockets and packets.

A connection that is being opened is listed as SYN-SENT at the client and, once the server has answered, as SYN-RECV
there. One of these that has been repeated is stuck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LINE = "struct(file, line, at, text)"
OPENING = ("SYN-SENT", "SYN-RECV")

STUCK = "coalesce(CAST(labels['retransmits'] AS INT), 1) > 0"
"""`ss -tan` tells no retransmits; what is seen opening at all is then taken for stuck: opening takes milliseconds."""


def pairs_of(events: DataFrame) -> DataFrame:
    """Return one row a client and server port between which no connection comes about, with what shows it.

    It is either `stuck`, or refused with a reset.
    """
    packet = f"name = '{names.HANDSHAKE_PACKET}'"
    socket = f"name = '{names.SOCKET_SEEN}' AND labels['state'] IN {OPENING} AND {STUCK}"
    from_client = "labels['state'] = 'SYN-SENT' OR labels['flags'] IN ('S', 'A')"
    sent = "coalesce(labels['local'], labels['src'])"
    received = "coalesce(labels['remote'], labels['dst'])"
    sent_port = "coalesce(labels['local_port'], labels['src_port'])"
    received_port = "coalesce(labels['remote_port'], labels['dst_port'])"
    attempts = (
        events.where(f"({packet} AND labels['flags'] <> 'ARP') OR ({socket})")
        .selectExpr(
            "*",
            f"IF({from_client}, {sent}, {received}) AS client",
            f"IF({from_client}, {sent_port}, {received_port}) AS client_port",
            f"IF({from_client}, {received}, {sent}) AS server",
            f"IF({from_client}, {received_port}, {sent_port}) AS port",
            "coalesce(labels['state'], labels['flags']) AS kind",
        )
        .groupBy("capture", "client", "client_port", "server", "port")
        .agg(*columns(*_ATTEMPT))
        .selectExpr("*", f"{_STUCK} AS stuck")
        .where("stuck OR (syns > 0 AND resets > 0 AND acks = 0)")
    )
    return attempts.groupBy("capture", "client", "server", "port", "stuck").agg(*columns(*_PAIR))


_STUCK = "(syn_sent OR syn_recv OR (syns > 1 AND acks = 0) OR (syn_acks > 1 AND acks = 0))"


def _lines(kind: str) -> str:
    return f"collect_set(CASE WHEN kind = '{kind}' THEN {LINE} END)"


_ATTEMPT = (
    "max(kind = 'SYN-SENT') AS syn_sent",
    "max(kind = 'SYN-RECV') AS syn_recv",
    "max(CASE WHEN kind = 'SYN-SENT' THEN subject END) AS client_host",
    "max(CASE WHEN kind = 'SYN-RECV' THEN subject END) AS server_host",
    "coalesce(max(CASE WHEN kind = 'S' THEN value END), 0) AS syns",
    "coalesce(max(CASE WHEN kind = 'SA' THEN value END), 0) AS syn_acks",
    "coalesce(max(CASE WHEN kind = 'A' THEN value END), 0) AS acks",
    "count_if(kind = 'R') AS resets",
    "collect_set(CASE WHEN kind = 'S' THEN labels['src_mac'] END) AS asked_from",
    "collect_set(CASE WHEN kind = 'SA' THEN labels['dst_mac'] END) AS answered_to",
    f"{_lines('SYN-SENT')} AS sent_lines",
    f"{_lines('SYN-RECV')} AS recv_lines",
    f"{_lines('S')} AS syn_lines",
    f"{_lines('SA')} AS answer_lines",
    "min(at) AS since",
    "max(at) AS until",
)
_PAIR = (
    "max(client_host) AS client_host",
    "max(server_host) AS server_host",
    "count(*) AS attempts",
    "count_if(syn_sent) AS sent",
    "count_if(syn_recv) AS received",
    "count_if(syn_sent AND syn_recv) AS both_ends",
    "count_if(syns > 1) AS syns_repeated",
    "count_if(syn_acks > 1) AS answers_repeated",
    "sum(resets) AS resets",
    "array_distinct(flatten(collect_list(asked_from))) AS asked_from",
    "array_distinct(flatten(collect_list(answered_to))) AS answered_to",
    "flatten(collect_list(sent_lines)) AS sent_lines",
    "flatten(collect_list(recv_lines)) AS recv_lines",
    "flatten(collect_list(syn_lines)) AS syn_lines",
    "flatten(collect_list(answer_lines)) AS answer_lines",
    "min(since) AS since",
    "max(until) AS until",
)


def connections_of(events: DataFrame) -> DataFrame:
    """Return who is connected to what: one row a client, server and port, with a line that shows it."""
    serves = "labels['remote_port'] IS NULL OR CAST(labels['local_port'] AS INT) < CAST(labels['remote_port'] AS INT)"
    return (
        events.where(f"name = '{names.SOCKET_SEEN}' AND labels['state'] = 'ESTAB' AND labels['local'] IS NOT NULL")
        .selectExpr(
            "capture",
            f"IF({serves}, labels['remote'], labels['local']) AS peer",
            f"IF({serves}, labels['local'], labels['remote']) AS server",
            f"IF({serves}, labels['local_port'], labels['remote_port']) AS port",
            "at",
            f"{LINE} AS line",
        )
        .groupBy("capture", "peer", "server", "port")
        .agg(*columns("min(line) AS line", "max(at) AS at"))
    )
