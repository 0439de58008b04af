"""`leadsman modes`: what can be told apart."""

from __future__ import annotations

import click

from leadsman.catalogue import every_mode

EPILOG = """\b
Examples:
  leadsman modes
  leadsman explain idle_disconnect      the whole story of one
"""


@click.command("modes", epilog=EPILOG)
def command() -> None:
    """List the failure modes, each with what it does to the data."""
    width = max(len(mode.name) for mode in every_mode())
    for mode in every_mode():
        harm = ", ".join(mode.card.harm)
        click.echo(f"{mode.name:<{width}}  {mode.card.title} ({harm})")
    click.echo("\nThe whole story of one: leadsman explain NAME")
