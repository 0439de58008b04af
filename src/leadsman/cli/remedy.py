"""`leadsman remedy NAME`: cures a running system. Shows what it would do, and does it only when told to."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from leadsman.catalogue import every_mode
from leadsman.cli.parts import need
from leadsman.cli.progress import steps
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from leadsman.remedies.carry_out import Outcome
    from leadsman.remedies.remedy import Plan, Remedy

EPILOG = """\b
Examples:
  leadsman remedy producer_id_leak --bootstrap broker-1:9092          what would be done, and to whom
  leadsman remedy producer_id_leak --bootstrap broker-1:9092 --do     the same, after a question

\b
Exit codes:
  0  shown, or done and seen to help       3  done, and not seen to help in time
  2  could not run, refused, or not wanted
"""

NOT_SEEN = 3

SHARED = (
    click.Option(["--do"], is_flag=True, help="Do it, after a question. Without this nothing is changed."),
    click.Option(["--yes"], is_flag=True, help="With --do: ask no question."),
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
        found = remedies().get(cmd_name)
        return _command(cmd_name, found) if found else None


@click.command("remedy", cls=Remedies, epilog=EPILOG)
def command() -> None:
    """Cure a running system: show what would be done, do it when told to, and see whether it helped."""


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
    from leadsman.remedies.carry_out import carry_out  # noqa: PLC0415 - --help needs none of this

    if remedy.part:
        need(remedy.part, f"remedy {name}")
    with remedy.open(options) as plan:
        click.echo(_shown(plan))
        if not do:
            again = shlex.join(["leadsman", *sys.argv[1:], "--do"])
            click.echo(f"\nNothing was changed. To do it: {again}")
            return 0
        if not yes:
            _ask(plan)
        with steps() as say:
            outcome = carry_out(plan, say)
    return _told(outcome)


def _shown(plan: Plan) -> str:
    """Return the plan as a person reads it: how it stands, what would be done, what can go wrong, how to go back."""
    lines = [plan.title, f"  {plan.why}", "", f"Now: {plan.look().says}", *plan.shows, "", "Would be done:"]
    for number, step in enumerate(plan.steps, start=1):
        lines += [f"  {number}. {step.says}", f"     $ {step.command}"]
        back = "taken back afterwards" if step.passing else "to go back"
        lines.append(f"     {back}: {step.undo_command}" if step.undo else "     There is no way back from this.")
    if plan.warnings:
        lines += ["", "Mind:", *(f"  - {each}" for each in plan.warnings)]
    return "\n".join(lines)


def _ask(plan: Plan) -> None:
    """Ask whoever sits there. Where nobody does, --yes is what says it."""
    if not sys.stdin.isatty():
        raise UsageError("Nobody is here to be asked: add --yes if this is meant. Without --do nothing is changed.")
    if plan.word and click.prompt(f"There is no way back. Type {plan.word} to go on", default="") != plan.word:
        raise UsageError(f"That was not {plan.word}. Nothing was changed.")
    if not plan.word and not click.confirm("Do it?", default=False):
        raise UsageError("Nothing was changed.")


def _told(outcome: Outcome) -> int:
    """Say what came of it."""
    click.echo(f"Before: {outcome.before.says}\nAfter:  {outcome.after.says}")
    for by_hand in outcome.not_taken_back:
        click.echo(f"Not taken back, do it by hand: {by_hand}", err=True)
    if outcome.after.cured and not outcome.not_taken_back:
        click.echo("It helped.")
        return 0
    if not outcome.after.cured:
        click.echo("It was done, and it was not seen to help in time.", err=True)
    return NOT_SEEN
