"""The classes and months that the tables must have: a second statement of the README's rules, in plain Python."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Row = dict[str, Any]

MAPS = Path(__file__).parents[1]
"""The folder of the application: the CSV maps are the rules' data, for the tables and for this comparison."""

MAX_DAYS_BETWEEN_LEGS = 4
MOVING = {"transfer_internal", "transfer_external", "savings", "investment", "debt_payment", "uncategorized"}
"""Classes by category whose transactions may be a leg of a transfer."""


@dataclass(frozen=True, slots=True)
class UserClasses:
    """The users' own classes: rows of the tables `rules` and `overrides`."""

    rules: Sequence[Row] = ()
    overrides: Sequence[Row] = ()


def classified(rows: Sequence[Row], kinds: Mapping[tuple[str, str], str], own: UserClasses) -> list[Row]:
    """Return the rows with class, class_source, class_confidence and transfer_of; `kinds` are the accounts' kinds."""
    transfers = _transfers(rows, kinds)
    return [{**row, **_class(row, kinds, own, transfers)} for row in rows]


def identity(row: Row) -> str:
    """Return the key of a transaction as one text."""
    return f"{row['provider']}|{row['provider_account_id']}|{row['provider_transaction_id']}"


def _class(
    row: Row, kinds: Mapping[tuple[str, str], str], own: UserClasses, transfers: Mapping[str, tuple[str, str]]
) -> Row:
    by_transfer, other = transfers.get(identity(row), (None, None))
    candidates = {
        "user_rule": _by_rule(row, own.rules),
        "override": _by_override(row, own.overrides),
        "account": _by_account(row, kinds),
        "transfer": by_transfer,
        "provider": by_category(row),
        "mcc": _by_code(row),
        "words": _by_words(row),
    }
    source, name = next(((each, name) for each, name in candidates.items() if name), ("none", "uncategorized"))
    return {
        "class": "refund" if name == "spending" and row["amount"] > 0 else name,
        "class_source": source,
        "class_confidence": row["category_confidence"] if source == "provider" else None,
        "transfer_of": other,
    }


def _by_rule(row: Row, rules: Iterable[Row]) -> str | None:
    text = " ".join(each for each in (row["description_clean"], row["description_raw"]) if each is not None).lower()
    matching = [each for each in rules if each["user_ref"] == row["user_ref"] and each["contains"].lower() in text]
    matching.sort(key=lambda each: (-len(each["contains"]), each["contains"], each["class"]))
    return str(matching[0]["class"]) if matching else None


def _by_override(row: Row, overrides: Iterable[Row]) -> str | None:
    for each in overrides:
        if (each["user_ref"], each["logical_transaction_id"]) == (row["user_ref"], row["logical_transaction_id"]):
            return str(each["class"])
    return None


def _by_account(row: Row, kinds: Mapping[tuple[str, str], str]) -> str | None:
    kind = kinds.get((row["provider"], row["provider_account_id"]))
    if kind == "investment":
        return "investment"
    return "debt_payment" if kind == "loan" and row["amount"] > 0 else None


def by_category(row: Row) -> str | None:
    """Return the class of the provider's category: of the detailed one, else of the primary one."""
    classes = _categories(row["provider"])
    primary = row["category_primary"]
    return classes.get((primary, row["category_detailed"])) or classes.get((primary, "*"))


def _by_code(row: Row) -> str | None:
    if row["mcc"] is None:
        return None
    ranges = _csv(MAPS / "classes" / "mcc.csv")
    return next((each["class"] for each in ranges if int(each["low"]) <= int(row["mcc"]) <= int(each["high"])), None)


def _by_words(row: Row) -> str | None:
    for each in _csv(MAPS / "classes" / "words.csv"):
        if each["direction"] in ("*", row["direction"]) and re.search(each["pattern"], row["description_clean"] or ""):
            return each["class"]
    return None


