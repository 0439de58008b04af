"""How a stale neighbour shows in the telemetry.

The subject is a pair: a client and a server's port between which no connection comes about. What decides is a MAC: the
one that either host's neighbour table, or the answer itself, has for the other's address, against the one it has.
Logs alone name a subject too, the worker; its cause cannot be seen in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.stale_neighbour.identity import identities_of
from leadsman.modes.stale_neighbour.knocks import pairs_of
from leadsman.modes.stale_neighbour.matrix import matrix_of
from leadsman.modes.stale_neighbour.pairs import NO_LINES, judged_of, logs_of
from leadsman.pipeline.shapes import (
    EVIDENCE,
    Detection,
    accounted,
    columns,
    first_lines,
    map_of,
    observations,
    settled,
    table,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def detect(events: DataFrame, *, nearby_seconds: float = 20.0) -> Detection:
    """Return the observations of every link, and the points of the page.

    nearby_seconds: two hosts looked at within this time show the same attempts: a SYN-ACK is repeated for a minute.
    """
    logs = logs_of(events)
    seen = settled(pairs_of(events))
    stuck = seen.where("stuck")
    known = settled(identities_of(events, stuck))
    judged = judged_of(events, stuck, known=known, near=nearby_seconds, logs=logs)
    pairs = settled(judged.selectExpr("*", *_STATES).selectExpr("*", *_RANKED))
    alone = settled(logs.join(pairs.select("capture").distinct(), "capture", "leftanti"))
    accounts = table({"pairs": pairs}, {"logs": LOGS, "accounts": accounted("logs", subject="subject", who="log")})
    links = observations(_of_pairs(pairs), _of_logs(alone), _of_captures(pairs, alone), accounts)
    return Detection(links, _points(pairs, alone), (seen, known, pairs, alone), matrix_of(events, seen, pairs))


_STATES = (
    (
        "CASE WHEN size(stale_at_server) + size(stale_at_client) + size(wrong_answers) > 0 THEN 'observed' "
        "WHEN answered AND (right_at_server OR size(answered_to) > 0 OR server_table) THEN 'contradicted' "
        "WHEN NOT answered AND right_at_client THEN 'contradicted' ELSE 'not visible' END AS wrong"
    ),
    (
        "CASE WHEN answered OR size(stale_at_client) > 0 THEN 'observed' WHEN resets > 0 OR server_looked THEN "
        "'contradicted' "
        "ELSE 'not visible' END AS unanswered"
    ),
    "size(array_distinct(filter(transform(client_owners, o -> o.mac), m -> m IS NOT NULL))) AS owners_count",
    "array_max(transform(limits, l -> l.value)) AS threshold",
)
_RANKED = (
    (
        "CASE WHEN wrong = 'contradicted' OR unanswered = 'contradicted' THEN 3 "
        "WHEN wrong = 'observed' AND unanswered = 'observed' THEN 1 ELSE 2 END AS rank"
    ),
    (
        "concat(coalesce(client_host, client_name, client), ' (', client, ') -> ', "
        "coalesce(server_host, server_name, server), ' (', server, '):', port) AS subject"
    ),
    (
        "CASE WHEN owners_count > 1 OR size(stale_at_server) > 0 AND exists(client_owners, o -> "
        "exists(stale_at_server, "
        "s -> s.mac = o.mac)) THEN 'observed' ELSE 'not visible' END AS reused"
    ),
    (
        "CASE WHEN threshold IS NULL THEN 'not visible' WHEN threshold > coalesce(entries, 0) THEN 'observed' "
        "ELSE 'contradicted' END AS kept"
    ),
)


def _of_pairs(pairs: DataFrame) -> DataFrame:
    """Return an observation for each link of each pair."""
    links = (
        ("reused", "reused", "client_launched", "transform(client_owners, o -> o.line)"),
        ("kept", "kept", "CAST(NULL AS TIMESTAMP)", "transform(limits, l -> l.line)"),
        ("wrong_mac", "wrong", "client_launched", _WRONG),
        ("unanswered", "unanswered", "CAST(NULL AS TIMESTAMP)", _UNANSWERED),
        ("failed", "'observed'", "since", _FAILED),
    )
    rows = ", ".join(
        f"struct('{link}' AS link, {state} AS state, {since} AS since, {first_lines(f'coalesce({lines}, {NO_LINES})')} "
        "AS evidence)"
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


UNSEEN = ("reused", "kept", "wrong_mac", "unanswered")

ALWAYS = ("pairs", "clients_hit", "servers_hit")
WHERE_ANY = (
    "timeouts",
    "expired",
    "others_reach",
    "reaches",
    "both_ends",
    "received",
    "answers_repeated",
    "stale_at_server",
    "stale_at_client",
    "wrong_answers",
    "owners",
    "entries",
    "full",
    "log_only",
)
"""Figures that are left out where they are 0, and the sentences about them with them."""
FACTS = ("client", "server", "believed", "actual", "actual_by", "launched", "holder", "about")


def _of_captures(pairs: DataFrame, alone: DataFrame) -> DataFrame:
    """Return the figures of each capture, and each rival, over the pairs that the verdict is about."""
    top = pairs.selectExpr("*", "min(rank) OVER (PARTITION BY capture) = rank AS counts").where("counts")
    counted = top.groupBy("capture").agg(*columns(*_COUNTED))
    logged = alone.groupBy("capture").agg(
        *columns(
            "count(*) AS log_only",
            "sum(timeouts) AS log_timeouts",
            "min(since) AS log_since",
            "max(until) AS log_until",
        )
    )
    joined = counted.join(logged, "capture", "full").selectExpr(
        "*",
        f"IF(told IS NULL, log_timeouts, {_summed('timeouts')}) AS timeouts",
        f"IF(told IS NULL, NULL, {_summed('expired')}) AS expired",
        "coalesce(first, log_since) AS since",
    )
    rows = ", ".join(f"struct('rival.{name}' AS link, {state} AS state)" for name, state in _RIVALS.items())
    figures = map_of(ALWAYS, "double", where_any=WHERE_ANY)
    threshold = "IF(threshold IS NULL, map(), map('threshold', threshold))"
    return joined.selectExpr(
        "capture",
        "'*' AS subject",
        f"map_concat({figures}, CAST({threshold} AS map<string,double>)) AS figures",
        f"{map_of(FACTS, 'string')} AS facts",
        "since",
        "coalesce(last, log_until) AS until",
        f"CAST(array() AS array<{EVIDENCE}>) AS evidence",
        f"inline(array({rows}))",
    )


def _summed(figure: str) -> str:
    """Return the sum over logs: one log tells of several pairs and counts once."""
    return f"aggregate(told, 0L, (sum, log) -> sum + log.{figure})"


_COUNTED = (
    "count(*) AS pairs",
    "count(DISTINCT client) AS clients_hit",
    "count(DISTINCT server) AS servers_hit",
    "array_distinct(flatten(collect_list(told))) AS told",
    "max(others_reach) AS others_reach",
    "max(reaches) AS reaches",
    "sum(both_ends) AS both_ends",
    "sum(received) AS received",
    "sum(answers_repeated) AS answers_repeated",
    "count_if(size(stale_at_server) > 0) AS stale_at_server",
    "count_if(size(stale_at_client) > 0) AS stale_at_client",
    "count_if(size(wrong_answers) > 0) AS wrong_answers",
    "max(owners_count) AS owners",
    "max(entries) AS entries",
    "max(threshold) AS threshold",
    "min(since) AS first",
    "max(until) AS last",
    "min(client) AS client",
    "min(server) AS server",
    "min(coalesce(get(stale_at_server, 0).mac, get(stale_at_client, 0).mac, get(wrong_answers, 0))) AS believed",
    "min(IF(size(stale_at_server) = 0 AND size(stale_at_client) > 0, server_mac, client_mac)) AS actual",
    "min(IF(size(stale_at_server) = 0 AND size(stale_at_client) > 0, server_mac_by, client_mac_by)) AS actual_by",
    "min(IF(size(stale_at_server) = 0 AND size(stale_at_client) > 0, server, client)) AS about",
    "min(coalesce(get(stale_at_server, 0).holder, get(stale_at_client, 0).holder, server_host, server)) AS holder",
    "min(date_format(client_launched, 'yyyy-MM-dd HH:mm:ss')) AS launched",
    "count_if(size(full_queues) > 0) AS full",
    "count_if(resets > 0) AS reset",
    "count_if(server_looked AND NOT answered AND size(stale_at_client) = 0) AS unheard",
    "count_if(answered AND wrong = 'contradicted') AS lost_behind",
    "count_if(answered AND server_table AND size(of_client) = 0) AS routed",
    "count_if(size(of_client) + size(of_server) > 0) AS entries_seen",
    "count_if(answered) AS answered",
    "count_if(size(coalesce(server_hosts, array())) > 0) AS servers_known",
    "count_if(wrong = 'observed') AS wrong",
)


def _rival(stands: str, ruled_out: str) -> str:
    return f"CASE WHEN {stands} THEN 'observed' WHEN {ruled_out} THEN 'contradicted' END"


_RIVALS = {
    "broker_down": _rival("reset > 0", "answered > 0"),
    "firewall": _rival("unheard > 0", "answered > 0 OR stale_at_client > 0"),
    "reply_dropped": _rival("lost_behind > 0", "wrong > 0"),
    "queue_full": _rival("full > 0", "answered > 0 OR stale_at_client > 0"),
    "other_route": _rival("routed > 0", "entries_seen > 0"),
    "wrong_address": _rival("false", "servers_known > 0"),
}


def _points(pairs: DataFrame, alone: DataFrame) -> DataFrame:
    """Return what the page draws: when each client was seen knocking in vain."""
    since = "CAST(NULL AS TIMESTAMP) AS since"
    value = "CAST(NULL AS DOUBLE) AS value"
    named = "coalesce(client_host, client_name, client) AS subject"
    knocking = pairs.selectExpr("capture", named, "'unanswered' AS outcome", since, "since AS at", value)
    logged = alone.selectExpr("capture", "subject", "'unanswered' AS outcome", since, "since AS at", value)
    return knocking.unionByName(logged)
