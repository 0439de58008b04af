"""Elements on their way between the workers: to a record and back."""

from __future__ import annotations

import json
from dataclasses import asdict

from account_linking.errors import Poison
from account_linking.providers.model import Element


def dump(element: Element) -> bytes:
    """Return an element as a record's value."""
    return json.dumps(asdict(element), separators=(",", ":")).encode()


def load(value: bytes) -> Element:
    """Read one back; Poison if it is none."""
    try:
        told = json.loads(value)
        return Element(**{name: str(told[name]) for name in ("provider", "item", "link")})
    except (ValueError, KeyError, TypeError) as error:
        raise Poison(f"No element: {error!r}; it begins {value[:80]!r}.") from error


def key(element: Element) -> str:
    """Return what keeps two fetches of one item in one partition, one after the other."""
    return f"{element.provider}|{element.item}"
