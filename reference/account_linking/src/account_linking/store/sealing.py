"""Seals access tokens and fetch results before they reach a database: AES-256-GCM.

A sealed value names the key that opens it, and is bound to its item: copied to another item's row it does not open.
The layout: MAGIC, length of the key's reference (2 bytes), reference, nonce (12 bytes), ciphertext with its tag.
"""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from account_linking.errors import CannotUnseal

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"\x00sealed1"
"""Begins with a zero byte, which no token in plain text does."""

KEY_BYTES = 32
NONCE_BYTES = 12
"""Random, the size that AES-GCM is made for: safe for 2^32 values under one key."""

READABLE_BY_OTHERS = 0o007


@dataclass(frozen=True, slots=True)
class DataKey:
    """A key, and the reference by which it is found again. The reference is no secret."""

    reference: bytes
    key: bytes

    def __repr__(self) -> str:
        return f"DataKey({self.reference.hex()[:16]})"


class Keys(Protocol):
    """A source of keys."""

    def current(self) -> DataKey:
        """Return the key for new values."""

    def find(self, reference: bytes) -> DataKey:
        """Return the key with this reference; CannotUnseal if there is none."""


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals and unseals values. `context` names the value's place, and must be equal on both sides."""

    keys: Keys

    def seal(self, plain: bytes, context: str) -> bytes:
        """Return the sealed value."""
        current = self.keys.current()
        nonce = os.urandom(NONCE_BYTES)
        header = MAGIC + len(current.reference).to_bytes(2, "big") + current.reference
        return header + nonce + AESGCM(current.key).encrypt(nonce, plain, header + context.encode())

    def unseal(self, sealed: bytes, context: str) -> bytes:
        """Return the value in plain text; CannotUnseal if it was altered or moved, or its key is unknown."""
        if not is_sealed(sealed):
            raise CannotUnseal(f"{context} is stored in plain text. Run: python -m account_linking.store reseal")
        start = len(MAGIC) + 2
        end = start + int.from_bytes(sealed[len(MAGIC) : start], "big")
        used, nonce, text = (
            self.keys.find(sealed[start:end]),
            sealed[end : end + NONCE_BYTES],
            sealed[end + NONCE_BYTES :],
        )
        try:
            return AESGCM(used.key).decrypt(nonce, text, sealed[:end] + context.encode())
        except (InvalidTag, ValueError) as error:
            raise CannotUnseal(f"{context} was altered, or sealed for another item.") from error


def is_sealed(value: bytes) -> bool:
    """Return whether a stored value is sealed, as opposed to plain text."""
    return value.startswith(MAGIC)


@dataclass(frozen=True, slots=True)
class KeyFile:
    """Keys from a file: one base64 key a line. The first seals; the others open what was sealed before a rotation."""

    first: DataKey
    by_reference: Mapping[bytes, DataKey]
    path: Path

    def current(self) -> DataKey:
        """Return the first key of the file."""
        return self.first

    def find(self, reference: bytes) -> DataKey:
        """Return the key with this reference."""
        found = self.by_reference.get(reference)
        if found is None:
            raise CannotUnseal(
                f"The key file {self.path} has no key {reference.hex()[:16]}. Append the key that was used before."
            )
        return found


def read_key_file(path: Path | str) -> KeyFile:
    """Read a key file; CannotUnseal if it is missing, readable by every user of the machine, or malformed."""
    path = Path(path)
    try:
        lines, mode = path.read_text(encoding="ascii").split(), path.stat().st_mode
        keys = [_data_key(base64.b64decode(line, validate=True)) for line in lines]
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it needs one base64 key of 32 bytes a line"
        raise CannotUnseal(f"Cannot read the key file {path}: {why}. Make one: {MAKE_KEY} {path}") from None
    if mode & READABLE_BY_OTHERS:
        raise CannotUnseal(f"Every user of this machine may read the key file {path}. Run: chmod 600 {path}")
    if not keys:
        raise CannotUnseal(f"The key file {path} is empty. Make one: {MAKE_KEY} {path}")
    return KeyFile(keys[0], {each.reference: each for each in keys}, path)


MAKE_KEY = "python -m account_linking.store new-key"


def add_key(path: Path | str) -> None:
    """Put a new key first in a key file, which is replaced in one step; the older keys stay."""
    path = Path(path)
    older = path.read_text(encoding="ascii") if path.exists() else ""
    temporary = _write_private(path, f"{_new_key()}\n{older}")
    temporary.replace(path)


def key_file_beside(database: Path | str) -> KeyFile:
    """Return the key file DATABASE.key, made if it does not exist: for a database of one machine."""
    path = Path(f"{database}.key")
    if not path.exists():
        temporary = _write_private(path, f"{_new_key()}\n")
        try:
            path.hardlink_to(temporary)  # of two processes that both make one, the first wins
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return read_key_file(path)


def _new_key() -> str:
    return base64.b64encode(AESGCM.generate_key(KEY_BYTES * 8)).decode()


def _data_key(key: bytes) -> DataKey:
    if len(key) != KEY_BYTES:
        raise ValueError
    return DataKey(hashlib.sha256(b"reference" + key).digest()[:8], key)


def _write_private(path: Path, text: str) -> Path:
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123 - created private
        file.write(text)
    return temporary
