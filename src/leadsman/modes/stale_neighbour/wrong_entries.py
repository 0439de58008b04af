"""The hosts with the wrong MAC, the commands that delete each entry, and the hosts that later had the right MAC.

A host with a wrong entry and no failing connection is named too: its next connection would fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.stale_neighbour.pairs import TABLE_SECONDS
from leadsman.pipeline.detector_sql import run_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

HOSTS_NAMED = 30
"""Hosts or commands in one sentence: an operator must handle each of them, so few are omitted."""

TEXTS_NAMED = 3
"""MACs named in one sentence, as examples."""

LOG_DELAY_SECONDS = 130
"""A log may report a failed attempt this long after it: a record waits for 120 s by default (delivery.timeout.ms)."""

IS_SERVER_ENTRY = "size(stale_at_server) + size(wrong_answers) = 0 AND size(stale_at_client) > 0"

_PACKETS = "size(stale_at_server) + size(stale_at_client) = 0"

WRONG_ENTRY_COLUMNS: tuple[tuple[str, ...], ...] = (
    (
        f"IF({IS_SERVER_ENTRY}, server, client) AS entry_address",
        f"IF({IS_SERVER_ENTRY}, client, server) AS holder_address",
        f"IF({IS_SERVER_ENTRY}, clients, servers) AS pair_hosts",
        f"coalesce(IF({IS_SERVER_ENTRY}, server_entries, client_entries), array()) AS address_entries",
        f"IF({IS_SERVER_ENTRY}, server_launched, client_launched) AS address_launched",
        f"coalesce(IF({IS_SERVER_ENTRY}, server_owners, client_owners), array()) AS address_owners",
        (
            f"array_distinct(IF({IS_SERVER_ENTRY}, transform(stale_at_client, e -> e.mac), "
            f"IF({_PACKETS}, wrong_answers, transform(stale_at_server, e -> e.mac)))) AS stale_macs"
        ),
    ),
    (
        (
            "filter(address_entries, e -> array_contains(stale_macs, e.mac) AND coalesce(e.at >= address_launched,"
            " true) "
            f"AND coalesce(e.at >= since - make_interval(0, 0, 0, 0, 0, 0, {TABLE_SECONDS}), true)) AS wrong_rows"
        ),
        (
            "exists(stale_macs, m -> array_contains(coalesce(try_element_at(client_reasons, m), array()), 'dead') "
            "OR array_contains(coalesce(try_element_at(server_reasons, m), array()), 'dead') "
            "OR array_contains(coalesce(client_former_macs, array()), m) "
            "OR array_contains(coalesce(server_former_macs, array()), m) "
            "OR exists(address_owners, o -> o.mac = m)) AS is_known_dead"
        ),
    ),
    (
        (
            "transform(wrong_rows, e -> struct(e.holder, e.mac, e.device, e.state, e.at, "
            "array_min(transform(filter(address_entries, n -> n.holder <=> e.holder AND coalesce(n.at > e.at, false) "
            "AND NOT n.mac <=> e.mac), n -> n.at)) AS corrected_at, "
            "e.holder IS NULL OR array_contains(pair_hosts, e.holder) AS on_pair_host)) AS wrong_holders_of_pair"
        ),
    ),
    (
        (
            f"IF({_PACKETS} AND size(wrong_holders_of_pair) = 0, transform(slice(wrong_answers, 1, 1),"
            " m -> struct(server_host "
            "AS holder, m AS mac, CAST(NULL AS STRING) AS device, CAST(NULL AS STRING) AS state, until AS at, "
            "CAST(NULL AS TIMESTAMP) AS corrected_at, true AS on_pair_host)), wrong_holders_of_pair) AS wrong_entries"
        ),
    ),
)
"""Columns of a pair, one step each: the entries of its address with a wrong MAC, and when each was corrected."""


def _list_text(hosts: str) -> str:
    """Return the SQL for a list of names as text."""
    return (
        f"CASE WHEN size({hosts}) < 2 THEN get({hosts}, 0) WHEN size({hosts}) > {HOSTS_NAMED}"
        " THEN concat(array_join(slice("
        f"{hosts}, 1, {HOSTS_NAMED}), ', '), ' and ', size({hosts}) - {HOSTS_NAMED}, ' more')"
        " ELSE concat(array_join(slice("
        f"{hosts}, 1, size({hosts}) - 1), ', '), ' and ', try_element_at({hosts}, -1)) END"
    )


def _first_texts(texts: str, kept: int, separator: str) -> str:
    """Return the SQL for a few texts and the number of further ones; null for none."""
    return (
        f"nullif(concat(array_join(slice({texts}, 1, {kept}), '{separator}'), IF(size({texts}) > {kept}, "
        f"concat('{separator}and ', size({texts}) - {kept}, ' more'), '')), '')"
    )


def _last_part(name: str) -> str:
    """Return the SQL for a host's name without the folders of its output."""
    return f"try_element_at(split({name}, '/'), -1)"


