"""`leadsman remedy NAME`: cures a running system. Shows the plan, and carries it out only with --do."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from leadsman.catalogue import every_mode
from leadsman.cli.extras import require_extra
from leadsman.cli.progress import steps
from leadsman.cli.terminal import echo, visible
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from leadsman.remedies.carry_out import RemedyOutcome
    from leadsman.remedies.remedy import Remedy, RemedyPlan

EPILOG = """\b
Examples:
  leadsman remedy producer_id_leak --bootstrap broker-1:9092          show the plan
  leadsman remedy producer_id_leak --bootstrap broker-1:9092 --do     carry the plan out, after a confirmation

\b
Exit codes:
  0  plan shown, or done and cured       3  done, and not cured in time
  2  could not run, refused, or not confirmed
"""

NOT_CURED = 3

SHARED = (
    click.Option(
        ["--do"], is_flag=True, help="Carry the plan out, after a confirmation. Without --do nothing is changed."
    ),
    click.Option(["--yes"], is_flag=True, help="With --do: no confirmation."),
)


def remedies() -> dict[str, Remedy]:
    """Return every remedy that a mode brings, by name."""
    return {name: remedy for mode in every_mode() for name, remedy in mode.remedies.items()}


class Remedies(click.Group):
    """The remedies as commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all remedies."""
        return list(remedies())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return a remedy as a command."""
        remedy = remedies().get(cmd_name)
        return _command(cmd_name, remedy) if remedy else None


@click.command("remedy", cls=Remedies, epilog=EPILOG)
def command() -> None:
    """Cure a running system: show the plan, carry it out with --do, and verify the result."""


def _command(name: str, remedy: Remedy) -> click.Command:
    epilog = "\b\nExamples:\n" + "\n".join(f"  {each}" for each in remedy.examples)
    return click.Command(
        name,
        callback=partial(_run, name, remedy),
        params=[*remedy.parameters, *SHARED],
        help=remedy.help,
        short_help=remedy.title + ".",
        epilog=epilog if remedy.examples else None,
    )


def _run(name: str, remedy: Remedy, *, do: bool, yes: bool, **options: Any) -> int:  # noqa: ANN401 - click's values
    from leadsman.remedies.carry_out import carry_out  # --help needs none of this

    if remedy.extra:
        require_extra(remedy.extra, f"remedy {name}")
    with remedy.open(options) as plan:
        echo(_plan_text(plan))
        if not do:
            do_call = shlex.join(["leadsman", *sys.argv[1:], "--do"])
            echo(f"\nNothing was changed. To carry the plan out: {do_call}")
            return 0
        if not yes:
            _confirm(plan)
        with steps() as show_step:
            outcome = carry_out(plan, show_step)
    return _show_outcome(outcome)


def _plan_text(plan: RemedyPlan) -> str:
    """Return the plan as text: the status, the steps with their undo, and the warnings."""
    lines = [plan.title, f"  {plan.why}", "", f"Now: {plan.check().description}", *plan.details, "", "Steps:"]
    for number, step in enumerate(plan.steps, start=1):
        lines += [f"  {number}. {step.description}", f"     $ {step.command}"]
        undo = "undone afterwards" if step.is_temporary else "undo"
        lines.append(f"     {undo}: {step.undo_command}" if step.undo else "     This step cannot be undone.")
    if plan.warnings:
        lines += ["", "Warnings:", *(f"  - {each}" for each in plan.warnings)]
    return "\n".join(lines)


def _confirm(plan: RemedyPlan) -> None:
    """Ask for confirmation on the terminal. Without a terminal, --yes is required."""
    if not sys.stdin.isatty():
        raise UsageError("There is no terminal for the confirmation: add --yes. Without --do nothing is changed.")
    if (
        plan.confirmation
        and click.prompt(visible(f"This cannot be undone. Type {plan.confirmation} to continue"), default="")
        != plan.confirmation
    ):
        raise UsageError(f"The answer was not {plan.confirmation}. Nothing was changed.")
    if not plan.confirmation and not click.confirm("Carry the plan out?", default=False):
        raise UsageError("Nothing was changed.")


def _show_outcome(outcome: RemedyOutcome) -> int:
    """Print the status before and after, and return the exit code."""
    echo(f"Before: {outcome.before.description}\nAfter:  {outcome.after.description}")
    for by_hand in outcome.not_undone:
        echo(f"Not undone, run it by hand: {by_hand}", err=True)
    if outcome.after.is_cured and not outcome.not_undone:
        echo("Cured.")
        return 0
    if not outcome.after.is_cured:
        echo("All steps were done, and the system is not cured yet.", err=True)
    return NOT_CURED
