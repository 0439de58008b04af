"""Which MAC an address has, and which MAC a host believes it to have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.stale_neighbour.knocks import LINE
from leadsman.pipeline.shapes import columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NEWEST_FIRST = "(a, b) -> CASE WHEN a.launched > b.launched THEN -1 WHEN a.launched < b.launched THEN 1 ELSE 0 END"
LINK, PACKET = f"name = '{names.LINK_SEEN}'", f"name = '{names.HANDSHAKE_PACKET}'"
SOCKET, INSTANCE = f"name = '{names.SOCKET_SEEN}'", f"name = '{names.INSTANCE_SEEN}'"
ENTRY = f"name = '{names.NEIGHBOUR_ENTRY}'"


def identities_of(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return of each address that a pair names: its hosts, its MAC and who says so, its owners, what others believe.

    Its own interface goes before the inventory, and that before what it sends: a router stands between in that case.
    """
    wanted = pairs.selectExpr(
        "capture", "inline(array(struct(client AS address), struct(server AS address)))"
    ).distinct()
    address = (
        f"CASE WHEN {PACKET} THEN labels['src'] WHEN {SOCKET} THEN labels['local'] "
        "ELSE labels['address'] END AS address"
    )
    said = f"{LINK} OR {INSTANCE} OR {SOCKET} OR {ENTRY} OR ({PACKET} AND labels['flags'] IN ('S', 'ARP'))"
    own = (
        events.where(said)
        .selectExpr("*", address)
        .join(wanted, ["capture", "address"], "leftsemi")
        .groupBy("capture", "address")
        .agg(*columns(*_SAID))
    )
    return own.selectExpr(
        "*",
        "get(filter(owners, o -> o.mac IS NOT NULL), 0) AS owner",
    ).selectExpr(
        "capture",
        "address",
        "hosts",
        "looked_at",
        "listed",
        "entries",
        "coalesce(link_mac, owner.mac, packet_mac) AS mac",
        "CASE WHEN link_mac IS NOT NULL THEN 'by its own interface' WHEN owner.mac IS NOT NULL THEN 'by the inventory' "
        "WHEN packet_mac IS NOT NULL THEN 'by what it sends' END AS mac_by",
        "concat(link_lines, CASE WHEN owner IS NULL THEN array() ELSE array(owner.line) END) AS proof",
        "owners",
        "IF(link_mac IS NULL OR owner.mac = link_mac, owner.launched, NULL) AS launched",
        "coalesce(get(owners, 0).name, get(hosts, 0), address) AS name",
    )


_SAID = (
    f"collect_set(CASE WHEN {LINK} OR {SOCKET} THEN subject END) AS hosts",
    f"collect_set(CASE WHEN {SOCKET} THEN at END) AS looked_at",
    f"count_if({SOCKET}) > 0 AS listed",
    (
        "max_by(labels['mac'], coalesce(at, TIMESTAMP '1970-01-01')) "
        f"FILTER (WHERE {LINK} AND labels['mac'] IS NOT NULL) AS link_mac"
    ),
    f"collect_set(CASE WHEN {LINK} AND labels['mac'] IS NOT NULL THEN {LINE} END) AS link_lines",
    f"max(CASE WHEN {PACKET} THEN labels['src_mac'] END) AS packet_mac",
    (
        f"array_sort(collect_set(CASE WHEN {INSTANCE} THEN struct(to_timestamp(labels['launched']) AS launched, "
        f"labels['mac'] AS mac, labels['name'] AS name, {LINE} AS line) END), {NEWEST_FIRST}) AS owners"
    ),
    (
        f"collect_list(CASE WHEN {ENTRY} THEN struct(subject AS holder, labels['mac'] AS mac, at, {LINE} AS line) END) "
        "AS entries"
    ),
)


def routers_of(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return MACs to which a server answered and that belong to somebody else who lives: a router's, no dead one's."""
    answered = pairs.selectExpr("capture", "client", "explode(array_except(answered_to, asked_from)) AS mac")
    others = events.where(f"({LINK} OR {INSTANCE} OR {ENTRY}) AND labels['mac'] IS NOT NULL").selectExpr(
        "capture", "labels['mac'] AS mac", "labels['address'] AS address"
    )
    return (
        answered.join(others, ["capture", "mac"])
        .where("address <> client")
        .groupBy("capture", "client")
        .agg(*columns("collect_set(mac) AS routers"))
    )
