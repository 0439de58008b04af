"""Opens the store that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from account_linking.errors import InvalidSettings
from account_linking.store.sealing import Sealer, read_key_file
from account_linking.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from account_linking.providers.model import Settings
    from account_linking.store.model import Store

STORE = "ACCOUNT_LINKING_STORE"
"""A path (SQLite), dynamodb:TABLE, or postgresql://USER@HOST:PORT/DATABASE."""

KEY_FILE = "ACCOUNT_LINKING_KEY_FILE"
KMS_KEY = "ACCOUNT_LINKING_KMS_KEY"


def open_store(settings: Settings) -> Store:
    """Return the store named by ACCOUNT_LINKING_STORE, with the keys of KEY_FILE or KMS_KEY."""
    name = settings.get(STORE, "")
    if not name:
        raise InvalidSettings(f"{STORE} is not set. It is a path, dynamodb:TABLE, or postgresql://USER@HOST/DATABASE.")
    sealer = sealer_of(settings)
    kind, separator, rest = name.partition(":")
    if kind not in ("dynamodb", "postgresql") or not separator:
        return SqliteStore(name, sealer)
    if sealer is None:
        raise InvalidSettings(f"{STORE} is shared by several machines, so {KMS_KEY} or {KEY_FILE} must be set.")
    if kind == "postgresql":
        from account_linking.store.postgresql import PostgresStore

        return PostgresStore(name, sealer)
    from account_linking.store.dynamodb import DynamoStore, dynamodb_client

    return DynamoStore(dynamodb_client(), rest, sealer)


def sealer_of(settings: Settings) -> Sealer | None:
    """Return the sealer that the settings name; None where they name no key."""
    if key_id := settings.get(KMS_KEY):
        from account_linking.store.kms import kms_keys

        return Sealer(kms_keys(key_id))
    path = settings.get(KEY_FILE)
    return Sealer(read_key_file(path)) if path else None
