"""Brokers 3.4 and newer: lower the expiry of producer ids, watch until the ids expire, and restore the expiry."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leadsman.collect.collector import NotCollected
from leadsman.modes.producer_id_leak.census import producer_id_census
from leadsman.remedies.remedy import Refused, RemedyPlan, RemedyStatus, Step
from leadsman.words import count, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.collect.kafka.cluster_address import ClusterAddress
    from leadsman.collect.kafka.connection import ClusterAdmin
    from leadsman.modes.producer_id_leak.census import ProducerIdCensus

KEY = "producer.id.expiration.ms"
SET_ON_BROKER = "DYNAMIC_BROKER_CONFIG"
TOPICS_NAMED = 10

EVERY = timedelta(seconds=5)
"""Each check requests all producers of all leaders: seldom enough for millions of ids."""


@dataclass(frozen=True, slots=True)
class BrokerExpiry:
    """The expiry of one broker: its current value, and the value that was set for this broker alone, if any."""

    broker: int
    value_ms: int
    override: str | None


def settings(cluster: ClusterAdmin) -> list[BrokerExpiry]:
    """Return the expiry of every broker; none where a broker is older than the setting."""
    from kafka.admin import ConfigResource  # loaded only where it is used

    found_settings = []
    for broker in cluster.brokers():
        resources = [ConfigResource("broker", str(broker))]
        config = cluster.request(_all_settings, resources)["broker"][str(broker)].get(KEY)
        if config is None:
            return []
        override = [each["value"] for each in config.get("synonyms") or () if each["source"] == SET_ON_BROKER]
        found_settings.append(BrokerExpiry(broker, int(config["value"]), override[0] if override else None))
    return found_settings


def _all_settings(admin: Any, resources: list[object]) -> Any:  # noqa: ANN401 - the library has no types
    return admin.describe_configs(resources, include_synonyms=True, config_filter="all")


def plan(
    cluster: ClusterAdmin, where: ClusterAddress, *, topics: Sequence[str], after: timedelta, timeout: timedelta
) -> RemedyPlan:
    """Return the plan: lower the expiry to `after` on each broker until no older id is left, then restore it."""
    known = settings(cluster)
    after_ms = round(after.total_seconds() * 1000)
    moment_ms = round(time.time() * 1000) - after_ms
    now = producer_id_census(cluster, topics, moment_ms)
    _refuse_without_effect(known, now, after)
    return RemedyPlan(
        title="Lower the expiry of producer ids for a while",
        why=f"Since Kafka 3.4 the expiry of ids ({KEY}) can be changed while brokers run.",
        steps=[_step(cluster, where, each, after_ms) for each in known if each.value_ms > after_ms],
        check=lambda: _status(producer_id_census(cluster, topics, moment_ms), after),
        details=_by_topic(now),
        warnings=list(_warnings(now, after)),
        timeout=timeout,
        every=EVERY,
    )


def _refuse_without_effect(known: Sequence[BrokerExpiry], now: ProducerIdCensus, after: timedelta) -> None:
    seconds = duration(after.total_seconds())
    if not now.total_idle:
        raise Refused(
            f"No id has been idle for {seconds}: of {count(now.total, 'id ids')} none would expire. Wait until their "
            f"producers have been closed for {seconds}, or set a shorter --expire-after."
        )
    if all(each.value_ms <= after.total_seconds() * 1000 for each in known):
        raise Refused(
            f"Brokers already expire ids after {duration(max(each.value_ms for each in known) / 1000)}. They check "
            "every producer.id.expiration.check.interval.ms (10 min by default): wait, or set a shorter --expire-after."
        )


def _step(cluster: ClusterAdmin, where: ClusterAddress, known: BrokerExpiry, after_ms: int) -> Step:
    def alter(value: str | None) -> None:
        from kafka.admin import AlterConfigOp, ConfigResource  # loaded only where it is used

        change = (AlterConfigOp.DELETE, None) if value is None else (AlterConfigOp.SET, value)
        response = cluster.change(
            lambda admin: admin.alter_configs([ConfigResource("broker", str(known.broker), {KEY: change})])
        )
        if "OK" not in str(response):
            raise NotCollected(f"Broker {known.broker} rejected {KEY}: {response}")

    of_broker = ("kafka-configs", "--alter", "--entity-type", "brokers", "--entity-name", str(known.broker))
    back = ("--delete-config", KEY) if known.override is None else ("--add-config", f"{KEY}={known.override}")
    return Step(
        description=f"Broker {known.broker}: {KEY} from {known.value_ms} to {after_ms}",
        command=where.tool(*of_broker, "--add-config", f"{KEY}={after_ms}"),
        do=lambda: alter(str(after_ms)),
        undo=lambda: alter(known.override),
        undo_command=where.tool(*of_broker, *back),
        is_temporary=True,
    )


def _status(now: ProducerIdCensus, after: timedelta) -> RemedyStatus:
    idle = now.total_idle
    ids = f"{count(now.total, 'producer id|producer ids')} on leaders, {count(idle)} of them "
    return RemedyStatus(
        is_cured=idle == 0, description=ids + f"idle since {duration(after.total_seconds())} before the start"
    )


def _by_topic(now: ProducerIdCensus) -> list[str]:
    ranked = sorted(now.idle.items(), key=lambda each: (-each[1], each[0]))
    lines = [f"  {topic}: {count(idle)} of {count(now.all[topic], 'id ids')} would go" for topic, idle in ranked]
    more = [f"  and {len(lines) - TOPICS_NAMED} more topics"] if len(lines) > TOPICS_NAMED else []
    return [*lines[:TOPICS_NAMED], *more, *(f"  unknown: {each}" for each in now.unknown[:TOPICS_NAMED])]


def _warnings(now: ProducerIdCensus, after: timedelta) -> Sequence[str]:
    seconds = duration(after.total_seconds())
    warnings = [
        (
            f"A live producer that is idle for more than {seconds} loses its protection against duplicates: a retry of "
            "a batch that was already written could be written twice. No record is lost, and no producer stops."
        ),
    ]
    if fleet := sum(now.idle_fleet.values()):
        topics = ", ".join(sorted(now.idle_fleet))
        warnings.append(
            f"This can affect {count(fleet, 'id ids')} of {topics}: their producers sent many records and may be alive."
        )
    if recent := sum(now.recent.values()):
        warnings.append(
            f"{count(recent, 'id ids')} sent in the last {seconds} and stay. If they belong to the leak, fix its "
            "producers first, or new ids replace the expired ones at once."
        )
    return warnings
