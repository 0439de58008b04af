"""Minor units of each currency: how many decimal places an amount may have.

`iso4217.csv`: ISO 4217 list one (current currencies and funds) of 2026-01-01, published by its maintenance agency, SIX
(list-one.xml, six-group.com/en/products-services/financial-information/market-reference-data/data-standards.html), and
of list three (historic denominations) what was withdrawn since 2011, with the minor units of OpenJDK 17. Codes without
minor units are left out: metals, units of account, XTS, XXX.

`crypto.csv`: unofficial codes, each with its source: the smallest unit that the currency's own protocol has.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def official() -> Mapping[str, int]:
    """Return the minor units by ISO 4217 code."""
    return _read("iso4217.csv")


@cache
def unofficial() -> Mapping[str, int]:
    """Return the minor units by unofficial code."""
    return _read("crypto.csv")


def _read(name: str) -> Mapping[str, int]:
    text = (resources.files(__name__) / name).read_text(encoding="utf-8")
    return {row["code"]: int(row["minor_units"]) for row in csv.DictReader(text.splitlines())}
