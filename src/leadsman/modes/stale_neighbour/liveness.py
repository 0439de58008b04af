"""Whether a MAC that differs from the one that an address has is a dead instance's, or innocent.

Innocent are: another link of the same host; a virtual MAC, which stands for whoever is active; a router's, which stands
for many addresses; the MAC of a host that is alive; and one by which others are reached. What an inventory shows to be
a former owner's is stale, whatever else it looks like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import settle, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

VIRTUAL = (
    "^(00:00:5e:00:0[12]:|00:00:0c:07:ac:|00:00:0c:9f:f|00:05:73:a0:0|00:07:b4:00:|00:1c:73:00:|02:42:|02:bf:|"
    "12:34:56:78:9a:bc|ee:ee:ee:ee:ee:ee|fe:ee:ee:ee:ee:ee|02:00:00:00:00:00)"
)
"""VRRP (RFC 5798), HSRP 1, 2 and for IPv6, GLBP, anycast gateways (Arista), Docker, Microsoft's load balancing, Azure's
one gateway, Calico, Tencent."""

SHARED_BY = 2
"""Other addresses of one family with the same MAC in one table: an instance with an address or two is no router."""

ALIVE_SECONDS = 60
"""A host whose interfaces were looked at so shortly before the attempts was alive."""

LINKS = f"""
    SELECT capture, coalesce(subject, file) AS host, min(at) AS first, max(at) AS last,
        filter(collect_set(labels['mac']), m -> m IS NOT NULL) AS macs,
        filter(collect_set(labels['address']), a -> a IS NOT NULL) AS addresses
    FROM events WHERE name = '{names.LINK_SEEN}' GROUP BY 1, 2
"""
"""Hosts whose own interfaces were looked at."""

CLAIMS: Mapping[str, str] = {
    "wanted": "SELECT DISTINCT capture, inline(array(struct(client AS address), struct(server AS address))) FROM pairs",
    "links": LINKS,
    "series": "SELECT capture, collect_list(struct(host, first, last)) AS looked FROM links GROUP BY capture",
    "claims": """
        SELECT capture, address, collect_list(struct(host, first, last, macs)) AS claims
        FROM (SELECT capture, host, first, last, macs, explode(addresses) AS address FROM links)
            JOIN wanted USING (capture, address)
        GROUP BY capture, address
    """,
    "current": """
        SELECT capture, address, filter(claims, c -> NOT exists(claims, n ->
                n.host <> c.host AND n.first > c.last AND exists(looked, o ->
                    o.host <> c.host AND o.host <> n.host AND o.first <= c.last AND o.last >= n.first))) AS claims
        FROM claims JOIN series USING (capture)
    """,
    "claimed": """
        SELECT capture, address, array_sort(transform(claims, c -> c.host)) AS claimed_by,
            array_distinct(flatten(transform(claims, c -> c.macs))) AS claimed_macs,
            size(array_distinct(transform(claims, c -> array_sort(c.macs)))) AS claimants,
            array_max(transform(claims, c -> c.first)) AS claimed_at
        FROM current
    """,
}
"""Who claims an address by its own interfaces. One that was not looked at again in a series that went on has ended."""

ENTRIES: Mapping[str, str] = {
    "macs": "SELECT DISTINCT capture, mac FROM suspects",
    "entries": f"""
        SELECT /*+ BROADCAST(macs) */ DISTINCT events.capture, subject AS holder, macs.mac, labels['address'] AS address
        FROM events JOIN macs ON events.capture = macs.capture AND labels['mac'] = macs.mac
        WHERE name = '{names.NEIGHBOUR_ENTRY}'
    """,
}
"""Whose tables hold a MAC that is doubted, for whatever address."""

REASONS: Mapping[str, str] = {
    "links": LINKS,
    "on_link": """
        SELECT s.capture, s.about, s.mac, 'live' AS reason FROM suspects AS s
            JOIN (SELECT capture, last, addresses, explode(macs) AS mac FROM links) AS l
            ON s.capture = l.capture AND s.mac = l.mac
        WHERE NOT array_contains(l.addresses, s.about)
            AND coalesce(l.last >= s.since - INTERVAL {alive} SECONDS, true)
    """.replace("{alive}", str(ALIVE_SECONDS)),
    "taken": "SELECT DISTINCT capture, about, mac FROM suspects",
    "listed": f"""
        SELECT /*+ BROADCAST(s) */ s.capture, s.about, s.mac, IF(labels['ended'] IS NULL, 'live', 'dead') AS reason
        FROM taken AS s JOIN events
            ON s.capture = events.capture AND s.mac = labels['mac'] AND name = '{names.INSTANCE_SEEN}'
        WHERE labels['ended'] IS NOT NULL OR labels['address'] <> s.about
    """,
    "shared": """
        SELECT DISTINCT capture, about, mac, 'shared' AS reason FROM (
            SELECT s.capture, s.about, s.mac FROM taken AS s JOIN entries AS e
                ON s.capture = e.capture AND s.mac = e.mac
            WHERE e.address <> s.about AND NOT startswith(e.address, 'fe80:')
                AND contains(e.address, ':') = contains(s.about, ':')
            GROUP BY s.capture, s.about, s.mac, e.holder HAVING count(*) >= {shared}
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
        SELECT s.capture, s.about, s.mac, 'works' AS reason FROM suspects AS s
            JOIN (SELECT capture, mac, sum(entries) AS entries FROM working GROUP BY capture, mac) AS w
                ON s.capture = w.capture AND s.mac = w.mac
            LEFT JOIN working AS own ON s.capture = own.capture AND s.mac = own.mac AND own.address = s.about
        WHERE w.entries > coalesce(
            IF(s.holder IS NULL, own.entries, CAST(array_contains(own.holders, s.holder) AS BIGINT)), 0
        )
    """,
    "found": """
        SELECT * FROM on_link UNION ALL SELECT * FROM listed
        UNION ALL SELECT * FROM shared UNION ALL SELECT * FROM works
    """,
    "reasons": """
        SELECT capture, about, map_from_entries(collect_list(struct(mac, reasons))) AS reasons
        FROM (
            SELECT capture, about, mac, array_sort(collect_set(reason)) AS reasons FROM found
            GROUP BY capture, about, mac
        )
        GROUP BY capture, about
    """,
}


def claims_of(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return of each address that a pair names: which hosts have it on an interface, and all MACs of these."""
    return table({"events": events, "pairs": pairs}, CLAIMS)


def reasons_of(events: DataFrame, suspects: DataFrame) -> DataFrame:
    """Return of each address the MACs that were taken for it, and for each what speaks for its being alive or dead.

    `suspects` has capture, about (the address), mac, holder (whose table has it) and since (the first attempt).
    """
    frames = {"events": events, "suspects": suspects}
    settle(frames, ENTRIES)
    return table(frames, REASONS)
