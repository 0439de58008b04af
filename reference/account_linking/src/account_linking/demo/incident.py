"""The worker of the incident: one producer for each process, no idle limit, no retries.

The demo runs it beside the application's own worker; with `--without-provider` it is the application's worker.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from account_linking.requester.handler import make_requester, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from account_linking.requester.worker import Outgoing, Requester

TOPIC_SETTING = "ACCOUNT_LINKING_DEMO_TOPIC"
"""The environment variable that names one topic for all records: those of a worker that only runs for comparison."""

HANDLER = f"{__name__}.handler"

SETTINGS = {"acks": "1", "retries": "0", "enable.idempotence": "false"}


class NotStored(Exception):
    """The client did not deliver a record."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - the platform's own object
    """Run all fetch tasks of the event, as the real worker does."""
    return run(event, context, requester())


@cache
def requester() -> Requester:
    """Return the worker of this process."""
    return make_requester(publish)


@cache
def producer() -> Producer:
    """Return the producer of this process, used for as long as Lambda reuses the process."""
    return Producer({**SETTINGS, "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP"]})


def publish(records: Sequence[Outgoing], *, timeout: timedelta) -> None:
    """Send the records, and wait for the delivery reports."""
    failed: list[str] = []

    def on_delivery(error: Any, _message: object) -> None:  # noqa: ANN401 - confluent-kafka publishes no types
        if error is not None:
            failed.append(str(error))

    for record in records:
        topic = os.environ.get(TOPIC_SETTING, record.topic)
        producer().produce(topic, record.value, record.key, headers=list(record.headers), on_delivery=on_delivery)
    left = producer().flush(timeout.total_seconds())
    if failed or left:
        raise NotStored(
            f"Failed to deliver {len(failed) + left} of {len(records)} records: {(failed or ['no delivery report'])[0]}"
        )
