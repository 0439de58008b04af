"""Which hosts hold the wrong MAC, what makes each of them forget it, and which of them were seen to hold the right one.

A host that has the wrong entry and was not seen to need it is named, too: the next connection would fail there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.stale_neighbour.pairs import TABLE_SECONDS
from leadsman.pipeline.shapes import table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

NAMED = 30
"""Hosts, or commands, in one sentence: an operator must do each of them, so few are left out."""

SAID = 3
"""MACs told in one sentence, as examples."""

TOLD_SECONDS = 130
"""A log may say so long after an attempt that it failed: a record waits for 120 s by default (delivery.timeout.ms)."""

ABOUT_SERVER = "size(stale_at_server) + size(wrong_answers) = 0 AND size(stale_at_client) > 0"

_PACKETS = "size(stale_at_server) + size(stale_at_client) = 0"

OF_PAIR: tuple[tuple[str, ...], ...] = (
    (
        f"IF({ABOUT_SERVER}, server, client) AS about",
        f"IF({ABOUT_SERVER}, client, server) AS end_address",
        f"IF({ABOUT_SERVER}, clients, servers) AS ends",
        f"coalesce(IF({ABOUT_SERVER}, server_entries, client_entries), array()) AS about_entries",
        f"IF({ABOUT_SERVER}, server_launched, client_launched) AS about_launched",
        f"coalesce(IF({ABOUT_SERVER}, server_owners, client_owners), array()) AS about_owners",
        (
            f"array_distinct(IF({ABOUT_SERVER}, transform(stale_at_client, e -> e.mac), "
            f"IF({_PACKETS}, wrong_answers, transform(stale_at_server, e -> e.mac)))) AS stale_macs"
        ),
    ),
    (
        (
            "filter(about_entries, e -> array_contains(stale_macs, e.mac) AND coalesce(e.at >= about_launched, true) "
            f"AND coalesce(e.at >= since - make_interval(0, 0, 0, 0, 0, 0, {TABLE_SECONDS}), true)) AS believing"
        ),
        (
            "exists(stale_macs, m -> array_contains(coalesce(try_element_at(client_reasons, m), array()), 'dead') "
            "OR array_contains(coalesce(try_element_at(server_reasons, m), array()), 'dead') "
            "OR array_contains(coalesce(client_former_macs, array()), m) "
            "OR array_contains(coalesce(server_former_macs, array()), m) "
            "OR exists(about_owners, o -> o.mac = m)) AS dead_known"
        ),
    ),
    (
        (
            "transform(believing, e -> struct(e.holder, e.mac, e.device, e.state, e.at, "
            "array_min(transform(filter(about_entries, n -> n.holder <=> e.holder AND coalesce(n.at > e.at, false) "
            "AND NOT n.mac <=> e.mac), n -> n.at)) AS corrected, "
            "e.holder IS NULL OR array_contains(ends, e.holder) AS own)) AS believed_by"
        ),
    ),
    (
        (
            f"IF({_PACKETS} AND size(believed_by) = 0, transform(slice(wrong_answers, 1, 1), m -> struct(server_host "
            "AS holder, m AS mac, CAST(NULL AS STRING) AS device, CAST(NULL AS STRING) AS state, until AS at, "
            "CAST(NULL AS TIMESTAMP) AS corrected, true AS own)), believed_by) AS wrong_entries"
        ),
    ),
)
"""Columns of a pair, a step each: the entries of its address with a MAC that is wrong, and when each was corrected."""


def _joined(hosts: str) -> str:
    """Return the expression for names as one reads them out."""
    return (
        f"CASE WHEN size({hosts}) < 2 THEN get({hosts}, 0) WHEN size({hosts}) > {NAMED} THEN concat(array_join(slice("
        f"{hosts}, 1, {NAMED}), ', '), ' and ', size({hosts}) - {NAMED}, ' more') ELSE concat(array_join(slice("
        f"{hosts}, 1, size({hosts}) - 1), ', '), ' and ', element_at({hosts}, -1)) END"
    )


def _some(texts: str, kept: int, separator: str) -> str:
    """Return the expression for a few texts and how many more there are; null for none."""
    return (
        f"nullif(concat(array_join(slice({texts}, 1, {kept}), '{separator}'), IF(size({texts}) > {kept}, "
        f"concat('{separator}and ', size({texts}) - {kept}, ' more'), '')), '')"
    )


def _last_part(name: str) -> str:
    """Return the expression for a host's name without the folders above its output."""
    return f"element_at(split({name}, '/'), -1)"


