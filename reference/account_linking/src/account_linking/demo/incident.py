"""The worker as it was in the incident: one producer a process, no idle limit, one try. For `--without-provider`."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from account_linking.requester.handler import make, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from account_linking.requester.worker import Outgoing, Requester

SETTINGS = {"acks": "1", "retries": "0", "enable.idempotence": "false"}


class NotStored(Exception):
    """A record was given up by the client."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - the platform's own object
    """Fetch every element of the event, as the real worker does."""
    return run(event, context, requester())


@cache
def requester() -> Requester:
    """Return the worker of this process."""
    return make(publish)


@cache
def producer() -> Producer:
    """Return the producer of this process, for as long as the platform reuses it."""
    return Producer({**SETTINGS, "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP"]})


def publish(records: Sequence[Outgoing], *, within: timedelta) -> None:
    """Send, and wait for the reports."""
    failed: list[str] = []

    def told(error: Any, _message: object) -> None:  # noqa: ANN401 - confluent-kafka publishes no types
        if error is not None:
            failed.append(str(error))

    for record in records:
        producer().produce(record.topic, record.value, record.key, headers=list(record.headers), on_delivery=told)
    left = producer().flush(within.total_seconds())
    if failed or left:
        raise NotStored(
            f"Failed to deliver {len(failed) + left} of {len(records)} records: {(failed or ['no report'])[0]}"
        )
