"""Serializes elements as values of Kafka records, and parses them."""

from __future__ import annotations

import json
from dataclasses import asdict

from account_linking.errors import Poison
from account_linking.providers.model import Element


def dump(element: Element) -> bytes:
    """Return an element as the value of a Kafka record."""
    return json.dumps(asdict(element), separators=(",", ":")).encode()


def load(value: bytes) -> Element:
    """Parse the value of a Kafka record; Poison if the value is no element."""
    try:
        fields = json.loads(value)
        return Element(**{name: str(fields[name]) for name in ("provider", "item", "link")})
    except (ValueError, KeyError, TypeError) as error:
        raise Poison(f"The record is no element: {error!r}; the value begins with {value[:80]!r}.") from error


def key(element: Element) -> str:
    """Return the record key: one item, one partition, so that its fetches run one after the other."""
    return f"{element.provider}|{element.item}"
