"""Compares the state of a system before and after, in one Spark job over the event table.

The state of each side is the last snapshot of each list (`kafka-topics --describe`), and the last line of the logs on
each thing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as names
from leadsman.kafka_defaults import is_default
from leadsman.model import Change, Changes, ChangeType, Evidence
from leadsman.pipeline.changes.compared_states import (
    AMOUNT_KINDS,
    COMPARED_STATES,
    KINDS,
    LISTINGS,
    RATE_KINDS,
    TOPIC_CONFIGURATION_SCOPE,
    TOPIC_KINDS,
    ComparedState,
)
from leadsman.pipeline.detector_sql import (
    LABEL,
    LABEL_COLUMN,
    add_materialized,
    label_columns,
    looked_up_labels,
    run_steps,
    sql_literals,
)
from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.pipeline.labelled_events import labelled_events
from leadsman.pipeline.spark.embedded import has_many_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pyspark.sql import DataFrame

LISTED = f"(coalesce(source IN ({sql_literals(*LISTINGS)}), false) AND failed IS NULL)"
"""A list is complete, unless the command that printed it failed."""

OWN_SNAPSHOT = "IF(source = 'kafka_configs', scope, NULL)"
"""The command for the settings of one broker may fail alone: then the previous snapshot applies to that broker."""

NO_LEADER = "none"

MIN_SHARE = 0.1
"""Numbers that differ by less have not changed: numbers of a system in use always vary."""

THINGS_NAMED = 20
"""Things that one change names; all of them are counted."""

MERGED_SETTINGS = 4
"""So many settings of the same things that are new, or gone, together are one change."""

SETTINGS_NAMED = 3

CHANGES_KEPT = 1000
"""Changes of the same kind and value are one change: so many of them mean that the system was rebuilt."""

CANDIDATE = "kind, thing, key, part, how, before_amount, after_amount"
MOMENT = "struct(at, line, value, amount, file, text, listed)"
LINE = "struct(at, file, line, text)"
KINDS_SEEN = (
    "SELECT kind, bool_or(times_before > 0) AS seen_before, bool_or(times_after > 0) AS seen_after,"
    " bool_or(listed_after) AS listed, min(first_before) AS first_before, max(last_before) AS last_before,"
    " min(first_after) AS first_after, max(last_after) AS last_after,"
    " count_if(times_after = 0 AND listed_before AND NOT list_after) AS uncollected FROM placed GROUP BY kind"
)
IS_AMOUNT, IS_RATE = (f"kind IN ({sql_literals(*kinds)})" for kinds in (AMOUNT_KINDS, RATE_KINDS))
HAS_CHANGED = (
    f"abs(after_amount - before_amount) > {MIN_SHARE}D * greatest(after_amount, before_amount)"
    " AND after_amount IS NOT NULL"
)


def compare(events: DataFrame, side: str) -> Changes:
    """Return the changes. `side` is an expression that is `before` or `after` for an event; null excludes the event.

    Most of a million things are as they were: their last values and lines are not looked for.
    """
    frames = {"events": events}
    many = has_many_rows(events.sparkSession)
    try:
        if many:
            frames["labelled"] = labelled_events(events, "true", _labels(COMPARED_STATES), columns=ARROW_SCHEMA.names)
        add_materialized(frames, {**_facts(side, KINDS, many=many), "things": THINGS})
        kind_rows = sorted(run_steps(frames, _kinds()).collect(), key=lambda row: KINDS.index(row["kind"]))
        add_materialized(frames, {**_kinds(), **_candidates()})
        changes = _changes_of_candidates(frames, side, many=many)
    finally:
        for frame in list(frames.values())[1:]:
            frame.unpersist()
    kinds = dict.fromkeys(KINDS, (False, False)) | {
        row["kind"]: (row["seen_before"], row["seen_after"]) for row in kind_rows
    }
    return Changes(
        changes=tuple(
            sorted(merge_settings([each for each in changes if not is_start_up_default(each)]), key=_sort_key)
        ),
        compared=tuple(kind for kind in KINDS if all(kinds[kind])),
        not_comparable=tuple((kind, *kinds[kind]) for kind in KINDS if not all(kinds[kind])),
        uncollected=tuple(
            (row["kind"], row["uncollected"]) for row in kind_rows if row["uncollected"] and row["seen_after"]
        ),
    )


def _changes_of_candidates(frames: dict[str, DataFrame], side: str, *, many: bool) -> list[Change]:
    """Return the changes of `candidates`, before settings are merged; the states are added to the frames."""
    kinds = {row["kind"] for row in frames["candidates"].select("kind").distinct().collect()}
    if not kinds:
        return []
    add_materialized(frames, {**_facts(side, kinds, many=many), **_states()})
    return [_change(row) for row in run_steps(frames, _changed()).collect()]


def _sort_key(change: Change) -> tuple[bool, bool, int, bool, float, str]:
    """Sort lost leaders first, then things without an earlier change, then by kind, then by magnitude."""
    name = change.key + "".join(change.things[:1])
    is_lost = change.kind == "leader" and change.after == NO_LEADER
    position = KINDS.index(change.kind)
    return (not is_lost, change.changed_earlier, position, change.how is ChangeType.FEWER, -change.magnitude, name)


def is_start_up_default(change: Change) -> bool:
    """Say whether a setting is new only because a program printed its default at start-up."""
    is_new = change.kind == "configuration" and change.how is ChangeType.NEW
    return is_new and isinstance(change.after, str) and is_default(change.key, change.after)


def merge_settings(changes: Sequence[Change]) -> list[Change]:
    """Merge many settings of the same things that are new, or gone, into one change."""
    groups: dict[object, list[Change]] = {}
    for change in changes:
        is_setting = change.kind == "configuration" and change.how in (ChangeType.NEW, ChangeType.GONE)
        key = (change.how, change.things, change.count, change.changed_earlier) if is_setting else id(change)
        groups.setdefault(key, []).append(change)
    return [each for group in groups.values() for each in ([_merge(group)] if len(group) >= MERGED_SETTINGS else group)]


def _merge(group: Sequence[Change]) -> Change:
    keys = sorted(change.key for change in group)
    key = f"{', '.join(keys[:SETTINGS_NAMED])} and {len(keys) - SETTINGS_NAMED} more settings"
    first = min(group, key=lambda change: change.key)
    return replace(first, key=key, before=None, after=None)


def _facts(side: str, kinds: Collection[str], *, many: bool) -> dict[str, str]:
    """Return the queries for the facts of these kinds that each event shows, and the side of the event.

    Few events are read once, for all kinds. Of many, which are `labelled` by then, each kind reads those of its names.
    """
    states = [state for state in COMPARED_STATES if state.kind in kinds]
    others = ", ".join(name for name in ARROW_SCHEMA.names if name != "at")
    labels = _labels(states)
    columns = "".join(f", label_{label}" for label in sorted(labels)) if many else label_columns(labels)
    seen = "side, at, source, failed, file, line, text"
    if many:
        facts = " UNION ALL ".join(
            f"SELECT {seen}, {LABEL.sub(LABEL_COLUMN, state.fact_columns)} FROM sided"
            f" WHERE side IS NOT NULL AND ({LABEL.sub(LABEL_COLUMN, state.applies)})"
            for state in states
        )
    else:
        structs = ", ".join(f"IF({state.applies}, struct({state.fact_columns}), NULL)" for state in states)
        facts = (
            f"SELECT {seen}, inline(array_compact(array({LABEL.sub(LABEL_COLUMN, structs)})))"
            " FROM sided WHERE side IS NOT NULL"
        )
    return {
        "timed": f"SELECT {others}, coalesce(at, try_to_timestamp(labels['newest'])) AS at{columns}"
        f" FROM {'labelled' if many else 'events'}",
        "failures": "SELECT DISTINCT capture AS of_capture, file AS of_file, at AS failed FROM timed"
        f" WHERE name = '{names.ITEM_NOT_COLLECTED}'",
        "sided": f"SELECT /*+ BROADCAST(failures) */ timed.*, failed, {side} AS side FROM timed LEFT JOIN failures"
        " ON capture = of_capture AND file = of_file AND at = failed",
        "facts": facts,
        "dated": f"SELECT *, IF(kind IS NULL, NULL, {LISTED}) AS listed, max(IF({LISTED}, at, NULL))"
        f" OVER (PARTITION BY side, kind, source, file, {OWN_SNAPSHOT}) AS snapshot FROM facts",
        "current": "SELECT * FROM dated WHERE NOT listed OR at <=> snapshot",
    }


def _labels(states: Collection[ComparedState]) -> set[str]:
    """Return the labels in which these states are."""
    return looked_up_labels(text for state in states for text in (state.applies, state.fact_columns))


def _of_each_side(expression: str) -> str:
    """Return the expression once for each side, with the side in place of `{0}`."""
    return ", ".join(expression.format(side) for side in ("before", "after"))


THINGS = (
    "SELECT kind, thing, key, part,"
    " coalesce(min(value) = max(value) AND count(value) = count(*), count(value) = 0) AS has_one_value, "
    + _of_each_side(
        "coalesce(bool_or(side = '{0}' AND listed), false) AS listed_{0},"
        " max(IF(side = '{0}' AND listed, scope, NULL)) AS scope_{0},"
        " min(IF(side = '{0}', at, NULL)) AS first_{0}, max(IF(side = '{0}', at, NULL)) AS last_{0},"
        " count_if(side = '{0}') AS times_{0}"
    )
    + " FROM current GROUP BY kind, thing, key, part"
)
"""The query for all things that were seen, before or after, without their values and lines."""


def _kinds() -> dict[str, str]:
    """Return the queries for the lists that were collected before, and after, and for what is known of each kind."""
    return {
        "lists": "SELECT kind, inline(array(struct(scope_before AS scope, true AS list_before, false AS list_after),"
        " struct(scope_after AS scope, false AS list_before, true AS list_after))) FROM things",
        "of_topics": f"SELECT 'configuration' AS kind, {TOPIC_CONFIGURATION_SCOPE} AS scope,"
        " listed_before AS list_before, listed_after AS list_after FROM things WHERE kind = 'topic'",
        "scopes": "SELECT kind AS of_kind, scope,"
        " bool_or(list_before) AS list_before, bool_or(list_after) AS list_after"
        " FROM (SELECT * FROM lists UNION ALL SELECT * FROM of_topics) WHERE scope IS NOT NULL GROUP BY kind, scope",
        "known": "SELECT DISTINCT thing AS known FROM things WHERE kind = 'configuration' AND times_before > 0",
        "placed": "SELECT t.*, coalesce(list_before, false) AS list_before,"
        " coalesce(list_after, false) AS list_after, known IS NOT NULL AS is_known"
        " FROM things t LEFT JOIN scopes ON t.kind = of_kind AND coalesce(scope_after, scope_before) = scope"
        " LEFT JOIN known ON t.kind = 'configuration' AND thing = known",
        "kinds": KINDS_SEEN,
    }


def _candidates() -> dict[str, str]:
    """Return the queries for the things that can have changed: new, gone, with several values, or with numbers.

    A thing is new that an earlier list did not hold, or that only later lines of a log name, where the kind was seen
    before. A program that starts prints all its settings: none of them is new by that.
    """
    is_comparable = (
        "CASE WHEN listed_after THEN list_before WHEN kind = 'configuration' THEN is_known ELSE seen_before END"
    )
    how = (
        f"CASE WHEN {IS_AMOUNT} THEN 'counted' WHEN {IS_RATE} THEN 'rated'"
        f" WHEN times_before = 0 AND {is_comparable} THEN 'new'"
        " WHEN times_after = 0 AND listed_before AND list_after THEN 'gone'"
        " WHEN times_before > 0 AND times_after > 0 AND NOT has_one_value THEN 'changed' END"
    )
    hours = "greatest(1, unix_seconds(max(last_{0})) - unix_seconds(min(first_{0}))) / 3600D AS {0}_hours"
    rates = _of_each_side(f"IF({IS_RATE}, times_{{0}} / nullif({{0}}_hours, 0), NULL) AS {{0}}_amount")
    return {
        "spans": f"SELECT {_of_each_side(hours)} FROM kinds",
        "possible": f"SELECT placed.*, seen_before, seen_after, {how} AS how, {rates} FROM placed"
        " JOIN (SELECT kind AS of_kind, seen_before, seen_after FROM kinds) ON kind = of_kind CROSS JOIN spans",
        "candidates": f"SELECT {CANDIDATE} FROM possible"
        f" WHERE how IS NOT NULL AND (how <> 'rated' OR seen_before AND seen_after AND {HAS_CHANGED})",
    }


def _states() -> dict[str, str]:
    """Return the queries for a candidate's state before and after, and the first line that shows the later state.

    There are two steps, the first for each value of a thing: a value's first line is known before the last value is.
    """
    return {
        "of_candidates": f"SELECT {CANDIDATE}, side, value, {MOMENT} AS moment, {LINE} AS line FROM current JOIN"
        " (SELECT kind AS of_kind, thing AS of_thing, key AS of_key, part AS of_part,"
        " how, before_amount, after_amount FROM candidates)"
        " ON kind = of_kind AND thing = of_thing AND key = of_key AND part = of_part",
        "valued": f"SELECT {CANDIDATE}, value,"
        " max(IF(side = 'before', moment, NULL)) AS b, max(IF(side = 'after', moment, NULL)) AS a,"
        " min(IF(side = 'after', line, NULL)) AS first_line, max(IF(side = 'before', line, NULL)) AS line_before"
        f" FROM of_candidates GROUP BY {CANDIDATE}, value",
        "states": f"SELECT {CANDIDATE}, max(b) AS b, max(a) AS a,"
        " max_by(first_line, a) AS first_line, max(line_before) AS line_before,"
        " count_if(b IS NOT NULL AND value IS NOT NULL) > 1 AS changed_earlier"
        f" FROM valued GROUP BY {CANDIDATE}",
    }


def _changed() -> dict[str, str]:
    return {**_texts(), **_numbers(), **_merged()}


def _texts() -> dict[str, str]:
    """Return the queries for things with text values: new, gone or changed."""
    return {
        "compared": "SELECT * FROM states"
        " WHERE how IN ('new', 'gone') OR how = 'changed' AND NOT (b.value <=> a.value)",
        "topics": "SELECT thing AS topic FROM compared WHERE kind = 'topic'",
        "changed": "SELECT compared.* FROM compared LEFT ANTI JOIN topics ON"
        f" kind IN ({sql_literals(*TOPIC_KINDS)}) AND IF(key = '', regexp_replace(thing, '-[0-9]+$', ''), key) = topic",
        "texts": "SELECT kind, how, key, b.value AS before, a.value AS after, CAST(NULL AS double) AS before_amount,"
        " CAST(NULL AS double) AS after_amount, thing, changed_earlier,"
        " coalesce(first_line, line_before) AS first_line FROM changed",
    }


def _numbers() -> dict[str, str]:
    """Return the queries for things with numbers: more or fewer; of several counts of a thing the most complete one."""
    return {
        "summed": "SELECT kind, thing, key, sum(b.amount) AS before_amount, sum(a.amount) AS after_amount,"
        " count(*) AS parts,"
        " max(line_before) AS line_before, max(struct(a.at, a.file, a.line, a.text)) AS first_line FROM states"
        " WHERE how = 'counted' AND b IS NOT NULL AND a IS NOT NULL GROUP BY kind, thing, key",
        "counted": "SELECT kind, thing,"
        " max_by(struct(key, before_amount, after_amount, first_line), struct(parts, after_amount, key)) AS m"
        " FROM summed GROUP BY kind, thing",
        "rated": "SELECT kind, thing, key, before_amount, after_amount, coalesce(first_line, line_before) AS first_line"
        " FROM states WHERE how = 'rated'",
        "measured": "SELECT kind, thing, m.key, m.before_amount, m.after_amount, m.first_line FROM counted"
        " UNION ALL SELECT kind, thing, key, before_amount, after_amount, first_line FROM rated",
        "numbers": "SELECT kind, IF(after_amount > before_amount, 'more', 'fewer') AS how, key, CAST(NULL AS string) AS"
        " before, CAST(NULL AS string) AS after, before_amount, after_amount, thing,"
        " false AS changed_earlier, first_line"
        f" FROM measured WHERE {HAS_CHANGED}",
    }


def _merged() -> dict[str, str]:
    """Return the queries that merge equal changes of several things into one row."""
    return {
        "all": "SELECT * FROM texts UNION ALL SELECT * FROM numbers",
        "merged": "SELECT kind, how, key, before, after,"
        " before_amount, after_amount, changed_earlier,"
        f" count(*) AS count, slice(array_sort(collect_set(thing)), 1, {THINGS_NAMED}) AS things,"
        " min(first_line) AS first_line"
        " FROM all GROUP BY kind, how, key, before, after, before_amount, after_amount, changed_earlier,"
        " IF(before_amount IS NULL, NULL, thing)"
        " ORDER BY changed_earlier, coalesce(abs(after_amount - before_amount), 0) DESC, count DESC"
        f" LIMIT {CHANGES_KEPT}",
    }


def _change(row: Any) -> Change:  # noqa: ANN401 - Spark's Row has no static type
    line = row["first_line"]
    evidence = Evidence(file=line["file"], line=line["line"], text=line["text"] or "", time=line["at"])
    amounts: Sequence[float | None] = (row["before_amount"], row["after_amount"])
    is_number = None not in amounts
    return Change(
        kind=row["kind"],
        how=ChangeType(row["how"]),
        things=tuple(row["things"]),
        count=row["count"],
        key=row["key"],
        before=amounts[0] if is_number else row["before"],
        after=amounts[1] if is_number else row["after"],
        changed_earlier=row["changed_earlier"],
        evidence=evidence,
    )
