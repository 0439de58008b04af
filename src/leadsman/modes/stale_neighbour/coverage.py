"""What the whole capture contains, of any host: so that no sentence calls data missing that were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.stale_neighbour.pairs import GC_THRESHOLDS
from leadsman.pipeline.detector_sql import run_steps, sql_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

HOST_OUTPUTS = (names.SOCKET_SEEN, names.NEIGHBOUR_ENTRY, names.LINK_SEEN)


def _looks(what: str, name: str) -> str:
    """Return the SQL for the number of hosts with data of one kind, and the time span of these data.

    The sets replace `count(DISTINCT ...)`, which copies every event for each counted expression.
    """
    of_it = f"FILTER (WHERE name = '{name}')"
    return (
        f"size(collect_set(coalesce(subject, file)) {of_it}) AS {what}_read, "
        f"date_format(min(at) {of_it}, 'HH:mm:ss') AS {what}_from, date_format(max(at) {of_it}, 'HH:mm:ss') AS "
        f"{what}_until"
    )


ATTEMPTS = (names.CONNECTION_SETUP_TIMED_OUT, names.CONNECTION_REFUSED, names.CONNECTION_FAILED)

UNROUTABLE = r"^(172\\.17|127|169\\.254)\\."
"""Addresses that cannot be reached from another host: Docker's default bridge, loopback, link-local (RFC 3927)."""

_TRIED = r"regexp_extract_all(text, '(?:^|[^0-9.])([0-9]{1,3}(?:\\.[0-9]{1,3}){3}):[0-9]{2,5}\\b', 1)"

SAME_ATTEMPT_SECONDS = 1
"""A Java client logs for one attempt that it timed out, and milliseconds later that it could not be established."""

STEPS: Mapping[str, str] = {
    "read_counts": f"""
        SELECT capture,
            size(collect_set(IF(name = '{names.INSTANCE_SEEN}', labels['address'], NULL))) AS inventory_read,
            size(collect_set(IF(name = '{names.SETTING}' AND labels['key'] IN ({sql_literals(*GC_THRESHOLDS.values())}),
                coalesce(subject, file), NULL))) AS limits_read,
            count_if(name = '{names.TABLE_OVERFLOW}') AS table_overflows,
            {_looks("links", names.LINK_SEEN)},
            {_looks("tables", names.NEIGHBOUR_ENTRY)},
            {_looks("sockets", names.SOCKET_SEEN)}
        FROM events
        WHERE name IN ({sql_literals(names.INSTANCE_SEEN, names.SETTING, names.TABLE_OVERFLOW, *HOST_OUTPUTS)})
        GROUP BY capture
    """,
    "attempts": f"""
        SELECT capture, subject, name, at, text, {_TRIED} AS addresses
        FROM events LEFT SEMI JOIN failing USING (capture, subject)
        WHERE name IN ({sql_literals(*ATTEMPTS)})
    """,
    "refused": f"""
        SELECT r.capture, count(DISTINCT r.subject, r.at, r.text) AS refusals
        FROM attempts AS r LEFT ANTI JOIN attempts AS t ON r.capture = t.capture AND r.subject = t.subject
            AND t.name = '{names.CONNECTION_SETUP_TIMED_OUT}'
            AND r.at BETWEEN t.at AND t.at + INTERVAL {SAME_ATTEMPT_SECONDS} SECOND
        WHERE r.name = '{names.CONNECTION_REFUSED}' GROUP BY r.capture
    """,
    "tried_addresses": """
        SELECT capture, array_sort(collect_set(address)) AS tried
        FROM (SELECT capture, explode(addresses) AS address FROM attempts) GROUP BY capture
    """,
    "unroutable_addresses": f"""
        SELECT capture, concat(array_join(slice(tried, 1, 3), ', '),
            IF(size(tried) > 3, concat(' and ', size(tried) - 3, ' more'), '')) AS unroutable
        FROM tried_addresses WHERE forall(tried, a -> a RLIKE '{UNROUTABLE}')
    """,
    "captures": "SELECT DISTINCT capture FROM failing",
    "coverage": """
        SELECT *
        FROM captures LEFT JOIN read_counts USING (capture) LEFT JOIN refused USING (capture)
            LEFT JOIN unroutable_addresses USING (capture)
    """,
}


def coverage_rows(events: DataFrame, failing: DataFrame) -> DataFrame:
    """Return for each capture what it contains, and the addresses that the `failing` logs (capture, subject) tried."""
    return run_steps({"events": events, "failing": failing}, STEPS)
