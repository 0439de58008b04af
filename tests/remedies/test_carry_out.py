"""Steps are done in order, watched, and taken back as each says; nothing keeps the others from being taken back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.remedies.carry_out import carry_out
from leadsman.remedies.remedy import Look, Plan, Step

if TYPE_CHECKING:
    from collections.abc import Callable


class Register:
    """A system with one register, which notes what is done to it."""

    def __init__(self, *, cured_at: int = 1) -> None:
        self.value = 0
        self.cured_at = cured_at
        self.said: list[str] = []

    def put(self, value: int) -> Callable[[], None]:
        def putting() -> None:
            self.value = value

        return putting

    def look(self) -> Look:
        return Look(cured=self.value >= self.cured_at, says=f"it holds {self.value}")


def fails() -> None:
    raise OSError("the disk is full")


def step(system: Register, value: int, *, passing: bool = False) -> Step:
    back = system.value if not passing else 0
    return Step(
        says=f"put {value}",
        command=f"put {value}",
        do=system.put(value),
        undo=system.put(back),
        undo_command=f"put {back}",
        passing=passing,
    )


def plan(system: Register, *steps: Step) -> Plan:
    return Plan(
        title="t", why="w", steps=steps, look=system.look, within=timedelta(seconds=0.3), every=timedelta(seconds=0.05)
    )


def test_what_helps_stays() -> None:
    system = Register()

    outcome = carry_out(plan(system, step(system, 1)), system.said.append)

    assert (outcome.before.cured, outcome.after.cured, system.value) == (False, True, 1)
    assert outcome.taken_back == ()
    assert system.said == ["put 1", "it holds 1"]


def test_what_was_for_the_time_being_is_taken_back_once_it_has_helped() -> None:
    system = Register()

    outcome = carry_out(plan(system, step(system, 1, passing=True)), system.said.append)

    assert (outcome.after.cured, system.value) == (True, 0)
    assert outcome.taken_back == ("put 1",)


def test_what_was_for_the_time_being_is_taken_back_when_the_time_is_over() -> None:
    system = Register(cured_at=9)

    outcome = carry_out(plan(system, step(system, 1, passing=True)), system.said.append)

    assert (outcome.after.cured, system.value) == (False, 0)


def test_a_step_that_fails_takes_the_ones_before_it_back() -> None:
    system = Register()
    broken = Step(says="fail", command="fail", do=fails)

    with pytest.raises(OSError, match="full"):
        carry_out(plan(system, step(system, 7), broken), system.said.append)

    assert system.value == 0


def test_a_step_that_cannot_be_taken_back_is_told_and_the_others_are_taken_back() -> None:
    system = Register()
    stuck = Step(says="stick", command="stick", do=system.put(2), undo=fails, undo_command="unstick", passing=True)

    outcome = carry_out(plan(system, step(system, 1, passing=True), stuck), system.said.append)

    assert outcome.not_taken_back == ("unstick",)
    assert system.value == 0
    assert any("by hand: unstick" in each for each in system.said)


def test_ctrl_c_while_watching_takes_everything_back() -> None:
    system = Register(cured_at=9)

    def interrupted(text: str) -> None:
        system.said.append(text)
        if text.startswith("it holds"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(plan(system, step(system, 1)), interrupted)

    assert system.value == 0