@cache
def _categories(provider: str) -> dict[tuple[str, str], str]:
    rows = _csv(MAPS / "providers" / provider / "classes.csv")
    return {(each["primary"], each["detailed"]): each["class"] for each in rows}


@cache
def _csv(path: Path) -> tuple[dict[str, str], ...]:
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def _transfers(rows: Sequence[Row], kinds: Mapping[tuple[str, str], str]) -> dict[str, tuple[str, str]]:
    """Return the class and the other leg of each leg of a transfer between a user's own accounts."""
    found: dict[str, tuple[str, str]] = {}
    for out, into in _matched(_possible_pairs(rows)):
        kind = kinds.get((into["provider"], into["provider_account_id"]))
        name = {"savings": "savings", "investment": "investment", "loan": "debt_payment"}.get(
            kind or "", "transfer_internal"
        )
        found[identity(out)] = (name, identity(into))
        found[identity(into)] = (name, identity(out))
    return found


def _possible_pairs(rows: Sequence[Row]) -> list[tuple[int, Row, Row]]:
    """Return days apart, outgoing and incoming leg of every pair that may be a transfer."""
    legs = [row for row in rows if row["amount"] and (by_category(row) or "uncategorized") in MOVING]
    incoming: dict[tuple[Any, ...], list[Row]] = {}
    for leg in legs:
        incoming.setdefault((leg["user_ref"], _money(leg), leg["amount"]), []).append(leg)
    return [
        (days, out, into)
        for out in legs
        if out["amount"] < 0
        for into in incoming.get((out["user_ref"], _money(out), -out["amount"]), ())
        if (days := abs((_day(into) - _day(out)).days)) <= MAX_DAYS_BETWEEN_LEGS and _account(out) != _account(into)
    ]


def _matched(pairs: Sequence[tuple[int, Row, Row]]) -> Iterator[tuple[Row, Row]]:
    """Yield the pairs that are each other's best match: nearest in days, then first by id. In two rounds."""
    for _ in range(2):
        best_out, best_in = _best(pairs, 1), _best(pairs, 2)
        mutual = [each for each in pairs if best_out[identity(each[1])] is each and best_in[identity(each[2])] is each]
        yield from ((out, into) for _, out, into in mutual)
        taken = {identity(leg) for _, *legs in mutual for leg in legs}
        pairs = [each for each in pairs if not taken & {identity(each[1]), identity(each[2])}]


def _best(pairs: Sequence[tuple[int, Row, Row]], side: int) -> dict[str, tuple[int, Row, Row]]:
    """Return the best pair of each leg on one side (1 outgoing, 2 incoming)."""
    best: dict[str, tuple[int, Row, Row]] = {}
    for each in sorted(pairs, key=lambda pair: (pair[0], identity(pair[3 - side]))):  # type: ignore[arg-type]  # a row
        best.setdefault(identity(each[side]), each)  # type: ignore[arg-type]  # side is 1 or 2: a row
    return best


def _money(row: Row) -> Any:  # noqa: ANN401 - a text or None
    return row["currency"] or row["unofficial_currency"]


def _day(row: Row) -> Any:  # noqa: ANN401 - a date
    return row["posted_date"] or row["transaction_date"]


def _account(row: Row) -> tuple[str, str]:
    return row["provider"], row["provider_account_id"]


def months(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of `monthly` for classified rows: posted transactions by user, month, currency and class."""
    sums: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        if row["status"] == "POSTED":
            key = {
                "user_ref": row["user_ref"],
                "month": _day(row).replace(day=1),
                "currency": _money(row),
                "class": row["class"],
            }
            zero = Decimal(0)
            start = {**key, "transactions": 0, "amount": zero, "money_in": zero, "money_out": zero}
            _add(sums.setdefault(tuple(key.values()), start), row["amount"])
    return list(sums.values())


def _add(month: Row, amount: Decimal) -> None:
    month["transactions"] += 1
    month["amount"] += amount
    month["money_in"] += max(amount, Decimal(0))
    month["money_out"] += min(amount, Decimal(0))
