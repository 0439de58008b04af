"""The CSV maps of categories, codes and words as SQL expressions: no join, and each pattern is compiled once."""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from account_linking.providers import every_provider
from account_linking.tables.translate import CLASSES

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

CSV_FOLDER = resources.files("account_linking.classes")


class UnknownClass(ValueError):
    """A CSV map names an unknown class."""


@cache
def version() -> str:
    """Return a version that changes whenever any CSV map changes."""
    texts = [(CSV_FOLDER / name).read_bytes() for name in ("mcc.csv", "words.csv")]
    texts += [provider.translation.maps.read_bytes() for provider in every_provider().values()]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:12]


def by_category() -> str:
    """Return SQL of the class by the provider's category: by its detailed name, else by its primary name."""
    pairs = [
        f"'{provider.name}|{row['primary']}|{row['detailed']}', '{row['class']}'"
        for provider in every_provider().values()
        for row in _rows(provider.translation.maps)
    ]
    table = f"map({', '.join(pairs)})"
    looked_up = [
        f"try_element_at({table}, concat_ws('|', provider, category_primary, {detailed}))"
        for detailed in ("category_detailed", "'*'")
    ]
    return f"coalesce({', '.join(looked_up)})"


def by_mcc() -> str:
    """Return SQL of the class by the merchant category code."""
    rows = csv.DictReader((CSV_FOLDER / "mcc.csv").read_text(encoding="utf-8").splitlines())
    whens = [f"when try_cast(mcc as int) between {row['low']} and {row['high']} then '{_class(row)}'" for row in rows]
    return f"case {' '.join(whens)} end"


def by_words() -> str:
    """Return SQL of the class by words of the description."""
    rows = csv.DictReader((CSV_FOLDER / "words.csv").read_text(encoding="utf-8").splitlines())
    whens = [
        f"when ('{row['direction']}' in ('*', direction)) and description_clean rlike r'{row['pattern']}' "
        f"then '{_class(row)}'"
        for row in rows
    ]
    return f"case {' '.join(whens)} end"


def _rows(path: Traversable) -> list[dict[str, str]]:
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    for row in rows:
        _class(row)
    return [{name: value.replace("'", "''") for name, value in row.items()} for row in rows]


def _class(row: dict[str, str]) -> str:
    if row["class"] not in CLASSES:
        raise UnknownClass(f"{row} has an unknown class. Known classes: {', '.join(CLASSES)}.")
    return row["class"]
