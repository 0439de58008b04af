"""A sweep as sentences, a table, and a page with a heat map."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from leadsman.lab.sweep.conclusion import MILLISECONDS
from leadsman.lab.sweep.grid import SPAN
from leadsman.model import Cell as Square
from leadsman.report.grid import Grid
from leadsman.words import count, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.lab.sweep.conclusion import Conclusion, Effect, Result
    from leadsman.lab.sweep.grid import Axis
    from leadsman.lab.sweep.journal import About

COLUMNS = ("survived", "healed after", "lost", "duplicated", "died")


def written(setting: str, value: str) -> str:
    """Write a value as people say it: milliseconds as a length of time."""
    if setting.endswith(".ms") and value.isdigit() and not SPAN.fullmatch(value):
        return duration(int(value) / MILLISECONDS)
    return value


def sentences(found: Conclusion) -> list[str]:
    """Say what was found, the settling time first: it explains the rest."""
    same = {*found.always, *found.never}
    effects = [_effect(each, found) for each in found.effects if each.who not in same]
    return [*_settling(found), *_of_all(found), *effects]


def _settling(found: Conclusion) -> Iterator[str]:
    settling = found.settling
    if settling is not None:
        shortest, longest = duration(settling.shortest), duration(settling.longest)
        yield f"Settling took {shortest if shortest == longest else f'{shortest} to {longest}'}."


def _of_all(found: Conclusion) -> Iterator[str]:
    for who in found.always:
        yield f"{who} survives whatever is set."
    for who in found.never:
        yield f"{who} survives with nothing of this."
    unsteady = sum(each.unsteady for each in found.results)
    if unsteady:
        yield f"{count(unsteady, 'cell cells')} came out differently from repeat to repeat: give more --repeats."


def _effect(effect: Effect, found: Conclusion) -> str:
    name = f"{effect.who}: {effect.setting}"
    if not effect.decides:
        return f"{name} changes nothing."
    if effect.smallest is not None:
        said = f"{name} decides. The smallest value that survives is {written(effect.setting, effect.smallest)}"
        return f"{said}{_explained(effect, found)}."
    if effect.largest is not None:
        return f"{name} decides. The largest value that survives is {written(effect.setting, effect.largest)}."
    return f"{name} makes a difference, but no value of it alone decides."


def _explained(effect: Effect, found: Conclusion) -> str:
    settling, perishes = found.settling, effect.perishes
    if settling is None or perishes is None or not settling.explains(effect):
        return ""
    longest = duration(settling.longest)
    return f": more than the {longest} that settling took, and {written(effect.setting, perishes)} is less"


def rows(found: Conclusion, axes: Sequence[Axis]) -> list[dict[str, str]]:
    """Return the table: a row a cell."""
    return [_row(each, axes) for each in found.results]


def _row(result: Result, axes: Sequence[Axis]) -> dict[str, str]:
    settings = dict(result.cell.settings)
    return {
        "who": result.who,
        **{each.name: written(each.name, settings[each.name]) for each in axes},
        "survived": f"{result.survived} of {result.repeats}",
        "healed after": duration(result.waited) if result.safe else "never",
        "lost": count(result.lost),
        "duplicated": count(result.duplicated),
        "died": count(result.died),
    }


def as_csv(found: Conclusion, axes: Sequence[Axis]) -> str:
    """Write the table for a spreadsheet: plain numbers, seconds and milliseconds."""
    out = io.StringIO()
    names = [each.name for each in axes]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["client", "program", *names, "repeats", "survived", "waited_seconds", "lost", "duplicated", "died"]
    )
    for each in found.results:
        settings = dict(each.cell.settings)
        figures = (each.repeats, each.survived, each.waited, each.lost, each.duplicated, each.died)
        writer.writerow([each.cell.client, each.program, *(settings[name] for name in names), *figures])
    return out.getvalue()


def as_json(found: Conclusion, about: About) -> dict[str, Any]:
    """Return everything for a program."""
    return {
        "about": asdict(about),
        "says": sentences(found),
        "settling": None if found.settling is None else asdict(found.settling),
        "effects": [asdict(each) for each in found.effects],
        "results": [
            {**asdict(each), "cell": {"client": each.cell.client, "settings": dict(each.cell.settings)}}
            for each in found.results
        ],
    }


def as_markdown(found: Conclusion, axes: Sequence[Axis]) -> str:
    """Write what was found and the heat map as a table, for a document."""
    drawn = heat(found, axes)
    cells = (("" if each is None else _told(each) for each in row) for row in drawn.cells)
    table = [[name, *row] for name, row in zip(drawn.rows, cells, strict=True)]
    lines = [["", *drawn.columns], ["---"] * (len(drawn.columns) + 1), *table]
    said = "".join(f"- {sentence}\n" for sentence in sentences(found))
    return said + "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _told(square: Square) -> str:
    return f"**{square.outcome}**" if square.trouble else square.outcome


def heat(found: Conclusion, axes: Sequence[Axis]) -> Grid:
    """Arrange the cells as a map: the setting that decides across, who it is and other deciding ones down.

    Cells that differ only in settings that change nothing are put together: the table below holds each.
    """
    across, *others = _deciding(found, axes)
    squares: dict[tuple[str, str], list[Result]] = {}
    for each in found.results:
        squares.setdefault((_down(each, others), dict(each.cell.settings)[across.name]), []).append(each)
    down = tuple(sorted(dict.fromkeys(row for row, _ in squares)))
    cells = tuple(tuple(_square(squares.get((row, value), []), row, value) for value in across.values) for row in down)
    heads = tuple(f"{across.name} {written(across.name, value)}" for value in across.values)
    return Grid(down, heads, cells, "")


def _deciding(found: Conclusion, axes: Sequence[Axis]) -> list[Axis]:
    """Return the settings that decide for anybody; the first one where none does, for there must be columns."""
    deciding = {each.setting for each in found.effects if each.decides}
    return [each for each in axes if each.name in deciding] or [axes[0]]


def _down(result: Result, others: Sequence[Axis]) -> str:
    settings = dict(result.cell.settings)
    return ", ".join((result.who, *(f"{each.name} {written(each.name, settings[each.name])}" for each in others)))


def _square(some: Sequence[Result], row: str, column: str) -> Square | None:
    if not some:
        return None
    played, survived = sum(each.repeats for each in some), sum(each.survived for each in some)
    waits = [duration(round(each.waited)) for each in sorted(some, key=lambda each: each.waited)]
    healed = f"healed {waits[0]}" if waits[0] == waits[-1] else f"healed {waits[0]} to {waits[-1]}"
    outcome = healed if survived == played else f"{played - survived} of {played} dead"
    return Square(row=row, column=column, outcome=outcome, trouble=survived < played)
