"""`leadsman check`: finds settings that would cause a failure."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import click

from leadsman.cli import checks

EPILOG = """\b
Examples:
  leadsman check host --addresses 60 --reuses 40
  leadsman check cloud instances.json --brokers 'kafka-*'
  leadsman check program src deploy
  leadsman check topics topics.txt --lag 24

\b
Exit codes: 0 nothing to change; 1 something to change; 2 could not run.
"""


class Checks(click.Group):
    """The checks as commands; each module is imported only when its command runs. Nothing registers itself."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all checks."""
        return sorted(module.name for module in pkgutil.iter_modules(checks.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a check as a command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"{checks.__name__}.{cmd_name}").command
        return command


@click.command("check", cls=Checks, epilog=EPILOG)
def command() -> None:
    """Find settings that would cause a failure, before the failure."""
