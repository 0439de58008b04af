"""When two configurations are the same, whatever their settings are called or written like."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Key: TypeAlias = "frozenset[tuple[str, str]]"
"""Canonical names and values. Values are hashed: some are secrets."""

ALIASES = {
    "metadata.broker.list": "bootstrap.servers",
    "request.required.acks": "acks",
    "queue.buffering.max.ms": "linger.ms",
    "message.send.max.retries": "retries",
    "compression.codec": "compression.type",
    "delivery.timeout.ms": "message.timeout.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "sasl.mechanisms": "sasl.mechanism",
}
"""librdkafka's second names (its CONFIGURATION.md)."""

_SALT = secrets.token_bytes(16)


def key(settings: Mapping[str, object]) -> Key:
    """Return what two equal configurations have in common and two different ones have not.

    >>> key({"acks": "all", "enable.idempotence": True}) == key({"request.required.acks": "all",
    ...     "enable.idempotence": "true"})
    True
    """
    return frozenset((ALIASES.get(name, name), _hashed(value)) for name, value in settings.items())


def _hashed(value: object) -> str:
    if callable(value):
        return f"callable {id(value)}"
    text = str(value).lower() if isinstance(value, bool) or str(value).lower() in {"true", "false"} else str(value)
    return hashlib.blake2b(text.encode(), key=_SALT, digest_size=16).hexdigest()


def differing(keys: Iterable[Key]) -> list[str]:
    """Return the settings in which configurations differ, the most varied first."""
    values: dict[str, set[str]] = {}
    several = list(keys)
    for each in several:
        for name, value in each:
            values.setdefault(name, set()).add(value)
    missing = {name for name in values if any(name not in dict(each) for each in several)}
    varied = {name: len(found) + (name in missing) for name, found in values.items()}
    return sorted((name for name, count in varied.items() if count > 1), key=lambda name: (-varied[name], name))