def _hosts_have(hosts: str) -> str:
    return f"concat({_list_text(hosts)}, IF(size({hosts}) = 1, ' has ', ' have '))"


STEPS: Mapping[str, str] = {
    "entries": """
        SELECT capture, entry_address, holder_address, reconnected_at, until AS failed, inline(wrong_entries)
        FROM pairs WHERE rank = 1
    """,
    "wrong_holders": f"""
        SELECT capture, entry_address, mac, host, max(address) AS address, bool_or(on_pair_host) AS on_pair_host,
            max_by(device, t) AS device, max_by(state, t) AS state, max_by(ended_at, t) AS ended_at, max(at) AS seen_at
        FROM (
            SELECT *, {_last_part("coalesce(holder, holder_address)")} AS host, IF(on_pair_host, holder_address,
                NULL) AS address,
                coalesce(at, TIMESTAMP '1970-01-01') AS t,
                coalesce(corrected_at, IF(on_pair_host AND reconnected_at > greatest(failed, at), reconnected_at,
                    NULL)) AS ended_at
            FROM entries
        )
        GROUP BY capture, entry_address, mac, host
    """,
    "named_holders": "SELECT *, concat(host, IF(address <> host, concat(' (', address, ')'), '')) AS holder_name"
    " FROM wrong_holders",
    "true_macs": """
        SELECT capture, entry_address, IF(count(DISTINCT example.true_mac) = 1, max(example.true_mac), NULL) AS true_mac
        FROM pairs WHERE rank = 1 GROUP BY capture, entry_address
    """,
    "commands": f"""
        SELECT capture, on_pair_host, concat('on ', {_list_text("hosts")}) AS place, entry_address,
            concat('ip neigh del ', entry_address, ' dev ', device) AS delete_command,
            concat_ws(' ', 'leadsman remedy stale_neighbour', entry_address, concat('--mac ', true_mac), '--do')
                AS remedy_command
        FROM (
            SELECT capture, entry_address, on_pair_host, coalesce(device, 'DEVICE') AS device,
                array_sort(collect_set(holder_name)) AS hosts
            FROM named_holders WHERE ended_at IS NULL GROUP BY 1, 2, 3, 4
        ) LEFT JOIN true_macs USING (capture, entry_address)
    """,
    "command_lists": """
        SELECT capture, array_sort(collect_set(IF(on_pair_host, delete_command, NULL))) AS delete_commands,
            array_sort(collect_set(IF(on_pair_host, concat('the entry of ', entry_address, ' ', place), NULL)))
                AS wrong_entry_places,
            array_sort(collect_set(IF(on_pair_host, concat(place, ': `', delete_command, '`'), NULL)))
                AS repair_commands,
            array_sort(collect_set(IF(on_pair_host, concat(place, ': `', remedy_command, '`'), NULL)))
                AS remedy_commands,
            array_sort(collect_set(IF(on_pair_host, NULL, concat(place, ': `', delete_command, '`'))))
                AS other_repair_commands
        FROM commands GROUP BY capture
    """,
    "entry_texts": f"""
        SELECT capture, concat({_hosts_have("hosts")}, mac, ' for ', entry_address) AS wrong_entry_text
        FROM (
            SELECT capture, entry_address, mac, array_sort(collect_set(host)) AS hosts FROM named_holders
            WHERE on_pair_host
            GROUP BY capture, entry_address, mac
        )
    """,
    "entry_text_lists": "SELECT capture, array_sort(collect_set(wrong_entry_text)) AS wrong_entry_texts"
    " FROM entry_texts GROUP BY capture",
    "true_mac_lists": """
        SELECT capture, array_sort(collect_set(concat(entry_address, ' has ', example.true_mac, ' (',
            example.true_mac_source, ')')))
                AS true_mac_texts,
            IF(bool_and(is_known_dead), "a dead instance's MAC", 'a wrong MAC') AS mac_description,
            max(logged_until) AS logged_until, max(until) AS failed, bool_and(reconnected_at IS NOT NULL) AS reconnected
        FROM (SELECT *, array_max(transform(client_logs, l -> l.last)) AS logged_until FROM pairs) WHERE rank = 1
        GROUP BY capture
    """,
    "endings": f"""
        SELECT capture, {_list_text("hosts")} AS holders, {_hosts_have("hosts")} AS holders_have,
            size(hosts) AS holders_count,
            array_join(slice(entry_addresses, 1, {TEXTS_NAMED}), ', ') || IF(size(entry_addresses) > {TEXTS_NAMED},
                concat(' and ', size(entry_addresses) -
                {TEXTS_NAMED}, ' more'), '') AS entry_addresses, is_over, ended_at, permanent, seen_at
        FROM (
            SELECT capture, array_sort(collect_set(IF(every_over OR ended_at IS NULL, host, NULL))) AS hosts,
                array_sort(collect_set(IF(every_over OR ended_at IS NULL, entry_address, NULL))) AS entry_addresses,
                bool_and(ended_at IS NOT NULL) AS is_over, max(ended_at) AS ended_at, max(seen_at) AS seen_at,
                bool_and(state <=> 'PERMANENT') AS permanent
            FROM (
                SELECT *, bool_and(ended_at IS NOT NULL) OVER (PARTITION BY capture) AS every_over FROM named_holders
                WHERE on_pair_host
            )
            GROUP BY capture
        )
    """,
    "ended_states": f"""
        SELECT *, is_over AND coalesce(logged_until <= ended_at + make_interval(0, 0, 0, 0, 0, 0, {LOG_DELAY_SECONDS}),
            true)
                AS ended
        FROM endings JOIN true_mac_lists USING (capture) JOIN entry_text_lists USING (capture)
            LEFT JOIN command_lists USING (capture)
    """,
    "texts": f"""
        SELECT capture, holders, trim(holders_have) AS holders_have, entry_addresses, mac_description,
            CAST(holders_count AS DOUBLE) AS holders_count,
            IF(ended, regexp_replace({_first_texts("wrong_entry_texts", TEXTS_NAMED, "; ")},
                ' ha(s|ve) ([0-9a-f:]+ for )',
                ' had $2'),
                {_first_texts("wrong_entry_texts", TEXTS_NAMED, "; ")}) AS wrong_entry_text,
                    {_first_texts("true_mac_texts", TEXTS_NAMED, "; ")} AS true_mac_text,
            {_first_texts("repair_commands", HOSTS_NAMED, "; ")} AS repair_commands,
            IF(permanent, NULL, {_first_texts("remedy_commands", HOSTS_NAMED, "; ")}) AS remedy_commands,
            {_first_texts("wrong_entry_places", HOSTS_NAMED, "; ")} AS wrong_entry_places,
            nullif(array_join(slice(delete_commands, 1, {HOSTS_NAMED}), '\\n'), '') AS delete_commands,
            nullif(concat_ws(', ', transform(slice(delete_commands, 1, {TEXTS_NAMED}), c -> concat('`', c, '`'))), '')
                AS delete_examples,
            {_first_texts("other_repair_commands", HOSTS_NAMED, "; ")} AS other_repair_commands,
            IF(ended, date_format(greatest(failed, seen_at), 'HH:mm:ss'), NULL) AS last_failed,
            IF(ended, date_format(ended_at, 'HH:mm:ss'), NULL) AS ended_at,
            IF(ended AND reconnected, 'the entries were right, and the connections were there', IF(ended,
                'the entries were right', NULL)) AS ended_how,
            IF(permanent AND NOT ended, 'PERMANENT', NULL) AS permanent,
            IF(is_over AND NOT ended, 'the entries are right, but client logs still report failures', NULL)
                AS logs_fail_after_end
        FROM ended_states
    """,
}


