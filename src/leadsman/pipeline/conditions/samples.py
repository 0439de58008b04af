"""Samples: what events show of the health of one partition, broker, group or client at one moment.

A health rule turns one event into a sample, or one for each thing that the event names. All is SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from leadsman.pipeline.detector_sql import (
    LABEL,
    LABEL_COLUMN,
    label_columns,
    looked_up_labels,
    materialized,
    run_steps,
    sql_literals,
)
from leadsman.pipeline.labelled_events import labelled_events
from leadsman.pipeline.spark.cached import SEPARATE_FRAME_EVENTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

NO_GAP = -1.0
"""`gap_seconds` of a rule whose unhealthy samples are an episode each."""

NO_TEXT = "CAST(NULL AS STRING)"
NO_NUMBER = "CAST(NULL AS DOUBLE)"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRule:
    """How events of these names show whether one thing is healthy. All but `kind` and `names` are SQL over an event.

    `unhealthy` is true where `thing` is unhealthy, false where it is healthy, and null where the event shows neither.
    Where `unhealthy` is null and any event of the thing has an `expected_amount`, the thing is unhealthy while `amount`
    is below it. An episode ends after `gap_seconds` without a sample; None: only a healthy sample ends it. `at` is the
    time of the sample, where it is not the event's own. An event about several things has them as the array `items`,
    and the unhealthy ones as the array `unhealthy_items`, in place of `thing` and `unhealthy`. `healthy_if_any`: a
    thing with any healthy sample at a moment is healthy at that moment. `healthy_names` are those of `names` that never
    show a thing unhealthy.
    """

    kind: str
    names: tuple[str, ...]
    thing: str = "item"
    unhealthy: str = "true"
    where: str = "true"
    amount: str = NO_NUMBER
    expected_amount: str = NO_NUMBER
    detail: str = NO_TEXT
    at: str = "at"
    gap_seconds: float | None = None
    items: str = ""
    unhealthy_items: str = ""
    healthy_if_any: bool = False
    healthy_names: tuple[str, ...] = ()


def samples_query(rules: Sequence[HealthRule]) -> str:
    """Return the query for the samples of all things in `events`: one pass, however many rules there are."""
    structs = ", ".join(f"IF({_applies(rule)}, {_struct(rule)}, NULL)" for rule in rules if not rule.items)
    arrays = [
        f"transform(IF({_applies(rule)}, {rule.items}, NULL), item -> {_struct(rule)})" for rule in rules if rule.items
    ]
    every = (
        f"flatten(filter(array(array({structs}), {', '.join(arrays)}), some -> some IS NOT NULL))"
        if arrays
        else f"array({structs})"
    )
    labels = label_columns(looked_up_labels([every]))
    every = LABEL.sub(LABEL_COLUMN, every)
    return f"""
        SELECT capture, sample.at, sample.kind, sample.thing, sample.unhealthy, sample.amount, sample.expected_amount,
            sample.detail, sample.gap, subject, file, line, text
        FROM (SELECT *, explode(filter({every}, sample -> sample.thing IS NOT NULL)) AS sample
            FROM (SELECT *{labels} FROM events WHERE {_has_name(event_names(rules))}))
    """


def _applies(rule: HealthRule) -> str:
    return f"{_has_name(rule.names)} AND ({rule.where})"


def _has_name(names: Iterable[str]) -> str:
    return f"name IN ({sql_literals('', *sorted(names))})"


def _struct(rule: HealthRule) -> str:
    unhealthy = f"array_contains({rule.unhealthy_items}, item)" if rule.items else rule.unhealthy
    return f"struct({_sample(rule, unhealthy)})"


def _sample(rule: HealthRule, unhealthy: str) -> str:
    """Return the columns of a sample."""
    gap = NO_NUMBER if rule.gap_seconds is None else f"{rule.gap_seconds}D"
    return (
        f"CAST({rule.at} AS TIMESTAMP) AS at, '{rule.kind}' AS kind, CAST({rule.thing} AS STRING) AS thing, "
        f"CAST({unhealthy} AS BOOLEAN) AS unhealthy, CAST({rule.amount} AS DOUBLE) AS amount, "
        f"CAST({rule.expected_amount} AS DOUBLE) AS expected_amount, CAST({rule.detail} AS STRING) AS detail, "
        f"{gap} AS gap"
    )


def samples_of_unhealthy_things(events: DataFrame, rules: Sequence[HealthRule]) -> DataFrame | None:
    """Return the samples of the things that were ever unhealthy: a million others need not be sorted by time.

    Of things that are `healthy_if_any`, one sample a moment is left: a broker has thousands of replicas. None: nothing
    was unhealthy. The rows are those of `samples_query`.
    """
    selected = _select_events(events, rules)
    query = _union(selected.unhealthy_things(rule) for rule in rules)
    things = materialized(run_steps(selected.frames, {"unhealthy_things": query}))
    kinds = {row["kind"] for row in things.select("kind").distinct().collect()}
    sampled = [rule for rule in rules if rule.kind in kinds]
    if not sampled:
        return None
    if_any = kinds_healthy_if_any(sampled)
    steps = {
        "every_sample": _union(selected.samples_of_unhealthy_things(rule) for rule in sampled),
        "samples": f"""
            SELECT * FROM every_sample WHERE kind NOT IN ({if_any})
            UNION ALL
            SELECT capture, at, kind, thing, bool_and(unhealthy) AS unhealthy, {NO_NUMBER} AS amount,
                {NO_NUMBER} AS expected_amount, {NO_TEXT} AS detail, max(gap) AS gap, min(subject) AS subject,
                min_by(file, struct(NOT unhealthy, file, line)) AS file,
                min_by(line, struct(NOT unhealthy, file, line)) AS line,
                min_by(text, struct(NOT unhealthy, file, line)) AS text
            FROM every_sample WHERE kind IN ({if_any}) GROUP BY capture, at, kind, thing, IF(at IS NULL, file, '')
        """,
    }
    return materialized(run_steps({**selected.frames, "unhealthy_things": things}, steps))


class _SelectedEvents(NamedTuple):
    """The events of rules on `common` names, with their labels as columns, and the events of all other rules.

    Each rule is a query of its own. Most rules read rare names, and would read a million partitions' states in vain.
    Looking a label up in an event's map takes the embedded engine 0.65 microseconds, as long as the rest of a rule.
    """

    frames: dict[str, DataFrame]
    common: set[str]

    def unhealthy_things(self, rule: HealthRule) -> str:
        """Return the query for the things that any event shows unhealthy by this rule."""
        return self._query(rule, _unhealthy_things(rule, self._events(rule)))

    def samples_of_unhealthy_things(self, rule: HealthRule) -> str:
        """Return the query for the samples of a rule, of the unhealthy things alone. Spark sends these to the events.

        With its other join, Spark would sort millions of events by their thing.
        """
        things = f"SELECT capture, thing FROM unhealthy_things WHERE kind = '{rule.kind}'"
        return f"""
            SELECT /*+ BROADCAST(things) */ event_samples.*
            FROM ({self._query(rule, _union(_event_samples(rule, self._events(rule))))}) AS event_samples
            LEFT SEMI JOIN ({things}) AS things
                ON event_samples.capture = things.capture AND event_samples.thing = things.thing
        """

    def _events(self, rule: HealthRule) -> str:
        return "rare_events" if self.common.isdisjoint(rule.names) else "common_events"

    def _query(self, rule: HealthRule, query: str) -> str:
        return query if self.common.isdisjoint(rule.names) else LABEL.sub(LABEL_COLUMN, query)


def _select_events(events: DataFrame, rules: Sequence[HealthRule]) -> _SelectedEvents:
    names = f"SELECT name, count(*) AS number FROM events WHERE {_has_name(event_names(rules))} GROUP BY name"
    counts = {row["name"]: row["number"] for row in run_steps({"events": events}, {"counted": names}).collect()}
    common = {name for name, number in counts.items() if number > SEPARATE_FRAME_EVENTS}
    of_common = [rule for rule in rules if not common.isdisjoint(rule.names)]
    of_rare = [rule for rule in rules if common.isdisjoint(rule.names)]
    texts = [text for rule in of_common for text in (_unhealthy_things(rule, ""), *_event_samples(rule, ""))]
    names_of_common = event_names(of_common)
    rare = f"SELECT * FROM events WHERE {_has_name(event_names(of_rare))}"
    frames = {
        "common_events": labelled_events(events, _has_name(names_of_common), looked_up_labels(texts)),
        "rare_events": materialized(run_steps({"events": events}, {"rare_events": rare})),
    }
    return _SelectedEvents(frames, common)


def _unhealthy_things(rule: HealthRule, relation: str) -> str:
    things = f"SELECT * FROM {relation} WHERE {_applies(rule)}"
    if rule.items:
        things = f"SELECT capture, explode({rule.unhealthy_items}) AS item FROM ({things})"
    else:
        things = f"{things} AND ({rule.unhealthy})"
    return f"SELECT DISTINCT capture, '{rule.kind}' AS kind, CAST({rule.thing} AS STRING) AS thing FROM ({things})"


def _event_samples(rule: HealthRule, relation: str) -> Iterator[str]:
    """Yield the queries for the samples of a rule. An item's state is known by the array that the item is in."""
    selected = f"SELECT * FROM {relation} WHERE {_applies(rule)}"
    if not rule.items:
        yield f"SELECT capture, {_sample(rule, rule.unhealthy)}, subject, file, line, text FROM ({selected})"
        return
    healthy = f"array_except({rule.items}, {rule.unhealthy_items})"
    for items, unhealthy in ((rule.unhealthy_items, "true"), (healthy, "false")):
        exploded = f"SELECT *, explode({items}) AS item FROM ({selected})"
        yield f"SELECT capture, {_sample(rule, unhealthy)}, subject, file, line, text FROM ({exploded})"


def _union(queries: Iterable[str]) -> str:
    return "\nUNION ALL\n".join(queries)


def kinds_healthy_if_any(rules: Sequence[HealthRule]) -> str:
    """Return the kinds of such rules as SQL literals; the empty one keeps the list from being empty."""
    return sql_literals("", *(rule.kind for rule in rules if rule.healthy_if_any))


def event_names(rules: Collection[HealthRule]) -> set[str]:
    """Return the names of the events to which the rules apply."""
    return {name for rule in rules for name in rule.names}
