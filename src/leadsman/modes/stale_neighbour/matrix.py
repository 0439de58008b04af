"""The reachability matrix: one cell for each client and server port, of the ports with unanswered attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.stale_neighbour.connection_attempts import established_connections
from leadsman.pipeline.detector_sql import matrix, run_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

ADDRESS_NAMES = f"""
    SELECT capture, coalesce(labels['local'], labels['address']) AS address,
        coalesce(max(IF(name = '{names.SOCKET_SEEN}', subject, NULL)),
            max_by(labels['name'], coalesce(labels['launched'], ''))) AS host
    FROM events
    WHERE name IN ('{names.SOCKET_SEEN}', '{names.INSTANCE_SEEN}')
    GROUP BY 1, 2
"""
"""A host's own list of sockets shows its name; for a reused address the inventory's newest owner counts."""

ESTABLISHED = """
    SELECT capture, peer AS client, server, port, 'established' AS outcome, 1 AS weight, '' AS explanation, line
    FROM connections LEFT SEMI JOIN attempts USING (capture, port)
"""

REFUSED = """
    SELECT capture, client, server, port, 'refused' AS outcome, 2 AS weight,
        'The server answered every connection attempt with a reset.' AS explanation,
        get(array_sort(syn_lines), 0) AS line
    FROM attempts WHERE NOT stuck
"""

STUCK_CELLS = """
    SELECT capture, client, server, port,
        CASE WHEN syn_sent_count > 0 AND syn_recv_count > 0 THEN 'SYN_SENT and SYN_RECV'
            WHEN syn_recv_count > 0 OR syn_acks_repeated > 0 THEN 'SYN_RECV' ELSE 'SYN_SENT' END AS outcome,
        3 AS weight,
        CASE WHEN size(stale_at_server) > 0 THEN concat(get(stale_at_server, 0).holder, ' has ',
                get(stale_at_server, 0).mac, ' for ', client, '; the true MAC is ', client_mac, '.')
            WHEN size(stale_at_client) > 0 THEN concat(get(stale_at_client, 0).holder, ' has ',
                get(stale_at_client, 0).mac, ' for ', server, '; the true MAC is ', server_mac, '.')
            WHEN size(wrong_answers) > 0 THEN concat('The SYN came from ', get(syn_macs, 0), ', the SYN-ACK went to ',
                get(wrong_answers, 0), '.')
            WHEN right_entry_at_server AND answered THEN concat('The SYN-ACK goes to the right MAC, ', client_mac, '.')
            ELSE 'No MAC in the capture shows the cause.' END AS explanation,
        coalesce(get(array_sort(sent_lines), 0), get(array_sort(recv_lines), 0), get(array_sort(syn_lines), 0)) AS line
    FROM pairs
"""
"""The line of the client's end where its sockets were read, else the line of the server's end."""

CELLS = """
    SELECT capture, client, server, port, max(weight) = 3 AS is_harm, max_by(outcome, weight) AS outcome,
        max_by(explanation, weight) AS explanation, max_by(line, weight) AS line
    FROM (SELECT * FROM established_cells UNION ALL SELECT * FROM refused_cells UNION ALL SELECT * FROM stuck_cells)
    GROUP BY capture, client, server, port
"""

NAMED_CELLS = """
    SELECT cells.capture,
        coalesce(concat(clients.host, ' (', client, ')'), client) AS row,
        concat(coalesce(concat(servers.host, ' (', server, ')'), server), ':', port) AS column,
        outcome, is_harm, explanation, line.file AS file, line.line AS line
    FROM cells
        LEFT JOIN address_names AS clients ON clients.capture = cells.capture AND clients.address = client
        LEFT JOIN address_names AS servers ON servers.capture = cells.capture AND servers.address = server
"""

STEPS: Mapping[str, str] = {
    "address_names": ADDRESS_NAMES,
    "established_cells": ESTABLISHED,
    "refused_cells": REFUSED,
    "stuck_cells": STUCK_CELLS,
    "cells": CELLS,
    "rows": NAMED_CELLS,
}


def reachability_cells(events: DataFrame, attempts: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return the cells: `attempts` are all pairs with attempts, `pairs` the evaluated pairs of them that are stuck."""
    frames = {"events": events, "attempts": attempts, "pairs": pairs, "connections": established_connections(events)}
    return matrix(run_steps(frames, STEPS))
