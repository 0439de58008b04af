"""The sorts of movement that made-up banks know, and how each provider would categorise them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One sort. `expects` is the class that it is to end in; amounts are between `low` and `high`, in whole units."""

    name: str
    expects: str
    sign: int
    low: float
    high: float
    mcc: str
    plaid: tuple[str, str]
    yodlee: tuple[str, str, str]
    merchants: tuple[str, ...]


@cache
def every_kind() -> dict[str, Kind]:
    """Return all sorts by name."""
    with (Path(__file__).parent / "kinds.csv").open(encoding="utf-8", newline="") as file:
        return {row["kind"]: _kind(row) for row in csv.DictReader(file)}


def _kind(row: dict[str, str]) -> Kind:
    return Kind(
        name=row["kind"],
        expects=row["class"],
        sign=-1 if row["sign"] == "-" else 1,
        low=float(row["low"]),
        high=float(row["high"]),
        mcc=row["mcc"],
        plaid=(row["plaid_primary"], row["plaid_detailed"]),
        yodlee=(row["yodlee_type"], row["yodlee_category"], row["yodlee_subtype"]),
        merchants=tuple(row["merchants"].split("|")),
    )
