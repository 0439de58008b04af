"""The requester's Lambda function. It creates clients at the first event, not at import: a worker may be forked."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from account_linking.dead_letters import dead_letter
from account_linking.errors import Poison
from account_linking.kafka_event import parse_records
from account_linking.providers import every_provider
from account_linking.requester.api import HttpApi, http_sessions
from account_linking.requester.limits import TokenBucket
from account_linking.requester.publishing import InvocationPublisher, lambda_producers
from account_linking.requester.worker import Requester, parse_fetch_task
from account_linking.store import open_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from account_linking.kafka_event import KafkaRecord
    from account_linking.providers.model import Api
    from account_linking.requester.worker import Publish

LOG = logging.getLogger(__name__)

MAX_CONCURRENT_FETCHES = 8
"""Fetch tasks of one invocation that run in parallel. Threads suffice: a fetch waits for the network."""

RESPONSE_MARGIN = timedelta(milliseconds=500)
"""Time reserved to return before the invocation's deadline: Lambda kills a function that exceeds it."""

MIN_DEAD_LETTER_SECONDS = 0.25
"""A dead letter is published even where a fetch used all the time; if it is not acknowledged, Lambda retries."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - the platform's own object
    """Run all fetch tasks of the event in parallel. Raises the first error, so that Lambda retries the event."""
    return run(event, context, requester())


def run(event: Mapping[str, Any], context: Any, worker: Requester) -> dict[str, int]:  # noqa: ANN401 - the same
    """Run all fetch tasks of the event with the given worker. A record that can never succeed becomes a dead letter.

    It must not be raised: Lambda repeats a batch until it succeeds, and the records behind it would wait for ever.
    """
    logging.getLogger("httpx").setLevel(logging.WARNING)  # httpx logs each URL, with the secrets in it
    timeout = timedelta(milliseconds=context.get_remaining_time_in_millis()) - RESPONSE_MARGIN
    records = parse_records(event)
    with ThreadPoolExecutor(MAX_CONCURRENT_FETCHES) as pool:
        published = list(pool.map(partial(_handle, worker=worker, timeout=timeout), records))
    LOG.info("published %s records of %s fetch tasks", sum(published), len(records))
    return {"elements": len(records), "records": sum(published)}


def _handle(record: KafkaRecord, *, worker: Requester, timeout: timedelta) -> int:
    deadline = worker.monotonic() + timeout.total_seconds()
    try:
        return worker.handle(parse_fetch_task(record.value), timeout=timeout)
    except Poison as error:
        letter = dead_letter(record, error)
        LOG.warning("the fetch task at %s becomes a dead letter: %s", letter.key, error)
        left = max(MIN_DEAD_LETTER_SECONDS, deadline - worker.monotonic())
        worker.publish([letter], timeout=timedelta(seconds=left))
        return 1


@cache
def requester() -> Requester:
    """Return the worker of this process."""
    return make_requester(shared_publisher())


@cache
def shared_publisher() -> InvocationPublisher:
    """Return the publisher of this process."""
    return InvocationPublisher(lambda_producers(os.environ, timeout=time_limit()))


def make_requester(publish: Publish) -> Requester:
    """Return a worker with this publisher; everything else comes from the environment variables."""
    sessions = http_sessions()
    providers = every_provider()
    share = float(os.environ.get("ACCOUNT_LINKING_RATE_SHARE", "1"))
    buckets = {
        name: TokenBucket(provider.calls_per_second * share, burst=MAX_CONCURRENT_FETCHES, now=monotonic)
        for name, provider in providers.items()
    }

    def api(name: str, deadline: float) -> Api:
        base_url = os.environ[providers[name].url_setting]
        return HttpApi(base_url=base_url, sessions=sessions, bucket=buckets[name], deadline=deadline)

    return Requester(store=open_store(os.environ), api=api, publish=publish)


def time_limit() -> timedelta:
    """Return the function's time limit. Lambda reports only the time that an invocation has left, hence the setting."""
    return timedelta(seconds=float(os.environ.get("ACCOUNT_LINKING_TIME_LIMIT_SECONDS", "30")))
