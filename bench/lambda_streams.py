"""Writes one capture of three AWS Lambda functions, whose log streams were fetched in the ways of `aws logs`.

The workers, their incident and the forms are those of `python -m bench.forms`; here one function logs for three days
into one file of `aws logs tail`, and two have a file for each stream.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from bench.forms.collectors import Hand, lambdas
from bench.production import serverless
from bench.production import serverless_forms as forms
from bench.production.serverless_fleet import DAY_0_MS, HOUR_MS, WorkerFleet, streams
from bench.production.serverless_wordings import FAILED, KAFKA_PYTHON

if TYPE_CHECKING:
    from pathlib import Path

SEED = 20201220
TAIL_INVOCATIONS = 276
"""Of each worker in the file of `aws logs tail`: 400 workers then write 138 MB."""

TAIL_START_HOURS = 48
"""Hours in which those workers start, so that almost all end within three days."""

SAME_INCIDENT = "serverless/600s-java3-retried"
"""The proving ground's case of the same workers and harm, whose expected verdict is that of this capture."""


def _early(random: Random) -> int:
    """Return when a worker of many invocations starts."""
    return DAY_0_MS + int(random.random() * TAIL_START_HOURS * HOUR_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionLogs:
    """The log streams of one Lambda function in one form."""

    title: str
    fleet: WorkerFleet
    hand: Hand
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLogs:
    """What was written of one function."""

    function: FunctionLogs
    workers: int
    files: int
    bytes: int

    def __str__(self) -> str:
        count = "one file" if self.files == 1 else f"{self.files:,} files"
        return (
            f"{self.function.title}: {self.bytes / 1e6:.0f} MB in {count}, {self.workers:,} workers of "
            f"{self.function.fleet.invocations} invocations"
        )


FUNCTIONS = (
    FunctionLogs(
        title="`aws logs tail`, Java",
        fleet=replace(lambdas(), function="orders", invocations=TAIL_INVOCATIONS, starts=_early),
        hand=partial(forms.logs_tail, streams_in_a_file=400),
        workers=400,
    ),
    FunctionLogs(
        title="`get-log-events`, Java",
        fleet=replace(lambdas(), function="invoices"),
        hand=forms.get_log_events,
        workers=3_870,
    ),
    FunctionLogs(
        title="`get-log-events`, kafka-python",
        fleet=replace(lambdas(KAFKA_PYTHON, FAILED), function="shipments"),
        hand=forms.get_log_events,
        workers=4_660,
    ),
)


def write(folder: Path, share: float = 1.0) -> list[WrittenLogs]:
    """Fill an empty folder as a stream, with so large a part of each function's workers."""
    return [_write(folder / function.fleet.function, function, share) for function in FUNCTIONS]


def _write(folder: Path, function: FunctionLogs, share: float) -> WrittenLogs:
    folder.mkdir(parents=True)
    workers = max(2, int(function.workers * share))
    function.hand(folder, streams(function.fleet, Random(f"{SEED} {function.fleet.function}"), workers))
    sizes = [path.stat().st_size for path in folder.iterdir()]
    return WrittenLogs(function=function, workers=workers, files=len(sizes), bytes=sum(sizes))


def expected_verdict() -> str:
    """Return the proving ground's own verdict on `idle_disconnect` for such workers."""
    (case,) = (each for each in serverless.cases() if each.name == SAME_INCIDENT)
    return case.expected["idle_disconnect"]
