"""Which MAC an address has, and which MAC a host believes it to have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.modes.stale_neighbour.knocks import LINE
from leadsman.modes.stale_neighbour.liveness import claims_of
from leadsman.pipeline.shapes import columns, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

NEWEST_FIRST = """
    (a, b) -> CASE WHEN a.ended IS NULL AND b.ended IS NOT NULL THEN -1
        WHEN a.ended IS NOT NULL AND b.ended IS NULL THEN 1
        WHEN a.launched > b.launched THEN -1 WHEN a.launched < b.launched THEN 1
        WHEN a.line < b.line THEN -1 WHEN a.line > b.line THEN 1 ELSE 0 END
"""
"""Who has an address now: of those that have not ended the one that was launched last."""

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
        events.unionByName(_completed(events))
        .where(said)
        .selectExpr("*", address)
        .join(F.broadcast(wanted), ["capture", "address"], "leftsemi")
        .groupBy("capture", "address")
        .agg(*columns(*_SAID))
    )
    instances = (
        events.where(f"{INSTANCE} AND labels['mac'] IS NOT NULL AND labels['instance'] IS NOT NULL")
        .selectExpr("capture", "labels['instance'] AS instance", "labels['mac'] AS mac")
        .groupBy("capture", "instance")
        .agg(*columns("collect_set(mac) AS instance_macs"))
    )
    owned = own.selectExpr("*", "get(filter(owners, o -> o.mac IS NOT NULL), 0) AS owner").selectExpr(
        "*", "owner.instance AS instance"
    )
    claimed = owned.join(claims_of(events, pairs), ["capture", "address"], "left")
    return claimed.join(instances, ["capture", "instance"], "left").selectExpr(
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
        "array_distinct(filter(concat(array(coalesce(link_mac, owner.mac, packet_mac)), "
        "coalesce(claimed_macs, array()), "
        "IF(link_mac IS NULL OR array_contains(instance_macs, link_mac), coalesce(instance_macs, array()), "
        "array())), "
        "m -> m IS NOT NULL)) AS own_macs",
        "filter(transform(filter(owners, o -> o.mac <> coalesce(link_mac, owner.mac)), o -> o.mac), "
        "m -> m IS NOT NULL) AS former_macs",
        "IF(claimants > 1, claimed_by, NULL) AS duplicates",
        "coalesce(get(owners, 0).name, get(hosts, 0), address) AS name",
    )


_SAID = (
    f"collect_set(CASE WHEN {LINK} OR {SOCKET} THEN subject END) AS hosts",
    f"collect_set(CASE WHEN {SOCKET} AND labels['state'] <> 'LISTEN' THEN at END) AS looked_at",
    f"count_if({SOCKET} AND labels['state'] <> 'LISTEN') > 0 AS listed",
    (
        "max_by(labels['mac'], coalesce(at, TIMESTAMP '1970-01-01')) "
        f"FILTER (WHERE {LINK} AND labels['mac'] IS NOT NULL) AS link_mac"
    ),
    f"collect_set(CASE WHEN {LINK} AND labels['mac'] IS NOT NULL THEN {LINE} END) AS link_lines",
    f"max(CASE WHEN {PACKET} THEN labels['src_mac'] END) AS packet_mac",
    (
        f"array_sort(collect_set(CASE WHEN {INSTANCE} THEN struct(to_timestamp(labels['launched']) AS launched, "
        f"labels['mac'] AS mac, labels['name'] AS name, to_timestamp(labels['ended']) AS ended, "
        f"labels['instance'] AS instance, {LINE} AS line) END), {NEWEST_FIRST}) AS owners"
    ),
    (
        f"collect_list(CASE WHEN {ENTRY} THEN struct(subject AS holder, labels['mac'] AS mac, at, {LINE} AS line, "
        "labels['device'] AS device, labels['state'] AS state) END) "
        "AS entries"
    ),
)


SPLIT_LINKS: Mapping[str, str] = {
    "links": f"SELECT * FROM events WHERE {LINK} AND subject IS NOT NULL AND labels['device'] IS NOT NULL",
    "macs": """
        SELECT capture, subject, labels['device'] AS device, min_by(struct(*), struct(file, line)) AS seen FROM links
        WHERE labels['mac'] IS NOT NULL
        GROUP BY capture, subject, labels['device'] HAVING count(DISTINCT labels['mac']) = 1
    """,
    "addresses": """
        SELECT DISTINCT capture, subject, labels['device'] AS device, labels['address'] AS address FROM links
        WHERE labels['mac'] IS NULL AND labels['address'] IS NOT NULL
    """,
    "joined": "SELECT seen, address FROM macs JOIN addresses USING (capture, subject, device)",
    "rows": """
        SELECT seen.*,
            map_concat(map_filter(seen.labels, (k, v) -> k <> 'address'), map('address', address)) AS all_labels
        FROM joined
    """,
}
"""A host's MACs and its addresses are told by two commands: `ip link` and `ip -4 address`. One line each says half."""


def _completed(events: DataFrame) -> DataFrame:
    """Return the lines that name an interface's MAC, once more for each address that another output has on it."""
    rows = table({"events": events}, SPLIT_LINKS)
    return rows.drop("labels").withColumnRenamed("all_labels", "labels").select(*events.columns)


def routers_of(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return MACs to which a server answered and that belong to somebody else who lives: a router's, no dead one's.

    A MAC that a server asks from or answers to for other addresses too is a router's, in packets as in tables.
    """
    met = pairs.selectExpr(
        "capture", "client", "explode(array_union(array_except(answered_to, asked_from), asked_from)) AS mac"
    )
    known = events.where(f"({LINK} OR {INSTANCE} OR {ENTRY}) AND labels['mac'] IS NOT NULL").selectExpr(
        "capture", "labels['mac'] AS mac", "labels['address'] AS address"
    )
    sent = events.where(PACKET).selectExpr(
        "capture",
        "inline(array(struct(labels['src_mac'] AS mac, labels['src'] AS address), "
        "struct(labels['dst_mac'] AS mac, labels['dst'] AS address)))",
    )
    return (
        met.join(known.unionByName(sent), ["capture", "mac"])
        .where("address <> client")
        .groupBy("capture", "client")
        .agg(*columns("collect_set(mac) AS routers"))
    )