def _has(hosts: str) -> str:
    return f"concat({_joined(hosts)}, IF(size({hosts}) = 1, ' has ', ' have '))"


STEPS: Mapping[str, str] = {
    "entries": """
        SELECT capture, about, end_address, again, until AS failed, inline(wrong_entries) FROM pairs WHERE rank = 1
    """,
    "held": f"""
        SELECT capture, about, mac, host, max(address) AS address, bool_or(own) AS own,
            max_by(device, t) AS device, max_by(state, t) AS state, max_by(over_at, t) AS over_at, max(at) AS seen
        FROM (
            SELECT *, {_last_part("coalesce(holder, end_address)")} AS host, IF(own, end_address, NULL) AS address,
                coalesce(at, TIMESTAMP '1970-01-01') AS t,
                coalesce(corrected, IF(own AND again > greatest(failed, at), again, NULL)) AS over_at
            FROM entries
        )
        GROUP BY capture, about, mac, host
    """,
    "named": "SELECT *, concat(host, IF(address <> host, concat(' (', address, ')'), '')) AS named FROM held",
    "commands": f"""
        SELECT capture, own, concat('On ', {_joined("hosts")}, ': ip neigh del ', about, ' dev ', device) AS command
        FROM (
            SELECT capture, about, own, coalesce(device, 'DEVICE') AS device, array_sort(collect_set(named)) AS hosts
            FROM named WHERE over_at IS NULL GROUP BY 1, 2, 3, 4
        )
    """,
    "ordered": """
        SELECT capture, array_sort(collect_set(IF(own, command, NULL))) AS repairs,
            array_sort(collect_set(IF(own, NULL, command))) AS elsewhere
        FROM commands GROUP BY capture
    """,
    "believed": f"""
        SELECT capture, concat({_has("hosts")}, mac, ' for ', about) AS belief
        FROM (
            SELECT capture, about, mac, array_sort(collect_set(host)) AS hosts FROM named WHERE own
            GROUP BY capture, about, mac
        )
    """,
    "beliefs": "SELECT capture, array_sort(collect_set(belief)) AS beliefs FROM believed GROUP BY capture",
    "truths": """
        SELECT capture, array_sort(collect_set(concat(about, ' has ', chosen.actual, ' (', chosen.actual_by, ')')))
                AS truths,
            IF(bool_and(dead_known), "a dead instance's MAC", 'a wrong MAC') AS whose,
            max(told_until) AS told_until, max(until) AS failed, bool_and(again IS NOT NULL) AS again
        FROM (SELECT *, array_max(transform(told, l -> l.last)) AS told_until FROM pairs) WHERE rank = 1
        GROUP BY capture
    """,
    "ends": f"""
        SELECT capture, {_joined("hosts")} AS holders, {_has("hosts")} AS having, size(hosts) AS holders_count,
            array_join(slice(abouts, 1, {SAID}), ', ') || IF(size(abouts) > {SAID}, concat(' and ', size(abouts) -
                {SAID}, ' more'), '') AS abouts, over, over_at, permanent, seen
        FROM (
            SELECT capture, array_sort(collect_set(IF(every_over OR over_at IS NULL, host, NULL))) AS hosts,
                array_sort(collect_set(IF(every_over OR over_at IS NULL, about, NULL))) AS abouts,
                bool_and(over_at IS NOT NULL) AS over, max(over_at) AS over_at, max(seen) AS seen,
                bool_and(state <=> 'PERMANENT') AS permanent
            FROM (
                SELECT *, bool_and(over_at IS NOT NULL) OVER (PARTITION BY capture) AS every_over FROM named WHERE own
            )
            GROUP BY capture
        )
    """,
    "told": f"""
        SELECT *, over AND coalesce(told_until <= over_at + make_interval(0, 0, 0, 0, 0, 0, {TOLD_SECONDS}), true)
                AS ended
        FROM ends JOIN truths USING (capture) JOIN beliefs USING (capture) LEFT JOIN ordered USING (capture)
    """,
    "said": f"""
        SELECT capture, holders, trim(having) AS having, abouts, whose, CAST(holders_count AS DOUBLE) AS holders_count,
            IF(ended, regexp_replace({_some("beliefs", SAID, "; ")}, ' ha(s|ve) ([0-9a-f:]+ for )', ' had $2'),
                {_some("beliefs", SAID, "; ")}) AS belief, {_some("truths", SAID, "; ")} AS truth,
            {_some("repairs", NAMED, ". ")} AS repairs, {_some("elsewhere", NAMED, ". ")} AS elsewhere,
            IF(ended, date_format(greatest(failed, seen), 'HH:mm:ss'), NULL) AS last_failed,
            IF(ended, date_format(over_at, 'HH:mm:ss'), NULL) AS over_at,
            IF(ended AND again, 'the entries were right, and the connections were there', IF(ended,
                'the entries were right', NULL)) AS over_by,
            IF(permanent AND NOT ended, 'PERMANENT', NULL) AS permanent,
            IF(over AND NOT ended, 'yes', NULL) AS over_but_told
        FROM told
    """,
}


