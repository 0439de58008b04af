"""Carries out a plan: the steps, the watching, the taking back. Says what it does; asks nothing."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.waiting import rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.remedies.remedy import Look, Plan, Step

    Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How things stood before the first step and after the last look, and which steps were taken back."""

    before: Look
    after: Look
    taken_back: tuple[str, ...]
    not_taken_back: tuple[str, ...]


def carry_out(plan: Plan, say: Say) -> Outcome:
    """Do the steps, watch until it is cured or the time is over, take back what was only for the time being.

    Where a step fails, or Ctrl-C strikes before the effect is seen, all that can be taken back is taken back, the
    last first, and the error goes on.
    """
    before = plan.look()
    undone: list[str] = []
    stuck: list[str] = []

    def take_back(step: Step) -> None:
        error = _taken_back(step)
        (stuck.append(step.undo_command) if error else undone.append(step.says))
        say(f"Could not take back: {error}. Do it by hand: {step.undo_command}" if error else f"Back: {step.says}")

    with ExitStack() as passing, ExitStack() as lasting:
        for step in plan.steps:
            say(step.says)
            if step.undo is not None:  # noted first: a step that fails halfway may have changed something
                (passing if step.passing else lasting).callback(take_back, step)
            step.do()
        after = _watched(plan, say)
        lasting.pop_all()
    return Outcome(before, after, tuple(undone), tuple(stuck))


def _watched(plan: Plan, say: Say) -> Look:
    """Look until it is cured, and say each change."""
    said = ""
    look = plan.look()
    for number in rounds(every=plan.every, lasts=plan.within):
        look = plan.look() if number else look
        if look.says != said:
            said = look.says
            say(said)
        if look.cured:
            break
    return look


def _taken_back(step: Step) -> str:
    """Undo one step; return why it could not be. Nothing must keep the other steps from being taken back."""
    assert step.undo is not None
    try:
        step.undo()
    except Exception as error:  # noqa: BLE001 - an edge: the person is told what to type instead
        return f"{step.says}: {error}"
    return ""
