"""Times in the JSON documents of clouds and monitoring systems."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any


def milliseconds(text: Any) -> int | None:  # noqa: ANN401 - whatever the JSON holds
    """Return milliseconds since 1970 of a time in ISO 8601 or as in mail; None for other text."""
    try:
        read = datetime.fromisoformat(str(text))
    except ValueError:
        try:
            read = parsedate_to_datetime(str(text))
        except ValueError:
            return None
    moment = read if read.tzinfo else read.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
