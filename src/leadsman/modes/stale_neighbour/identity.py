"""The true MAC of an address, and the MACs that other hosts have for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.modes.stale_neighbour.mac_liveness import address_claims
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, run_steps, sql_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

NEWEST_FIRST = """
    (a, b) -> CASE WHEN a.ended IS NULL AND b.ended IS NOT NULL THEN -1
        WHEN a.ended IS NOT NULL AND b.ended IS NULL THEN 1
        WHEN a.launched > b.launched THEN -1 WHEN a.launched < b.launched THEN 1
        WHEN a.line < b.line THEN -1 WHEN a.line > b.line THEN 1 ELSE 0 END
"""
"""The present owner of an address: of the instances that have not ended, the one that was launched last."""

LINK, PACKET = f"name = '{names.LINK_SEEN}'", f"name = '{names.HANDSHAKE_PACKET}'"
SOCKET, INSTANCE = f"name = '{names.SOCKET_SEEN}'", f"name = '{names.INSTANCE_SEEN}'"
ENTRY = f"name = '{names.NEIGHBOUR_ENTRY}'"


def address_identities(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return for each address of a pair: its hosts, its true MAC and the source of it, its owners, and others' entries.

    The address's own interface takes precedence over the inventory, and the inventory over the MAC in packets, because
    packets may come through a router.
    """
    pair_addresses = pairs.selectExpr(
        "capture", "inline(array(struct(client AS address), struct(server AS address)))"
    ).distinct()
    address = (
        f"CASE WHEN {PACKET} THEN labels['src'] WHEN {SOCKET} THEN labels['local'] "
        "ELSE labels['address'] END AS address"
    )
    is_identity_event = f"{LINK} OR {INSTANCE} OR {SOCKET} OR {ENTRY} OR ({PACKET} AND labels['flags'] IN ('S', 'ARP'))"
    identities = (
        events.unionByName(_completed(events))
        .where(is_identity_event)
        .selectExpr("*", address)
        .join(F.broadcast(pair_addresses), ["capture", "address"], "leftsemi")
        .groupBy("capture", "address")
        .agg(*sql_columns(*_IDENTITY_COLUMNS))
    )
    instances = (
        events.where(f"{INSTANCE} AND labels['mac'] IS NOT NULL AND labels['instance'] IS NOT NULL")
        .selectExpr("capture", "labels['instance'] AS instance", "labels['mac'] AS mac")
        .groupBy("capture", "instance")
        .agg(*sql_columns("collect_set(mac) AS instance_macs"))
    )
    owned = identities.selectExpr("*", "get(filter(owners, o -> o.mac IS NOT NULL), 0) AS owner").selectExpr(
        "*", "owner.instance AS instance"
    )
    claimed = owned.join(address_claims(events, pairs), ["capture", "address"], "left")
    return claimed.join(instances, ["capture", "instance"], "left").selectExpr(
        "capture",
        "address",
        "hosts",
        "listed_at",
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


_IDENTITY_COLUMNS = (
    f"collect_set(CASE WHEN {LINK} OR {SOCKET} THEN subject END) AS hosts",
    f"collect_set(CASE WHEN {SOCKET} AND labels['state'] <> 'LISTEN' THEN at END) AS listed_at",
    f"count_if({SOCKET} AND labels['state'] <> 'LISTEN') > 0 AS listed",
    (
        "max_by(labels['mac'], coalesce(at, TIMESTAMP '1970-01-01')) "
        f"FILTER (WHERE {LINK} AND labels['mac'] IS NOT NULL) AS link_mac"
    ),
    f"collect_set(CASE WHEN {LINK} AND labels['mac'] IS NOT NULL THEN {EVIDENCE_LINE} END) AS link_lines",
    f"max(CASE WHEN {PACKET} THEN labels['src_mac'] END) AS packet_mac",
    (
        f"array_sort(collect_set(CASE WHEN {INSTANCE} THEN struct(try_to_timestamp(labels['launched']) AS launched, "
        f"labels['mac'] AS mac, labels['name'] AS name, try_to_timestamp(labels['ended']) AS ended, "
        f"labels['instance'] AS instance, {EVIDENCE_LINE} AS line) END), {NEWEST_FIRST}) AS owners"
    ),
    (
        f"collect_list(CASE WHEN {ENTRY} THEN struct(subject AS holder, labels['mac'] AS mac, at, "
        f"{EVIDENCE_LINE} AS line, labels['device'] AS device, labels['state'] AS state) END) "
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
"""Two commands show a host's MACs and its addresses: `ip link` and `ip -4 address`. Each line shows only one of the
two."""


def _completed(events: DataFrame) -> DataFrame:
    """Return the lines with an interface's MAC, once more for each address that another output shows on it."""
    rows = run_steps({"events": events}, SPLIT_LINKS)
    return rows.drop("labels").withColumnRenamed("all_labels", "labels").select(*events.columns)


def router_macs(events: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return MACs to which a server answered and that belong to another live host, such as a router.

    A MAC that a server also uses for other addresses is a router's, in packets as in neighbour tables.
    """
    answered_macs = pairs.selectExpr(
        "capture", "client", "explode(array_union(array_except(syn_ack_macs, syn_macs), syn_macs)) AS mac"
    )
    identities = events.where(f"({LINK} OR {INSTANCE} OR {ENTRY}) AND labels['mac'] IS NOT NULL").selectExpr(
        "capture", "labels['mac'] AS mac", "labels['address'] AS address"
    )
    syn_sent_count = events.where(PACKET).selectExpr(
        "capture",
        "inline(array(struct(labels['src_mac'] AS mac, labels['src'] AS address), "
        "struct(labels['dst_mac'] AS mac, labels['dst'] AS address)))",
    )
    return (
        answered_macs.join(identities.unionByName(syn_sent_count), ["capture", "mac"])
        .where("address <> client")
        .groupBy("capture", "client")
        .agg(*sql_columns("collect_set(mac) AS routers"))
    )
