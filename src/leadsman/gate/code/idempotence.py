"""Whether a producer takes an id from the broker, as far as settings and the client's version say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.kafka_defaults import release_key

if TYPE_CHECKING:
    from leadsman.gate.facts import ConfigResource

NAME = "enable.idempotence"


def takes_producer_id(client: ConfigResource) -> bool | None:
    """Return whether a producer is idempotent; None where that depends on what the file does not say."""
    if NAME in client.settings:
        value = client.settings[NAME].value
        return None if value is None else value.lower() == "true"
    if not client.is_complete:
        return None
    oldest = client.library.oldest_idempotent if client.library else ""
    if oldest and not client.version:
        return None
    if oldest and release_key(client.version) < release_key(oldest):
        return False  # it has no idempotence
    value = client.in_force(NAME)
    return None if value is None else value == "true"
