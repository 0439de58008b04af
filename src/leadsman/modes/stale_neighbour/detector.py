"""How a stale neighbour shows in the telemetry.

The subject is a pair: a client and a server's port between which no connection comes about. What decides is a MAC: the
one that either host's neighbour table, or the answer itself, has for the other's address, against the one it has.
Logs alone name a subject too, the worker; its cause cannot be seen in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.stale_neighbour.capture import FAILING, of_captures
from leadsman.modes.stale_neighbour.fenced import explained_of
from leadsman.modes.stale_neighbour.hosts import of_hosts
from leadsman.modes.stale_neighbour.identity import identities_of
from leadsman.modes.stale_neighbour.knocks import pairs_of
from leadsman.modes.stale_neighbour.matrix import matrix_of
from leadsman.modes.stale_neighbour.pairs import NO_LINES, judged_of, logs_of
from leadsman.modes.stale_neighbour.whole import read_of
from leadsman.modes.stale_neighbour.wrong_entries import ABOUT_SERVER, OF_PAIR
from leadsman.pipeline.shapes import (
    Detection,
    accounted,
    first_lines,
    map_of,
    nullable,
    observations,
    settled,
    silent,
    table,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def detect(events: DataFrame, *, nearby_seconds: float = 20.0) -> Detection:
    """Return the observations of every link, and the points of the page.

    nearby_seconds: two hosts looked at within this time show the same attempts: a SYN-ACK is repeated for a minute.
    """
    events = of_hosts(events)
    logs = logs_of(events)
    seen = settled(pairs_of(events))
    stuck = seen.where("stuck")
    own = logs if logs.isEmpty() else settled(logs.join(explained_of(events), ["capture", "subject"], "leftanti"))
    if stuck.isEmpty() and own.isEmpty():
        return silent(seen)
    known = settled(identities_of(events, stuck))
    judged = judged_of(events, stuck, known=known, near=nearby_seconds, logs=logs)
    for step in (*OF_PAIR, _STATES, _RANKED):
        judged = judged.selectExpr("*", *step)
    pairs = settled(judged)
    alone = settled(table({"logs": own, "pairs": pairs}, {"alone": ALONE}))
    accounts = table({"pairs": pairs}, {"logs": LOGS, "accounts": accounted("logs", subject="subject", who="log")})
    read = settled(read_of(events, table({"alone": alone, "pairs": pairs}, {"failing": FAILING})))
    links = observations(_of_pairs(pairs), _of_logs(alone), of_captures(pairs, alone, read), accounts)
    return Detection(
        links, _points(pairs, alone), (seen, own, known, pairs, alone, read), matrix_of(events, seen, pairs)
    )


_STATES = (
    (
        "CASE WHEN size(stale_at_server) + size(stale_at_client) + size(wrong_answers) > 0 THEN 'observed' "
        "WHEN size(differs_at_server) + size(differs_at_client) + size(other_answers) > 0 OR duplicates IS NOT NULL "
        "THEN 'not visible' WHEN answered AND (right_at_server OR answered_right "
        "OR server_table AND size(of_client) = 0) THEN 'contradicted' "
        "WHEN NOT answered AND (right_at_client AND nobody_there OR unresolved) THEN 'contradicted' "
        "ELSE 'not visible' END AS wrong"
    ),
    (
        "CASE WHEN answered OR size(stale_at_client) > 0 THEN 'observed' WHEN resets > 0 OR server_looked THEN "
        "'contradicted' WHEN size(stale_at_server) > 0 AND sent > 0 THEN 'observed' "
        "ELSE 'not visible' END AS unanswered"
    ),
    "size(array_distinct(filter(transform(about_owners, o -> o.mac), m -> m IS NOT NULL))) AS owners_count",
    (
        f"filter(limits, l -> l.host IS NULL OR array_contains(IF({ABOUT_SERVER}, clients, servers), l.host)) "
        "AS own_limits"
    ),
    (
        f"array_max(transform(filter(coalesce(tables, array()), s -> s.host IS NULL OR "
        f"array_contains(IF({ABOUT_SERVER}, clients, servers), s.host)), s -> IF(contains(client, ':'), s.v6, s.v4))) "
        "AS table_rows"
    ),
    "size(wrong_entries) > 0 AND forall(wrong_entries, e -> e.state <=> 'PERMANENT') AS permanent",
)
_HOLDER = (
    f"IF({ABOUT_SERVER}, coalesce(get(stale_at_client, 0).holder, client_host, client_name, client), "
    "coalesce(get(stale_at_server, 0).holder, server_host, server_name, server))"
)
_CHOSEN = {
    "client": "client",
    "server": "server",
    "port": "port",
    "about": f"IF({ABOUT_SERVER}, server, client)",
    "believed": "coalesce(get(stale_at_server, 0).mac, get(wrong_answers, 0), get(stale_at_client, 0).mac)",
    "device": "coalesce(get(stale_at_server, 0).device, get(stale_at_client, 0).device)",
    "actual": f"IF({ABOUT_SERVER}, server_mac, coalesce(client_mac, get(asked_from, 0)))",
    "actual_by": f"IF({ABOUT_SERVER}, server_mac_by, coalesce(client_mac_by, 'by what it sends'))",
    "holder": _HOLDER,
    "launched": f"date_format(IF({ABOUT_SERVER}, server_launched, client_launched), 'yyyy-MM-dd HH:mm:ss')",
    "innocent": (
        "IF(wrong = 'not visible' AND duplicates IS NULL, "
        "coalesce(get(differs_at_server, 0).mac, get(other_answers, 0), get(differs_at_client, 0).mac), NULL)"
    ),
    "duplicate": "duplicate",
    "duplicates": "array_join(duplicates, ', ')",
}
"""What is said of one pair, so that a sentence about it holds no other's names."""


