"""python -m account_linking.topic_setup: creates the topics that do not exist yet, and sets every topic's retention.

Bronze keeps all raw records, so that the raw topics need not: what a user's deletion leaves in a topic ends with its
retention, within a month.
"""

from __future__ import annotations

import argparse
import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from account_linking.command_line import run
from account_linking.errors import InvalidSettings
from account_linking.kafka_security import client_settings
from account_linking.providers import every_provider
from account_linking.topics import DEAD_LETTERS, FETCH_TASKS, ITEM_STATES, TRANSACTIONS, WEBHOOKS, all_topics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from account_linking.providers.model import Settings

TIMEOUT_SECONDS = 20.0
RAW_RETENTION: Final = timedelta(days=28)
"""Of raw topics: a month is the time that the GDPR allows for a deletion, and a long time for a stream to lag."""

WEBHOOK_RETENTION: Final = timedelta(days=7)
"""Of webhooks and fetch tasks: after a week the sweeper has requested the item again, many times."""

COMPACTED: Final = {"cleanup.policy": "compact", "delete.retention.ms": str(7 * 24 * 3600 * 1000)}
"""A tombstone stays for a week, for consumers that were down."""


def topic_settings(name: str) -> dict[str, str]:
    """Return a topic's settings."""
    if name in (TRANSACTIONS, ITEM_STATES):
        return dict(COMPACTED)
    kept = WEBHOOK_RETENTION if name in (WEBHOOKS, FETCH_TASKS) else RAW_RETENTION
    return {"cleanup.policy": "delete", "retention.ms": str(int(kept.total_seconds() * 1000))}


def set_up(settings: Settings, *, partitions: Mapping[str, int], replicas: int) -> tuple[list[str], list[str]]:
    """Create missing topics, and set the settings of the others; return the names of both."""
    from confluent_kafka.cimpl import NewTopic

    admin, existing = _connect(settings)
    names = all_topics(tuple(every_provider()))
    missing = [name for name in names if name not in existing]
    new = [NewTopic(name, partitions.get(name, 1), replicas, config=topic_settings(name)) for name in missing]
    for future in admin.create_topics(new).values() if new else ():
        future.result(TIMEOUT_SECONDS)
    changed = [name for name in names if name in existing]
    _alter(admin, changed)
    return missing, changed


def _connect(settings: Settings) -> tuple[Any, Any]:
    """Return an admin client and the existing topics; InvalidSettings with the client's error if no broker answers."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    errors: list[Any] = []
    quiet: dict[str, Any] = {"log_level": 0, "reconnect.backoff.ms": 1000, "error_cb": errors.append}
    admin = AdminClient({"bootstrap.servers": settings["KAFKA_BOOTSTRAP"], **client_settings(settings), **quiet})
    try:
        return admin, admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    except KafkaException as error:
        admin.poll(0)
        why = next((each.str() for each in errors), error.args[0].str())
        raise InvalidSettings(f"No broker of KAFKA_BOOTSTRAP answered within {TIMEOUT_SECONDS:.0f} s: {why}") from error


def _alter(admin: Any, names: Sequence[str]) -> None:  # noqa: ANN401 - confluent-kafka publishes no types
    from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource

    resources = [
        ConfigResource(
            "topic",
            name,
            incremental_configs=[
                ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
                for setting, value in topic_settings(name).items()
            ],
        )
        for name in names
    ]
    for future in admin.incremental_alter_configs(resources).values() if resources else ():
        future.result(TIMEOUT_SECONDS)


def main(arguments: Sequence[str], settings: Settings) -> int:
    """Set up all topics."""
    parser = argparse.ArgumentParser(prog="python -m account_linking.topic_setup", description=__doc__)
    parser.add_argument("--partitions", type=int, default=12, help="of raw topics and of bank.transaction.v1")
    parser.add_argument("--requesters", type=int, default=3, help="partitions of webhook.element: fetches at a time")
    parser.add_argument("--replicas", type=int, default=3, help="replicas of each topic")
    options = parser.parse_args(arguments)
    if not settings.get("KAFKA_BOOTSTRAP"):
        raise InvalidSettings("KAFKA_BOOTSTRAP is not set. It names the brokers: HOST:PORT,HOST:PORT.")
    partitions = dict.fromkeys(all_topics(tuple(every_provider())), options.partitions)
    partitions |= {WEBHOOKS: 1, DEAD_LETTERS: 1, ITEM_STATES: 1, FETCH_TASKS: options.requesters}
    created, changed = set_up(settings, partitions=partitions, replicas=options.replicas)
    sys.stdout.write(f"Topics created: {len(created)}; retention set on existing topics: {len(changed)}.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(run(lambda: main(sys.argv[1:], os.environ)))
