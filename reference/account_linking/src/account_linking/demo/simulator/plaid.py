"""Simulates Plaid: sync by cursor, webhooks signed with ES256, amounts positive when money leaves."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from account_linking.demo.kinds import all_kinds
from account_linking.demo.ledger import movements_after

if TYPE_CHECKING:
    from account_linking.demo.ledger import Account, Movement, MovementChange
    from account_linking.demo.simulator.banks import SimulatedBanks

SUBTYPES = {
    "checking": ("depository", "checking"),
    "savings": ("depository", "savings"),
    "credit": ("credit", "credit card"),
    "loan": ("loan", "auto"),
    "investment": ("investment", "brokerage"),
}


class PlaidError(Exception):
    """An error response of Plaid."""

    def __init__(self, code: str, status: int = 400) -> None:
        super().__init__(code)
        self.code = code
        self.status = status


@dataclass(slots=True)
class Signer:
    """Signs webhooks as Plaid does. `expired` are ids of keys that have expired."""

    key_id: str = "key-1"
    keys: dict[str, ec.EllipticCurvePrivateKey] = field(default_factory=dict)
    expired: set[str] = field(default_factory=set)

    def key(self, key_id: str) -> ec.EllipticCurvePrivateKey:
        """Return a private key; created at first use."""
        return self.keys.setdefault(key_id, ec.generate_private_key(ec.SECP256R1()))

    def public(self, key_id: str) -> dict[str, Any]:
        """Answer /webhook_verification_key/get."""
        if key_id not in self.keys:
            raise PlaidError("INVALID_WEBHOOK_VERIFICATION_KEY_ID")
        jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.keys[key_id].public_key()))
        times = {"created_at": 1, "expired_at": 2 if key_id in self.expired else None}
        return {**jwk, "alg": "ES256", "kid": key_id, "use": "sig", **times}

    def sign(self, body: bytes, *, issued: float | None = None, key_id: str | None = None) -> str:
        """Return the signature token of a body."""
        name = key_id or self.key_id
        claims = {"iat": time.time() if issued is None else issued}
        claims_all: dict[str, Any] = {**claims, "request_body_sha256": hashlib.sha256(body).hexdigest()}
        return jwt.encode(claims_all, self.key(name), algorithm="ES256", headers={"kid": name})


def webhook(item: str) -> bytes:
    """Return the body of a webhook: an item has changes to sync."""
    fields = {
        "webhook_type": "TRANSACTIONS",
        "webhook_code": "SYNC_UPDATES_AVAILABLE",
        "item_id": item,
        "initial_update_complete": True,
        "historical_update_complete": True,
        "environment": "sandbox",
    }
    return json.dumps(fields).encode()


def sync(banks: SimulatedBanks, request: dict[str, Any]) -> dict[str, Any]:
    """Answer /transactions/sync: the difference between the cursor's state and the current state, page by page.

    A cursor is the number of changes that the client has; between two pages also the number at the first page, and the
    offset of the next page. A change between two pages is an error, as with Plaid.
    """
    item = _item(banks, request["access_token"])
    changes = banks.changes_until_now(item)
    known, end, offset = _cursor(request.get("cursor") or "", len(changes))
    if end != len(changes):
        banks.count("mutations")
        raise PlaidError("TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION")
    rows = _difference(changes[:known], changes)
    page = rows[offset : offset + min(int(request.get("count", 100)), banks.faults.page_rows)]
    more = offset + len(page) < len(rows)
    next_cursor = f"{known}:{end}:{offset + len(page)}" if more else f"{end}"
    accounts = [_account(account) for account in banks.ledger.items[item].accounts]
    return {
        **{name: [row for kind, row in page if kind == name] for name in ("added", "modified", "removed")},
        "accounts": accounts,
        "next_cursor": base64.b64encode(next_cursor.encode()).decode(),
        "has_more": more,
        "transactions_update_status": "HISTORICAL_UPDATE_COMPLETE",
        "request_id": f"r{banks.count('pages')}",
    }


def _item(banks: SimulatedBanks, token: str) -> str:
    item = token.removeprefix("access-")
    if item not in banks.ledger.items:
        raise PlaidError("INVALID_ACCESS_TOKEN")
    if item in banks.login_required:
        raise PlaidError("ITEM_LOGIN_REQUIRED")
    return item


def _cursor(cursor: str, newest: int) -> tuple[int, int, int]:
    parts = [int(part) for part in base64.b64decode(cursor).decode().split(":")] if cursor else [0]
    known, end, offset = (*parts, newest, 0)[:3] if len(parts) == 1 else parts
    return known, end, offset


def _difference(before: list[MovementChange], after: list[MovementChange]) -> list[tuple[str, dict[str, Any]]]:
    old, new = movements_after(before), movements_after(after)
    rows = []
    for key, movement in new.items():
        if key not in old:
            rows.append(("added", transaction(movement)))
        elif movement != old[key]:
            rows.append(("modified", transaction(movement)))
    removed = [movement for key, movement in old.items() if key not in new]
    return rows + [("removed", {"transaction_id": each.id, "account_id": each.account}) for each in removed]


def transaction(movement: Movement) -> dict[str, Any]:
    """Return a movement in Plaid's schema."""
    kind = all_kinds()[movement.kind]
    return {
        "transaction_id": movement.id,
        "account_id": movement.account,
        "amount": Decimal(-movement.amount),
        "iso_currency_code": movement.currency,
        "unofficial_currency_code": movement.unofficial,
        "date": movement.day.isoformat(),
        "authorized_date": None,
        "datetime": None,
        "authorized_datetime": None,
        "name": movement.text,
        "merchant_name": movement.text,
        "merchant_entity_id": None,
        "original_description": f"{movement.text} {movement.id}",
        "pending": movement.pending,
        "pending_transaction_id": movement.pending_of,
        "payment_channel": "other",
        "payment_meta": {"reason": None},
        "location": {"city": None},
        "check_number": None,
        "transaction_code": None,
        "counterparties": [],
        "personal_finance_category": {
            "primary": kind.plaid[0],
            "detailed": kind.plaid[1],
            "confidence_level": "HIGH",
            "version": "v2",
        },
    }


def _account(account: Account) -> dict[str, Any]:
    kind, subtype = SUBTYPES[account.kind]
    return {"account_id": account.id, "type": kind, "subtype": subtype, "name": account.kind.title()}
