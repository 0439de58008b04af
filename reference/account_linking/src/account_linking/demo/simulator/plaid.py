"""Plays Plaid: sync by cursor, webhooks signed with ES256, amounts positive when money leaves."""

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

from account_linking.demo.kinds import every_kind
from account_linking.demo.ledger import settled

if TYPE_CHECKING:
    from account_linking.demo.ledger import Account, Change, Movement
    from account_linking.demo.simulator.world import World

SUBTYPES = {
    "checking": ("depository", "checking"),
    "savings": ("depository", "savings"),
    "credit": ("credit", "credit card"),
    "loan": ("loan", "auto"),
    "investment": ("investment", "brokerage"),
}


class PlaidError(Exception):
    """An error as Plaid tells it."""

    def __init__(self, code: str, status: int = 400) -> None:
        super().__init__(code)
        self.code = code
        self.status = status


@dataclass(slots=True)
class Signer:
    """Signs webhooks as Plaid does; keys by id, some of them expired."""

    key_id: str = "key-1"
    keys: dict[str, ec.EllipticCurvePrivateKey] = field(default_factory=dict)
    expired: set[str] = field(default_factory=set)

    def key(self, key_id: str) -> ec.EllipticCurvePrivateKey:
        """Return a private key, making it at first use."""
        return self.keys.setdefault(key_id, ec.generate_private_key(ec.SECP256R1()))

    def public(self, key_id: str) -> dict[str, Any]:
        """Answer /webhook_verification_key/get."""
        if key_id not in self.keys:
            raise PlaidError("INVALID_WEBHOOK_VERIFICATION_KEY_ID")
        told = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.keys[key_id].public_key()))
        times = {"created_at": 1, "expired_at": 2 if key_id in self.expired else None}
        return {**told, "alg": "ES256", "kid": key_id, "use": "sig", **times}

    def sign(self, body: bytes, *, issued: float | None = None, key_id: str | None = None) -> str:
        """Return the token that goes with a body."""
        name = key_id or self.key_id
        claims = {"iat": time.time() if issued is None else issued}
        claims_all: dict[str, Any] = {**claims, "request_body_sha256": hashlib.sha256(body).hexdigest()}
        return jwt.encode(claims_all, self.key(name), algorithm="ES256", headers={"kid": name})


def webhook(item: str) -> bytes:
    """Return the body that says that there is something to sync."""
    told = {
        "webhook_type": "TRANSACTIONS",
        "webhook_code": "SYNC_UPDATES_AVAILABLE",
        "item_id": item,
        "initial_update_complete": True,
        "historical_update_complete": True,
        "environment": "sandbox",
    }
    return json.dumps(told).encode()


def sync(world: World, asked: dict[str, Any]) -> dict[str, Any]:
    """Answer /transactions/sync: the difference between the cursor's state and that of now, page by page.

    A cursor is the number of changes that its holder knows, and while pages are read also where they end and where the
    next one begins. Changes that happen between two pages are an error, as with Plaid.
    """
    item = _item(world, asked["access_token"])
    told = world.told(item)
    known, end, offset = _cursor(asked.get("cursor") or "", len(told))
    if end != len(told):
        world.count("mutations")
        raise PlaidError("TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION")
    rows = _difference(told[:known], told)
    page = rows[offset : offset + min(int(asked.get("count", 100)), world.weather.page_rows)]
    more = offset + len(page) < len(rows)
    following = f"{known}:{end}:{offset + len(page)}" if more else f"{end}"
    accounts = [_account(account) for account in world.ledger.items[item].accounts]
    return {
        **{name: [row for told_as, row in page if told_as == name] for name in ("added", "modified", "removed")},
        "accounts": accounts,
        "next_cursor": base64.b64encode(following.encode()).decode(),
        "has_more": more,
        "transactions_update_status": "HISTORICAL_UPDATE_COMPLETE",
        "request_id": f"r{world.count('pages')}",
    }


def _item(world: World, token: str) -> str:
    item = token.removeprefix("access-")
    if item not in world.ledger.items:
        raise PlaidError("INVALID_ACCESS_TOKEN")
    if item in world.login_required:
        raise PlaidError("ITEM_LOGIN_REQUIRED")
    return item


def _cursor(cursor: str, newest: int) -> tuple[int, int, int]:
    parts = [int(part) for part in base64.b64decode(cursor).decode().split(":")] if cursor else [0]
    known, end, offset = (*parts, newest, 0)[:3] if len(parts) == 1 else parts
    return known, end, offset


def _difference(before: list[Change], after: list[Change]) -> list[tuple[str, dict[str, Any]]]:
    old, new = settled(before), settled(after)
    rows = []
    for key, movement in new.items():
        if key not in old:
            rows.append(("added", transaction(movement)))
        elif movement != old[key]:
            rows.append(("modified", transaction(movement)))
    gone = [movement for key, movement in old.items() if key not in new]
    return rows + [("removed", {"transaction_id": each.id, "account_id": each.account}) for each in gone]


def transaction(movement: Movement) -> dict[str, Any]:
    """Return a movement in Plaid's schema."""
    kind = every_kind()[movement.kind]
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
