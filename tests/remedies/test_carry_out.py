"""Steps run in order and are undone as each says; a failure does not keep the others from being undone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.remedies.carry_out import carry_out
from leadsman.remedies.remedy import RemedyPlan, RemedyStatus, Step

if TYPE_CHECKING:
    from collections.abc import Callable


class Register:
    """A system with one register, which notes what is done to it."""

    def __init__(self, *, cured_at: int = 1) -> None:
        self.value = 0
        self.cured_at = cured_at
        self.progress: list[str] = []

    def put(self, value: int) -> Callable[[], None]:
        def putting() -> None:
            self.value = value

        return putting

    def check(self) -> RemedyStatus:
        return RemedyStatus(is_cured=self.value >= self.cured_at, description=f"the value is {self.value}")


def fails() -> None:
    raise OSError("the disk is full")


def step(system: Register, value: int, *, is_temporary: bool = False) -> Step:
    back = system.value if not is_temporary else 0
    return Step(
        description=f"put {value}",
        command=f"put {value}",
        do=system.put(value),
        undo=system.put(back),
        undo_command=f"put {back}",
        is_temporary=is_temporary,
    )


def plan(system: Register, *steps: Step) -> RemedyPlan:
    return RemedyPlan(
        title="t",
        why="w",
        steps=steps,
        check=system.check,
        timeout=timedelta(seconds=0.3),
        every=timedelta(seconds=0.05),
    )


def test_what_helps_stays() -> None:
    system = Register()

    outcome = carry_out(plan(system, step(system, 1)), system.progress.append)

    assert (outcome.before.is_cured, outcome.after.is_cured, system.value) == (False, True, 1)
    assert outcome.undone == ()
    assert system.progress == ["put 1", "the value is 1"]


def test_what_was_for_the_time_being_is_taken_back_once_it_has_helped() -> None:
    system = Register()

    outcome = carry_out(plan(system, step(system, 1, is_temporary=True)), system.progress.append)

    assert (outcome.after.is_cured, system.value) == (True, 0)
    assert outcome.undone == ("put 1",)


def test_what_was_for_the_time_being_is_taken_back_when_the_time_is_over() -> None:
    system = Register(cured_at=9)

    outcome = carry_out(plan(system, step(system, 1, is_temporary=True)), system.progress.append)

    assert (outcome.after.is_cured, system.value) == (False, 0)


def test_a_step_that_fails_takes_the_ones_before_it_back() -> None:
    system = Register()
    broken = Step(description="fail", command="fail", do=fails)

    with pytest.raises(OSError, match="full"):
        carry_out(plan(system, step(system, 7), broken), system.progress.append)

    assert system.value == 0


def test_a_step_that_cannot_be_taken_back_is_reported_and_the_others_are_taken_back() -> None:
    system = Register()
    stuck = Step(
        description="stick", command="stick", do=system.put(2), undo=fails, undo_command="unstick", is_temporary=True
    )

    outcome = carry_out(plan(system, step(system, 1, is_temporary=True), stuck), system.progress.append)

    assert outcome.not_undone == ("unstick",)
    assert system.value == 0
    assert any("by hand: unstick" in each for each in system.progress)


def test_ctrl_c_while_watching_takes_everything_back() -> None:
    system = Register(cured_at=9)

    def interrupted(text: str) -> None:
        system.progress.append(text)
        if text.startswith("the value is"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(plan(system, step(system, 1)), interrupted)

    assert system.value == 0
