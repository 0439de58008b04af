"""`leadsman explain MODE`: the page of one failure mode."""

from __future__ import annotations

import click

from leadsman.catalogue import modes_named
from leadsman.cli.completion import mode_names

EPILOG = """\b
Examples:
  leadsman explain idle_disconnect
  leadsman explain idle_disconnect | less -R

\b
The list of modes: leadsman modes
"""


@click.command("explain", epilog=EPILOG)
@click.argument("mode", shell_complete=mode_names)
def command(mode: str) -> None:
    """Print the page of a failure mode: symptoms, cause, proof, cure, and what the page does not cover."""
    from leadsman.report.mode_page.explain import explain  # rich is loaded only now

    (failure_mode,) = modes_named([mode])
    explain(failure_mode.card, failure_mode.page, failure_mode.excerpt())
