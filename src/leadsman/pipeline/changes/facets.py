"""What can change in a system, and which events tell of it: one row of data for each kind of thing.

Expressions are SQL over the event table. A new kind is a new row here.
"""

from __future__ import annotations

from dataclasses import dataclass

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import quoted

LISTINGS = ("kafka_cluster", "kafka_configs", "kafka_groups", "kafka_topics")
"""Sources that list everything there is: what such a list no longer holds is gone. A log only falls silent."""

NOTHING = "CAST(NULL AS string)"
NO_AMOUNT = "CAST(NULL AS double)"

CLIENT = "labels['client_id']"
PARTITION = "concat(labels['topic'], '-', labels['partition'])"
OWNER = "coalesce(labels['owner'], 'client')"
OWNED = (
    f"concat_ws(' ', {OWNER}, coalesce(labels[{OWNER}], {CLIENT}, IF(source IN ({quoted(*LISTINGS)}), NULL, subject)))"
)
TOPIC_CONFIGURATION = "concat('kafka_topics topic ', thing)"
"""The scope of what is configured for a topic: it is listed with the topic, also where nothing is configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """One kind of thing. `of` says which events tell of it.

    `thing` is its name and `value` what it is at that moment; without one, that it is there is all there is to it.
    `key` tells values of one thing apart. `amount` is a number, added up over `part`. `rate`: the events themselves are
    counted, an hour. `scope` is the list that a listing source makes: what such a list held, and another one of the
    same scope no longer holds, is gone; where there is no other one, nothing is known of it.
    """

    kind: str
    of: str
    thing: str
    value: str = NOTHING
    key: str = NOTHING
    amount: str = NO_AMOUNT
    part: str = NOTHING
    rate: bool = False
    scope: str = "source"

    @property
    def sight(self) -> str:
        """What one event says of it, as an expression; null where it says nothing."""
        told = (
            ("kind", f"'{self.kind}'"),
            ("thing", self.thing),
            ("key", self.key),
            ("part", self.part),
            ("value", self.value),
            ("amount", self.amount),
            ("scope", self.scope),
        )
        struct = ", ".join(f"{expression} AS {name}" for name, expression in told)
        return f"IF({self.of} AND {self.thing} IS NOT NULL, struct({struct}), NULL)"


OF_GROUP = "concat_ws(' ', source, labels['group'])"

STATE = f"name = '{names.PARTITION_STATE}'"

FACETS = (
    Facet(
        kind="broker",
        of=f"name = '{names.BROKER_SEEN}' AND labels['host'] IS NOT NULL",
        thing="concat('broker ', labels['id'])",
        value="concat(labels['host'], ':', labels['port'])",
    ),
    Facet(kind="leader", of=f"{STATE} AND labels['leader'] IS NOT NULL", thing=PARTITION, value="labels['leader']"),
    Facet(
        kind="configuration",
        of=f"name = '{names.SETTING}' AND labels['key'] NOT IN ({quoted('client.id', 'cluster.id')})",
        thing=OWNED,
        scope=f"concat_ws(' ', source, {OWNED})",
        key="labels['key']",
        value="labels['value']",
    ),
    Facet(
        kind="version",
        of=f"name = '{names.CLIENT_STARTED}' AND labels['version'] IS NOT NULL",
        thing="subject",
        value="labels['version']",
    ),
    Facet(
        kind="version",
        of=f"name = '{names.BROKER_SEEN}' AND labels['version'] IS NOT NULL",
        thing="concat('broker ', labels['id'])",
        value="labels['version']",
    ),
    Facet(kind="client", of="true", thing=CLIENT, scope=OF_GROUP),
    Facet(kind="topic", of=f"{STATE} OR name = '{names.LOG_SIZE}'", thing="labels['topic']"),
    Facet(kind="partition", of=STATE, thing=PARTITION, key="labels['topic']"),
    Facet(
        kind="host",
        of=f"name IN ({quoted(names.GROUP_LAG, names.PRODUCER_ID_TAKEN)})",
        thing="labels['host']",
        scope=OF_GROUP,
    ),
    Facet(
        kind="ids_taken",
        of=f"name = '{names.PRODUCER_ID_TAKEN}'",
        thing=f"concat(coalesce({CLIENT}, 'a client without a name'), ' (', coalesce(labels['host'], subject), ')')",
        rate=True,
    ),
    Facet(
        kind="ids_held",
        of=f"name = '{names.PRODUCERS_COUNTED}' AND labels['topic'] IS NOT NULL",
        thing="labels['topic']",
        key="labels['via']",
        amount="value",
        part="concat_ws('-', labels['partition'], labels['broker'])",
    ),
    Facet(
        kind="replicas", of=f"{STATE} AND labels['replicas'] IS NOT NULL", thing=PARTITION, value="labels['replicas']"
    ),
)
"""In the order in which they are told: first what broke, then what people do, then what comes of it."""

KINDS = tuple(dict.fromkeys(facet.kind for facet in FACETS))

RATES = tuple(facet.kind for facet in FACETS if facet.rate)
AMOUNTS = tuple(facet.kind for facet in FACETS if facet.amount != NO_AMOUNT)
OF_A_TOPIC = ("partition", "leader", "replicas", "ids_held")
"""Kinds that a topic brings with it: where it is new or gone, they are not told once more."""
