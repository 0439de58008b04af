"""`leadsman explain MODE`: the whole story of one failure mode."""

from __future__ import annotations

import click

from leadsman.catalogue import modes_named
from leadsman.cli.complete import mode_names

EPILOG = """\b
Examples:
  leadsman explain idle_disconnect
  leadsman explain idle_disconnect | less -R

\b
Which modes there are: leadsman modes
"""


@click.command("explain", epilog=EPILOG)
@click.argument("mode", shell_complete=mode_names)
def command(mode: str) -> None:
    """Print the page of a failure mode: what you see, why, how to be sure, how to cure it, what it does not cover."""
    from leadsman.report.explain import explain  # noqa: PLC0415 - rich is loaded only now

    (chosen,) = modes_named([mode])
    explain(chosen.card, chosen.page, chosen.excerpt())
