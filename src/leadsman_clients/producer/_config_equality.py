"""When two client configurations are equal, whatever alias or spelling their settings use."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ConfigKey: TypeAlias = "frozenset[tuple[str, str]]"
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
"""librdkafka's aliases (its CONFIGURATION.md)."""

_SALT = secrets.token_bytes(16)


def config_key(settings: Mapping[str, object]) -> ConfigKey:
    """Return a key that is the same for equal configurations and different for others.

    >>> config_key({"acks": "all", "enable.idempotence": True}) == config_key({"request.required.acks": "all",
    ...     "enable.idempotence": "true"})
    True
    """
    return frozenset((ALIASES.get(name, name), _hashed(value)) for name, value in settings.items())


def _hashed(value: object) -> str:
    if callable(value):
        return f"callable {id(value)}"
    text = str(value).lower() if isinstance(value, bool) or str(value).lower() in {"true", "false"} else str(value)
    return hashlib.blake2b(text.encode(), key=_SALT, digest_size=16).hexdigest()


def differing_settings(keys: Iterable[ConfigKey]) -> list[str]:
    """Return the names of settings in which configurations differ, the one with the most values first."""
    values: dict[str, set[str]] = {}
    key_list = list(keys)
    for key in key_list:
        for name, value in key:
            values.setdefault(name, set()).add(value)
    missing = {name for name in values if any(name not in dict(key) for key in key_list)}
    counts = {name: len(distinct) + (name in missing) for name, distinct in values.items()}
    return sorted((name for name, count in counts.items() if count > 1), key=lambda name: (-counts[name], name))
