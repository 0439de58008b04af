"""Interrupts commands at random moments: `python -m leadsman.lab.interrupting [--times 500] [--seed N]`.

As in a terminal, Ctrl-C goes to all processes in the foreground; every third time it is pressed twice. Exits 1 where
anything was left: a process, a temporary file, half a file, a traceback on the screen, or a command that goes on.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import click

from leadsman.collect.numbers import FiniteNumber
from leadsman.lab.interrupting.commands import Command, every_command
from leadsman.lab.interrupting.one_run import Outcome, run

if TYPE_CHECKING:
    from collections.abc import Mapping

ENDLESS_SECONDS = 25.0
"""A command that never ends is interrupted within so long: it starts, reads everything, and waits."""

INTERRUPTS_BETWEEN_REPORTS = 20


@dataclass(slots=True)
class InterruptCounts:
    """What was counted of one command; `usual_seconds` is how long it takes uninterrupted."""

    usual_seconds: float
    interrupts: int = 0
    ended_before: int = 0
    slowest_exit_seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count one run."""
        self.interrupts += outcome.interrupted
        self.ended_before += not outcome.interrupted
        self.slowest_exit_seconds = max(self.slowest_exit_seconds, outcome.exit_seconds)
        for fault, example in outcome.faults.items():
            self.faults[fault] += 1
            self.examples.setdefault(fault, example)

    def document(self) -> dict[str, object]:
        """Return the counts for JSON; each fault with its first example."""
        return {
            "usual_seconds": round(self.usual_seconds, 1),
            "interrupts": self.interrupts,
            "ended_before": self.ended_before,
            "slowest_exit_seconds": round(self.slowest_exit_seconds, 1),
            "faults": {fault: {"times": n, "example": self.examples[fault]} for fault, n in self.faults.items()},
        }


@click.command(help=__doc__)
@click.option("--times", type=click.IntRange(min=1), default=500, show_default=True, help="How many interrupts.")
@click.option("--minutes", type=FiniteNumber(0), default=None, help="End after so long, whatever was reached.")
@click.option("--seed", type=int, default=None, help="Of commands and moments; by default the time.")
@click.option("--only", multiple=True, help="Interrupt only this command, by its name here; may be repeated.")
def main(times: int, minutes: float | None, seed: int | None, only: tuple[str, ...]) -> None:
    """Run the campaign and print its counts as JSON."""
    seed = int(time.time()) if seed is None else seed
    dice = Random(seed)  # noqa: S311 - no secret
    commands = [each for each in every_command() if not only or each.name in only]
    until = time.monotonic() + 60 * minutes if minutes else None
    counts: dict[str, InterruptCounts] = {}
    with tempfile.TemporaryDirectory(prefix="leadsman-interrupts-") as folder:
        for command in commands:
            counts[command.name] = InterruptCounts(_usual_seconds(command, Path(folder)))
            click.echo(f"{command.name}: {counts[command.name].usual_seconds:.1f} s uninterrupted", err=True)
        with suppress(KeyboardInterrupt):  # what was counted until then is printed
            while (done := _interrupts(counts)) < times and (until is None or time.monotonic() < until):
                if not done % INTERRUPTS_BETWEEN_REPORTS:
                    click.echo(f"{done} of {times} interrupts", err=True)
                (command,) = dice.choices(commands, [each.weight for each in commands])
                _interrupt_once(command, counts[command.name], dice, Path(folder))
    document = {name: each.document() for name, each in counts.items()}
    click.echo(json.dumps({"seed": seed, "commands": document}, indent=2))
    sys.exit(any(each.faults for each in counts.values()))


def _interrupts(counts: Mapping[str, InterruptCounts]) -> int:
    return sum(each.interrupts for each in counts.values())


def _usual_seconds(command: Command, folder: Path) -> float:
    if command.endless:
        return ENDLESS_SECONDS
    started = time.monotonic()
    outcome = run(command, folder, after=None)
    if outcome.faults:
        click.echo(f"{command.name}, uninterrupted: {outcome.faults}", err=True)
    return time.monotonic() - started


def _interrupt_once(command: Command, counts: InterruptCounts, dice: Random, folder: Path) -> None:
    after = dice.uniform(0.0, counts.usual_seconds)
    again_after = dice.uniform(0.05, 1.0) if dice.random() < 1 / 3 else None
    outcome = run(command, folder, after=after, again_after=again_after)
    counts.add(outcome)
    if outcome.faults:
        twice = f" and again {again_after:.2f} s later" if again_after else ""
        click.echo(f"{command.name}, interrupted after {after:.2f} s{twice}: {outcome.faults}", err=True)


if __name__ == "__main__":
    main()
