"""The kinds of things that can change in a system, and the events that show their state: one row of data for each.

Expressions are SQL over the event table. A new kind is a new row here.
"""

from __future__ import annotations

from dataclasses import dataclass

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import sql_literals

LISTINGS = ("kafka_cluster", "kafka_configs", "kafka_groups", "kafka_topics")
"""Sources that list all things: a thing that such a list no longer holds is gone. What a log no longer names may still
be there."""

NO_TEXT = "CAST(NULL AS string)"
NO_AMOUNT = "CAST(NULL AS double)"

CLIENT = "labels['client_id']"
PARTITION = "concat(labels['topic'], '-', labels['partition'])"
OWNER_LABEL = "coalesce(labels['owner'], 'client')"
"""The label of a setting that names its owner: `client`, or the kind that the label `owner` gives, such as `broker`."""

SETTING_OWNER = (
    f"concat_ws(' ', {OWNER_LABEL}, "
    f"coalesce(labels[{OWNER_LABEL}], {CLIENT}, IF(source IN ({sql_literals(*LISTINGS)}), NULL, subject)))"
)
TOPIC_CONFIGURATION_SCOPE = "concat('kafka_topics topic ', thing)"
"""A topic's configuration is listed with the topic, also where nothing is configured: this scope is listed, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedState:
    """One kind of thing. `where` selects the events that show its state.

    `thing` is the thing's name and `value` its state; without a value, only its existence can change. `key` is the name
    of one of several values of a thing. `amount` is a number, summed over `part`. `rate`: the events themselves are
    counted for each hour. `scope` identifies the list of a listing source: a thing that one list held, and another list
    of the same scope does not hold, is gone. Without another list of that scope nothing is known of the thing.
    """

    kind: str
    where: str
    thing: str
    value: str = NO_TEXT
    key: str = NO_TEXT
    amount: str = NO_AMOUNT
    part: str = NO_TEXT
    rate: bool = False
    scope: str = "source"

    @property
    def applies(self) -> str:
        """Whether an event shows a fact of the thing, as an expression."""
        return f"{self.where} AND {self.thing} IS NOT NULL"

    @property
    def fact_columns(self) -> str:
        """The fact that an event shows of the thing, as a list of columns."""
        fields = (
            ("kind", f"'{self.kind}'"),
            ("thing", self.thing),
            ("key", f"coalesce({self.key}, '')"),
            ("part", f"coalesce({self.part}, '')"),
            ("value", self.value),
            ("amount", self.amount),
            ("scope", self.scope),
        )
        return ", ".join(f"{expression} AS {name}" for name, expression in fields)


GROUP_SCOPE = "concat_ws(' ', source, labels['group'])"

IS_PARTITION_STATE = f"name = '{names.PARTITION_STATE}'"

COMPARED_STATES = (
    ComparedState(
        kind="broker",
        where=f"name = '{names.BROKER_SEEN}' AND labels['host'] IS NOT NULL",
        thing="concat('broker ', labels['id'])",
        value="concat(labels['host'], ':', labels['port'])",
    ),
    ComparedState(
        kind="leader",
        where=f"{IS_PARTITION_STATE} AND labels['leader'] IS NOT NULL",
        thing=PARTITION,
        value="labels['leader']",
    ),
    ComparedState(
        kind="configuration",
        where=f"name = '{names.SETTING}' AND labels['key'] NOT IN ({sql_literals('client.id', 'cluster.id')})",
        thing=SETTING_OWNER,
        scope=f"concat_ws(' ', source, {SETTING_OWNER})",
        key="labels['key']",
        value="labels['value']",
    ),
    ComparedState(
        kind="version",
        where=f"name = '{names.CLIENT_STARTED}' AND labels['version'] IS NOT NULL",
        thing="subject",
        value="labels['version']",
    ),
    ComparedState(
        kind="version",
        where=f"name = '{names.BROKER_SEEN}' AND labels['version'] IS NOT NULL",
        thing="concat('broker ', labels['id'])",
        value="labels['version']",
    ),
    ComparedState(kind="client", where="true", thing=CLIENT, scope=GROUP_SCOPE),
    ComparedState(kind="topic", where=f"{IS_PARTITION_STATE} OR name = '{names.LOG_SIZE}'", thing="labels['topic']"),
    ComparedState(kind="partition", where=IS_PARTITION_STATE, thing=PARTITION, key="labels['topic']"),
    ComparedState(
        kind="host",
        where=f"name IN ({sql_literals(names.GROUP_LAG, names.PRODUCER_ID_TAKEN)})",
        thing="labels['host']",
        scope=GROUP_SCOPE,
    ),
    ComparedState(
        kind="producer_ids_allocated",
        where=f"name = '{names.PRODUCER_ID_TAKEN}'",
        thing=f"concat(coalesce({CLIENT}, 'a client without a name'), ' (', coalesce(labels['host'], subject), ')')",
        rate=True,
    ),
    ComparedState(
        kind="producer_ids",
        where=f"name = '{names.PRODUCERS_COUNTED}' AND labels['topic'] IS NOT NULL",
        thing="labels['topic']",
        key="labels['via']",
        amount="value",
        part="concat_ws('-', labels['partition'], labels['broker'])",
    ),
    ComparedState(
        kind="replicas",
        where=f"{IS_PARTITION_STATE} AND labels['replicas'] IS NOT NULL",
        thing=PARTITION,
        value="labels['replicas']",
    ),
)
"""In the order of the report: first what broke, then what people changed, then the consequences."""

KINDS = tuple(dict.fromkeys(state.kind for state in COMPARED_STATES))

RATE_KINDS = tuple(state.kind for state in COMPARED_STATES if state.rate)
AMOUNT_KINDS = tuple(state.kind for state in COMPARED_STATES if state.amount != NO_AMOUNT)
TOPIC_KINDS = ("partition", "leader", "replicas", "producer_ids")
"""Kinds that belong to a topic: where the topic is new or gone, their changes are not reported."""
