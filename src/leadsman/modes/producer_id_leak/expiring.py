"""Brokers 3.4 and newer: let them forget ids sooner, watch until they have, and put the expiry back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leadsman.collect.collector import CouldNotBeHad
from leadsman.modes.producer_id_leak.holding import held
from leadsman.remedies.remedy import Look, Plan, Refused, Step
from leadsman.words import count, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.collect.kafka.connection import Cluster
    from leadsman.collect.kafka.opening import Address
    from leadsman.modes.producer_id_leak.holding import Held

KEY = "producer.id.expiration.ms"
OF_ONE_BROKER = "DYNAMIC_BROKER_CONFIG"
TOPICS_NAMED = 10

EVERY = timedelta(seconds=5)
"""Each look asks all leaders for all their producers: seldom enough for millions of ids."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The expiry of one broker: what holds now, and what was set for this broker alone, if anything."""

    broker: int
    value_ms: int
    own: str | None


def settings(cluster: Cluster) -> list[Setting]:
    """Return the expiry of every broker; none where a broker is older than the setting."""
    from kafka.admin import ConfigResource  # noqa: PLC0415 - loaded only where it is used

    found = []
    for broker in cluster.brokers():
        wanted = [ConfigResource("broker", str(broker))]
        told = cluster.ask(_all_settings, wanted)["broker"][str(broker)].get(KEY)
        if told is None:
            return []
        own = [each["value"] for each in told.get("synonyms") or () if each["source"] == OF_ONE_BROKER]
        found.append(Setting(broker, int(told["value"]), own[0] if own else None))
    return found


def _all_settings(admin: Any, wanted: list[object]) -> Any:  # noqa: ANN401 - the library has no types
    return admin.describe_configs(wanted, include_synonyms=True, config_filter="all")


def plan(cluster: Cluster, where: Address, *, topics: Sequence[str], after: timedelta, within: timedelta) -> Plan:
    """Return the plan: on each broker lower the expiry to `after`, until no older id is left; then put it back."""
    known = settings(cluster)
    after_ms = round(after.total_seconds() * 1000)
    moment_ms = round(time.time() * 1000) - after_ms
    now = held(cluster, topics, moment_ms)
    _refuse_in_vain(known, now, after)
    return Plan(
        title="Let brokers forget silent producers sooner, for a while",
        why=f"Since Kafka 3.4 the expiry of ids ({KEY}) can be changed while brokers run.",
        steps=[_step(cluster, where, each, after_ms) for each in known if each.value_ms > after_ms],
        look=lambda: _look(held(cluster, topics, moment_ms), after),
        shows=_by_topic(now),
        warnings=list(_warnings(now, after)),
        within=within,
        every=EVERY,
    )


def _refuse_in_vain(known: Sequence[Setting], now: Held, after: timedelta) -> None:
    seconds = duration(after.total_seconds())
    if not now.total_silent:
        raise Refused(
            f"No id has been silent for {seconds}: of {count(now.total, 'id ids')} none would go. Wait until their "
            "producers have been gone for so long, or give a shorter --expire-after."
        )
    if all(each.value_ms <= after.total_seconds() * 1000 for each in known):
        raise Refused(
            f"Brokers forget ids after {duration(max(each.value_ms for each in known) / 1000)} already. They look "
            "every producer.id.expiration.check.interval.ms (10 min by default): wait, or set --expire-after lower."
        )


def _step(cluster: Cluster, where: Address, known: Setting, after_ms: int) -> Step:
    def alter(value: str | None) -> None:
        from kafka.admin import AlterConfigOp, ConfigResource  # noqa: PLC0415 - loaded only where it is used

        change = (AlterConfigOp.DELETE, None) if value is None else (AlterConfigOp.SET, value)
        told = cluster.ask(
            lambda admin: admin.alter_configs([ConfigResource("broker", str(known.broker), {KEY: change})])
        )
        if "OK" not in str(told):
            raise CouldNotBeHad(f"Broker {known.broker} did not take {KEY}: {told}")

    of_broker = ("kafka-configs", "--alter", "--entity-type", "brokers", "--entity-name", str(known.broker))
    back = ("--delete-config", KEY) if known.own is None else ("--add-config", f"{KEY}={known.own}")
    return Step(
        says=f"Broker {known.broker}: {KEY} from {known.value_ms} to {after_ms}",
        command=where.tool(*of_broker, "--add-config", f"{KEY}={after_ms}"),
        do=lambda: alter(str(after_ms)),
        undo=lambda: alter(known.own),
        undo_command=where.tool(*of_broker, *back),
        passing=True,
    )


def _look(now: Held, after: timedelta) -> Look:
    silent = now.total_silent
    said = f"{count(now.total, 'producer id|producer ids')} held by leaders, {count(silent)} of them "
    return Look(cured=silent == 0, says=said + f"silent since {duration(after.total_seconds())} before the start")


def _by_topic(now: Held) -> list[str]:
    ranked = sorted(now.silent.items(), key=lambda each: (-each[1], each[0]))
    lines = [f"  {topic}: {count(silent)} of {count(now.all[topic], 'id ids')} would go" for topic, silent in ranked]
    more = [f"  and {len(lines) - TOPICS_NAMED} more topics"] if len(lines) > TOPICS_NAMED else []
    return [*lines[:TOPICS_NAMED], *more, *(f"  not known: {each}" for each in now.unknown[:TOPICS_NAMED])]


def _warnings(now: Held, after: timedelta) -> Sequence[str]:
    seconds = duration(after.total_seconds())
    told = [
        (
            f"A producer that is silent for more than {seconds} and lives loses its protection against duplicates: a "
            "retry of a batch that was already written could be written twice. No record is lost, nothing stops."
        ),
    ]
    if fleet := sum(now.silent_fleet.values()):
        topics = ", ".join(sorted(now.silent_fleet))
        told.append(f"That may concern {count(fleet, 'id ids')} of {topics}: they sent many records, and may be alive.")
    if came := sum(now.since.values()):
        told.append(
            f"{count(came, 'id ids')} sent in the last {seconds} and stay. If they are the leak's, mend its producers "
            "first, or the ids are back as fast as they came."
        )
    return told
