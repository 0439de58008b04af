"""Carries out a plan: runs its steps, watches their effect, undoes them where needed. Asks nothing."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.waiting import rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.remedies.remedy import RemedyPlan, RemedyStatus, Step

    Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RemedyOutcome:
    """The status before and after, the steps that were undone, and the commands to undo those that were not."""

    before: RemedyStatus
    after: RemedyStatus
    undone: tuple[str, ...]
    not_undone: tuple[str, ...]


def carry_out(plan: RemedyPlan, progress: Progress) -> RemedyOutcome:
    """Run the steps, watch until the system is cured or the time is over, and undo the temporary steps.

    Where a step fails, or Ctrl-C comes before the effect is seen, all steps that can be undone are undone, the last
    first, and the error is raised again.
    """
    before = plan.check()
    undone: list[str] = []
    not_undone: list[str] = []

    def undo(step: Step) -> None:
        error = _try_to_undo(step)
        (not_undone.append(step.undo_command) if error else undone.append(step.description))
        progress(
            f"Not undone: {error}. Undo it by hand: {step.undo_command}" if error else f"Undone: {step.description}"
        )

    with ExitStack() as temporary, ExitStack() as permanent:
        for step in plan.steps:
            progress(step.description)
            if step.undo is not None:  # noted first: a step that fails halfway may have changed something
                (temporary if step.is_temporary else permanent).callback(undo, step)
            step.do()
        after = _watch(plan, progress)
        permanent.pop_all()
    return RemedyOutcome(before, after, tuple(undone), tuple(not_undone))


def _watch(plan: RemedyPlan, progress: Progress) -> RemedyStatus:
    """Check the status until the system is cured, and report each change."""
    reported = ""
    status = plan.check()
    for number in rounds(every=plan.every, lasts=plan.timeout):
        status = plan.check() if number else status
        if status.description != reported:
            reported = status.description
            progress(reported)
        if status.is_cured:
            break
    return status


def _try_to_undo(step: Step) -> str:
    """Undo one step; return the reason where that failed. A failure must not keep the other steps from being undone."""
    assert step.undo is not None
    try:
        step.undo()
    except Exception as error:  # noqa: BLE001 - the user gets the command to type instead
        return f"{step.description}: {error}"
    return ""
