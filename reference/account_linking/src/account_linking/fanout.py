"""The Lambda function between webhooks and requesters: publishes one record for each fetch that is due.

One webhook of Yodlee names many users. Each user gets an invocation of its own, so that a slow fetch delays no other
and a failed fetch is retried alone.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from account_linking import fetch_tasks
from account_linking.dead_letters import dead_letter
from account_linking.errors import Poison
from account_linking.kafka_event import parse_records
from account_linking.providers import every_provider
from account_linking.requester.handler import RESPONSE_MARGIN, shared_publisher
from account_linking.requester.worker import Outgoing
from account_linking.topics import FETCH_TASKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from account_linking.kafka_event import KafkaRecord

LOG = logging.getLogger(__name__)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - the platform's own object
    """Publish the fetch tasks of every webhook in the event."""
    timeout = timedelta(milliseconds=context.get_remaining_time_in_millis()) - RESPONSE_MARGIN
    outgoing = list(split_webhooks(parse_records(event)))
    shared_publisher()(outgoing, timeout=timeout)
    return {"elements": len(outgoing)}


def split_webhooks(webhooks: Iterable[KafkaRecord]) -> Iterator[Outgoing]:
    """Yield one record for each distinct fetch task; a record that is no webhook becomes a dead letter with the reason.

    No record makes this fail: the batch would be repeated for ever, and every other webhook with it.
    """
    distinct: dict[tuple[str, bytes], Outgoing] = {}
    for webhook in webhooks:
        try:
            announced = _fetch_tasks(webhook)
        except Exception as error:  # noqa: BLE001 - whatever one webhook raises is that webhook's
            letter = dead_letter(webhook, error)
            LOG.warning("the webhook at %s becomes a dead letter: %s", letter.key, dict(letter.headers)["reason"])
            yield letter
            continue
        for outgoing in announced:
            # Providers repeat a webhook two or three times: in one batch the repeats are one fetch.
            distinct.setdefault((outgoing.key, outgoing.value), outgoing)
    yield from distinct.values()


def _fetch_tasks(webhook: KafkaRecord) -> list[Outgoing]:
    provider = every_provider().get(webhook.headers.get("provider", ""))
    if provider is None:
        raise Poison("The record's header `provider` is missing, or names no known provider.")
    return [
        Outgoing(topic=FETCH_TASKS, key=fetch_tasks.key(task), value=fetch_tasks.dump(task))
        for task in provider.fetch_tasks(webhook.value)
    ]