def wrong_entry_texts_of(pairs: DataFrame) -> DataFrame:
    """Return for each capture, as text, the hosts with wrong entries, the commands against them, and the end."""
    return run_steps({"pairs": pairs}, STEPS)


UNVERIFIED_ENTRIES: Mapping[str, str] = {
    "entries": f"""
        SELECT capture, client, servers, since, until, inline(filter(client_entries, e -> e.mac IS NOT NULL
            AND coalesce(e.at BETWEEN since - make_interval(0, 0, 0, 0, 0, 0, {TABLE_SECONDS})
                AND until + make_interval(0, 0, 0, 0, 0, 0, {TABLE_SECONDS}), true)))
        FROM pairs WHERE rank = 2 AND wrong_mac = 'not visible' AND client_mac IS NULL
    """,
    "latest": f"""
        SELECT capture, client, {_last_part("holder")} AS host,
            max_by(mac, coalesce(at, TIMESTAMP '1970-01-01')) AS mac, bool_or(array_contains(servers,
                holder)) AS on_pair_host
        FROM entries WHERE holder IS NOT NULL GROUP BY 1, 2, 3
    """,
    "grouped": """
        SELECT capture, client, mac, on_pair_host, array_sort(collect_set(host)) AS hosts FROM latest
        GROUP BY capture, client, mac, on_pair_host
    """,
    "clients_with_entry": "SELECT DISTINCT capture, client FROM latest WHERE on_pair_host",
    "texts": f"""
        SELECT capture, client, on_pair_host, concat({_hosts_have("hosts")}, mac, ' for ', client) AS unverified_entry
        FROM grouped LEFT SEMI JOIN clients_with_entry USING (capture, client)
    """,
    "text_lists": """
        SELECT capture, array_sort(collect_list(IF(on_pair_host, unverified_entry, NULL))) AS unverified_entry,
            array_sort(collect_list(IF(on_pair_host, NULL, unverified_entry))) AS others
        FROM texts GROUP BY capture
    """,
    "changed_entries": f"""
        SELECT capture, client, mac, array_sort(collect_set(now.host)) AS hosts
        FROM entries JOIN latest AS own USING (capture, client, mac)
            JOIN (SELECT capture, client, host, mac AS other FROM latest
            WHERE NOT on_pair_host) AS now USING (capture, client)
        WHERE own.on_pair_host AND now.host = {_last_part("entries.holder")} AND now.other <> mac
        GROUP BY capture, client, mac
    """,
    "earlier_entries": f"""
        SELECT capture, array_sort(collect_list(concat({_list_text("hosts")}, ' had ', mac, ' before, too'))) AS before
        FROM changed_entries GROUP BY capture
    """,
    "unverified_texts": f"""
        SELECT capture, {_first_texts("unverified_entry", TEXTS_NAMED, "; ")} AS unverified_entry,
            {_first_texts("others", TEXTS_NAMED, "; ")} AS unverified_entry_elsewhere,
            {_first_texts("before", TEXTS_NAMED, "; ")} AS earlier_entry
        FROM text_lists LEFT JOIN earlier_entries USING (capture)
    """,
}


def unverified_entry_texts(pairs: DataFrame) -> DataFrame:
    """Return for each capture, as text, the entries of clients that cannot connect and have no known true MAC."""
    return run_steps({"pairs": pairs}, UNVERIFIED_ENTRIES)
