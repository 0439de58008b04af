"""`leadsman modes`: lists the failure modes."""

from __future__ import annotations

import click

from leadsman.catalogue import every_mode
from leadsman.cli.terminal import echo
from leadsman.model import HARM_TEXTS

EPILOG = """\b
Examples:
  leadsman modes
  leadsman explain idle_disconnect      symptoms, cause, proof and cure of one mode
"""


@click.command("modes", epilog=EPILOG)
def command() -> None:
    """List the failure modes with their titles and their harm."""
    width = max(len(mode.name) for mode in every_mode())
    for mode in every_mode():
        harm = ", ".join(HARM_TEXTS[harm] for harm in mode.card.harm)
        echo(f"{mode.name:<{width}}  {mode.card.title} ({harm})")
    echo("\nSymptoms, cause, proof and cure of a mode: leadsman explain NAME")
