"""The results of a sweep as sentences and tables."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from leadsman.model import Cell
from leadsman.report.charts.matrix import MatrixGrid
from leadsman.sweep.conclusion import MILLISECONDS
from leadsman.sweep.grid import SPAN
from leadsman.words import count, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.sweep.conclusion import CellResult, Conclusion, SettingEffect
    from leadsman.sweep.grid import Axis
    from leadsman.sweep.journal import SweepTarget

COLUMNS = ("survived", "recovered after", "lost", "duplicated", "died")


def value_text(setting: str, value: str) -> str:
    """Return a value for people: milliseconds as a duration."""
    if setting.endswith(".ms") and value.isdigit() and not SPAN.fullmatch(value):
        return duration(int(value) / MILLISECONDS)
    return value


def sentences(conclusion: Conclusion) -> list[str]:
    """Return the results as sentences, the recovery time first: it explains the others."""
    same = {*conclusion.always, *conclusion.never}
    effects = [_effect_sentence(each, conclusion) for each in conclusion.effects if each.who not in same]
    return [*_recovery_sentence(conclusion), *_constant_clients(conclusion), *effects]


def _recovery_sentence(conclusion: Conclusion) -> Iterator[str]:
    recovery = conclusion.recovery_time
    if recovery is not None:
        shortest, longest = duration(recovery.shortest), duration(recovery.longest)
        yield f"Recovery took {shortest if shortest == longest else f'{shortest} to {longest}'}."


def _constant_clients(conclusion: Conclusion) -> Iterator[str]:
    for who in conclusion.always:
        yield f"{who} survives with every setting."
    for who in conclusion.never:
        yield f"{who} survives with no setting of this grid."
    unsteady = sum(each.unsteady for each in conclusion.results)
    if unsteady:
        yield f"{count(unsteady, 'cell cells')} had different results in different repeats: increase --repeats."


def _effect_sentence(effect: SettingEffect, conclusion: Conclusion) -> str:
    name = f"{effect.who}: {effect.setting}"
    if not effect.decides:
        return f"{name} has no effect."
    if effect.smallest is not None:
        sentence = f"{name} decides. The smallest value that survives is {value_text(effect.setting, effect.smallest)}"
        return f"{sentence}{_recovery_comparison(effect, conclusion)}."
    if effect.largest is not None:
        return f"{name} decides. The largest value that survives is {value_text(effect.setting, effect.largest)}."
    return f"{name} has an effect, but no value decides alone."


def _recovery_comparison(effect: SettingEffect, conclusion: Conclusion) -> str:
    recovery, fails_at = conclusion.recovery_time, effect.fails_at
    if recovery is None or fails_at is None or not recovery.explains(effect):
        return ""
    longest = duration(recovery.longest)
    return f": it is longer than the recovery time of {longest}, and {value_text(effect.setting, fails_at)} is shorter"


def rows(conclusion: Conclusion, axes: Sequence[Axis]) -> list[dict[str, str]]:
    """Return the table: one row for each cell and program."""
    return [_table_row(each, axes) for each in conclusion.results]


def _table_row(result: CellResult, axes: Sequence[Axis]) -> dict[str, str]:
    settings = dict(result.cell.settings)
    return {
        "who": result.who,
        **{each.name: value_text(each.name, settings[each.name]) for each in axes},
        "survived": f"{result.survived} of {result.repeats}",
        "recovered after": duration(result.waited) if result.safe else "never",
        "lost": count(result.lost),
        "duplicated": count(result.duplicated),
        "died": count(result.died),
    }


def as_csv(conclusion: Conclusion, axes: Sequence[Axis]) -> str:
    """Return the table for a spreadsheet: plain numbers, in seconds and milliseconds."""
    out = io.StringIO()
    names = [each.name for each in axes]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["client", "program", *names, "repeats", "survived", "waited_seconds", "lost", "duplicated", "died"]
    )
    for each in conclusion.results:
        settings = dict(each.cell.settings)
        figures = (each.repeats, each.survived, each.waited, each.lost, each.duplicated, each.died)
        writer.writerow([each.cell.client, each.program, *(settings[name] for name in names), *figures])
    return out.getvalue()


def as_json(conclusion: Conclusion, target: SweepTarget) -> dict[str, Any]:
    """Return all results for programs."""
    return {
        "target": asdict(target),
        "sentences": sentences(conclusion),
        "recovery_time": None if conclusion.recovery_time is None else asdict(conclusion.recovery_time),
        "effects": [asdict(each) for each in conclusion.effects],
        "results": [
            {**asdict(each), "cell": {"client": each.cell.client, "settings": dict(each.cell.settings)}}
            for each in conclusion.results
        ],
    }


def as_markdown(conclusion: Conclusion, axes: Sequence[Axis]) -> str:
    """Return the sentences, and the heat map as a table, in Markdown."""
    grid = heat_map(conclusion, axes)
    cells = (("" if each is None else _cell_text(each) for each in row) for row in grid.cells)
    table = [[name, *row] for name, row in zip(grid.rows, cells, strict=True)]
    lines = [["", *grid.columns], ["---"] * (len(grid.columns) + 1), *table]
    bullets = "".join(f"- {sentence}\n" for sentence in sentences(conclusion))
    return bullets + "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell_text(cell: Cell) -> str:
    return f"**{cell.outcome}**" if cell.is_harm else cell.outcome


def heat_map(conclusion: Conclusion, axes: Sequence[Axis]) -> MatrixGrid:
    """Return the heat map: the first deciding setting as columns, client and other deciding settings as rows.

    Cells that differ only in settings without effect are merged; the table lists each cell.
    """
    across, *others = _deciding_axes(conclusion, axes)
    results_by_cell: dict[tuple[str, str], list[CellResult]] = {}
    for each in conclusion.results:
        results_by_cell.setdefault((_row_name(each, others), dict(each.cell.settings)[across.name]), []).append(each)
    down = tuple(sorted(dict.fromkeys(row for row, _ in results_by_cell)))
    cells = tuple(
        tuple(_heat_cell(results_by_cell.get((row, value), []), row, value) for value in across.values) for row in down
    )
    headings = tuple(f"{across.name} {value_text(across.name, value)}" for value in across.values)
    return MatrixGrid(down, headings, cells, "")


def _deciding_axes(conclusion: Conclusion, axes: Sequence[Axis]) -> list[Axis]:
    """Return the settings that decide for any client; the first setting where none decides, as columns are needed."""
    deciding = {each.setting for each in conclusion.effects if each.decides}
    return [each for each in axes if each.name in deciding] or [axes[0]]


def _row_name(result: CellResult, others: Sequence[Axis]) -> str:
    settings = dict(result.cell.settings)
    return ", ".join((result.who, *(f"{each.name} {value_text(each.name, settings[each.name])}" for each in others)))


def _heat_cell(results: Sequence[CellResult], row: str, column: str) -> Cell | None:
    if not results:
        return None
    runs, survived = sum(each.repeats for each in results), sum(each.survived for each in results)
    waits = [duration(round(each.waited)) for each in sorted(results, key=lambda each: each.waited)]
    recovered = f"recovered {waits[0]}" if waits[0] == waits[-1] else f"recovered {waits[0]} to {waits[-1]}"
    outcome = recovered if survived == runs else f"{runs - survived} of {runs} failed"
    return Cell(row=row, column=column, outcome=outcome, is_harm=survived < runs)
