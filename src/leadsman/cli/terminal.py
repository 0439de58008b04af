"""Lines on the terminal. Text from a server, a file or a file's name cannot act on the terminal.

Commands write by `echo`, which spells out control characters, and by the report's own terminal, which does the same.
`click.echo` is for documents that programs read.
"""

from __future__ import annotations

import click

from leadsman.report.text.escaping import escape_control_characters


def visible(text: str) -> str:
    r"""Return a text with its control characters spelled out, as `\x1b`. Lines and tabs stay."""
    return escape_control_characters(text, keep="\n\t")


def echo(text: str = "", *, err: bool = False, nl: bool = True, bold: bool = False, dim: bool = False) -> None:
    """Write a text and a newline, to standard error where `err` is set. Only `bold` and `dim` style the text."""
    shown = visible(text)
    click.echo(click.style(shown, bold=bold or None, dim=dim or None) if bold or dim else shown, err=err, nl=nl)
