"""Who reaches whom: a cell a client and server port, of the ports at which somebody knocks in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.stale_neighbour.knocks import connections_of
from leadsman.pipeline.shapes import matrix, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

NAMES = f"""
    SELECT capture, coalesce(labels['local'], labels['address']) AS address,
        coalesce(max(IF(name = '{names.SOCKET_SEEN}', subject, NULL)),
            max_by(labels['name'], coalesce(labels['launched'], ''))) AS host
    FROM events
    WHERE name IN ('{names.SOCKET_SEEN}', '{names.INSTANCE_SEEN}')
    GROUP BY 1, 2
"""
"""A host's own list of sockets names it; of an address that was handed on, the inventory's newest owner does."""

MET = """
    SELECT capture, peer AS client, server, port, 'established' AS outcome, 1 AS weight, '' AS says, line
    FROM connections LEFT SEMI JOIN seen USING (capture, port)
"""

REFUSED = """
    SELECT capture, client, server, port, 'refused' AS outcome, 2 AS weight,
        'Every knock was answered with a reset.' AS says, get(array_sort(syn_lines), 0) AS line
    FROM seen WHERE NOT stuck
"""

STUCK = """
    SELECT capture, client, server, port,
        CASE WHEN sent > 0 AND received > 0 THEN 'SYN_SENT and SYN_RECV'
            WHEN received > 0 OR answers_repeated > 0 THEN 'SYN_RECV' ELSE 'SYN_SENT' END AS outcome,
        3 AS weight,
        CASE WHEN size(stale_at_server) > 0 THEN concat(stale_at_server[0].holder, ' has ', stale_at_server[0].mac,
                ' for ', client, '; it is ', client_mac, '.')
            WHEN size(stale_at_client) > 0 THEN concat(stale_at_client[0].holder, ' has ', stale_at_client[0].mac,
                ' for ', server, '; it is ', server_mac, '.')
            WHEN size(wrong_answers) > 0 THEN concat('Asked from ', asked_from[0], ', answered to ',
                wrong_answers[0], '.')
            WHEN right_at_server AND answered THEN concat('The answer goes to the right MAC, ', client_mac, '.')
            ELSE 'No MAC in this capture says why.' END AS says,
        coalesce(get(array_sort(sent_lines), 0), get(array_sort(recv_lines), 0), get(array_sort(syn_lines), 0)) AS line
    FROM pairs
"""
"""The first line shows the client's end, where it was looked at, and the server's otherwise."""

CELLS = """
    SELECT capture, client, server, port, max(weight) = 3 AS trouble, max_by(outcome, weight) AS outcome,
        max_by(says, weight) AS says, max_by(line, weight) AS line
    FROM (SELECT * FROM met UNION ALL SELECT * FROM refused UNION ALL SELECT * FROM stuck)
    GROUP BY capture, client, server, port
"""

NAMED = """
    SELECT cells.capture,
        coalesce(concat(clients.host, ' (', client, ')'), client) AS row,
        concat(coalesce(concat(servers.host, ' (', server, ')'), server), ':', port) AS column,
        outcome, trouble, says, line.file AS file, line.line AS line
    FROM cells
        LEFT JOIN named AS clients ON clients.capture = cells.capture AND clients.address = client
        LEFT JOIN named AS servers ON servers.capture = cells.capture AND servers.address = server
"""

STEPS: Mapping[str, str] = {
    "named": NAMES,
    "met": MET,
    "refused": REFUSED,
    "stuck": STUCK,
    "cells": CELLS,
    "rows": NAMED,
}


def matrix_of(events: DataFrame, seen: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return the cells: `seen` are all pairs that knocked, `pairs` those of them that are stuck, judged."""
    frames = {"events": events, "seen": seen, "pairs": pairs, "connections": connections_of(events)}
    return matrix(table(frames, STEPS))
