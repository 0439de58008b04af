"""Keys from AWS KMS by envelope encryption: KMS makes a data key, and the sealed value carries it encrypted."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from account_linking.errors import CannotUnseal
from account_linking.store.sealing import DataKey

if TYPE_CHECKING:
    from collections.abc import Callable

CONTEXT = {"application": "account-linking"}
"""KMS's encryption context: in CloudTrail, and a condition for the key's policy."""

MAX_AGE_SECONDS = 3600.0
"""How long a process seals with one data key. A call to KMS takes milliseconds and costs 0.03 USD for 10,000."""

MAX_OPENED_KEYS = 1000
"""Decrypted data keys that a process remembers: each worker that ever sealed a value has one for each hour."""


@dataclass(slots=True)
class KmsKeys:
    """Data keys of one KMS key. Thread-safe. A value opens with any KMS key that the caller may use."""

    client: Any
    key_id: str
    now: Callable[[], float] = field(default=time.monotonic)
    _current: tuple[float, DataKey] | None = None
    _opened: OrderedDict[bytes, DataKey] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def current(self) -> DataKey:
        """Return this process's data key, a new one after MAX_AGE_SECONDS."""
        with self._lock:
            if self._current is None or self.now() - self._current[0] > MAX_AGE_SECONDS:
                made = self.client.generate_data_key(KeyId=self.key_id, KeySpec="AES_256", EncryptionContext=CONTEXT)
                self._current = (self.now(), DataKey(made["CiphertextBlob"], made["Plaintext"]))
                self._remember(self._current[1])
            return self._current[1]

    def find(self, reference: bytes) -> DataKey:
        """Return the data key that KMS decrypts from `reference`."""
        with self._lock:
            found = self._opened.get(reference) or DataKey(reference, self._decrypt(reference))
            self._remember(found)
            return found

    def _decrypt(self, reference: bytes) -> bytes:
        try:
            key: bytes = self.client.decrypt(CiphertextBlob=reference, EncryptionContext=CONTEXT)["Plaintext"]
        except self.client.exceptions.InvalidCiphertextException as error:
            raise CannotUnseal("KMS does not decrypt a sealed value's data key: it was altered.") from error
        return key

    def _remember(self, key: DataKey) -> None:
        self._opened[key.reference] = key
        self._opened.move_to_end(key.reference)
        while len(self._opened) > MAX_OPENED_KEYS:
            self._opened.popitem(last=False)


def kms_keys(key_id: str) -> KmsKeys:
    """Return the keys of a KMS key, by the platform's own credentials."""
    import boto3  # an extra: workers with a key file install none

    logging.getLogger("botocore").setLevel(logging.INFO)  # at DEBUG it logs KMS's answers, with the data keys
    return KmsKeys(boto3.client("kms"), key_id)
