"""The kinds of movement of the simulated banks, and each provider's category for them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class MovementKind:
    """One kind. `expected_class` is its class in the tables; amounts are from `low` to `high` units of the currency."""

    name: str
    expected_class: str
    sign: int
    low: float
    high: float
    mcc: str
    plaid: tuple[str, str]
    yodlee: tuple[str, str, str]
    merchants: tuple[str, ...]


@cache
def all_kinds() -> dict[str, MovementKind]:
    """Return all kinds by name."""
    with (Path(__file__).parent / "kinds.csv").open(encoding="utf-8", newline="") as file:
        return {row["kind"]: _kind(row) for row in csv.DictReader(file)}


def _kind(row: dict[str, str]) -> MovementKind:
    return MovementKind(
        name=row["kind"],
        expected_class=row["class"],
        sign=-1 if row["sign"] == "-" else 1,
        low=float(row["low"]),
        high=float(row["high"]),
        mcc=row["mcc"],
        plaid=(row["plaid_primary"], row["plaid_detailed"]),
        yodlee=(row["yodlee_type"], row["yodlee_category"], row["yodlee_subtype"]),
        merchants=tuple(row["merchants"].split("|")),
    )
