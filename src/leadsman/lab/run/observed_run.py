"""Runs a variant of an experiment inside an observer, which measures it from outside, also in a thread beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leadsman.lab.workload.services import STOPPED_STATES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leadsman.lab.run.experiment import Experiment
    from leadsman.lab.run.run_context import RunContext

RunVariant = Callable[["RunContext"], None]
Observer = Callable[["RunContext", RunVariant], None]
"""Gets the context of a run and the function that runs the variant, which it calls once."""


def observed(experiment: Experiment, name: str, observer: Observer, **changes: Any) -> Experiment:  # noqa: ANN401 - fields of any type
    """Return the experiment with one variant that runs inside an observer; `changes` are other fields of it."""
    variant = experiment.variant(name)

    def run_inside(context: RunContext) -> None:
        observer(context, variant.run)

    return replace(experiment, variants={**experiment.variants, name: replace(variant, run=run_inside, **changes)})


@contextmanager
def repeated_beside(action: Callable[[], None], *, every_seconds: float) -> Iterator[threading.Event]:
    """Let a thread repeat an action until the end of the block; yield the event that is set then."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(every_seconds):
            action()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield over
    finally:
        over.set()
        thread.join()


def first_failure(context: RunContext) -> datetime | None:
    """Return when the first record of any worker failed; None as long as none has."""
    failures = [worker.first_failure for worker in list(context.workers.values())]
    return min((at for at in failures if at is not None), default=None)


def has_stopped_service(context: RunContext) -> bool:
    """Whether a service reports that it has stopped."""
    return bool(STOPPED_STATES & {str(service.last_report.get("state")) for service in context.services.values()})
