"""Decides whether a MAC that differs from an address's true MAC belongs to a dead instance or to a live host.

Live are: another link of the same host; a virtual MAC, which stands for the active host; a router's MAC, which stands
for many addresses; the MAC of a live host; and a MAC by which other hosts are reached. A MAC that the inventory shows
for a former owner is stale, whatever else holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import add_materialized, run_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

VIRTUAL = (
    "^(00:00:5e:00:0[12]:|00:00:0c:07:ac:|00:00:0c:9f:f|00:05:73:a0:0|00:07:b4:00:|00:1c:73:00:|02:42:|02:bf:|"
    "12:34:56:78:9a:bc|ee:ee:ee:ee:ee:ee|fe:ee:ee:ee:ee:ee|02:00:00:00:00:00)"
)
"""VRRP (RFC 5798), HSRP 1, 2 and for IPv6, GLBP, anycast gateways (Arista), Docker, Microsoft's load balancing, Azure's
gateway, Calico, Tencent."""

SHARED_BY = 2
"""A MAC with at least so many other addresses of one family in one table is a router's: an instance has one or two."""

ALIVE_SECONDS = 60
"""A host whose interfaces were read at most this long before the attempts was alive."""

LINKS = f"""
    SELECT capture, coalesce(subject, file) AS host, min(at) AS first, max(at) AS last,
        filter(collect_set(labels['mac']), m -> m IS NOT NULL) AS macs,
        filter(collect_set(labels['address']), a -> a IS NOT NULL) AS addresses
    FROM events WHERE name = '{names.LINK_SEEN}' GROUP BY 1, 2
"""
"""Hosts whose own interfaces were read."""

CLAIMS: Mapping[str, str] = {
    "pair_addresses": "SELECT DISTINCT capture, inline(array(struct(client AS address), struct(server AS address)))"
    " FROM pairs",
    "links": LINKS,
    "look_series": "SELECT capture, collect_list(struct(host, first, last)) AS host_spans FROM links GROUP BY capture",
    "claims": """
        SELECT capture, address, collect_list(struct(host, first, last, macs)) AS claims
        FROM (SELECT capture, host, first, last, macs, explode(addresses) AS address FROM links)
            JOIN pair_addresses USING (capture, address)
        GROUP BY capture, address
    """,
    "current_claims": """
        SELECT capture, address, filter(claims, c -> NOT exists(claims, n ->
                n.host <> c.host AND n.first > c.last AND exists(host_spans, o ->
                    o.host <> c.host AND o.host <> n.host AND o.first <= c.last AND o.last >= n.first))) AS claims
        FROM claims JOIN look_series USING (capture)
    """,
    "claimed": """
        SELECT capture, address, array_sort(transform(claims, c -> c.host)) AS claimed_by,
            array_distinct(flatten(transform(claims, c -> c.macs))) AS claimed_macs,
            size(array_distinct(transform(claims, c -> array_sort(c.macs)))) AS claimants,
            array_max(transform(claims, c -> c.first)) AS claimed_at
        FROM current_claims
    """,
}
"""Hosts with an address on their own interfaces. A host that is missing from later samples of a series has ended."""

ENTRIES: Mapping[str, str] = {
    "macs": "SELECT DISTINCT capture, mac FROM suspects",
    "entries": f"""
        SELECT /*+ BROADCAST(macs) */ DISTINCT events.capture, subject AS holder, macs.mac, labels['address'] AS address
        FROM events JOIN macs ON events.capture = macs.capture AND labels['mac'] = macs.mac
        WHERE name = '{names.NEIGHBOUR_ENTRY}'
    """,
}
"""Hosts whose neighbour tables have a suspected MAC, for any address."""

