"""The grid: settings and their values, their cells, and the order in which cells run."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

T = TypeVar("T")

SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}

Settings = tuple[tuple[str, str], ...]
"""Names and values, in the order of the names."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One setting, and the values that it is given, smallest first where they are numbers."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One client with one value of every setting."""

    client: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Trial:
    """One of the repeats of a cell."""

    cell: SweepCell
    repeat: int


def parse_axis(text: str) -> Axis:
    """Read `default.api.timeout.ms=5s,15s`. A length of time becomes the number that a setting in ms takes."""
    name, sign, value_list = text.partition("=")
    values = [value.strip() for value in value_list.split(",") if value.strip()]
    if not sign or not name.strip() or not values:
        raise UsageError(f"{text} is no setting with values. Write it as --set default.api.timeout.ms=5s,15s,60s")
    milliseconds = dict.fromkeys(_value(name.strip(), value) for value in values)
    return Axis(name.strip(), tuple(sorted(milliseconds, key=sort_key)))


def _value(name: str, text: str) -> str:
    match = SPAN.fullmatch(text)
    if not match or not name.endswith(".ms"):
        return text
    return f"{float(match[1]) * MILLISECONDS[match[2]]:.0f}"


def sort_key(value: str) -> tuple[bool, float]:
    """Return the key to sort values by: numbers by size, before words, which keep their order."""
    try:
        return False, float(value)
    except ValueError:
        return True, 0.0


def cells(clients: Sequence[str], axes: Sequence[Axis]) -> tuple[SweepCell, ...]:
    """Return every combination."""
    repeated = [each.name for number, each in enumerate(axes) if each.name in {other.name for other in axes[:number]}]
    if repeated:
        raise UsageError(f"{repeated[0]} is given twice. Name all its values in one --set.")
    settings = tuple(product(*([(each.name, value) for value in each.values] for each in axes)))
    return tuple(SweepCell(client, tuple(sorted(each))) for client in clients for each in settings)


def trials(cells: Iterable[SweepCell], repeats: int) -> tuple[Trial, ...]:
    """Return every repeat of every cell."""
    return tuple(Trial(cell, repeat) for cell in cells for repeat in range(1, repeats + 1))


def batches(trials: Iterable[Trial], *, done: Collection[Trial], together: int, seed: int) -> list[tuple[Trial, ...]]:
    """Return the remaining trials in random order: so a machine that slows down slows no value in particular.

    A batch is one run: cells of one client, none of them twice.
    """
    randomness = random.Random(seed)  # noqa: S311 - an order, no secret
    remaining: dict[tuple[str, int], list[Trial]] = {}
    for each in trials:
        if each not in done:
            remaining.setdefault((each.cell.client, each.repeat), []).append(each)
    parts = [tuple(part) for some in remaining.values() for part in _parts(_shuffle(some, randomness), together)]
    return _shuffle(parts, randomness)


def _shuffle(items: Sequence[T], randomness: random.Random) -> list[T]:
    return randomness.sample(items, len(items))


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Cut into parts of nearly the same size, none larger than `size`."""
    count = -(-len(items) // size)
    return (items[number::count] for number in range(count))


def format_settings(settings: Mapping[str, str]) -> str:
    """Write settings as one line: `retries=0, session.timeout.ms=10000`."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())
