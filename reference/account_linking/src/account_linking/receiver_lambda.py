"""The receiver as a Lambda function behind an HTTP API of API Gateway: the same application, by an ASGI adapter."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from mangum import Mangum

from account_linking import receiver
from account_linking.requester.publishing import LAMBDA_PATH
from account_linking.secret_settings import with_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - the platform's own object
    """Answer one webhook. The sender's address is the one that API Gateway saw, whatever the headers say."""
    for library in ("httpx", "mangum"):  # at INFO, Lambda's level, they log each URL: a webhook's ends in its secret
        logging.getLogger(library).setLevel(logging.WARNING)
    return adapter()(dict(event), context)


@cache
def adapter() -> Mangum:
    """Return the adapter of this process; its producers are closed by the provider, not by a lifespan."""
    return Mangum(receiver.app(with_secrets(os.environ), path=LAMBDA_PATH), lifespan="off")