def _named(side: str) -> str:
    """Return a side's name and address, or the address alone where nothing names it."""
    name = f"coalesce({side}_host, {side}_name, {side})"
    return f"IF({name} = {side}, {side}, concat({name}, ' (', {side}, ')'))"


_RANKED = (
    f"struct({', '.join(f'{value} AS {name}' for name, value in _CHOSEN.items())}) AS chosen",
    (
        "CASE WHEN wrong = 'contradicted' OR unanswered = 'contradicted' THEN 3 "
        "WHEN wrong = 'observed' AND unanswered = 'observed' THEN 1 ELSE 2 END AS rank"
    ),
    (f"concat({_named('client')}, ' -> ', {_named('server')}, ':', port) AS subject"),
    (
        "CASE WHEN owners_count > 1 OR exists(about_owners, o -> array_contains(stale_macs, o.mac)) THEN 'observed' "
        "ELSE 'not visible' END AS reused"
    ),
    (
        "CASE WHEN permanent THEN 'contradicted' WHEN size(own_limits) = 0 THEN 'not visible' "
        "WHEN array_max(transform(own_limits, l -> l.value)) > greatest(coalesce(entries, 0), "
        "coalesce(table_rows, 0)) THEN 'observed' "
        "ELSE 'contradicted' END AS kept"
    ),
)


def _of_pairs(pairs: DataFrame) -> DataFrame:
    """Return an observation for each link of each pair."""
    links = (
        ("reused", "reused", "client_launched", "transform(about_owners, o -> o.line)"),
        ("kept", "kept", "CAST(NULL AS TIMESTAMP)", "IF(permanent, array(), transform(own_limits, l -> l.line))"),
        ("wrong_mac", "wrong", "client_launched", _WRONG),
        ("unanswered", "unanswered", "CAST(NULL AS TIMESTAMP)", _UNANSWERED),
        ("failed", "'observed'", "since", _FAILED),
    )
    rows = ", ".join(
        f"struct('{link}' AS link, {nullable(state)} AS state, {since} AS since, "
        f"{first_lines(f'coalesce({lines}, {NO_LINES})')} AS evidence)"
        for link, state, since, lines in links
    )
    return pairs.selectExpr(
        "capture",
        "subject",
        "until",
        f"{map_of(('attempts', 'sent', 'received'), 'double')} AS figures",
        f"{map_of(('client', 'server', 'port'), 'string')} AS facts",
        f"inline(array({rows}))",
    )


