"""The Lambda function. What it needs is made at its first event, never at import: a worker may be forked before."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from account_linking.kafka_event import records
from account_linking.providers import every_provider
from account_linking.requester.api import HttpApi, http_sessions
from account_linking.requester.limits import Bucket
from account_linking.requester.publishing import LAMBDA_PATH, Surviving, lambda_producers, way
from account_linking.requester.worker import Requester, element_of
from account_linking.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from account_linking.providers.model import Api
    from account_linking.requester.worker import Publish

LOG = logging.getLogger(__name__)

AT_ONCE = 8
"""Elements of one invocation that are fetched side by side. They wait for the network, not for the processor."""

MARGIN = timedelta(milliseconds=500)
"""What is left of the invocation to answer in. A function that is killed answers nothing."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - the platform's own object
    """Fetch every element of the event, side by side. Raises the first error, so that the platform retries."""
    return run(event, context, requester())


def run(event: Mapping[str, Any], context: Any, worker: Requester) -> dict[str, int]:  # noqa: ANN401 - the same
    """Do what the handler does, with any worker."""
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs each request, and with it tokens in addresses
    within = timedelta(milliseconds=context.get_remaining_time_in_millis()) - MARGIN
    found = [element_of(record.value) for record in records(event)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        published = list(pool.map(partial(worker.handle, within=within), found))
    LOG.info("published %s records of %s elements", sum(published), len(found))
    return {"elements": len(found), "records": sum(published)}


@cache
def requester() -> Requester:
    """Return the worker of this process."""
    return make(shared_publish())


@cache
def shared_publish() -> Surviving:
    """Return this process's way to publish."""
    return Surviving(
        lambda_producers(os.environ["KAFKA_BOOTSTRAP"], within=time_limit(), hops=way(os.environ, LAMBDA_PATH))
    )


def make(publish: Publish) -> Requester:
    """Return a worker that publishes in this way, and gets everything else from the environment."""
    sessions = http_sessions()
    providers = every_provider()
    share = float(os.environ.get("ACCOUNT_LINKING_RATE_SHARE", "1"))
    buckets = {
        name: Bucket(provider.calls_per_second * share, burst=AT_ONCE, now=monotonic)
        for name, provider in providers.items()
    }

    def api(name: str, deadline: float) -> Api:
        base = os.environ[providers[name].base]
        return HttpApi(base=base, sessions=sessions, bucket=buckets[name], deadline=deadline)

    return Requester(store=SqliteStore(os.environ["ACCOUNT_LINKING_STORE"]), api=api, publish=publish)


def time_limit() -> timedelta:
    """Return how long an invocation may take; Lambda tells it only to the single invocation."""
    return timedelta(seconds=float(os.environ.get("ACCOUNT_LINKING_TIME_LIMIT_SECONDS", "30")))
