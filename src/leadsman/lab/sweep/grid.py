"""The grid: settings and their values, the cells that they make, and in which order these are played."""

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
class Cell:
    """One client with one value of every setting."""

    client: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Try:
    """One of the repeats of a cell."""

    cell: Cell
    repeat: int


def axis(text: str) -> Axis:
    """Read `default.api.timeout.ms=5s,15s`. A length of time becomes the number that a setting in ms takes."""
    name, sign, values = text.partition("=")
    given = [value.strip() for value in values.split(",") if value.strip()]
    if not sign or not name.strip() or not given:
        raise UsageError(f"{text} is no setting with values. Write it as --set default.api.timeout.ms=5s,15s,60s")
    read = dict.fromkeys(_value(name.strip(), value) for value in given)
    return Axis(name.strip(), tuple(sorted(read, key=size)))


def _value(name: str, text: str) -> str:
    found = SPAN.fullmatch(text)
    if not found or not name.endswith(".ms"):
        return text
    return f"{float(found[1]) * MILLISECONDS[found[2]]:.0f}"


def size(value: str) -> tuple[bool, float]:
    """Order values: numbers by what they are, before words, which keep their order."""
    try:
        return False, float(value)
    except ValueError:
        return True, 0.0


def cells(clients: Sequence[str], axes: Sequence[Axis]) -> tuple[Cell, ...]:
    """Return every combination."""
    twice = [each.name for number, each in enumerate(axes) if each.name in {other.name for other in axes[:number]}]
    if twice:
        raise UsageError(f"{twice[0]} is given twice. Name all its values in one --set.")
    settings = tuple(product(*([(each.name, value) for value in each.values] for each in axes)))
    return tuple(Cell(client, tuple(sorted(each))) for client in clients for each in settings)


def tries(wanted: Iterable[Cell], repeats: int) -> tuple[Try, ...]:
    """Return every repeat of every cell."""
    return tuple(Try(cell, repeat) for cell in wanted for repeat in range(1, repeats + 1))


def batches(wanted: Iterable[Try], *, done: Collection[Try], together: int, seed: int) -> list[tuple[Try, ...]]:
    """Return what is left to be played, in random order: so a machine that slows down slows no value in particular.

    A batch is played in one run: cells of one client, none of them twice.
    """
    dice = random.Random(seed)  # noqa: S311 - an order, no secret
    left: dict[tuple[str, int], list[Try]] = {}
    for each in wanted:
        if each not in done:
            left.setdefault((each.cell.client, each.repeat), []).append(each)
    played = [tuple(batch) for some in left.values() for batch in _parts(_shuffled(some, dice), together)]
    return _shuffled(played, dice)


def _shuffled(items: Sequence[T], dice: random.Random) -> list[T]:
    return dice.sample(items, len(items))


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Cut into parts of nearly the same size, none larger than `size`."""
    count = -(-len(items) // size)
    return (items[number::count] for number in range(count))


def shown(settings: Mapping[str, str]) -> str:
    """Write settings as one line: `retries=0, session.timeout.ms=10000`."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())
