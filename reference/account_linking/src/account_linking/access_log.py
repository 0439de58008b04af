"""Keeps the secret of a webhook's URL out of uvicorn's access log."""

from __future__ import annotations

import logging

from account_linking.providers import every_provider

ACCESS_LOGGER = "uvicorn.access"
ROOT = "/webhooks/"
PATH_ARGUMENT = 2
"""uvicorn logs address, method, path, HTTP version and status."""


class RedactingFilter(logging.Filter):
    """Replaces all of a path that follows the provider's name, and the query, by ***."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the line's path; every line is written."""
        if isinstance(record.args, tuple) and len(record.args) > PATH_ARGUMENT:
            arguments = list(record.args)
            arguments[PATH_ARGUMENT] = without_secret(str(arguments[PATH_ARGUMENT]))
            record.args = tuple(arguments)
        return True


def without_secret(path: str) -> str:
    """Return /webhooks/PROVIDER/*** for a known provider, else /***: any part of another path may be the secret."""
    for provider in every_provider():
        if path == ROOT + provider:
            return path
        if path.startswith(f"{ROOT}{provider}/"):
            return f"{ROOT}{provider}/***"
    return "/***"


def hide_secrets() -> None:
    """Add the filter to uvicorn's access log, once."""
    logger = logging.getLogger(ACCESS_LOGGER)
    if not any(isinstance(each, RedactingFilter) for each in logger.filters):
        logger.addFilter(RedactingFilter())
