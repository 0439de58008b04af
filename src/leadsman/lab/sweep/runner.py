"""Runs batches of cells: each is one run of the mode's experiment; the outcome of every cell goes to the journal."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.run.experiment import Services
from leadsman.lab.run.reproduce import run
from leadsman.lab.run.run_context import FAULT_INJECTED, RECOVERED
from leadsman.lab.sweep.estimate import remaining_seconds
from leadsman.lab.workload.services import harm_of_reports
from leadsman.sweep.grid import format_settings
from leadsman.sweep.journal import JournalEntry, ProgramOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leadsman.lab.run.experiment import Experiment, Variant
    from leadsman.lab.run.reproduce import RunOutcome
    from leadsman.lab.workload.services import Service
    from leadsman.sweep.grid import SweepCell, Trial
    from leadsman.sweep.journal import Journal

ATTEMPTS = 2
"""A broker that did not start in time on a busy machine starts the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRunner:
    """What every run of a sweep has in common. `progress` gets sentences."""

    experiment: Experiment
    variant: str
    kafka: str
    progress: Callable[[str], None]

    def run_batches(self, batches: Sequence[Sequence[Trial]], journal: Journal) -> None:
        """Run them all, one after the other; each is in the journal before the next begins."""
        run_seconds: list[float] = []
        for number, batch in enumerate(batches, start=1):
            estimate = _estimate(run_seconds, len(batches) - number + 1)
            self.progress(f"Run {number} of {len(batches)}{estimate}: {_describe(batch)}")
            outcome = self._run(batch)
            seconds = (outcome.ended - outcome.began).total_seconds()
            run_seconds.append(seconds)
            journal.add([self._entry(outcome, number, each, len(batch)) for number, each in enumerate(batch)])

    def _run(self, batch: Sequence[Trial]) -> RunOutcome:
        cells = [each.cell for each in batch]
        variant = with_cells(self.experiment, self.variant, cells)
        experiment = replace(self.experiment, variants={self.variant: variant})
        for attempts_left in range(ATTEMPTS - 1, -1, -1):
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
                    if not attempts_left:
                        raise
                    self.progress(f"That run failed; it is tried again: {error}")
        raise AssertionError  # the last attempt returned or raised

    def _entry(self, outcome: RunOutcome, number: int, trial: Trial, together: int) -> JournalEntry:
        has_services = bool(self.experiment.variant(self.variant).services.members)
        return JournalEntry(
            client=trial.cell.client,
            settings=dict(trial.cell.settings),
            repeat=trial.repeat,
            outcomes=_service_outcomes(outcome, number) if has_services else {"": _worker_outcome(outcome)},
            run_seconds=round((outcome.ended - outcome.began).total_seconds(), 1),
            together=together,
            recovery_seconds=_recovery_seconds(outcome),
        )


def _recovery_seconds(outcome: RunOutcome) -> float | None:
    marks = outcome.marks
    if FAULT_INJECTED not in marks or RECOVERED not in marks:
        return None
    return round((marks[RECOVERED] - marks[FAULT_INJECTED]).total_seconds(), 1)


def with_cells(experiment: Experiment, name: str, cells: Sequence[SweepCell]) -> Variant:
    """Return a variant in which every cell has its own programs, or whose programs are those of the one cell.

    A cell's settings override all others: the sweep measures them.
    """
    variant = experiment.variant(name)
    if not variant.services.members:
        workload = variant.workload
        return replace(variant, workload=replace(workload, settings={**workload.settings, **dict(cells[0].settings)}))
    names, common = experiment.swept_services, variant.workload.settings
    swept = [each for each in variant.services.members if not names or each.name in names]
    services = tuple(_cell_service(each, cell, number, common) for number, cell in enumerate(cells) for each in swept)
    return replace(variant, services=Services(members=services, shares_process=True))


def _cell_service(service: Service, cell: SweepCell, number: int, settings: Mapping[str, str]) -> Service:
    own = {**settings, **service.settings, **dict(cell.settings)}
    return replace(service, name=f"{service.name}-{number}", settings=own)


def _worker_outcome(outcome: RunOutcome) -> ProgramOutcome:
    return ProgramOutcome(harm=dict(outcome.harm), waited=round(outcome.ledger.slowest.total_seconds(), 1))


def _service_outcomes(outcome: RunOutcome, number: int) -> dict[str, ProgramOutcome]:
    """Return the outcome of each service of a cell, by its name in the scenario."""
    suffix = f"-{number}"
    own = {name.removesuffix(suffix): last for name, last in outcome.services.items() if name.endswith(suffix)}
    return {name: _service_outcome(outcome, last) for name, last in own.items()}


def _service_outcome(outcome: RunOutcome, last: Mapping[str, object]) -> ProgramOutcome:
    harm = {kind.value: count for kind, count in harm_of_reports(outcome.offered, [last]).items()}
    return ProgramOutcome(harm=harm, waited=round(int(str(last.get("slowest_ms", 0))) / 1000, 1))


def _estimate(run_seconds: Sequence[float], left: int) -> str:
    seconds = remaining_seconds(run_seconds, left)
    return "" if seconds is None else f", about {max(1, round(seconds / 60))} min left"


def _describe(batch: Sequence[Trial]) -> str:
    first = batch[0].cell
    if len(batch) > 1:
        return f"{first.client}, {len(batch)} cells side by side"
    return f"{first.client}, {format_settings(dict(first.settings)) or 'the settings of the scenario'}"
