"""Plays batches of cells: each is one run of the mode's experiment, and what came of every cell goes to the journal."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.reproduce import run
from leadsman.lab.services import harm_said
from leadsman.lab.sweep.estimate import remaining
from leadsman.lab.sweep.grid import shown
from leadsman.lab.sweep.journal import Entry, Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leadsman.lab.experiment import Experiment, Variant
    from leadsman.lab.reproduce import Outcome
    from leadsman.lab.services import Service
    from leadsman.lab.sweep.grid import Cell, Try
    from leadsman.lab.sweep.journal import Journal

TRIES = 2
"""A broker that did not start in time on a busy machine starts the next time."""

STRUCK, SETTLED = "struck", "settled"
"""The marks by which a play says when its world went out of order and was in order again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """What every run of a sweep has in common. `say` is told sentences."""

    experiment: Experiment
    variant: str
    kafka: str
    say: Callable[[str], None]

    def play(self, batches: Sequence[Sequence[Try]], journal: Journal) -> None:
        """Play them all, one after the other; each is in the journal before the next begins."""
        lasted: list[float] = []
        for number, batch in enumerate(batches, start=1):
            self.say(f"Run {number} of {len(batches)}{_estimate(lasted, len(batches) - number + 1)}: {_named(batch)}")
            outcome = self._run(batch)
            seconds = (outcome.ended - outcome.began).total_seconds()
            lasted.append(seconds)
            journal.add([self._entry(outcome, number, each, len(batch)) for number, each in enumerate(batch)])

    def _run(self, batch: Sequence[Try]) -> Outcome:
        cells = [each.cell for each in batch]
        variant = with_cells(self.experiment, self.variant, cells)
        experiment = replace(self.experiment, variants={self.variant: variant})
        for left in range(TRIES - 1, -1, -1):
            with tempfile.TemporaryDirectory(prefix="leadsman-sweep-") as scratch:
                try:
                    return run(
                        experiment,
                        out=Path(scratch) / "capture",
                        client=cells[0].client,
                        variant=self.variant,
                        kafka=self.kafka,
                    )
                except LabError as error:
                    if not left:
                        raise
                    self.say(f"That run failed, once more: {error}")
        raise AssertionError  # the last try returned or raised

    def _entry(self, outcome: Outcome, number: int, played: Try, together: int) -> Entry:
        alone = not self.experiment.variant(self.variant).services
        marks = outcome.marks
        known = STRUCK in marks and SETTLED in marks
        return Entry(
            client=played.cell.client,
            settings=dict(played.cell.settings),
            repeat=played.repeat,
            fates={"": _of_workers(outcome)} if alone else _of_services(outcome, number),
            lasted=round((outcome.ended - outcome.began).total_seconds(), 1),
            together=together,
            settling=round((marks[SETTLED] - marks[STRUCK]).total_seconds(), 1) if known else None,
        )


def with_cells(experiment: Experiment, name: str, cells: Sequence[Cell]) -> Variant:
    """Return a variant in which every cell has its own programs, or whose programs are those of the one cell.

    What a cell sets is set last: it is what the sweep is about.
    """
    variant = experiment.variant(name)
    if not variant.services:
        return replace(variant, settings={**variant.settings, **dict(cells[0].settings)})
    swept = [each for each in variant.services if not experiment.swept or each.name in experiment.swept]
    services = tuple(_of(each, cell, number, variant.settings) for number, cell in enumerate(cells) for each in swept)
    return replace(variant, services=services, one_process=True)


def _of(service: Service, cell: Cell, number: int, settings: Mapping[str, str]) -> Service:
    own = {**settings, **service.settings, **dict(cell.settings)}
    return replace(service, name=f"{service.name}-{number}", settings=own)


def _of_workers(outcome: Outcome) -> Fate:
    return Fate(harm=dict(outcome.harm), waited=round(outcome.ledger.slowest.total_seconds(), 1))


def _of_services(outcome: Outcome, number: int) -> dict[str, Fate]:
    """Return what came of each service of a cell, by the name that the scenario gave it."""
    end = f"-{number}"
    own = {name.removesuffix(end): last for name, last in outcome.services.items() if name.endswith(end)}
    return {name: _of_service(outcome, last) for name, last in own.items()}


def _of_service(outcome: Outcome, last: Mapping[str, object]) -> Fate:
    harm = {kind.value: count for kind, count in harm_said(outcome.offered, [last]).items()}
    return Fate(harm=harm, waited=round(int(str(last.get("slowest_ms", 0))) / 1000, 1))


def _estimate(lasted: Sequence[float], left: int) -> str:
    seconds = remaining(lasted, left)
    return "" if seconds is None else f", about {max(1, round(seconds / 60))} min left"


def _named(batch: Sequence[Try]) -> str:
    first = batch[0].cell
    if len(batch) > 1:
        return f"{first.client}, {len(batch)} cells side by side"
    return f"{first.client}, {shown(dict(first.settings)) or 'as the scenario has it'}"