def _one(lines: str) -> str:
    """Return the first of an array of lines, or none: several kinds are quoted for one link."""
    return f"slice(array_sort(coalesce({lines}, array())), 1, 1)"


def _of_mac(side: str) -> str:
    """Return a line that shows the MAC of one side."""
    return _one(f"filter({side}_proof, l -> contains(lower(l.text), {side}_mac))")


_WRONG = (
    f"concat({_one('transform(stale_at_server, e -> e.line)')}, {_one('transform(stale_at_client, e -> e.line)')}, "
    f"IF(size(stale_at_server) + size(stale_at_client) = 0, concat({_one('syn_lines')}, {_one('answer_lines')}), "
    f"array()), "
    f"IF(size(stale_at_client) > 0, {_of_mac('server')}, {_of_mac('client')}))"
)
_UNANSWERED = (
    f"IF(received > 0, concat({_one('recv_lines')}, {_one('sent_lines')}), "
    f"IF(answers_repeated > 0, {_one('answer_lines')}, {_one('sent_lines')}))"
)
_FAILED = (
    f"concat({first_lines(f'coalesce(log_lines, {NO_LINES})', 2)}, CASE WHEN sent > 0 THEN {_one('sent_lines')} "
    f"WHEN received > 0 THEN {_one('recv_lines')} ELSE {_one('syn_lines')} END)"
)
"""A socket that is opening says by itself that nothing comes about; a SYN does so only with its repeats."""


GIVES_UP = "INTERVAL 130 SECONDS"
"""A record may wait for 120 s by default (delivery.timeout.ms) before it is said to have expired."""

LOGS = f"""
    SELECT capture, subject, told.log AS log,
        least(since, told.first) - INTERVAL 15 SECONDS AS since,
        greatest(until, told.last) + {GIVES_UP} AS until
    FROM (SELECT capture, subject, since, until, explode(told) AS told FROM pairs)
"""
"""Whose log tells of a pair, and from when to when: the first attempt began some seconds before it timed out."""


def _of_logs(alone: DataFrame) -> DataFrame:
    """Return the observations of workers of which there are only logs: that connections failed, and no more."""
    unseen = ", ".join(f"struct('{link}' AS link, 'not visible' AS state, {NO_LINES} AS evidence)" for link in UNSEEN)
    failed = f"struct('failed' AS link, 'observed' AS state, {first_lines('lines')} AS evidence)"
    return alone.selectExpr(
        "capture",
        "subject",
        "since",
        "until",
        f"{map_of(('timeouts', 'expired'), 'double')} AS figures",
        "CAST(map() AS map<string,string>) AS facts",
        f"inline(array({unseen}, {failed}))",
    )


ALONE = f"""
    SELECT * FROM logs LEFT ANTI JOIN pairs ON logs.capture = pairs.capture AND (
        array_contains(pairs.clients, logs.worker) OR array_contains(pairs.clients, logs.folder) OR coalesce(
            logs.since <= pairs.until + {GIVES_UP} AND logs.until >= pairs.since - {GIVES_UP}, true
        )
    )
"""
"""Workers whose connections failed while nobody looked at sockets or packets: another pair explains nothing of them."""

UNSEEN = ("reused", "kept", "wrong_mac", "unanswered")


def _points(pairs: DataFrame, alone: DataFrame) -> DataFrame:
    """Return what the page draws: when each client was seen knocking in vain."""
    since = "CAST(NULL AS TIMESTAMP) AS since"
    value = "CAST(NULL AS DOUBLE) AS value"
    named = "coalesce(client_host, client_name, client) AS subject"
    knocking = pairs.selectExpr("capture", named, "'unanswered' AS outcome", since, "since AS at", value)
    logged = alone.selectExpr("capture", "subject", "'unanswered' AS outcome", since, "since AS at", value)
    return knocking.unionByName(logged)
