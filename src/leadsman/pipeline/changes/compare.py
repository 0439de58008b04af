"""Compares how things stood on two sides: before and after. One Spark job over the event table.

Of a list (`kafka-topics --describe`) the last one of each side speaks; of logs the last word on each thing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as names
from leadsman.defaults import is_default
from leadsman.model import Change, Changes, Evidence, How
from leadsman.pipeline.changes.facets import (
    AMOUNTS,
    FACETS,
    KINDS,
    LISTINGS,
    OF_A_TOPIC,
    RATES,
    TOPIC_CONFIGURATION,
)
from leadsman.pipeline.events import ARROW
from leadsman.pipeline.shapes import quoted, settled, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

LISTED = f"(coalesce(source IN ({quoted(*LISTINGS)}), false) AND failed IS NULL)"
"""A list is whole, unless the command that made it failed."""

WHOLE_BY_ITSELF = "IF(source = 'kafka_configs', scope, NULL)"
"""A look at the settings of one broker may fail by itself: then the one before it speaks for that broker."""

NO_LEADER = "none"

LEAST_SHARE = 0.1
"""Numbers that differ by less have not changed: what is counted while it is used never stands still."""

THINGS_NAMED = 20
"""Things that one change names; of the rest it says how many they are."""

FOLDED_FROM = 4
"""Settings that came or went together, of the same things, are one change from so many on."""

SETTINGS_NAMED = 3

CHANGES_KEPT = 1000
"""Changes are gathered by what became of what, so this many are a system that was rebuilt."""

MOMENT = "struct(at, line, value, amount, file, text, listed)"
OF_LINE = "struct(at, file, line, text)"
KINDS_TOLD = (
    "SELECT kind, bool_or(times_before > 0) AS was, bool_or(times_after > 0) AS now,"
    " bool_or(is_listed) AS listed, min(first_before) AS first_before, max(last_before) AS last_before,"
    " min(first_after) AS first_after, max(last_after) AS last_after,"
    " count_if(a IS NULL AND was_listed AND NOT has) AS uncollected FROM placed GROUP BY kind"
)


def compare(events: DataFrame, side: str) -> Changes:
    """Return what differs. `side` is an expression that says `before` or `after` of an event; null leaves it out."""
    states = settled(table({"events": events}, {**_sights(side), **_states()}))
    try:
        found = [_change(row) for row in table({"states": states}, _changed()).collect()]
        told = table({"states": states}, _scopes()).collect()
    finally:
        states.unpersist()
    kinds = dict.fromkeys(KINDS, (False, False)) | {row["kind"]: (row["was"], row["now"]) for row in told}
    return Changes(
        changes=tuple(sorted(folded([each for each in found if not is_start_up(each)]), key=_rank)),
        compared=tuple(kind for kind in KINDS if all(kinds[kind])),
        unseen=tuple((kind, *kinds[kind]) for kind in KINDS if not all(kinds[kind])),
        uncollected=tuple((row["kind"], row["uncollected"]) for row in told if row["uncollected"] and row["now"]),
    )


def _rank(change: Change) -> tuple[bool, bool, int, bool, float, str]:
    """First lost leaders; then what had been at rest until then; then by kind; then what grew, by how much."""
    name = change.key + "".join(change.things[:1])
    is_lost = change.kind == "leader" and change.after == NO_LEADER
    place = KINDS.index(change.kind)
    return (not is_lost, change.restless, place, change.how is How.FEWER, -change.magnitude, name)


def is_start_up(change: Change) -> bool:
    """Say whether a setting is new only because a program said at its start what it does anyway."""
    is_new = change.kind == "configuration" and change.how is How.NEW
    return is_new and isinstance(change.after, str) and is_default(change.key, change.after)


def folded(changes: Sequence[Change]) -> list[Change]:
    """Make one change of many settings that came, or went, of the same things."""
    alike: dict[object, list[Change]] = {}
    for change in changes:
        of_setting = change.kind == "configuration" and change.how in (How.NEW, How.GONE)
        key = (change.how, change.things, change.count, change.restless) if of_setting else id(change)
        alike.setdefault(key, []).append(change)
    return [each for group in alike.values() for each in ([_one(group)] if len(group) >= FOLDED_FROM else group)]


def _one(group: Sequence[Change]) -> Change:
    keys = sorted(change.key for change in group)
    named = f"{', '.join(keys[:SETTINGS_NAMED])} and {len(keys) - SETTINGS_NAMED} more settings"
    first = min(group, key=lambda change: change.key)
    return replace(first, key=named, before=None, after=None)


def _sights(side: str) -> dict[str, str]:
    """Return the queries for what every event says of every kind of thing, and on which side."""
    sights = ", ".join(facet.sight for facet in FACETS)
    others = ", ".join(name for name in ARROW.names if name != "at")
    at = "coalesce(at, to_timestamp(labels['newest']))"
    return {
        "timed": f"SELECT {others}, {at} AS at FROM events",
        "failures": "SELECT DISTINCT capture AS of_capture, file AS of_file, at AS failed FROM timed"
        f" WHERE name = '{names.ITEM_MISSING}'",
        "sided": f"SELECT /*+ BROADCAST(failures) */ timed.*, failed, {side} AS side FROM timed LEFT JOIN failures"
        " ON capture = of_capture AND file = of_file AND at = failed",
        "sights": "SELECT side, at, source, failed, file, line, text, inline(array_compact(array("
        f"{sights}))) FROM sided WHERE side IS NOT NULL",
        "looked": f"SELECT *, max(at) OVER (PARTITION BY side, kind, source, file, {WHOLE_BY_ITSELF}) AS look"
        f" FROM sights WHERE {LISTED}",
        "current": f"SELECT *, IF(kind IS NULL, NULL, true) AS listed FROM looked WHERE at <=> look"
        f" UNION ALL SELECT *, CAST(NULL AS TIMESTAMP) AS look, IF(kind IS NULL, NULL, false) AS listed"
        f" FROM sights WHERE NOT {LISTED}",
    }


def _states() -> dict[str, str]:
    """Say of each thing what it was and what it is, and where the latter stands first.

    In two steps, the first for each value of a thing: then a value's first line is known before the last value is.
    """
    ends = ", ".join(
        f"min(IF(side = '{side}', at, NULL)) AS first_{side}, max(IF(side = '{side}', at, NULL)) AS last_{side},"
        f" count_if(side = '{side}') AS times_{side}"
        for side in ("before", "after")
    )
    whole = ", ".join(
        f"min(first_{side}) AS first_{side}, max(last_{side}) AS last_{side}, sum(times_{side}) AS times_{side}"
        for side in ("before", "after")
    )
    return {
        "valued": "SELECT kind, thing, key, part, value,"
        f" max(IF(side = 'before', {MOMENT}, NULL)) AS b, max(IF(side = 'after', {MOMENT}, NULL)) AS a,"
        f" min(IF(side = 'after', {OF_LINE}, NULL)) AS told, max(IF(side = 'before', {OF_LINE}, NULL)) AS told_before,"
        " bool_or(side = 'before' AND listed) AS was_listed, bool_or(side = 'after' AND listed) AS is_listed,"
        " max(IF(side = 'before' AND listed, scope, NULL)) AS scope_before,"
        " max(IF(side = 'after' AND listed, scope, NULL)) AS scope_after,"
        f" {ends}"
        " FROM current GROUP BY kind, thing, key, part, value",
        "states": "SELECT kind, thing, key, part, max(b) AS b, max(a) AS a, max_by(told, a) AS told,"
        " max(told_before) AS told_before, bool_or(was_listed) AS was_listed, bool_or(is_listed) AS is_listed,"
        " max(scope_before) AS scope_before, max(scope_after) AS scope_after,"
        f" count_if(times_before > 0 AND value IS NOT NULL) > 1 AS restless, {whole}"
        " FROM valued GROUP BY kind, thing, key, part",
    }


def _changed() -> dict[str, str]:
    return {**_scopes(), **_texts(), **_numbers(), **_gathered()}


def _scopes() -> dict[str, str]:
    """Say which lists were had before, and which after."""
    return {
        "lists": "SELECT kind, inline(array(struct(scope_before AS scope, true AS had, false AS has),"
        " struct(scope_after AS scope, false AS had, true AS has))) FROM states",
        "of_topics": f"SELECT 'configuration' AS kind, {TOPIC_CONFIGURATION} AS scope, was_listed AS had,"
        " is_listed AS has FROM states WHERE kind = 'topic'",
        "scopes": "SELECT kind AS of_kind, scope, bool_or(had) AS had, bool_or(has) AS has FROM"
        " (SELECT * FROM lists UNION ALL SELECT * FROM of_topics) WHERE scope IS NOT NULL GROUP BY kind, scope",
        "known": "SELECT DISTINCT thing AS known FROM states WHERE kind = 'configuration' AND times_before > 0",
        "placed": "SELECT s.*, coalesce(had, false) AS had, coalesce(has, false) AS has, known IS NOT NULL AS is_known"
        " FROM states s LEFT JOIN scopes ON s.kind = of_kind AND coalesce(scope_after, scope_before) = scope"
        " LEFT JOIN known ON s.kind = 'configuration' AND thing = known",
        "kinds": KINDS_TOLD,
    }


def _texts() -> dict[str, str]:
    """Say of things that are words whether they are new, gone or different.

    New is what a list did not hold before, and what is told of in logs that were there before. A program that starts
    prints all its settings: none of them is new by that.
    """
    told_before = "CASE WHEN is_listed THEN had WHEN kind = 'configuration' THEN is_known ELSE was END"
    how = (
        f"CASE WHEN b IS NULL AND {told_before} THEN 'new' WHEN a IS NULL AND was_listed AND has THEN 'gone' "
        "WHEN NOT (b.value <=> a.value) AND b IS NOT NULL AND a IS NOT NULL THEN 'changed' END"
    )
    words = f"kind NOT IN ({quoted(*AMOUNTS, *RATES)})"
    return {
        "judged": f"SELECT s.*, {how} AS how FROM placed s"
        f" JOIN (SELECT kind AS of_kind, was FROM kinds) ON kind = of_kind WHERE {words}",
        "topics": "SELECT thing AS topic FROM judged WHERE kind = 'topic' AND how IS NOT NULL",
        "worded": "SELECT judged.* FROM judged LEFT ANTI JOIN topics"
        f" ON kind IN ({quoted(*OF_A_TOPIC)}) AND coalesce(key, regexp_replace(thing, '-[0-9]+$', '')) = topic"
        " WHERE how IS NOT NULL",
        "texts": "SELECT kind, how, key, b.value AS before, a.value AS after, CAST(NULL AS double) AS was_amount,"
        " CAST(NULL AS double) AS is_amount, thing, restless, coalesce(told, told_before) AS told FROM worded",
    }


def _numbers() -> dict[str, str]:
    """Say of things that are numbers whether they are more or fewer; one counted in several ways by the fullest."""
    hours = "greatest(1, unix_seconds(max(last_{0})) - unix_seconds(min(first_{0}))) / 3600D AS {0}_hours"
    moved = f"is_amount IS NOT NULL AND abs(is_amount - was_amount) > {LEAST_SHARE}D * greatest(is_amount, was_amount)"
    return {
        "spans": f"SELECT {hours.format('before')}, {hours.format('after')} FROM kinds",
        "summed": "SELECT kind, thing, key, sum(b.amount) AS was_amount, sum(a.amount) AS is_amount, count(*) AS parts,"
        " max(told_before) AS told_before, max(struct(a.at, a.file, a.line, a.text)) AS told FROM states"
        f" WHERE kind IN ({quoted(*AMOUNTS)}) AND b IS NOT NULL AND a IS NOT NULL GROUP BY kind, thing, key",
        "counted": "SELECT kind, thing, max_by(struct(key, was_amount, is_amount, told), struct(parts, is_amount)) AS m"
        " FROM summed GROUP BY kind, thing",
        "rated": "SELECT kind, thing, key, times_before / before_hours AS was_amount,"
        " times_after / after_hours AS is_amount, coalesce(told, told_before) AS told"
        " FROM states JOIN (SELECT kind AS of_kind, was, now FROM kinds) ON kind = of_kind CROSS JOIN spans"
        f" WHERE kind IN ({quoted(*RATES)}) AND was AND now",
        "measured": "SELECT kind, thing, m.key, m.was_amount, m.is_amount, m.told FROM counted"
        " UNION ALL SELECT kind, thing, key, was_amount, is_amount, told FROM rated",
        "numbers": "SELECT kind, IF(is_amount > was_amount, 'more', 'fewer') AS how, key, CAST(NULL AS string) AS"
        " before, CAST(NULL AS string) AS after, was_amount, is_amount, thing, false AS restless, told"
        f" FROM measured WHERE {moved}",
    }


def _gathered() -> dict[str, str]:
    """Make one row of the things to which the same happened."""
    return {
        "all": "SELECT * FROM texts UNION ALL SELECT * FROM numbers",
        "gathered": "SELECT kind, how, coalesce(key, '') AS key, before, after, was_amount, is_amount, restless,"
        f" count(*) AS count, slice(array_sort(collect_set(thing)), 1, {THINGS_NAMED}) AS things, min(told) AS told"
        " FROM all GROUP BY kind, how, key, before, after, was_amount, is_amount, restless,"
        " IF(was_amount IS NULL, NULL, thing)"
        f" ORDER BY restless, coalesce(abs(is_amount - was_amount), 0) DESC, count DESC LIMIT {CHANGES_KEPT}",
    }


def _change(row: Any) -> Change:  # noqa: ANN401 - Spark's Row has no static type
    told = row["told"]
    evidence = Evidence(file=told["file"], line=told["line"], text=told["text"] or "", time=told["at"])
    amounts: Sequence[float | None] = (row["was_amount"], row["is_amount"])
    counted = None not in amounts
    return Change(
        kind=row["kind"],
        how=How(row["how"]),
        things=tuple(row["things"]),
        count=row["count"],
        key=row["key"],
        before=amounts[0] if counted else row["before"],
        after=amounts[1] if counted else row["after"],
        restless=row["restless"],
        evidence=evidence,
    )
