"""The Lambda function between the webhooks and the requesters: one record for each thing that is to be fetched.

One webhook of Yodlee names many users. Each becomes an invocation of its own, so that a slow one delays no other and a
failed one is retried alone.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from account_linking import elements
from account_linking.errors import Poison
from account_linking.kafka_event import records
from account_linking.names import DEAD, ELEMENTS
from account_linking.providers import every_provider
from account_linking.requester.handler import MARGIN, shared_publish
from account_linking.requester.worker import Outgoing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from account_linking.kafka_event import Record

LOG = logging.getLogger(__name__)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - the platform's own object
    """Publish the elements of every webhook in the event."""
    within = timedelta(milliseconds=context.get_remaining_time_in_millis()) - MARGIN
    found = list(split(records(event)))
    shared_publish()(found, within=within)
    return {"elements": len(found)}


def split(webhooks: Iterable[Record]) -> Iterator[Outgoing]:
    """Yield one record for each distinct element; what is no webhook is a dead letter, with the reason."""
    wanted: dict[tuple[str, bytes], Outgoing] = {}
    for webhook in webhooks:
        try:
            provider = every_provider()[webhook.headers.get("provider", "")]
            found = provider.elements(webhook.value)
        except (Poison, KeyError) as error:
            LOG.warning("a webhook at %s-%s-%s is dead: %r", webhook.topic, webhook.partition, webhook.offset, error)
            yield _dead(webhook, error)
            continue
        for element in found:
            # Webhooks that ask for the same come in twos and threes: in one batch they are one fetch.
            one = Outgoing(topic=ELEMENTS, key=elements.key(element), value=elements.dump(element))
            wanted.setdefault((one.key, one.value), one)
    yield from wanted.values()


def _dead(webhook: Record, error: Exception) -> Outgoing:
    place = f"{webhook.topic}-{webhook.partition}-{webhook.offset}"
    return Outgoing(
        topic=DEAD, key=place, value=webhook.value, headers=(("from", place.encode()), ("reason", repr(error).encode()))
    )