def wrong_entries_of(pairs: DataFrame) -> DataFrame:
    """Return of each capture, in words, who holds what, how each is made to forget it, and whether that is over."""
    return table({"pairs": pairs}, STEPS)


HELD: Mapping[str, str] = {
    "entries": f"""
        SELECT capture, client, servers, since, until, inline(filter(client_entries, e -> e.mac IS NOT NULL
            AND coalesce(e.at BETWEEN since - make_interval(0, 0, 0, 0, 0, 0, {TABLE_SECONDS})
                AND until + make_interval(0, 0, 0, 0, 0, 0, {TABLE_SECONDS}), true)))
        FROM pairs WHERE rank = 2 AND wrong = 'not visible' AND client_mac IS NULL
    """,
    "latest": f"""
        SELECT capture, client, {_last_part("holder")} AS host,
            max_by(mac, coalesce(at, TIMESTAMP '1970-01-01')) AS mac, bool_or(array_contains(servers, holder)) AS own
        FROM entries WHERE holder IS NOT NULL GROUP BY 1, 2, 3
    """,
    "grouped": """
        SELECT capture, client, mac, own, array_sort(collect_set(host)) AS hosts FROM latest
        GROUP BY capture, client, mac, own
    """,
    "own": "SELECT DISTINCT capture, client FROM latest WHERE own",
    "said": f"""
        SELECT capture, client, own, concat({_has("hosts")}, mac, ' for ', client) AS held
        FROM grouped LEFT SEMI JOIN own USING (capture, client)
    """,
    "lists": """
        SELECT capture, array_sort(collect_list(IF(own, held, NULL))) AS held,
            array_sort(collect_list(IF(own, NULL, held))) AS others
        FROM said GROUP BY capture
    """,
    "changed": f"""
        SELECT capture, client, mac, array_sort(collect_set(now.host)) AS hosts
        FROM entries JOIN latest AS own USING (capture, client, mac)
            JOIN (SELECT capture, client, host, mac AS other FROM latest WHERE NOT own) AS now USING (capture, client)
        WHERE own.own AND now.host = {_last_part("entries.holder")} AND now.other <> mac
        GROUP BY capture, client, mac
    """,
    "before": f"""
        SELECT capture, array_sort(collect_list(concat({_joined("hosts")}, ' had ', mac, ' before, too'))) AS before
        FROM changed GROUP BY capture
    """,
    "all": f"""
        SELECT capture, {_some("held", SAID, "; ")} AS held, {_some("others", SAID, "; ")} AS held_by_others,
            {_some("before", SAID, "; ")} AS held_before
        FROM lists LEFT JOIN before USING (capture)
    """,
}


def held_of(pairs: DataFrame) -> DataFrame:
    """Return of each capture, in words, the MACs of clients that cannot connect and whose own MAC nothing shows."""
    return table({"pairs": pairs}, HELD)