REASONS: Mapping[str, str] = {
    "links": LINKS,
    "on_link": """
        SELECT s.capture, s.entry_address, s.mac, 'live' AS reason FROM suspects AS s
            JOIN (SELECT capture, last, addresses, explode(macs) AS mac FROM links) AS l
            ON s.capture = l.capture AND s.mac = l.mac
        WHERE NOT array_contains(l.addresses, s.entry_address)
            AND coalesce(l.last >= s.since - INTERVAL {alive} SECONDS, true)
    """.replace("{alive}", str(ALIVE_SECONDS)),
    "suspected_macs": "SELECT DISTINCT capture, entry_address, mac FROM suspects",
    "listed": f"""
        SELECT /*+ BROADCAST(s) */ s.capture, s.entry_address, s.mac, IF(labels['ended'] IS NULL, 'live',
            'dead') AS reason
        FROM suspected_macs AS s JOIN events
            ON s.capture = events.capture AND s.mac = labels['mac'] AND name = '{names.INSTANCE_SEEN}'
        WHERE labels['ended'] IS NOT NULL OR labels['address'] <> s.entry_address
    """,
    "shared": """
        SELECT DISTINCT capture, entry_address, mac, 'shared' AS reason FROM (
            SELECT s.capture, s.entry_address, s.mac FROM suspected_macs AS s JOIN entries AS e
                ON s.capture = e.capture AND s.mac = e.mac
            WHERE e.address <> s.entry_address AND NOT startswith(e.address, 'fe80:')
                AND contains(e.address, ':') = contains(s.entry_address, ':')
            GROUP BY s.capture, s.entry_address, s.mac, e.holder HAVING count(*) >= {shared}
        )
    """.replace("{shared}", str(SHARED_BY)),
    "established": f"""
        SELECT DISTINCT capture, subject AS holder, labels['remote'] AS peer FROM events
        WHERE name = '{names.SOCKET_SEEN}' AND labels['state'] = 'ESTAB' AND labels['remote'] IS NOT NULL
    """,
    "working": """
        SELECT e.capture, e.mac, e.address, count(*) AS entries, collect_list(e.holder) AS holders
        FROM entries AS e JOIN established AS c ON c.capture = e.capture AND c.holder = e.holder AND c.peer = e.address
        GROUP BY e.capture, e.mac, e.address
    """,
    "works": """
        SELECT s.capture, s.entry_address, s.mac, 'works' AS reason FROM suspects AS s
            JOIN (SELECT capture, mac, sum(entries) AS entries FROM working GROUP BY capture, mac) AS w
                ON s.capture = w.capture AND s.mac = w.mac
            LEFT JOIN working AS own ON s.capture = own.capture AND s.mac = own.mac AND own.address = s.entry_address
        WHERE w.entries > coalesce(
            IF(s.holder IS NULL, own.entries, CAST(array_contains(own.holders, s.holder) AS BIGINT)), 0
        )
    """,
    "all_reasons": """
        SELECT * FROM on_link UNION ALL SELECT * FROM listed
        UNION ALL SELECT * FROM shared UNION ALL SELECT * FROM works
    """,
    "reasons": """
        SELECT capture, entry_address, map_from_entries(collect_list(struct(mac, reasons))) AS reasons
        FROM (
            SELECT capture, entry_address, mac, array_sort(collect_set(reason)) AS reasons FROM all_reasons
            GROUP BY capture, entry_address, mac
        )
        GROUP BY capture, entry_address
    """,
}


def address_claims(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return for each address of a pair the hosts with the address on an interface, and all MACs of these hosts."""
    return run_steps({"events": events, "pairs": pairs}, CLAIMS)


def liveness_reasons(events: DataFrame, suspects: DataFrame) -> DataFrame:
    """Return for each address the suspected MACs, and for each MAC the evidence that it is live or dead.

    `suspects` has capture, entry_address, mac, holder (the host with the entry) and since (the first attempt).
    """
    frames = {"events": events, "suspects": suspects}
    add_materialized(frames, ENTRIES)
    return run_steps(frames, REASONS)
