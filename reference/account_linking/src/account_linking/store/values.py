"""What a store keeps of an item in sealed form: its access token, and its unfinished fetch result."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from account_linking.providers.model import FetchResult, LinkedItem, RawRecord
from account_linking.store.sealing import is_sealed

if TYPE_CHECKING:
    from account_linking.store.sealing import Sealer


@dataclass(frozen=True, slots=True)
class SealedValues:
    """Seals and unseals an item's values. Each is bound to its kind, provider and item."""

    sealer: Sealer

    def token(self, link: LinkedItem) -> bytes:
        """Return an item's sealed token."""
        return self.sealer.seal(link.token.encode(), _context("token", link.provider, link.item))

    def link(self, provider: str, item: str, *, user: str, token: bytes | str) -> LinkedItem:
        """Return an item with its token in plain text."""
        plain = self.sealer.unseal(_bytes(token), _context("token", provider, item))
        return LinkedItem(provider=provider, item=item, user=user, token=plain.decode())

    def resealed(self, provider: str, item: str, token: bytes | str) -> bytes:
        """Return a stored token sealed with the current key; a token in plain text is sealed too."""
        context, stored = _context("token", provider, item), _bytes(token)
        plain = self.sealer.unseal(stored, context) if is_sealed(stored) else stored
        return self.sealer.seal(plain, context)

    def result(self, link: LinkedItem, result: FetchResult) -> bytes:
        """Return a sealed fetch result."""
        text = json.dumps(asdict(result), separators=(",", ":"))
        return self.sealer.seal(zlib.compress(text.encode()), _context("result", link.provider, link.item))

    def unfinished(self, provider: str, item: str, sealed: bytes) -> FetchResult | None:
        """Return a fetch result; None for an empty value."""
        if not sealed:
            return None
        document = json.loads(zlib.decompress(self.sealer.unseal(sealed, _context("result", provider, item))))
        return FetchResult(tuple(RawRecord(**record) for record in document["records"]), document["cursor"])


def delivery_key(name: str) -> str:
    """Return a delivery's name at the length that every database can index: a webhook's token may be longer."""
    return hashlib.sha256(name.encode()).hexdigest()


def _bytes(token: bytes | str) -> bytes:
    return token.encode() if isinstance(token, str) else bytes(token)


def _context(kind: str, provider: str, item: str) -> str:
    return f"The {kind} of {provider}|{item}"
